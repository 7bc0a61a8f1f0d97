//! The output of `oc adm upgrade status` at a moment of a run.

use windtunnel_core::View;
use windtunnel_core::alert::Alert;
use windtunnel_core::clock::Time;
use windtunnel_update_status::status::{self, AlertsResponse, Details, Inputs, Moment};

use crate::record::Record;

/// Returns the objects and alerts that `oc` would read at that moment; `None` without a ClusterVersion.
pub fn inputs(record: &Record, at: Time) -> Option<Inputs> {
    inputs_of(&record.view_at(at), record.alerts_at(at))
}

fn inputs_of(view: &View, alerts: Vec<(Time, &Alert)>) -> Option<Inputs> {
    let mut inputs = Inputs::gather(|resource| view.list(resource).cloned().collect()).ok()?;
    inputs.alerts = AlertsResponse::from_active(alerts);
    Some(inputs)
}

/// Returns the output for a cluster and its active alerts, each with its start; `None` if `oc` would report an
/// error.
pub fn render_view(view: &View, alerts: Vec<(Time, &Alert)>, at: Time) -> Option<String> {
    let report = status::render(&inputs_of(view, alerts)?, Moment::at(at), Details::None).ok()?;
    Some(report.text)
}

/// Returns the output at that moment; `None` if `oc` would report an error.
pub fn render_at(record: &Record, at: Time, details: Details) -> Option<String> {
    let report = status::render(&inputs(record, at)?, Moment::at(at), details).ok()?;
    Some(report.text)
}

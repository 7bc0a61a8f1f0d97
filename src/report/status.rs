//! The output of `oc adm upgrade status` at a moment of a run.

use windtunnel_core::clock::Time;
use windtunnel_update_status::status::{self, AlertsResponse, Details, Inputs, Moment};

use crate::record::Record;

/// Returns the objects and alerts that `oc` would read at that moment; `None` without a ClusterVersion.
pub fn inputs(record: &Record, at: Time) -> Option<Inputs> {
    let view = record.view_at(at);
    let mut inputs = Inputs::gather(|resource| view.list(resource).cloned().collect()).ok()?;
    inputs.alerts = AlertsResponse::from_active(record.alerts_at(at));
    Some(inputs)
}

/// Returns the output at that moment; `None` if `oc` would report an error.
pub fn render_at(record: &Record, at: Time, details: Details) -> Option<String> {
    let report = status::render(&inputs(record, at)?, Moment::at(at), details).ok()?;
    Some(report.text)
}

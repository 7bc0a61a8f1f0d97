//! Alerts that may be related to the update.

use serde_json::Value;
use windtunnel_core::clock::Time;

use super::{Impact, Insight, Level};
use crate::status::go_time::moment;

/// Alerts known to slow updates down, whenever they started firing.
const KNOWN: [&str; 2] = ["PodDisruptionBudgetLimit", "PodDisruptionBudgetAtLimit"];

/// Returns the insight on an alert; `None` if the alert is not reported.
pub(super) fn of_alert(alert: &Value, update_started: Time) -> Option<Insight> {
    let label = |name: &str| alert["labels"][name].as_str().unwrap_or_default();
    let annotation = |name: &str| alert["annotations"][name].as_str().filter(|text| !text.is_empty());
    let name = label("alertname");
    let started = moment(alert, "activeAt");
    let (is_known, is_new) = (KNOWN.contains(&name), started > update_started);
    if name.is_empty() || alert["state"] == "pending" || !(is_known || is_new) {
        return None;
    }
    let level = match label("severity") {
        "warning" => Level::Warning,
        "critical" => Level::Critical,
        _ => return None,
    };
    let begin = match (is_known, is_new) {
        (true, true) => "Alert known to affect updates started firing during the update.",
        (true, false) => "Alert known to affect updates has been firing since before the update started.",
        (false, _) => "Alert started firing during the update.",
    };
    let body = match (annotation("description"), annotation("message")) {
        (None, None) => "The alert has no description.".to_owned(),
        (Some(text), None) | (None, Some(text)) => format!("The alert description is: {text}"),
        (Some(one), Some(other)) => format!("The alert description is: {one} | {other}"),
    };
    let qualified = match label("namespace") {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    };
    let runbook = annotation("runbook_url").unwrap_or("<alert does not have a runbook_url annotation>");
    Some(Insight {
        started,
        level,
        impact: Impact::Unknown,
        summary: format!("Alert is firing: {}", annotation("summary").unwrap_or(name)),
        description: format!("{begin} {body}"),
        reference: runbook.to_owned(),
        resource: format!("alerts.config.openshift.io: {qualified}"),
    })
}

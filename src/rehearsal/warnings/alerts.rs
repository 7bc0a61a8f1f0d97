//! Alerts that fire when a dump is made.

use serde_json::Value;

use super::Warning;
use crate::rehearsal::cause::Blamed;

/// Returns the critical alerts in the body of Prometheus' answer that fire, each once.
pub(super) fn find(answer: &str) -> Vec<Warning> {
    let Ok(answer) = serde_json::from_str::<Value>(answer) else { return Vec::new() };
    let alerts = answer["data"]["alerts"].as_array().map_or(&[][..], Vec::as_slice);
    let is_meant = |alert: &&Value| alert["state"] == "firing" && alert["labels"]["severity"] == "critical";
    let mut found: Vec<Warning> = alerts.iter().filter(is_meant).map(warning).collect();
    found.sort_by(|one, other| one.cause.cmp(&other.cause));
    found.dedup_by(|one, other| one.cause == other.cause);
    found
}

fn warning(alert: &Value) -> Warning {
    let label = |name: &str| alert["labels"][name].as_str().unwrap_or_default();
    let annotation = |name: &str| alert["annotations"][name].as_str().filter(|text| !text.is_empty());
    let text = annotation("summary").or_else(|| annotation("message")).or_else(|| annotation("description"));
    Warning {
        cause: Blamed::new("Alert", label("namespace"), label("alertname")),
        text: text.map_or_else(
            || "this critical alert fires".to_owned(),
            |text| format!("this critical alert fires: {text}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn critical_alerts_that_fire_are_found_once() {
        let alert = |name: &str, severity: &str, state: &str| {
            json!({
                "labels": { "alertname": name, "severity": severity, "namespace": "openshift-etcd" },
                "annotations": { "summary": "Look." },
                "state": state,
            })
        };
        let alerts = [
            alert("Fires", "critical", "firing"),
            alert("Fires", "critical", "firing"),
            alert("Waits", "critical", "pending"),
            alert("Warns", "warning", "firing"),
        ];
        let found = find(&json!({ "status": "success", "data": { "alerts": alerts } }).to_string());
        let texts: Vec<String> =
            found.iter().map(|found| format!("{}: {}", found.cause, found.text)).collect();
        assert_eq!(texts, ["Alert openshift-etcd/Fires: this critical alert fires: Look."]);
        assert!(find("no JSON").is_empty());
    }
}

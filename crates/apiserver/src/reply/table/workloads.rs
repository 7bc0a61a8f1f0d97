//! Cells of workloads: Deployments, Jobs and similar kinds.

use serde_json::{Value, json};

use super::ages;
use super::row::{Cells, NONE, Row, UNSET, plain};
use crate::selector;

const TEMPLATE: &str = "/spec/template/spec/containers";

/// `spec.replicas`, which defaulting sets to 1 if it is absent.
fn desired(row: &Row<'_>) -> i64 {
    row.int("/spec/replicas")
}

pub(super) fn deployment(row: &Row<'_>) -> Cells {
    let [names, images] = row.containers(TEMPLATE);
    vec![
        row.name(),
        json!(format!("{}/{}", row.int("/status/readyReplicas"), desired(row))),
        json!(row.int("/status/updatedReplicas")),
        json!(row.int("/status/availableReplicas")),
        row.age(),
        names,
        images,
        json!(row.get("/spec/selector").map(selector::text).unwrap_or_default()),
    ]
}

pub(super) fn replica_set(row: &Row<'_>) -> Cells {
    replicated(row, row.selector("/spec/selector"))
}

pub(super) fn replication_controller(row: &Row<'_>) -> Cells {
    replicated(row, row.labels("/spec/selector"))
}

fn replicated(row: &Row<'_>, selector: String) -> Cells {
    let [names, images] = row.containers(TEMPLATE);
    vec![
        row.name(),
        json!(desired(row)),
        json!(row.int("/status/replicas")),
        json!(row.int("/status/readyReplicas")),
        row.age(),
        names,
        images,
        Value::String(selector),
    ]
}

pub(super) fn stateful_set(row: &Row<'_>) -> Cells {
    let [names, images] = row.containers(TEMPLATE);
    let ready = format!("{}/{}", row.int("/status/readyReplicas"), desired(row));
    vec![row.name(), json!(ready), row.age(), names, images]
}

pub(super) fn daemon_set(row: &Row<'_>) -> Cells {
    let [names, images] = row.containers(TEMPLATE);
    vec![
        row.name(),
        json!(row.int("/status/desiredNumberScheduled")),
        json!(row.int("/status/currentNumberScheduled")),
        json!(row.int("/status/numberReady")),
        json!(row.int("/status/updatedNumberScheduled")),
        json!(row.int("/status/numberAvailable")),
        json!(row.labels("/spec/template/spec/nodeSelector")),
        row.age(),
        names,
        images,
        json!(row.selector("/spec/selector")),
    ]
}

pub(super) fn job(row: &Row<'_>) -> Cells {
    let [names, images] = row.containers(TEMPLATE);
    let succeeded = row.int("/status/succeeded");
    let completions = match (row.get("/spec/completions"), row.int("/spec/parallelism")) {
        (Some(wanted), _) => format!("{succeeded}/{}", plain(wanted)),
        (None, parallel) if parallel > 1 => format!("{succeeded}/1 of {parallel}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let (start, end) = (row.text("/status/startTime"), row.text("/status/completionTime"));
    let took = match (start, end) {
        ("", _) => String::new(),
        (start, "") => ages::since(start, row.now),
        (start, end) => ages::between(start, end).unwrap_or_default(),
    };
    vec![
        row.name(),
        json!(job_status(row)),
        json!(completions),
        json!(took),
        row.age(),
        names,
        images,
        json!(row.selector("/spec/selector")),
    ]
}

fn job_status(row: &Row<'_>) -> &'static str {
    let first = |types: &[&'static str]| types.iter().copied().find(|name| row.is_condition_true(name));
    if let Some(ended) = first(&["Complete", "Failed"]) {
        return ended;
    }
    if row.is_terminating() {
        return "Terminating";
    }
    first(&["Suspended", "FailureTarget", "SuccessCriteriaMet"]).unwrap_or("Running")
}

pub(super) fn cron_job(row: &Row<'_>) -> Cells {
    let [names, images] = row.containers("/spec/jobTemplate/spec/template/spec/containers");
    let suspend = match row.get("/spec/suspend") {
        None => UNSET,
        Some(Value::Bool(true)) => "True",
        Some(_) => "False",
    };
    let last = row
        .get("/status/lastScheduleTime")
        .map_or_else(|| NONE.to_owned(), |_| row.since("/status/lastScheduleTime"));
    vec![
        row.name(),
        json!(row.text("/spec/schedule")),
        json!(row.text_or("/spec/timeZone", NONE)),
        json!(suspend),
        json!(row.count("/status/active")),
        json!(last),
        row.age(),
        names,
        images,
        json!(row.selector("/spec/jobTemplate/spec/selector")),
    ]
}

pub(super) fn controller_revision(row: &Row<'_>) -> Cells {
    let owner = row.list("/metadata/ownerReferences").iter().find(|owner| owner["controller"] == true);
    let controller = owner.map_or_else(
        || NONE.to_owned(),
        |owner| {
            let text = |field: &str| owner[field].as_str().unwrap_or_default();
            let kind = text("kind").to_lowercase();
            match text("apiVersion").split_once('/') {
                Some((group, _)) => format!("{kind}.{group}/{}", text("name")),
                None => format!("{kind}/{}", text("name")),
            }
        },
    );
    vec![row.name(), json!(controller), json!(row.int("/revision")), row.age()]
}

/// Disruption budgets are here with the workloads that they guard.
pub(super) fn disruption_budget(row: &Row<'_>) -> Cells {
    let bound = |pointer: &str| json!(row.get(pointer).map_or_else(|| "N/A".to_owned(), plain));
    vec![
        row.name(),
        bound("/spec/minAvailable"),
        bound("/spec/maxUnavailable"),
        json!(row.int("/status/disruptionsAllowed")),
        row.age(),
    ]
}

pub(super) fn autoscaler(row: &Row<'_>) -> Cells {
    let target =
        format!("{}/{}", row.text("/spec/scaleTargetRef/kind"), row.text("/spec/scaleTargetRef/name"));
    let min = row.get("/spec/minReplicas").map_or_else(|| UNSET.to_owned(), plain);
    vec![
        row.name(),
        json!(target),
        json!(metrics(row)),
        json!(min),
        json!(row.int("/spec/maxReplicas")),
        json!(row.int("/status/currentReplicas")),
        row.age(),
    ]
}

/// The first two metrics of an autoscaler, current and target: `cpu: 50%/80%`.
fn metrics(row: &Row<'_>) -> String {
    let current = row.list("/status/currentMetrics");
    let mut texts = Vec::new();
    for (index, metric) in row.list("/spec/metrics").iter().enumerate() {
        let kind = metric["type"].as_str().unwrap_or_default();
        let field = kind.chars().next().map(|c| c.to_ascii_lowercase().to_string() + &kind[c.len_utf8()..]);
        let field = field.unwrap_or_default();
        let (wanted, is) = (&metric[&field]["target"], current.get(index).map(|is| &is[&field]["current"]));
        let name = metric[&field]["name"].as_str();
        let amount =
            |value: &Value, percent: &str| match (&value[percent], &value["averageValue"], &value["value"]) {
                (Value::Number(number), ..) => Some(format!("{number}%")),
                // Pods have only averages.
                (_, Value::String(text), _) if kind == "Pods" => Some(text.clone()),
                (_, Value::String(text), _) => Some(format!("{text} (avg)")),
                (.., Value::String(text)) => Some(text.clone()),
                _ => None,
            };
        let is = is.and_then(|is| amount(is, "averageUtilization"));
        let is = is.map(|text| text.trim_end_matches(" (avg)").to_owned());
        let text = format!(
            "{}/{}",
            is.unwrap_or_else(|| "<unknown>".to_owned()),
            amount(wanted, "averageUtilization").unwrap_or_else(|| "<auto>".to_owned()),
        );
        texts.push(name.map_or_else(|| text.clone(), |name| format!("{name}: {text}")));
    }
    match texts.len() {
        0 => NONE.to_owned(),
        count @ 3.. => format!("{} + {} more...", texts[..2].join(", "), count - 2),
        _ => texts.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_shows_its_status_and_progress() {
        let now = "2024-01-01T00:10:00Z".parse().unwrap();
        for (object, status, completions, took) in [
            (json!({}), "Running", "0/1", ""),
            (json!({ "spec": { "parallelism": 3 } }), "Running", "0/1 of 3", ""),
            (
                json!({ "spec": { "completions": 2 }, "status": { "succeeded": 2,
                    "startTime": "2024-01-01T00:00:00Z", "completionTime": "2024-01-01T00:02:30Z",
                    "conditions": [{ "type": "Complete", "status": "True" }] } }),
                "Complete",
                "2/2",
                "2m30s",
            ),
            (
                json!({ "status": { "startTime": "2024-01-01T00:09:00Z",
                    "conditions": [{ "type": "Suspended", "status": "True" }] } }),
                "Suspended",
                "0/1",
                "60s",
            ),
        ] {
            let cells = job(&Row { object: &object, now, minor: 36 });
            assert_eq!(cells[1..4], [json!(status), json!(completions), json!(took)], "{object}");
        }
    }
}

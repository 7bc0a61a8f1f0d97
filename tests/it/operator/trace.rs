//! The statuses of a ClusterVersion, in a form without names and times that differ between runs.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock, Mutex};

use regex::Regex;
use serde_json::{Map, Value, json};
use windtunnel_apiserver::service::{Feed, Shared};
use windtunnel_core::{View, patch, resources};

/// The statuses between two events: what happened, and each status that was written after it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Phase {
    /// The event before, as in the sequence.
    pub(super) after: Value,
    /// Each status, in order.
    pub(super) statuses: Vec<Value>,
}

/// A recording as text: a line for each event, and one for each status, as a merge patch of the one before.
pub(super) fn print(phases: &[Phase]) -> String {
    let (mut text, mut before) = (String::new(), json!({}));
    for phase in phases {
        writeln!(text, "{}", json!({ "after": phase.after })).unwrap();
        for status in &phase.statuses {
            let patch = patch::between(&before, status).unwrap_or_else(|| json!({}));
            writeln!(text, "{}", json!({ "status": patch })).unwrap();
            before.clone_from(status);
        }
    }
    text
}

/// Reads the text of a recording.
pub(super) fn parse(text: &str) -> Vec<Phase> {
    let (mut phases, mut status) = (Vec::<Phase>::new(), json!({}));
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(after) = line.get("after") {
            phases.push(Phase { after: after.clone(), statuses: Vec::new() });
        } else {
            json_patch::merge(&mut status, &line["status"]);
            phases.last_mut().unwrap().statuses.push(masked(&status));
        }
    }
    phases
}

/// The phases of a sequence so far.
pub(super) type Trace = Arc<Mutex<Vec<Phase>>>;

/// Adds each status to the last phase of `trace`, until it is dropped.
pub(super) async fn follow(shared: Shared, trace: Trace) {
    let (mut feed, mut view) = (Feed::from_start(shared.clone()), View::default());
    loop {
        let mut writes = shared.subscribe();
        for change in feed.changes(&view) {
            view.apply(&change);
            if change.key.is_kind(&resources::CLUSTER_VERSIONS) && change.object["status"].is_object() {
                let status = normalised(&change.object["status"]);
                let mut trace = trace.lock().unwrap();
                let known = trace.iter().rev().find_map(|phase| phase.statuses.last());
                if known != Some(&status) {
                    trace.last_mut().unwrap().statuses.push(status);
                }
            }
        }
        if writes.changed().await.is_err() {
            return;
        }
    }
}

static POD: LazyLock<Regex> = LazyLock::new(|| Regex::new("(version-[0-9.]*)-[a-z0-9]{5} ").unwrap());
static TIME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").unwrap());

/// How much is applied.
static DONE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r": \d+ of \d+ done \(\d+% complete\)(, )?").unwrap());
/// The place of a manifest in a payload.
static PLACE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\(\d+ of \d+\)").unwrap());

/// A status with times as whether they are there, conditions by type, and version pods without their random names.
fn normalised(status: &Value) -> Value {
    let mut status = masked(status);
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let by_type = conditions.into_iter().map(|mut condition| {
        let kind = condition["type"].as_str().unwrap_or_default().to_owned();
        let fields = condition.as_object_mut().unwrap();
        fields.remove("type");
        fields.remove("lastTransitionTime");
        (kind, condition)
    });
    status["conditions"] = Value::Object(by_type.collect());
    status
}

/// Replaces names and times that differ between runs, and the numbers of manifests: the simulated operator adds its own
/// manifests to a payload without them.
fn mask_text(text: &str) -> String {
    let masks: [(&LazyLock<Regex>, &str); 4] =
        [(&POD, "$1-xxxxx "), (&TIME, "TIME"), (&DONE, "$1"), (&PLACE, "(N of M)")];
    masks.iter().fold(text.to_owned(), |text, (mask, with)| mask.replace_all(&text, *with).into_owned())
}

fn masked(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let is_time = name.ends_with("Time") && value.is_string() && value != "null";
                (name.clone(), if is_time { json!("TIME") } else { masked(value) })
            };
            Value::Object(fields.iter().map(field).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::String(text) => json!(mask_text(text)),
        // A merge patch cannot set a null.
        Value::Null => json!("null"),
        other => other.clone(),
    }
}

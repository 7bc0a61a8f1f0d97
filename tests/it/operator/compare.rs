//! What differs between two traces of the same sequence.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::trace::Phase;

/// All differences, a line each; empty if there are none.
pub(super) fn differences(name: &str, real: &[Phase], simulated: &[Phase]) -> String {
    let mut text = String::new();
    if real.len() != simulated.len() {
        writeln!(text, "{name}: {} phases, simulated {}", real.len(), simulated.len()).unwrap();
    }
    let mut before = (BTreeMap::new(), BTreeMap::new());
    for (number, (real, simulated)) in real.iter().zip(simulated).enumerate() {
        let place = format!("{name}, phase {number} after {}", real.after);
        if real.statuses.last() != simulated.statuses.last() {
            let (wanted, found) = (last(real), last(simulated));
            fields(&place, "", &wanted, &found, &mut text);
        }
        let (wanted, found) = (steps(real, &mut before.0), steps(simulated, &mut before.1));
        if wanted != found {
            writeln!(
                text,
                "{place}: steps\n  real      {}\n  simulated {}",
                wanted.join("\n            "),
                found.join("\n            ")
            )
            .unwrap();
        }
    }
    text
}

fn last(phase: &Phase) -> Value {
    phase.statuses.last().cloned().unwrap_or(Value::Null)
}

/// Adds a line for each field that differs.
fn fields(place: &str, path: &str, real: &Value, simulated: &Value, text: &mut String) {
    match (real, simulated) {
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for name in names {
                fields(
                    place,
                    &format!("{path}.{name}"),
                    &real[name.as_str()],
                    &simulated[name.as_str()],
                    text,
                );
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                fields(place, &format!("{path}[{index}]"), one, other, text);
            }
        }
        _ if real != simulated => {
            writeln!(text, "{place}: {path}\n  real      {real}\n  simulated {simulated}").unwrap()
        }
        _ => {}
    }
}

/// The steps of a phase: what changed in the conditions and the history.
/// `before` has the last of the phase before, and gets that of this phase.
fn steps(phase: &Phase, before: &mut BTreeMap<String, String>) -> Vec<String> {
    let mut steps = Vec::new();
    for status in &phase.statuses {
        let now = parts(status);
        let gone = before.keys().filter(|name| !now.contains_key(*name)).map(|name| format!("no {name}"));
        let new = now.iter().filter(|(name, text)| before.get(*name) != Some(*text));
        let changed: Vec<String> = gone.chain(new.map(|(name, text)| format!("{name}={text}"))).collect();
        if !changed.is_empty() {
            steps.push(changed.join("; "));
        }
        *before = now;
    }
    steps
}

/// The conditions and the history of a status.
fn parts(status: &Value) -> BTreeMap<String, String> {
    let conditions = status["conditions"].as_object().cloned().unwrap_or_default();
    let conditions = conditions.into_iter().map(|(kind, condition)| {
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        (kind, format!("{} {} {:?}", text("status"), text("reason"), text("message")))
    });
    let history = status["history"].as_array().cloned().unwrap_or_default();
    let history = history.iter().map(|entry| format!("{} {}", entry["state"], entry["version"]));
    let history = ("history".to_owned(), history.collect::<Vec<_>>().join(", "));
    conditions.chain([history]).collect()
}

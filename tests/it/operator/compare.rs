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
        let place = format!("{name}, phase {number}");
        if real.statuses.last() != simulated.statuses.last() {
            let (wanted, found) = (last(real), last(simulated));
            fields(&place, "", &wanted, &found, &mut text);
        }
        let (wanted, found) = (steps(real, &mut before.0), steps(simulated, &mut before.1));
        // At an installation, operators may report before or after the first look at them.
        if wanted != found && number > 0 {
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
            writeln!(text, "{place}: {path}\n  real      {real}\n  simulated {simulated}").unwrap();
        }
        _ => {}
    }
}

/// The steps of a phase, for each condition and for the history on its own: the real operator writes several changes at
/// once if they are close. Without the values between two others that a fast write may leave out.
///
/// `before` has the last of the phase before, and gets that of this phase.
fn steps(phase: &Phase, before: &mut BTreeMap<String, String>) -> Vec<String> {
    let mut steps: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for status in &phase.statuses {
        let now = parts(status);
        let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        for name in names {
            let (old, new) = (before.get(name), now.get(name));
            if old != new {
                let of_name = steps.entry(name.clone()).or_default();
                of_name.push(new.cloned().unwrap_or_else(|| "gone".to_owned()));
            }
        }
        *before = now;
    }
    let lines = steps.into_iter().map(|(name, values)| format!("{name}: {}", lasting(values).join(" -> ")));
    lines.collect()
}

/// Drops the values `Working towards VERSION` before others: the operator may wait for something at once.
fn lasting(values: Vec<String>) -> Vec<String> {
    let last = values.len().saturating_sub(1);
    let is_passing = |value: &str| value.contains("Working towards") && !value.contains("waiting on");
    let kept = values.into_iter().enumerate().filter(|(at, value)| *at == last || !is_passing(value));
    let mut kept: Vec<String> = kept.map(|(_, value)| value).collect();
    kept.dedup();
    kept
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

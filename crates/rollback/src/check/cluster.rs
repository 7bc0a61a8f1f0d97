//! The objects of a cluster that meet a trap.

use serde_json::Value;

use super::explain::effect;
use crate::diff::{Candidate, Difference};
use crate::schema::{Path, Step};
use crate::trap::Trap;
use crate::witness::{Bench, answers_of_older};

/// Adds to each trap the objects that the older release rejects or changes at its place. Traps and candidates have the same
/// order.
pub(super) fn add_hits(bench: &mut Bench, candidates: &[Candidate], traps: &mut [Trap], objects: &[Value]) {
    let own: Vec<&Value> = objects.iter().filter(|object| bench.is_kind_of(object)).collect();
    for object in own {
        let causes = answers_of_older(bench, object);
        let paths: Vec<Path> = causes.iter().map(|cause| bench.path(&cause.place)).collect();
        for (candidate, trap) in candidates.iter().zip(traps.iter_mut()) {
            // A rejected object does not show which of its fields are pruned.
            let is_met = match candidate.difference {
                Difference::Pruned => occurs(object, candidate.path.steps()),
                _ => paths.contains(&effect(candidate)),
            };
            if is_met {
                trap.hits.push(name_of(object));
            }
        }
    }
}

/// Whether an object has a value at a path.
fn occurs(value: &Value, steps: &[Step]) -> bool {
    let Some((step, rest)) = steps.split_first() else { return true };
    match (step, value) {
        (Step::Field(name), Value::Object(fields)) => {
            fields.get(name).is_some_and(|inner| occurs(inner, rest))
        }
        (Step::Item, Value::Array(items)) => items.iter().any(|inner| occurs(inner, rest)),
        (Step::Entry, Value::Object(fields)) => fields.values().any(|inner| occurs(inner, rest)),
        _ => false,
    }
}

/// `namespace/name`, or the name alone.
fn name_of(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    match text("namespace") {
        "" => text("name").to_owned(),
        namespace => format!("{namespace}/{}", text("name")),
    }
}

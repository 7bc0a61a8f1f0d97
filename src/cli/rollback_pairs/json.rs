//! The JSON document.

use serde_json::{Value, json};

use super::pair::Outcome;
use super::reasons::of_verdict;
use crate::cli::sweep::word;
use crate::engine::pairs::{CellResult, Leg, PointOfNoReturn};

/// Renders all clusters.
pub(super) fn document(results: &[CellResult], seed: u64) -> String {
    let clusters: Vec<Value> = results.iter().map(cluster).collect();
    format!("{:#}\n", json!({ "seed": seed, "clusters": clusters }))
}

fn cluster(result: &CellResult) -> Value {
    let CellResult { cell, there, back, no_return } = result;
    json!({
        "from": cell.older.version.to_string(),
        "to": cell.newer.version.to_string(),
        "capabilitySet": cell.capability_set,
        "topology": cell.topology.name(),
        "outcome": Outcome::of(result).name(),
        "there": leg(there),
        "back": back.as_ref().map(leg),
        "noReturn": no_return.as_ref().map(point),
    })
}

fn leg(leg: &Leg) -> Value {
    json!({
        "outcome": word(&leg.verdict),
        "seconds": leg.took.as_secs_f64(),
        "reasons": of_verdict(&leg.verdict),
    })
}

fn point(point: &PointOfNoReturn) -> Value {
    json!({
        "outcome": word(&point.verdict),
        "seconds": point.moment.at.as_secs_f64(),
        "write": point.moment.writes,
        "lastWrite": point.moment.last_write,
        "reasons": of_verdict(&point.verdict),
    })
}

//! Clusters that have converged and still change.

use std::collections::BTreeMap;

use serde_json::json;

use super::OracleFinding;
use crate::engine::sweep::is_routine;
use crate::oracles::changed_path;
use crate::record::{Event, Record, WriteEvent};

/// How often an object may change in the quiet hour. Some controllers repeat a check every ten minutes or so.
const CHANGES_MAX: usize = 8;

/// Judges the quiet time, from this entry of the record on.
pub(super) fn judge(record: &Record, quiet_from: usize) -> Option<OracleFinding> {
    let mut changes: BTreeMap<(&str, &str, String), (usize, &WriteEvent)> = BTreeMap::new();
    for entry in record.entries.iter().skip(quiet_from) {
        let Event::Write(write) = &entry.event else { continue };
        if is_routine(write) || write.kind == "Lease" || write.code < 400 && changed_path(write).is_none() {
            continue;
        }
        let object = if write.code < 400 { write.key.name.clone() } else { String::new() };
        let counted = changes.entry((&write.by, &write.kind, object)).or_insert((0, write));
        counted.0 += 1;
    }
    let (count, write) = changes.into_values().max_by_key(|(count, _)| *count)?;
    (count > CHANGES_MAX).then(|| {
        let WriteEvent { by, verb, kind, key, .. } = write;
        let name = if key.namespace.is_empty() { key.name.clone() } else { format!("{}/{}", key.namespace, key.name) };
        let path = changed_path(write).unwrap_or_default();
        let text = format!("{by} still makes {verb} requests for {kind} {name} in a converged cluster: {count} in an hour {path}");
        let expect = if path.is_empty() {
            json!({ "requests": { "by": by, "verb": verb, "kind": kind, "at-most": CHANGES_MAX, "within": "1h" } })
        } else {
            json!({ "object": format!("{kind}/{name}"), "unchanged": [path], "throughout": "1h" })
        };
        let last_steps = vec![json!({ "advance": "3h" }), json!({ "expect": expect })];
        let cause = format!("{by} {verb} {kind} {path}");
        OracleFinding { cause: Some(cause), last_steps, ..OracleFinding::new("quiet", text) }
    })
}

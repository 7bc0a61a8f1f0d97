//! Changes of objects without a description of their own: the changed paths.

use serde_json::Value;
use windtunnel_core::Object;

use super::{Change, LAST_SYNCED, change};

/// The maximum number of paths; the rest are counted.
const PATHS_MAX: usize = 3;

/// The maximum depth of paths.
const DEPTH: usize = 3;

/// Paths that change with every write, or that other lines report.
const QUIET: &[&str] = &[
    "metadata.resourceVersion",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.annotations.control-plane.alpha.kubernetes.io/leader",
    "status.observedGeneration",
    "status.conditions",
];

/// Returns `changed metadata.labels.a, spec.replicas`; `None` if only [`QUIET`] paths changed.
pub(super) fn of(before: &Object, after: &Object) -> Option<Change> {
    let mut paths = Vec::new();
    collect(before, after, String::new(), DEPTH, &mut paths);
    paths.retain(|path| !QUIET.contains(&path.as_str()));
    if paths.is_empty() {
        return None;
    }
    let more = paths.len().saturating_sub(PATHS_MAX);
    paths.truncate(PATHS_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(change("paths", format!("changed {}{more}", paths.join(", "))))
}

fn collect(before: &Value, after: &Value, path: String, depth: usize, into: &mut Vec<String>) {
    if before == after || QUIET.contains(&path.as_str()) || path.ends_with(LAST_SYNCED) {
        return;
    }
    let (Value::Object(old), Value::Object(new), 1..) = (before, after, depth) else {
        into.push(path);
        return;
    };
    let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let nothing = &Value::Null;
        let (old, new) = (old.get(name).unwrap_or(nothing), new.get(name).unwrap_or(nothing));
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        collect(old, new, path, depth - 1, into);
    }
}

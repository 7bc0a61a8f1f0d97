//! Cases with a smaller cluster and fewer releases.

use serde_json::{Map, Value, json};

use super::changed::push;
use crate::explore::case::Case;

/// Adds cases with a simpler cluster, and without releases that no step names.
pub(super) fn smaller(case: &Case, found: &mut Vec<Case>) {
    fewer_releases(case, found);
    let keys: Vec<&String> =
        map(&case.environment, "cluster").keys().filter(|key| *key != "version").collect();
    for key in keys {
        push(case, found, |smaller| {
            if let Some(cluster) = cluster(smaller) {
                cluster.remove(key);
            }
        });
    }
    fewer_nodes(case, found);
}

fn fewer_releases(case: &Case, found: &mut Vec<Case>) {
    let steps = json!(case.timeline()).to_string();
    let is_named = |release: &str| steps.contains(&format!("\"{release}\""));
    push(case, found, |smaller| {
        if let Some(Value::Object(releases)) = smaller.environment.get_mut("releases") {
            releases.retain(|release, _| is_named(release));
            if releases.is_empty() {
                smaller.environment.remove("releases");
            }
        }
    });
    for release in map(&case.environment, "releases").keys() {
        push(case, found, |smaller| {
            if let Some(release) =
                smaller.environment.get_mut("releases").and_then(|all| all.get_mut(release))
            {
                *release = Value::Null;
            }
        });
    }
}

fn fewer_nodes(case: &Case, found: &mut Vec<Case>) {
    for (key, counts) in [("workers", [0, 1, 2]), ("control-plane", [1, 2, 3])] {
        for count in counts {
            push(case, found, |smaller| {
                if let Some(nodes) = nodes(smaller)
                    && nodes.get(key).and_then(Value::as_u64) > Some(count)
                {
                    nodes.insert(key.to_owned(), json!(count));
                }
            });
        }
    }
    for key in ["pools", "leases"] {
        push(case, found, |smaller| {
            if let Some(nodes) = nodes(smaller) {
                nodes.remove(key);
            }
        });
    }
    let pools = case.environment.get("cluster").map_or(&Value::Null, |cluster| &cluster["nodes"]["pools"]);
    for pool in pools.as_object().into_iter().flatten().map(|(name, _)| name) {
        push(case, found, |smaller| {
            if let Some(pools) = nodes(smaller).and_then(|nodes| nodes.get_mut("pools")) {
                pools[pool] = json!(1);
            }
        });
    }
}

/// A map of the environment; an empty one if there is none.
fn map<'e>(environment: &'e Map<String, Value>, key: &str) -> &'e Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    environment.get(key).and_then(Value::as_object).unwrap_or(&EMPTY)
}

fn cluster(case: &mut Case) -> Option<&mut Map<String, Value>> {
    case.environment.get_mut("cluster").and_then(Value::as_object_mut)
}

fn nodes(case: &mut Case) -> Option<&mut Map<String, Value>> {
    cluster(case)?.get_mut("nodes")?.as_object_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::case::Moment;

    #[test]
    fn clusters_and_releases_become_smaller() {
        let environment = |cluster: Value, releases: Value| {
            let both = json!({ "cluster": cluster, "releases": releases });
            both.as_object().cloned().unwrap()
        };
        let plain = json!({ "version": "4.18.1", "nodes": { "control-plane": 3, "workers": 1, "pools": { "infra": { "count": 2 } } } });
        let releases = json!({ "4.18.5": { "pull": "slow" }, "4.19.1": null });
        let update = Moment::new(0, json!({ "update": { "to": "4.18.5" } }));
        let case = Case {
            environment: environment(plain.clone(), releases.clone()),
            moments: vec![update],
            own_steps: Vec::new(),
        };
        let mut found = Vec::new();
        smaller(&case, &mut found);
        let found: Vec<Value> = found.into_iter().map(|case| Value::Object(case.environment)).collect();
        let with = |pointer: &str, value: Value| {
            let mut changed = Value::Object(case.environment.clone());
            *changed.pointer_mut(pointer).unwrap() = value;
            changed
        };
        for smaller in [
            with("/releases", json!({ "4.18.5": { "pull": "slow" } })),
            with("/releases/4.18.5", Value::Null),
            with("/cluster", json!({ "version": "4.18.1" })),
            with("/cluster/nodes/control-plane", json!(1)),
            with("/cluster/nodes/workers", json!(0)),
            with("/cluster/nodes/pools/infra", json!(1)),
        ] {
            assert!(found.contains(&smaller), "{smaller}");
        }
    }
}

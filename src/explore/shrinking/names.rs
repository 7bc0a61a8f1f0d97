//! Cases with simpler names: the first node, a well-known operator, the first patch releases of a minor.

use std::collections::{BTreeMap, BTreeSet};

use semver::Version;
use serde_json::{Map, Value};

use super::changed::push;
use crate::explore::case::Case;

/// An operator that every cluster has, and that no other operator needs.
const OPERATOR: &str = "dns";

/// Adds cases with simpler names of nodes, operators and releases.
pub(super) fn simpler(case: &Case, found: &mut Vec<Case>) {
    let mut names = BTreeSet::new();
    case.moments.iter().for_each(|moment| names_in(&moment.step, &mut names));
    for name in &names {
        for simpler in simpler_nodes(name) {
            push(case, found, |smaller| rename(smaller, &BTreeMap::from([(name.clone(), simpler)])));
        }
    }
    for operator in operators(case) {
        push(case, found, |smaller| {
            rename(smaller, &BTreeMap::from([(operator, OPERATOR.to_owned())]));
        });
    }
    push(case, found, simplify_releases);
}

/// Collects the parts of texts between slashes.
fn names_in(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => names.extend(text.split('/').map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| names_in(item, names)),
        Value::Object(fields) => fields.values().for_each(|value| names_in(value, names)),
        _ => {}
    }
}

/// The nodes that are simpler than this one: the first of its role, and the first of the cluster. Nothing for other names.
fn simpler_nodes(name: &str) -> Vec<String> {
    let Some((role, number)) = name.split_once('-') else { return Vec::new() };
    if number.parse::<u32>().is_err() || !role.chars().all(|c| c.is_ascii_lowercase()) {
        return Vec::new();
    }
    let simpler = [format!("{role}-0"), "worker-0".to_owned(), "master-0".to_owned()];
    let rank = |node: &str| simpler.iter().rposition(|simpler| simpler == node).unwrap_or(0);
    // Never back to a name that is less simple: shrinking has to end.
    let known = rank(name);
    let is_first = simpler.contains(&name.to_owned());
    simpler
        .iter()
        .enumerate()
        .filter(|(index, simpler)| *simpler != name && (!is_first || *index > known))
        .map(|(_, simpler)| simpler.clone())
        .collect()
}

/// The operators that faults and deletions name, apart from the simplest.
fn operators(case: &Case) -> BTreeSet<String> {
    let of_fault = |step: &Value| step["fault"]["operator"].as_str().map(str::to_owned);
    let of_deletion =
        |step: &Value| step["delete"].as_str()?.strip_prefix("ClusterOperator/").map(str::to_owned);
    let steps = || case.moments.iter().map(|moment| &moment.step);
    let mut found: BTreeSet<String> =
        steps().filter_map(of_fault).chain(steps().filter_map(of_deletion)).collect();
    found.remove(OPERATOR);
    found
}

/// Renames the cluster's release to the first patch of its minor, and the other releases to the next ones.
fn simplify_releases(case: &mut Case) {
    let own = case.environment.get("cluster").and_then(|cluster| cluster["version"].as_str());
    let others = case.environment.get("releases").and_then(Value::as_object);
    let mut versions: Vec<Version> = own.and_then(|own| own.parse().ok()).into_iter().collect();
    let mut rest: Vec<Version> =
        others.into_iter().flatten().filter_map(|(name, _)| name.parse().ok()).collect();
    rest.sort();
    // The order of releases stays: those after the cluster's are newer.
    versions.extend(rest);
    if !versions.is_sorted() {
        return;
    }
    let mut next: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let mut renamed = BTreeMap::new();
    for version in versions {
        let patch = next.entry((version.major, version.minor)).or_default();
        *patch += 1;
        let simpler = Version::new(version.major, version.minor, *patch);
        if simpler > version {
            return;
        }
        renamed.insert(version.to_string(), simpler.to_string());
    }
    rename(case, &renamed);
}

/// Replaces names in the environment and in all steps.
fn rename(case: &mut Case, names: &BTreeMap<String, String>) {
    let environment = renamed(&Value::Object(std::mem::take(&mut case.environment)), names);
    if let Value::Object(environment) = environment {
        case.environment = environment;
    }
    for moment in &mut case.moments {
        moment.step = renamed(&moment.step, names);
    }
}

fn renamed(value: &Value, names: &BTreeMap<String, String>) -> Value {
    let simpler = |text: &str| {
        let parts = text.split('/').map(|part| names.get(part).map_or(part, String::as_str));
        parts.collect::<Vec<_>>().join("/")
    };
    match value {
        Value::String(text) => Value::String(simpler(text)),
        Value::Array(items) => items.iter().map(|item| renamed(item, names)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (simpler(key), renamed(value, names)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::explore::case::Moment;

    #[expect(clippy::needless_pass_by_value, reason = "callers write the value in place")]
    fn case(version: &str, releases: Value, steps: &[Value]) -> Case {
        let environment = json!({ "cluster": { "version": version }, "releases": releases });
        Case {
            environment: environment.as_object().cloned().unwrap(),
            moments: steps.iter().map(|step| Moment::new(0, step.clone())).collect(),
            own_steps: Vec::new(),
        }
    }

    #[test]
    fn all_steps_name_the_first_node() {
        let steps = |node: &str| {
            [
                json!({ "fault": { "node": node, "is": "not-ready" } }),
                json!({ "fault": { "process": format!("kubelet/{node}"), "is": "killed" } }),
            ]
        };
        let mut found = Vec::new();
        simpler(&case("4.18.1", json!({}), &steps("infra-1")), &mut found);
        for node in ["infra-0", "worker-0", "master-0"] {
            assert!(found.contains(&case("4.18.1", json!({}), &steps(node))), "{node}");
        }
        assert_eq!(simpler_nodes("worker-0"), ["master-0"]);
        assert_eq!(simpler_nodes("infra-0"), ["worker-0", "master-0"]);
        for name in ["master-0", "99-worker-explored-3", "kube-apiserver", "kubelet"] {
            assert_eq!(simpler_nodes(name), Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn releases_get_the_first_numbers_of_their_minors() {
        let with = |one: &str, two: &str, three: &str| {
            let update = json!({ "update": { "to": two } });
            case(one, json!({ two: null, three: { "pull": "slow" } }), &[update])
        };
        let mut found = with("4.18.7", "4.18.9", "4.19.4");
        simplify_releases(&mut found);
        assert_eq!(found, with("4.18.1", "4.18.2", "4.19.1"));
    }

    #[test]
    fn a_well_known_operator_replaces_another() {
        let steps = |operator: &str| [json!({ "fault": { "operator": operator, "is": "degraded" } })];
        let mut found = Vec::new();
        simpler(&case("4.18.1", json!({}), &steps("etcd")), &mut found);
        assert!(found.contains(&case("4.18.1", json!({}), &steps("dns"))));
    }
}

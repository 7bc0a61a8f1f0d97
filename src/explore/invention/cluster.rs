//! Invented clusters: versions, nodes, pools, capabilities, feature sets, and the releases that exist.

use semver::Version;
use serde_json::{Map, Value, json};
use windtunnel_openshift::release::{OperatorFacts, Release};

use super::{Names, timeline};
use crate::explore::dice::Dice;

/// The oldest minor of invented clusters.
const OLDEST: (u64, u64) = (4, 12);

/// ClusterOperators of every cluster that faults and deletions concern.
const OPERATORS: [&str; 10] = [
    "authentication",
    "dns",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "machine-config",
    "monitoring",
    "network",
    "openshift-apiserver",
    "service-ca",
];

/// Faults of releases that last.
const LASTING_FAULTS: [(&str, &str); 8] = [
    ("pull", "slow"),
    ("pull", "manifest-unknown"),
    ("pull", "hangs"),
    ("payload", "corrupt"),
    ("containers", "crash"),
    ("openpgp", "missing"),
    ("recommended", "false"),
    ("payload", "no-image-references"),
];

/// An invented cluster.
pub(super) struct Cluster {
    pub(super) environment: Map<String, Value>,
    pub(super) names: Names,
}

impl Cluster {
    pub(super) fn invent(dice: &mut Dice) -> Self {
        let lines: Vec<(u64, u64)> = Release::lines().filter(|line| *line >= OLDEST).collect();
        let index = usize::try_from(dice.between(0, lines.len() as u64 - 1)).unwrap_or(0);
        let line = lines[index];
        let patch = dice.between(1, 9);
        let version = Version::new(line.0, line.1, patch);
        let mut releases = Map::new();
        for _ in 0..dice.between(1, 2) {
            releases
                .insert(Version::new(line.0, line.1, patch + dice.between(1, 9)).to_string(), Value::Null);
        }
        if let Some((major, minor)) = lines.get(index + 1).filter(|_| dice.chance(50)) {
            releases.insert(Version::new(*major, *minor, dice.between(0, 9)).to_string(), Value::Null);
        }
        for release in releases.values_mut() {
            if dice.chance(12) {
                let (key, value) = *dice.pick(&LASTING_FAULTS);
                let value = if value == "false" { json!(false) } else { json!(value) };
                *release = json!({ key: value });
            }
        }
        let cluster = cluster(dice, &version);
        let names = names(version.to_string(), releases.keys().cloned().collect(), &cluster);
        let mut environment = Map::new();
        environment.insert("cluster".to_owned(), cluster);
        environment.insert("releases".to_owned(), Value::Object(releases));
        Self { environment, names }
    }
}

fn cluster(dice: &mut Dice, version: &Version) -> Value {
    let mut cluster = json!({ "version": version.to_string(), "nodes": nodes(dice) });
    if dice.chance(15) {
        cluster["insights"] = json!(true);
    }
    if dice.chance(12) {
        cluster["platform"] = json!(*dice.pick(&["AWS", "GCP", "VSphere", "BareMetal"]));
    }
    if dice.chance(8) {
        cluster["feature-set"] = json!("TechPreviewNoUpgrade");
    }
    if dice.chance(8) {
        cluster["admin-acks"] = json!(false);
    }
    if dice.chance(6) {
        cluster["channel"] = json!("");
    }
    if dice.chance(6) {
        cluster["nodes"]["leases"] = json!(true);
    }
    let sets: Vec<String> = Release::find(version)
        .map_or_else(|_| Vec::new(), |release| release.capability_sets.into_keys().collect());
    if !sets.is_empty() && dice.chance(25) {
        cluster["baseline-capability-set"] = json!(dice.pick(&sets));
    }
    if dice.chance(15) {
        cluster["objects"] = guarded_workload(dice);
    }
    cluster
}

fn nodes(dice: &mut Dice) -> Value {
    let (control_plane, workers) =
        *dice.pick(&[(3, 3), (3, 2), (3, 2), (3, 1), (3, 0), (1, 0), (1, 0), (1, 1), (1, 2), (2, 2)]);
    let mut nodes = json!({ "control-plane": control_plane, "workers": workers });
    if workers > 0 && dice.chance(25) {
        let count = dice.between(1, 2);
        nodes["pools"] = match dice.between(0, 2) {
            0 => json!({ "infra": count }),
            1 => json!({ "infra": { "count": count, "max-unavailable": "50%" } }),
            _ => json!({ "infra": { "count": count, "max-unavailable": 2 } }),
        };
    }
    nodes
}

/// A Deployment whose pods a budget guards, which always allows one eviction.
fn guarded_workload(dice: &mut Dice) -> Value {
    json!([
        timeline::deployment("web", dice.between(2, 3)),
        {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": { "name": "web", "namespace": "default" },
            "spec": { "maxUnavailable": 1, "selector": { "matchLabels": { "app": "web" } } },
        },
    ])
}

/// The names in a cluster of this description.
pub(super) fn names(version: String, releases: Vec<String>, cluster: &Value) -> Names {
    let nodes = &cluster["nodes"];
    let numbered =
        |role: &str, count: u64| (0..count).map(|number| format!("{role}-{number}")).collect::<Vec<_>>();
    let mut all = numbered("master", nodes["control-plane"].as_u64().unwrap_or(3));
    all.extend(numbered("worker", nodes["workers"].as_u64().unwrap_or(3)));
    let mut pools = vec!["master".to_owned(), "worker".to_owned()];
    for (pool, plan) in nodes["pools"].as_object().into_iter().flatten() {
        all.extend(numbered(pool, plan.as_u64().or(plan["count"].as_u64()).unwrap_or(0)));
        pools.push(pool.clone());
    }
    let release = version.parse().ok().and_then(|version| Release::find(&version).ok());
    let program = |operator: &str| {
        let mut components = release.iter().flat_map(|release| release.components.iter());
        let is_meant = |facts: &OperatorFacts| facts.cluster_operator == operator;
        let found = components.find(|component| component.operator.as_ref().is_some_and(is_meant));
        found.map(|component| (operator.to_owned(), component.name.clone()))
    };
    let (operators, programs) = OPERATORS.iter().filter_map(|operator| program(operator)).unzip();
    Names { version, releases, nodes: all, pools, operators, programs }
}

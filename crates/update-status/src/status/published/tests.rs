//! Insights in, lines out, for cases that no recorded cluster covers.

use serde_json::{Value, json};

use super::*;
use crate::insight::PoolNodesUpdateSummary;

const AT: &str = "2024-01-01T00:00:00Z";
const MOVING: &str = "Draining";

fn insight(kind: &str, member: &str, content: &Value) -> Insight {
    serde_json::from_value(json!({ "uid": "x", "acquiredAt": AT, "type": kind, member: content })).unwrap()
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({ "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": AT })
}

fn cluster_version(updating: &str, previous: &str, target: &str) -> Insight {
    let content = json!({
        "conditions": [condition("Updating", updating, "R", "m")],
        "resource": { "resource": "clusterversions", "name": "version" },
        "assessment": "Progressing", "completion": 0,
        "versions": { "previous": { "version": previous }, "target": { "version": target } },
    });
    insight("ClusterVersion", "clusterVersion", &content)
}

fn pool(total: usize, message: &str) -> Insight {
    let content = json!({
        "conditions": [condition("Updating", "True", "Progressing", message)], "name": "worker",
        "resource": { "resource": "machineconfigpools", "name": "worker" },
        "scopeType": "WorkerPool", "assessment": "Progressing", "completion": 0,
        "summaries": [{ "type": "Total", "count": total }, { "type": "Available", "count": total }],
    });
    insight("MachineConfigPool", "machineConfigPool", &content)
}

fn node(name: &str, version: &str, reason: &str) -> Insight {
    let content = json!({
        "conditions": [condition("Updating", "True", reason, "")], "name": name, "version": version,
        "resource": { "resource": "nodes", "name": name },
        "poolResource": { "resource": "machineconfigpools", "name": "worker" }, "scopeType": "WorkerPool",
    });
    insight("Node", "node", &content)
}

#[test]
fn a_node_at_the_target_version_is_updated_except_in_an_architecture_migration() {
    let text = |cluster_version| {
        let insights = [cluster_version, pool(1, "0 of 1 nodes are updated"), node("w0", "4.18.7", MOVING)];
        sections_on_nodes(&insights, Details::None)
    };
    assert_eq!(text(cluster_version("False", "4.18.3", "4.18.7")), NOT_UPDATING);
    assert_eq!(text(cluster_version("False", "4.18.7", "4.18.7")), NOT_UPDATING, "the migration is over");
    let updated = text(cluster_version("True", "4.18.3", "4.18.7"));
    assert!(updated.contains("\nw0     Completed    Updated   4.18.7    -"), "{updated}");
    let migrates = text(cluster_version("True", "4.18.7", "4.18.7"));
    assert!(migrates.contains("\nw0     Progressing   Draining   4.18.7    +10m"), "{migrates}");
}

#[test]
fn counts_a_pool_beyond_the_limit_of_summaries_correctly() {
    let mut pool = pool(4096, "900 of 5000 nodes are updated");
    let Detail::MachineConfigPool(found) = &mut pool.detail else { panic!("{pool:?}") };
    found.summaries.push(PoolNodesUpdateSummary { kind: Sort::Excluded, count: 4096 });
    let insights = [cluster_version("True", "4.18.3", "4.18.7"), pool, node("w0", "4.18.3", MOVING)];
    let text = sections_on_nodes(&insights, Details::None);
    let row = "\nworker        Excluded     18% (900/5000)   5000 Available, 0 Progressing, 0 Draining, 4099 Excluded\n";
    assert!(text.contains(row), "{text}");
}

#[test]
fn insights_of_producers_are_a_section_with_their_informers() {
    let produced = |uid: &str, level: &str, summary: &str| -> (String, Insight) {
        let health = json!({
            "startedAt": "2024-01-01T00:00:00Z",
            "scope": {"type": "ControlPlane", "resources": [{"resource": "nodes", "name": "n"}]},
            "impact": {"level": level, "type": "Data Loss", "summary": summary, "description": "a\nb"},
            "remediation": {"reference": "https://example.com"},
        });
        let insight = json!({
            "uid": uid, "acquiredAt": "2024-01-01T00:00:00Z", "type": "Health", "health": health,
        });
        (format!("usc.{uid}"), serde_json::from_value(insight).unwrap())
    };
    let insights = BTreeMap::from([
        produced("cpi.a", "Critical", "the controller's own"),
        produced("x.backup.old", "Info", "The backup is old"),
        produced("x.storage.replica", "Warning", "A replica is missing"),
    ]);
    let expected = "= Health Reported by Other Producers =\n\
                    LEVEL     IMPACT      INFORMER   MESSAGE\n\
                    Warning   Data Loss   storage    A replica is missing\n\
                    Info      Data Loss   backup     The backup is old\n";
    assert_eq!(section_of_producers(&insights, Details::None), expected);
    let full = section_of_producers(&insights, Details::Health);
    assert!(full.contains("Message: A replica is missing\n  Informer:    storage\n"), "{full}");
    assert!(full.contains("  Description: a\n               b\n"), "{full}");
    assert_eq!(section_of_producers(&BTreeMap::from([produced("cpi.a", "Info", "")]), Details::None), "");
}

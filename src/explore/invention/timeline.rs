//! What administrators do to an invented cluster.

use serde_json::{Value, json};

use super::Names;
use crate::explore::case::Moment;
use crate::explore::dice::Dice;

/// The first request: an update, in most cases.
pub(super) fn beginning(dice: &mut Dice, names: &Names) -> Option<Moment> {
    let at = 60 * dice.between(0, 10);
    dice.chance(85).then(|| Moment::new(at, update(dice, &names.releases)))
}

/// Invents an action at a moment, with the one that ends it, if there is one.
pub(super) fn steps(dice: &mut Dice, names: &Names, at: u64) -> Vec<Moment> {
    let later = at + 60 * dice.between(1, 180);
    let one = |step: Value| vec![Moment::new(at, step)];
    let pool = dice.pick(&names.pools).clone();
    match dice.between(0, 17) {
        0 | 1 => one(update(dice, &names.releases)),
        2 | 3 => one(json!({ "update": { "to": names.version, "force": dice.chance(70) } })),
        4 => one(json!("clear-update")),
        5 | 6 => {
            let paused = |paused: bool| pool_patch(&pool, &json!({ "paused": paused }));
            vec![Moment::new(at, paused(true)), Moment::new(later, paused(false))]
        }
        7 => {
            let count = dice.pick(&[json!(1), json!(2), json!("50%"), json!("100%")]).clone();
            one(pool_patch(&pool, &json!({ "maxUnavailable": count })))
        }
        8 | 9 => {
            let role = *dice.pick(&["master", "worker"]);
            let name = format!("99-{role}-explored-{}", at / 60);
            let delete = json!({ "delete": format!("MachineConfig/{name}") });
            vec![Moment::new(at, machine_config(&name, role)), Moment::new(later, delete)]
        }
        10 => one(json!({ "join": format!("worker-{}", 10 + at / 60) })),
        11 => one(json!({ "delete": format!("ClusterOperator/{}", dice.pick(&names.operators)) })),
        12 => one(version_patch(&json!({ "channel": *dice.pick(&["", "fast-4.18", "stable-4.14"]) }))),
        13 => one(feature_set(dice)),
        14 => {
            let labels = json!({ "metadata": { "labels": { "example.com/zone": "a" } } });
            one(
                json!({ "patch": { "object": format!("Node/{}", dice.pick(&names.nodes)), "merge": labels } }),
            )
        }
        15 => vec![Moment::new(at, overrides(true)), Moment::new(later, overrides(false))],
        16 => {
            let name = format!("explored-{}", at / 60);
            let delete = json!({ "delete": format!("Deployment/default/{name}") });
            let apply = json!({ "apply": deployment(&name, dice.between(1, 3)) });
            vec![Moment::new(at, apply), Moment::new(later, delete)]
        }
        _ => one(capabilities(dice)),
    }
}

/// Whether a step ends what an earlier one began.
pub(super) fn ends(step: &Value, begun: &Value) -> bool {
    if let Some(object) = step["delete"].as_str() {
        let metadata = &begun["apply"]["metadata"];
        let parts = [&begun["apply"]["kind"], &metadata["namespace"], &metadata["name"]];
        let parts: Vec<&str> = parts.iter().filter_map(|part| part.as_str()).collect();
        return parts.join("/") == object;
    }
    let (merge, before) = (&step["patch"]["merge"]["spec"], &begun["patch"]["merge"]["spec"]);
    let is_same = step["patch"]["object"] == begun["patch"]["object"];
    let continues = merge["paused"] == false && before["paused"] == true;
    let manages = merge.get("overrides").is_some_and(Value::is_null) && before["overrides"].is_array();
    is_same && (continues || manages)
}

fn update(dice: &mut Dice, releases: &[String]) -> Value {
    let mut update = json!({ "to": dice.pick(releases) });
    if dice.chance(30) {
        update["force"] = json!(true);
    }
    json!({ "update": update })
}

fn pool_patch(pool: &str, spec: &Value) -> Value {
    json!({ "patch": { "object": format!("MachineConfigPool/{pool}"), "merge": { "spec": spec } } })
}

fn version_patch(spec: &Value) -> Value {
    json!({ "patch": { "object": "ClusterVersion/version", "merge": { "spec": spec } } })
}

fn machine_config(name: &str, role: &str) -> Value {
    json!({ "apply": {
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": { "name": name, "labels": { "machineconfiguration.openshift.io/role": role } },
        "spec": { "config": { "ignition": { "version": "3.2.0" } }, "kernelArguments": ["quiet"] },
    } })
}

/// A Deployment of the administrator.
pub(super) fn deployment(name: &str, replicas: u64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "namespace": "default", "name": name },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "web", "image": "quay.io/example/web:1" }] },
            },
        },
    })
}

fn feature_set(dice: &mut Dice) -> Value {
    let name = *dice.pick(&["TechPreviewNoUpgrade", "CustomNoUpgrade", "DevPreviewNoUpgrade"]);
    json!({ "feature-set": { "name": name, "quick": dice.chance(50) } })
}

/// Takes a Deployment away from the cluster-version operator, or gives it back.
fn overrides(unmanaged: bool) -> Value {
    let entry = json!([{
        "kind": "Deployment", "group": "apps", "namespace": "openshift-dns-operator", "name": "dns-operator",
        "unmanaged": true,
    }]);
    version_patch(&json!({ "overrides": if unmanaged { entry } else { Value::Null } }))
}

fn capabilities(dice: &mut Dice) -> Value {
    let enabled = *dice.pick(&["Console", "Insights", "Storage", "baremetal", "marketplace"]);
    version_patch(&json!({ "capabilities": { "additionalEnabledCapabilities": [enabled] } }))
}

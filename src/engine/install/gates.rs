//! The admin gates of the installed release, and the acknowledgements of an administrator who has prepared the updates
//! of the plan.

use serde_json::{Value, json};
use windtunnel_openshift::release::Release;

use crate::plan::ClusterPlan;

/// Returns a base object, with data if it is the ConfigMap of the gates or of the acknowledgements.
pub(super) fn filled(plan: &ClusterPlan, mut object: Value) -> Value {
    let is_named = |name: &str| object["kind"] == "ConfigMap" && object["metadata"]["name"] == name;
    let data = if is_named("admin-gates") {
        json!(plan.release.admin_gates)
    } else if is_named("admin-acks") && plan.acknowledges_gates {
        let releases = plan.releases.iter().map(|planned| &planned.release).chain([&plan.release]);
        releases.flat_map(gate_names).map(|gate| (gate.clone(), json!("true"))).collect()
    } else {
        return object;
    };
    if data.as_object().is_some_and(|data| !data.is_empty()) {
        object["data"] = data;
    }
    object
}

fn gate_names(release: &Release) -> impl Iterator<Item = &String> {
    release.admin_gates.keys()
}

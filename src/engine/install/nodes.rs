//! The nodes of an installed cluster, and the machines beneath them.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{COMPLETED_AGO, pools, topology};
use crate::actors::cvo::Installed;
use crate::actors::{kubelet, mco, operators};
use crate::base::clock::{Time, rfc3339};
use crate::base::rng::Streams;
use crate::model::Object;
use crate::model::machine::{Disk, StaticPod};
use crate::scenario::plan::{ClusterPlan, PastNode};

/// The planned nodes: control plane first. Where there are workers, that is for its own pods alone; where there are none, its
/// nodes are workers as well.
fn planned(plan: &ClusterPlan) -> Vec<Cow<'_, PastNode>> {
    if !plan.past.nodes.is_empty() {
        return plan.past.nodes.iter().map(Cow::Borrowed).collect();
    }
    let master = |index| {
        let mut node = PastNode::new(format!("master-{index}"), true);
        if plan.worker_nodes == 0 {
            node.labels.insert(role_label("worker"), String::new());
        } else {
            node.taints.push(json!({ "key": role_label("master"), "effect": "NoSchedule" }));
        }
        node
    };
    let masters = (0..plan.control_plane_nodes).map(master);
    let workers = (0..plan.worker_nodes).map(|index| PastNode::new(format!("worker-{index}"), false));
    masters.chain(workers).map(Cow::Owned).collect()
}

fn role_label(role: &str) -> String {
    format!("node-role.kubernetes.io/{role}")
}

/// The nodes of the cluster, with what the machine-config daemon notes on them.
pub(super) fn nodes(plan: &ClusterPlan, installed: &Installed<'_>, now: Time) -> Vec<Object> {
    let pools = pools(plan, installed);
    let nodes = (0..).zip(planned(plan)).map(|(number, planned)| {
        let mut node = node(&planned, plan, now);
        if let Some(pools) = &pools {
            mco::annotate_node(&mut node, planned.role(), topology(plan.control_plane_nodes), pools);
        }
        kubelet::connect(&mut node, number);
        Object::new(node)
    });
    nodes.collect()
}

/// The machines beneath the nodes: the name of the node, what the machine-config daemon left on the disk, and what the kubelet
/// runs by itself.
pub(in crate::engine) fn machines(
    plan: &ClusterPlan,
    installed: &Installed<'_>,
) -> Vec<(String, Disk, Vec<StaticPod>)> {
    let pools = pools(plan, installed);
    let disk = |node: &PastNode| pools.as_ref().map(|pools| pools.disk(node.role())).unwrap_or_default();
    let of_control_plane =
        if plan.installed { operators::installed_static_pods(&plan.release) } else { Vec::new() };
    let static_pods =
        |node: &PastNode| if node.is_control_plane { of_control_plane.clone() } else { Vec::new() };
    planned(plan).into_iter().map(|node| (node.name.clone(), disk(&node), static_pods(&node))).collect()
}

fn node(planned: &PastNode, plan: &ClusterPlan, now: Time) -> Value {
    let (name, role, release) = (&planned.name, planned.role(), &plan.release);
    let machine = plan.node_architectures.get(name).copied().unwrap_or(release.architecture).of_machines();
    let mut labels = json!(planned.labels);
    labels["kubernetes.io/hostname"] = json!(name);
    labels["kubernetes.io/arch"] = json!(machine);
    labels["kubernetes.io/os"] = json!("linux");
    labels[role_label(role)] = json!("");
    if planned.is_control_plane {
        labels[role_label("control-plane")] = json!("");
    }
    let mut spec = json!({});
    if !planned.taints.is_empty() {
        spec["taints"] = json!(planned.taints);
    }
    if planned.is_unschedulable {
        spec["unschedulable"] = json!(true);
    }
    let mut conditions = kubelet::ready_conditions(now - COMPLETED_AGO);
    for condition in &mut conditions {
        condition["lastHeartbeatTime"] = json!(rfc3339(now));
    }
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": name, "labels": labels },
        "spec": spec,
        "status": {
            "conditions": conditions,
            "nodeInfo": {
                "bootID": Streams::new(0).stream(&format!("installed/{name}")).uuid(),
                "kubeletVersion": release.kubelet_version(),
                "osImage": release.os_name(),
                "kernelVersion": release.kernel_version(machine),
                "containerRuntimeVersion": release.container_runtime_version(),
                "operatingSystem": "linux",
                "architecture": machine,
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use semver::Version;

    use super::*;
    use crate::model::release::Release;

    #[test]
    fn a_control_plane_without_workers_does_their_work() {
        let release = Release::find(&Version::parse("4.18.3").unwrap()).unwrap();
        let of = |workers| {
            let plan = ClusterPlan { worker_nodes: workers, ..ClusterPlan::of(release.clone()) };
            node(&planned(&plan)[0], &plan, Time::default())
        };
        let worker = "node-role.kubernetes.io/worker";
        let (apart, compact) = (of(1), of(0));
        let taints = json!([{ "key": "node-role.kubernetes.io/master", "effect": "NoSchedule" }]);
        assert_eq!((&apart["spec"]["taints"], &apart["metadata"]["labels"][worker]), (&taints, &Value::Null));
        assert_eq!((&compact["spec"], &compact["metadata"]["labels"][worker]), (&json!({}), &json!("")));
    }
}

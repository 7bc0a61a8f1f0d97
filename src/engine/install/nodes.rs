//! The nodes of an installed cluster, and their machines.

use std::borrow::Cow;

use serde_json::{Value, json};
use windtunnel_controllers::kubelet;
use windtunnel_controllers::machine::{Disk, StaticPod};
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::rng::Streams;
use windtunnel_openshift::cvo::InstalledPayload;
use windtunnel_openshift::release::Release;
use windtunnel_openshift::{mco, operators};

use super::{COMPLETED_AGO, pools, topology};
use crate::plan::{ClusterPlan, NodePlan, PoolPlan};

/// The planned nodes, control plane first. If there are workers, the control plane is tainted; if there are
/// none, its nodes are workers as well.
fn planned(plan: &ClusterPlan) -> Vec<Cow<'_, NodePlan>> {
    if !plan.past.nodes.is_empty() {
        return plan.past.nodes.iter().map(Cow::Borrowed).collect();
    }
    let master = |index| {
        let mut node = NodePlan::new(format!("master-{index}"), true);
        if plan.all_workers() == 0 {
            node.labels.insert(role_label("worker"), String::new());
        } else {
            node.taints.push(json!({ "key": role_label("master"), "effect": "NoSchedule" }));
        }
        node
    };
    let masters = (0..plan.control_plane_nodes).map(master);
    let workers = (0..plan.worker_nodes).map(|index| NodePlan::new(format!("worker-{index}"), false));
    let pooled = plan.pools.iter().flat_map(|pool| pool.nodes().map(move |name| pooled(pool, name)));
    let labelled = |mut node: NodePlan| {
        node.labels.extend(plan.node_labels.get(&node.name).cloned().unwrap_or_default());
        Cow::Owned(node)
    };
    masters.chain(workers).chain(pooled).map(labelled).collect()
}

/// A node of a custom pool, which has its role as well as that of a worker.
fn pooled(pool: &PoolPlan, name: String) -> NodePlan {
    let mut labels = pool.labels.clone();
    labels.insert(role_label(&pool.name), String::new());
    NodePlan { custom_pool: Some(pool.name.clone()), labels, ..NodePlan::new(name, false) }
}

fn role_label(role: &str) -> String {
    format!("node-role.kubernetes.io/{role}")
}

/// The nodes of the cluster, with the annotations of the machine-config daemon.
pub(super) fn nodes(plan: &ClusterPlan, installed: &InstalledPayload<'_>, now: Time) -> Vec<Object> {
    let pools = pools(plan, installed);
    let nodes = (0..).zip(planned(plan)).map(|(number, planned)| {
        let mut node = node(&planned, plan, now);
        if let Some(pools) = &pools {
            mco::annotate_node(&mut node, planned.pool(), topology(plan.control_plane_nodes), pools);
        }
        kubelet::assign_addresses(&mut node, number);
        kubelet::set_capacity(&mut node);
        for (field, amounts) in planned.resources.as_object().into_iter().flatten() {
            node["status"][field] = amounts.clone();
        }
        Object::new(node)
    });
    nodes.collect()
}

/// The machines of the nodes: the node's name, the disk as the machine-config daemon left it, and the static
/// pods of the kubelet.
pub(in crate::engine) fn machines(
    plan: &ClusterPlan,
    installed: &InstalledPayload<'_>,
) -> Vec<(String, Disk, Vec<StaticPod>)> {
    let pools = pools(plan, installed);
    let disk = |node: &NodePlan| pools.as_ref().map(|pools| pools.disk(node.pool())).unwrap_or_default();
    let of_control_plane =
        if plan.installed { operators::installed_static_pods(&plan.release) } else { Vec::new() };
    let static_pods =
        |node: &NodePlan| if node.is_control_plane { of_control_plane.clone() } else { Vec::new() };
    planned(plan).into_iter().map(|node| (node.name.clone(), disk(&node), static_pods(&node))).collect()
}

fn node(planned: &NodePlan, plan: &ClusterPlan, now: Time) -> Value {
    let (name, release) = (&planned.name, &plan.release);
    let machine = plan.node_architectures.get(name).copied().unwrap_or(release.architecture).of_machines();
    let mut info = json!({
        "bootID": Streams::new(0).stream(&format!("installed/{name}")).uuid(),
        "operatingSystem": "linux",
        "architecture": machine,
    });
    set_os_info(&mut info, release, machine);
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
        "metadata": { "name": name, "labels": labels_of(planned, machine) },
        "spec": spec,
        "status": { "conditions": conditions, "nodeInfo": info },
    })
}

/// The labels of a node on a machine of this architecture.
pub(in crate::engine) fn labels_of(node: &NodePlan, machine: &str) -> Value {
    let mut labels = json!(node.labels);
    // The kubelet sets these when it registers the node. A plan may have others, such as those of Windows.
    for (key, value) in [
        ("kubernetes.io/hostname", node.name.as_str()),
        ("kubernetes.io/arch", machine),
        ("kubernetes.io/os", "linux"),
    ] {
        if labels[key].is_null() {
            labels[key] = json!(value);
        }
    }
    labels[role_label(node.role())] = json!("");
    if node.is_control_plane {
        labels[role_label("control-plane")] = json!("");
    }
    labels
}

/// Sets the fields of `nodeInfo` that the operating system of a release reports on a machine of this
/// architecture.
pub(in crate::engine) fn set_os_info(info: &mut Value, release: &Release, machine: &str) {
    info["kubeletVersion"] = json!(release.kubelet_version());
    info["osImage"] = json!(release.os_name());
    info["kernelVersion"] = json!(release.kernel_version(machine));
    info["containerRuntimeVersion"] = json!(release.container_runtime_version());
}

#[cfg(test)]
mod tests {
    use semver::Version;

    use super::*;

    #[test]
    fn a_control_plane_without_workers_runs_their_workloads() {
        let release = Release::find(&Version::parse("4.18.3").unwrap()).unwrap();
        let of = |workers| {
            let plan = ClusterPlan { worker_nodes: workers, ..ClusterPlan::new(release.clone()) };
            node(&planned(&plan)[0], &plan, Time::default())
        };
        let worker = "node-role.kubernetes.io/worker";
        let (apart, compact) = (of(1), of(0));
        let taints = json!([{ "key": "node-role.kubernetes.io/master", "effect": "NoSchedule" }]);
        assert_eq!((&apart["spec"]["taints"], &apart["metadata"]["labels"][worker]), (&taints, &Value::Null));
        assert_eq!((&compact["spec"], &compact["metadata"]["labels"][worker]), (&json!({}), &json!("")));
    }
}

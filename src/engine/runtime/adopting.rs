//! Gives machines to the nodes that clients create beside an API server without a cluster, as if they had been running before.

use serde_json::{Value, json};
use windtunnel_controllers::kubelet;
use windtunnel_controllers::machine::Disk;
use windtunnel_core::resources::{INFRASTRUCTURES, NODES};
use windtunnel_core::{Identity, Object, Write};
use windtunnel_openshift::mco;

use super::simulation::Simulation;
use crate::engine::install;

/// The architecture of a machine whose Node names none.
const ARCHITECTURE: &str = "amd64";

impl Simulation {
    /// Gives machines to new nodes, and takes down those of deleted ones.
    pub(in crate::engine) fn adopt_nodes(&mut self) {
        for name in std::mem::take(&mut self.observers.adoption.changed) {
            let node = self.view.get(&NODES, "", &name).cloned();
            let uid = node.as_ref().map(|node| node.uid().to_owned());
            if self.observers.adoption.adopted.get(&name) == uid.as_ref() {
                continue;
            }
            if self.observers.adoption.adopted.remove(&name).is_some() {
                self.take_down(&name);
                self.machines.remove(&name);
            }
            if let (Some(node), Some(uid)) = (node, uid) {
                if self.adopt(&node) {
                    self.observers.adoption.adopted.insert(name, uid);
                } else {
                    // The kubelet repeats it when the cluster settles again.
                    self.observers.adoption.changed.insert(name);
                }
            }
        }
    }

    /// Reports the status of a machine, and runs its programs. Returns false if the API server rejects the report.
    fn adopt(&mut self, node: &Object) -> bool {
        let name = node.name().to_owned();
        // A node of an earlier start says what its machine has.
        let known = node.annotation(mco::annotations::CURRENT_CONFIG);
        let disk = match known {
            Some(config) => mco::server::disk(&self.view, config),
            None => mco::server::first_disk(&self.view, pool_of(node)),
        };
        let disk = disk.unwrap_or_default();
        let number = self.observers.adoption.count;
        let registered = self.reported(node, &disk, number);
        let (by, who) =
            (format!("kubelet/{name}"), Identity::new(format!("system:node:{name}"), &["system:nodes"]));
        let metadata = json!({ "metadata": registered["metadata"] });
        let status = json!({ "status": registered["status"] });
        for write in [
            Write::merge_patch(&NODES, "", &name, metadata),
            Write::merge_patch_status(&NODES, "", &name, status),
        ] {
            if self.write(&by, &who, &write).is_err() {
                return false;
            }
        }
        self.observers.adoption.count += 1;
        self.add_machine(&name, disk, Vec::new());
        true
    }

    /// The labels, annotations and status of a node as its machine reports them. Values of the client stay.
    fn reported(&self, node: &Object, disk: &Disk, number: u32) -> Value {
        let name = node.name();
        let machine = match node.text("/status/nodeInfo/architecture") {
            "" => ARCHITECTURE,
            machine => machine,
        };
        let mut info = json!({
            "bootID": self.streams.stream(&format!("adopted/{name}/{}", node.uid())).uuid(),
            "operatingSystem": "linux",
            "architecture": machine,
        });
        if let Some(release) = self
            .environment
            .release_of_os(&disk.os_image)
            .or_else(|| self.environment.releases.values().next())
        {
            install::set_os_info(&mut info, release, machine);
        }
        let labels = json!({
            "kubernetes.io/hostname": name,
            "kubernetes.io/arch": machine,
            "kubernetes.io/os": "linux",
        });
        let mut report = json!({
            "kind": "Node",
            "metadata": { "name": name, "labels": labels },
            "status": { "conditions": kubelet::ready_conditions(self.now()), "nodeInfo": info },
        });
        if !disk.config.is_empty() && node.annotation(mco::annotations::CURRENT_CONFIG).is_none() {
            let infrastructure = self.view.get(&INFRASTRUCTURES, "", "cluster");
            let topology = infrastructure.map_or("", |object| object.text("/status/controlPlaneTopology"));
            let release = self.environment.release_of_os(&disk.os_image);
            let line = release.map_or((0, 0), windtunnel_openshift::release::Release::line);
            mco::annotate_done_node(&mut report, &disk.config, topology, line);
        }
        kubelet::assign_addresses(&mut report, number);
        kubelet::set_capacity(&mut report);
        for field in ["capacity", "allocatable", "addresses"] {
            let given = &node["status"][field];
            if !given.is_null() {
                report["status"][field] = given.clone();
            }
        }
        report
    }
}

/// The pool of a node by its role.
fn pool_of(node: &Object) -> &'static str {
    let is = |role: &str| node.label(&format!("node-role.kubernetes.io/{role}")).is_some();
    if is("master") || is("control-plane") { "master" } else { "worker" }
}

//! Machines that join the running cluster, such as those of a MachineSet. A machine boots any image that the
//! cloud has, gets its configuration from the machine-config server, applies it and reboots. Then its kubelet
//! registers the node.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::kubelet;
use windtunnel_controllers::machine::Boot;
use windtunnel_core::clock::after;
use windtunnel_core::resources::NODES;
use windtunnel_core::{Identity, Write};
use windtunnel_openshift::mco;

use super::machines::Joining;
use super::simulation::Simulation;
use crate::engine::error::SessionError;
use crate::engine::install;
use crate::plan::NodePlan;

/// The pool that machines join. Control planes grow by other means, and nodes move from here to custom pools.
const POOL: &str = "worker";
/// The pause before a machine retries after a failure.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(5);

impl Simulation {
    /// Adds a machine, whose node will have these labels.
    ///
    /// # Errors
    /// A node or machine of this name exists.
    pub(in crate::engine) fn join(
        &mut self,
        name: &str,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), SessionError> {
        for (is_taken, what) in
            [(self.view.get(&NODES, "", name).is_some(), "node"), (self.machines.has(name), "machine")]
        {
            if is_taken {
                return Err(SessionError::NoEffect(format!("the cluster has a {what} `{name}` already")));
            }
        }
        let node = NodePlan { labels: labels.clone(), ..NodePlan::new(name.to_owned(), false) };
        let number = u32::try_from(self.machines.count()).unwrap_or(u32::MAX);
        let request_at = after(self.now(), mco::server::first_boot(&self.view, &self.streams, name));
        let why = "its first start".to_owned();
        self.machines.add_joining(Joining { node, number, why }, name, request_at);
        Ok(())
    }

    /// Serves the configuration to the machines that request it.
    pub(in crate::engine) fn serve_machines(&mut self) {
        let now = self.now();
        while let Some(name) = self.machines.next_config_request(now) {
            match mco::server::first_disk(&self.view, POOL) {
                Some(disk) => {
                    let up_at = after(now, mco::server::pivot(&self.view, &self.streams, &name));
                    self.machines.set_disk(&name, disk, up_at);
                }
                None => {
                    let why = format!("the machine-config server: pool {POOL} has no rendered MachineConfig");
                    self.machines.retry_config_request(&name, why, after(now, RETRY_DELAY));
                }
            }
        }
    }

    /// Registers the node of a machine, as its kubelet does. Returns whether the node exists, also if a
    /// user created it. After a rejection, the kubelet retries later.
    pub(in crate::engine) fn register(&mut self, joining: &Joining, boot: &Boot) -> bool {
        let name = &joining.node.name;
        let node = self.registration(joining, boot);
        let who = Identity::new(format!("system:node:{name}"), &["system:nodes"]);
        let rejection = self.write(&format!("kubelet/{name}"), &who, &Write::create(&NODES, node)).err();
        let rejection = rejection.filter(|rejection| rejection.reason != "AlreadyExists");
        let retry_at = after(self.now(), RETRY_DELAY);
        self.machines.registered(name, rejection.as_ref().map(|rejection| (rejection, retry_at)));
        rejection.is_none()
    }

    fn registration(&self, Joining { node, number, .. }: &Joining, boot: &Boot) -> Value {
        // Machines of one cluster are alike, except for what their operating system reports.
        let other = self.view.list(&NODES).next();
        let mut info = other.map_or_else(|| json!({}), |other| other["status"]["nodeInfo"].clone());
        let machine = info["architecture"].as_str().unwrap_or("amd64").to_owned();
        info["bootID"] = json!(boot.id);
        if let Some(release) = self.environment.release_of_os(&boot.os_image) {
            install::set_os_info(&mut info, release, &machine);
        }
        let mut registered = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": { "name": node.name, "labels": install::labels_of(node, &machine) },
            "spec": {},
            "status": { "conditions": kubelet::registered_conditions(boot.at), "nodeInfo": info },
        });
        kubelet::assign_addresses(&mut registered, *number);
        kubelet::set_capacity(&mut registered);
        registered
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_core::condition;
    use windtunnel_openshift::release::Release;

    use super::*;
    use crate::engine::Session;
    use crate::plan::{Action, ClusterPlan};

    fn session() -> Session {
        let release = Release::find(&"4.18.3".parse().unwrap()).unwrap();
        let plan = ClusterPlan { worker_nodes: 1, ..ClusterPlan::new(release) };
        Session::start(&plan, "", &[], 1).unwrap()
    }

    fn join(session: &mut Session, name: &str) -> Result<(), SessionError> {
        let labels = [("zone".to_owned(), "b".to_owned())].into();
        session.perform(&Action::Join { node: name.to_owned(), labels })
    }

    #[test]
    fn a_joined_node_is_like_the_others_with_its_own_address() {
        let mut session = session();
        join(&mut session, "worker-1").unwrap();
        session.advance(SignedDuration::from_mins(2)).unwrap();
        assert!(session.view().get(&NODES, "", "worker-1").is_none());
        session.advance(SignedDuration::from_mins(7)).unwrap();
        let node = |name: &str| session.view().get(&NODES, "", name).unwrap();
        let (new, old) = (node("worker-1"), node("worker-0"));
        assert!(condition::is_true(new, "Ready"));
        assert_eq!(new.label("zone"), Some("b"));
        for pointer in
            ["/status/nodeInfo/kubeletVersion", "/status/nodeInfo/osImage", "/spec", "/status/allocatable"]
        {
            assert_eq!(new.pointer(pointer), old.pointer(pointer), "{pointer}");
        }
        for pointer in ["/status/nodeInfo/bootID", "/status/addresses"] {
            assert_ne!(new.pointer(pointer), old.pointer(pointer), "{pointer}");
        }
        let keys = |node: &windtunnel_core::Object| -> Vec<String> {
            node["metadata"]["annotations"].as_object().unwrap().keys().cloned().collect()
        };
        let only_in = |one, other| -> Vec<String> {
            keys(one).into_iter().filter(|key| !keys(other).contains(key)).collect()
        };
        assert_eq!(only_in(new, old), ["machineconfiguration.openshift.io/firstPivotConfig"]);
        assert_eq!(only_in(old, new), ["machineconfiguration.openshift.io/lastObservedServerCAAnnotation"]);
    }

    #[test]
    fn a_machine_cannot_join_under_a_taken_name() {
        let mut session = session();
        join(&mut session, "worker-7").unwrap();
        for (what, name) in [("node", "worker-0"), ("machine", "worker-7")] {
            let error = join(&mut session, name).unwrap_err().to_string();
            assert_eq!(error, format!("the cluster has a {what} `{name}` already"));
        }
    }

    fn waiting_reason(session: &Session) -> Option<String> {
        session
            .pending()
            .into_iter()
            .find(|pending| pending.actor == "machine/worker-1")
            .map(|pending| pending.why)
    }

    #[test]
    fn a_joining_machine_reports_what_it_waits_for() {
        let mut session = session();
        let labels = [("a b".to_owned(), String::new())].into();
        session.perform(&Action::Join { node: "worker-1".to_owned(), labels }).unwrap();
        assert_eq!(waiting_reason(&session).unwrap(), "its first start");
        session.advance(SignedDuration::from_mins(20)).unwrap();
        let why = waiting_reason(&session).unwrap();
        let refused =
            "its registration: Node \"worker-1\" is invalid: metadata.labels: Invalid value: \"a b\"";
        assert!(why.starts_with(refused), "{why}");
    }

    #[test]
    fn a_node_created_by_hand_is_adopted() {
        let mut session = session();
        join(&mut session, "worker-1").unwrap();
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "worker-1" } });
        session.perform(&Action::Apply(node)).unwrap();
        session.advance(SignedDuration::from_mins(9)).unwrap();
        assert_eq!(waiting_reason(&session), None);
        assert!(condition::is_true(session.view().get(&NODES, "", "worker-1").unwrap(), "Ready"));
    }
}

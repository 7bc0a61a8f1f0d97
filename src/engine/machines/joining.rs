//! Machines that join the cluster while it runs, as those that a MachineSet makes: one starts from whatever image the cloud has, asks
//! the machine-config server what it is to be, becomes that and starts again. Then its kubelet registers it.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::kubelet;
use windtunnel_controllers::machine::Boot;
use windtunnel_core::clock::after;
use windtunnel_core::resources::NODES;
use windtunnel_core::{Identity, Write};
use windtunnel_openshift::mco;

use crate::engine::error::SessionError;
use crate::engine::install;
use crate::engine::runtime::Simulation;
use crate::plan::NodePlan;

/// The pool that machines join. Control planes grow by other means, and from here a node goes to a pool of somebody's own.
const POOL: &str = "worker";
/// How long after a failure a machine asks again.
const AGAIN: SignedDuration = SignedDuration::from_secs(5);

/// A machine that no node tells of yet.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Joining {
    /// What it registers as.
    node: NodePlan,
    /// Which one of its cluster it is.
    number: u32,
    /// What it waits for.
    pub(in crate::engine) why: String,
}

impl Simulation {
    /// Somebody adds a machine, whose node will have these labels.
    ///
    /// # Errors
    /// There is such a node, or such a machine.
    pub(in crate::engine) fn join(
        &mut self,
        name: &str,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), SessionError> {
        for (is_taken, what) in
            [(self.view.get(&NODES, "", name).is_some(), "node"), (self.machines.has(name), "machine")]
        {
            if is_taken {
                return Err(SessionError::Pointless(format!("the cluster has a {what} `{name}` already")));
            }
        }
        let node = NodePlan { labels: labels.clone(), ..NodePlan::new(name.to_owned(), false) };
        let number = u32::try_from(self.machines.count()).unwrap_or(u32::MAX);
        let asks_at = after(self.now(), mco::server::first_boot(&self.view, &self.streams, name));
        let why = "its first start".to_owned();
        self.machines.expect(Joining { node, number, why }, name, asks_at);
        Ok(())
    }

    /// Gives the machines that ask for it what they are to be.
    pub(in crate::engine) fn serve_machines(&mut self) {
        let now = self.now();
        while let Some(name) = self.machines.next_asker(now) {
            match mco::server::served(&self.view, POOL) {
                Some(disk) => {
                    let up_at = after(now, mco::server::pivot(&self.view, &self.streams, &name));
                    self.machines.become_of(&name, disk, up_at);
                }
                None => {
                    let why = format!("the machine-config server: nothing is rendered for pool {POOL}");
                    self.machines.ask_again(&name, why, after(now, AGAIN));
                }
            }
        }
    }

    /// The kubelet of a machine that joins registers its node; whether that is done. Where it is refused, it tries again later. A node
    /// that somebody made by hand is as good.
    pub(in crate::engine) fn register(&mut self, joining: &Joining, boot: &Boot) -> bool {
        let name = &joining.node.name;
        let node = self.registration(joining, boot);
        let who = Identity::new(format!("system:node:{name}"), &["system:nodes"]);
        let refusal = self.write(&format!("kubelet/{name}"), &who, &Write::create(&NODES, node)).err();
        let refusal = refusal.filter(|refusal| refusal.reason != "AlreadyExists");
        let again = after(self.now(), AGAIN);
        self.machines.registered(name, refusal.as_ref().map(|refusal| (refusal, again)));
        refusal.is_none()
    }

    fn registration(&self, Joining { node, number, .. }: &Joining, boot: &Boot) -> Value {
        // Machines of one cluster are alike but for what their operating system says of itself.
        let other = self.view.list(&NODES).next();
        let mut info = other.map_or_else(|| json!({}), |other| other["status"]["nodeInfo"].clone());
        let machine = info["architecture"].as_str().unwrap_or("amd64").to_owned();
        info["bootID"] = json!(boot.id);
        if let Some(release) = self.world.release_of_os(&boot.os_image) {
            install::tell_of_os(&mut info, release, &machine);
        }
        let mut registered = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": { "name": node.name, "labels": install::labels_of(node, &machine) },
            "spec": {},
            "status": { "conditions": kubelet::registered_conditions(boot.at), "nodeInfo": info },
        });
        kubelet::connect(&mut registered, *number);
        kubelet::measure(&mut registered);
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
        let plan = ClusterPlan { worker_nodes: 1, ..ClusterPlan::of(release) };
        Session::start(&plan, "", &[], 1).unwrap()
    }

    fn join(session: &mut Session, name: &str) -> Result<(), SessionError> {
        let labels = [("zone".to_owned(), "b".to_owned())].into();
        session.act(&Action::Join { node: name.to_owned(), labels })
    }

    #[test]
    fn a_machine_becomes_a_node_that_is_like_the_others_and_has_an_address_of_its_own() {
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
        let more = |one, other| -> Vec<String> {
            keys(one).into_iter().filter(|key| !keys(other).contains(key)).collect()
        };
        assert_eq!(more(new, old), ["machineconfiguration.openshift.io/firstPivotConfig"]);
        assert_eq!(more(old, new), ["machineconfiguration.openshift.io/lastObservedServerCAAnnotation"]);
    }

    #[test]
    fn nobody_joins_under_a_name_that_is_taken() {
        let mut session = session();
        join(&mut session, "worker-7").unwrap();
        for (what, name) in [("node", "worker-0"), ("machine", "worker-7")] {
            let error = join(&mut session, name).unwrap_err().to_string();
            assert_eq!(error, format!("the cluster has a {what} `{name}` already"));
        }
    }

    fn told_of(session: &Session) -> Option<String> {
        session.pending().into_iter().find(|it| it.actor == "machine/worker-1").map(|it| it.why)
    }

    #[test]
    fn a_machine_tells_why_it_is_no_node_yet() {
        let mut session = session();
        let labels = [("a b".to_owned(), String::new())].into();
        session.act(&Action::Join { node: "worker-1".to_owned(), labels }).unwrap();
        assert_eq!(told_of(&session).unwrap(), "its first start");
        session.advance(SignedDuration::from_mins(20)).unwrap();
        let why = told_of(&session).unwrap();
        let refused =
            "its registration: Node \"worker-1\" is invalid: metadata.labels: Invalid value: \"a b\"";
        assert!(why.starts_with(refused), "{why}");
    }

    #[test]
    fn a_node_made_by_hand_is_taken_over() {
        let mut session = session();
        join(&mut session, "worker-1").unwrap();
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "worker-1" } });
        session.act(&Action::Apply(node)).unwrap();
        session.advance(SignedDuration::from_mins(9)).unwrap();
        assert_eq!(told_of(&session), None);
        assert!(condition::is_true(session.view().get(&NODES, "", "worker-1").unwrap(), "Ready"));
    }
}

//! The machines of the nodes: what is on their disks, what runs on them, and when they boot.
//!
//! The kube-apiserver of a single node stays up while its machine reboots. A machine that goes down takes its pods with
//! it; only in DualReplica do kubelets end them before.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use windtunnel_controllers::machine::{Boot, Disk, StaticPod};
use windtunnel_controllers::schedule::ActorId;
use windtunnel_core::Rejection;
use windtunnel_core::clock::Time;

use super::pending::Pending;
use crate::plan::NodePlan;

/// The machine of a node.
#[derive(Debug, Clone, Default)]
pub(super) struct Machine {
    pub(super) disk: Disk,
    /// The static pods of its kubelet.
    pub(super) static_pods: Vec<StaticPod>,
    /// How often it booted, and its last boot; `None` if it has been running since the installation.
    pub(super) boots: u32,
    pub(super) boot: Option<Boot>,
    /// The actors that run on it; none while it reboots.
    pub(super) runs: Vec<ActorId>,
    /// The downtime of its last reboot, and the number of further reboots in a loop since then.
    pub(super) reboot_duration: SignedDuration,
    pub(super) loops: u32,
    /// How far its clock is ahead.
    pub(super) clock_ahead: SignedDuration,
    /// The node to register, until that is done.
    pub(super) joining: Option<Joining>,
}

impl Machine {
    /// Whether a member of etcd runs on it.
    fn has_etcd(&self) -> bool {
        self.static_pods.iter().any(|pod| pod.manifest["metadata"]["name"] == "etcd")
    }
}

/// All machines, by the names of their nodes.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Machines {
    pub(super) by_node: BTreeMap<String, Machine>,
    /// The nodes of the machines on which actors run.
    of_actors: BTreeMap<ActorId, String>,
    /// When rebooting machines are back.
    pub(super) boots: BTreeSet<(Time, String)>,
    /// When machines in a reboot loop go down again.
    pub(super) next_crashes: BTreeSet<(Time, String)>,
    /// When new machines request their configuration.
    config_requests: BTreeSet<(Time, String)>,
    /// Whether most members of etcd are down.
    pub(super) has_lost_quorum: bool,
}

impl Machines {
    /// When the next machine comes up, goes down or requests its configuration.
    pub(in crate::engine) fn next(&self) -> Option<Time> {
        [&self.boots, &self.next_crashes, &self.config_requests]
            .into_iter()
            .filter_map(|times| times.first())
            .map(|(at, _)| *at)
            .min()
    }

    /// Whether there is a machine for a node of this name.
    pub(in crate::engine) fn has(&self, node: &str) -> bool {
        self.by_node.contains_key(node)
    }

    /// Whether most members of etcd are up. A single member counts as up while its machine reboots.
    pub(super) fn have_quorum(&self) -> bool {
        let members = self.by_node.values().filter(|machine| machine.has_etcd());
        let (up, down): (Vec<_>, Vec<_>) = members.partition(|machine| !machine.runs.is_empty());
        up.len() > down.len() || up.len() + down.len() < 2
    }

    /// Removes the machine of a node that is gone.
    pub(super) fn remove(&mut self, node: &str) {
        self.by_node.remove(node);
        self.cancel_boots(node);
    }

    /// Cancels what is scheduled for a machine.
    pub(super) fn cancel_boots(&mut self, node: &str) {
        for times in [&mut self.boots, &mut self.next_crashes, &mut self.config_requests] {
            times.retain(|(_, other)| other != node);
        }
    }

    /// The number of machines, past and present.
    pub(in crate::engine) fn count(&self) -> usize {
        self.by_node.len()
    }

    /// Adds a new machine, which requests its configuration at `request_at`.
    pub(in crate::engine) fn add_joining(&mut self, joining: Joining, node: &str, request_at: Time) {
        self.by_node.insert(node.to_owned(), Machine { joining: Some(joining), ..Machine::default() });
        self.config_requests.insert((request_at, node.to_owned()));
    }

    /// Schedules another configuration request of a machine.
    pub(in crate::engine) fn retry_config_request(&mut self, node: &str, why: String, at: Time) {
        self.wait_for(node, why);
        self.config_requests.insert((at, node.to_owned()));
    }

    /// Takes a machine whose configuration request is due.
    pub(in crate::engine) fn next_config_request(&mut self, now: Time) -> Option<String> {
        pop_due(&mut self.config_requests, now).map(|(_, node)| node)
    }

    /// Gives a machine its disk. The machine is up with it at `up_at`.
    pub(in crate::engine) fn set_disk(&mut self, node: &str, disk: Disk, up_at: Time) {
        self.wait_for(node, format!("its start with {}", disk.config));
        if let Some(machine) = self.by_node.get_mut(node) {
            machine.disk = disk;
            self.boots.insert((up_at, node.to_owned()));
        }
    }

    /// Records that a machine has registered its node, or when it retries after a rejection.
    pub(in crate::engine) fn registered(&mut self, node: &str, refused: Option<(&Rejection, Time)>) {
        match refused {
            Some((rejection, retry_at)) => {
                self.wait_for(node, format!("its registration: {}", rejection.message));
                self.boots.insert((retry_at, node.to_owned()));
            }
            None => {
                if let Some(machine) = self.by_node.get_mut(node) {
                    machine.joining = None;
                }
            }
        }
    }

    fn wait_for(&mut self, node: &str, why: String) {
        if let Some(joining) = self.by_node.get_mut(node).and_then(|machine| machine.joining.as_mut()) {
            joining.why = why;
        }
    }

    /// The machines whose nodes are not registered yet, with what they wait for.
    pub(in crate::engine) fn pending(&self) -> impl Iterator<Item = Pending> {
        self.by_node.iter().filter_map(|(node, machine)| {
            let mut times = self.config_requests.iter().chain(&self.boots);
            Some(Pending {
                actor: format!("machine/{node}"),
                why: machine.joining.as_ref()?.why.clone(),
                until: times.find(|(_, other)| other == node).map(|(at, _)| *at),
            })
        })
    }

    /// The machine that an actor runs on.
    pub(super) fn machine_of_actor(&mut self, actor: ActorId) -> Option<(&str, &mut Machine)> {
        let node = self.of_actors.get(&actor)?;
        Some((node, self.by_node.get_mut(node)?))
    }

    /// The node of the machine that an actor runs on, and the actor's place among those of the machine.
    pub(super) fn place_of_actor(&self, actor: ActorId) -> Option<(&str, usize)> {
        let node = self.of_actors.get(&actor)?;
        let place = self.by_node.get(node)?.runs.iter().position(|run| *run == actor)?;
        Some((node, place))
    }

    /// Sets the actors that run on a machine.
    pub(super) fn set_running(&mut self, node: &str, actors: Vec<ActorId>) {
        let Some(machine) = self.by_node.get_mut(node) else { return };
        self.of_actors.extend(actors.iter().map(|actor| (*actor, node.to_owned())));
        machine.runs = actors;
    }

    /// Takes the actors that run on a machine, which end.
    pub(super) fn take_running(&mut self, node: &str) -> Vec<ActorId> {
        let machine = self.by_node.get_mut(node);
        let actors = machine.map(|machine| std::mem::take(&mut machine.runs)).unwrap_or_default();
        for actor in &actors {
            self.of_actors.remove(actor);
        }
        actors
    }
}

/// A machine whose node is not registered yet.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Joining {
    /// The node that it registers.
    pub(super) node: NodePlan,
    /// Its number in the cluster.
    pub(super) number: u32,
    /// The reason why it waits.
    pub(super) why: String,
}

/// Takes the first entry that is due.
pub(super) fn pop_due(times: &mut BTreeSet<(Time, String)>, now: Time) -> Option<(Time, String)> {
    if times.first().is_none_or(|(at, _)| *at > now) { None } else { times.pop_first() }
}

//! The machines beneath the nodes: what is on their disks, what runs on them, and when one that reboots is back.

pub(in crate::engine) mod joining;

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_controllers::machine::{Boot, Disk, StaticPod};
use windtunnel_controllers::schedule::ActorId;
use windtunnel_controllers::{Actor, Signal};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::NODES;
use windtunnel_core::{Change, Refusal, View};

use super::expectations::node_order;
use super::machines::joining::Joining;
use super::runtime::{Pending, Simulation};
use crate::plan::Invariant;
use crate::record::Event;

/// How long a machine is up that reboots in a loop: its kubelet has reported, and its machine-config daemon is not there yet.
const UP_IN_LOOP: SignedDuration = SignedDuration::from_secs(12);

/// One machine.
#[derive(Debug, Clone, Default)]
struct Machine {
    disk: Disk,
    /// What its kubelet runs by itself.
    static_pods: Vec<StaticPod>,
    /// How often it was started, and the last start; `None`: it has been running all along.
    boots: u32,
    boot: Option<Boot>,
    /// What runs on it; nothing while it reboots.
    runs: Vec<ActorId>,
    /// How long nothing ran at its last reboot, and how often it rebooted again since.
    silence: SignedDuration,
    loops: u32,
    /// How much its clock is ahead.
    ahead: SignedDuration,
    /// What it registers as, before that has happened.
    joining: Option<Joining>,
}

/// All machines, by the names of their nodes.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Machines {
    by_node: BTreeMap<String, Machine>,
    /// When machines that reboot are back.
    boots: BTreeSet<(Time, String)>,
    /// When those that reboot in a loop go down again.
    falls: BTreeSet<(Time, String)>,
    /// When those that start for the first time ask what they are to be.
    asks: BTreeSet<(Time, String)>,
}

impl Machines {
    /// When the next one is back, or down again, or asks what it is to be.
    pub(in crate::engine) fn next(&self) -> Option<Time> {
        [&self.boots, &self.falls, &self.asks]
            .into_iter()
            .filter_map(|times| times.first())
            .map(|(at, _)| *at)
            .min()
    }

    /// Whether there is a machine for a node of this name.
    pub(in crate::engine) fn has(&self, node: &str) -> bool {
        self.by_node.contains_key(node)
    }

    /// How many there are and were.
    pub(in crate::engine) fn count(&self) -> usize {
        self.by_node.len()
    }

    /// Adds one that starts for the first time, and asks then what it is to be.
    pub(in crate::engine) fn expect(&mut self, joining: Joining, node: &str, asks_at: Time) {
        self.by_node.insert(node.to_owned(), Machine { joining: Some(joining), ..Machine::default() });
        self.asks.insert((asks_at, node.to_owned()));
    }

    /// One was not told what it is to be, and asks again then.
    pub(in crate::engine) fn ask_again(&mut self, node: &str, why: String, at: Time) {
        self.wait_for(node, why);
        self.asks.insert((at, node.to_owned()));
    }

    /// One that asks what it is to be.
    pub(in crate::engine) fn next_asker(&mut self, now: Time) -> Option<String> {
        pop_due(&mut self.asks, now).map(|(_, node)| node)
    }

    /// One gets its disk, and is up with it then.
    pub(in crate::engine) fn become_of(&mut self, node: &str, disk: Disk, up_at: Time) {
        self.wait_for(node, format!("its start with {}", disk.config));
        if let Some(machine) = self.by_node.get_mut(node) {
            machine.disk = disk;
            self.boots.insert((up_at, node.to_owned()));
        }
    }

    /// One has registered its node, or was refused that and tries again then.
    pub(in crate::engine) fn registered(&mut self, node: &str, refused: Option<(&Refusal, Time)>) {
        match refused {
            Some((refusal, again)) => {
                self.wait_for(node, format!("its registration: {}", refusal.message));
                self.boots.insert((again, node.to_owned()));
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

    /// What those wait for that no node tells of yet.
    pub(in crate::engine) fn pending(&self) -> impl Iterator<Item = Pending> {
        self.by_node.iter().filter_map(|(node, machine)| {
            let mut times = self.asks.iter().chain(&self.boots);
            Some(Pending {
                actor: format!("machine/{node}"),
                why: machine.joining.as_ref()?.why.clone(),
                until: times.find(|(_, other)| other == node).map(|(at, _)| *at),
            })
        })
    }

    /// The one that an actor runs on.
    fn of(&mut self, actor: ActorId) -> Option<(&String, &mut Machine)> {
        self.by_node.iter_mut().find(|(_, machine)| machine.runs.contains(&actor))
    }
}

impl Simulation {
    /// Adds the machine of a node, which has been running all along.
    pub(in crate::engine) fn add_machine(&mut self, node: &str, disk: Disk, static_pods: Vec<StaticPod>) {
        self.machines.by_node.insert(node.to_owned(), Machine { disk, static_pods, ..Machine::default() });
        self.run_machine(node);
    }

    fn run_machine(&mut self, node: &str) {
        let runs = self.programs_of(node).into_iter().map(|actor| self.add(actor)).collect();
        if let Some(machine) = self.machines.by_node.get_mut(node) {
            machine.runs = runs;
        }
        self.set_clock(node);
    }

    /// What a machine runs, as it is right after having been started.
    fn programs_of(&self, node: &str) -> Vec<Box<dyn Actor>> {
        let Some(Machine { disk, static_pods, boot, ahead, .. }) = self.machines.by_node.get(node) else {
            return Vec::new();
        };
        let now = after(self.now(), *ahead);
        windtunnel_openshift::on_machine(
            node,
            disk,
            static_pods,
            boot.clone(),
            &self.world,
            &self.streams,
            now,
        )
    }

    /// What replaces an actor that runs on a machine and died.
    pub(in crate::engine) fn program_again(&self, id: ActorId) -> Option<Box<dyn Actor>> {
        let (node, machine) = self.machines.by_node.iter().find(|(_, machine)| machine.runs.contains(&id))?;
        let index = machine.runs.iter().position(|run| *run == id)?;
        self.programs_of(node).into_iter().nth(index)
    }

    /// The actor `id` wrote to the disk of its machine.
    pub(in crate::engine) fn write_disk(&mut self, id: ActorId, disk: Disk) {
        if let Some((_, machine)) = self.machines.of(id) {
            machine.disk = disk;
        }
    }

    /// A program on the machine of a node is asked to end; whoever starts it again does so at once.
    pub(in crate::engine) fn restart_on_machine(&mut self, node: &str, program: &str) {
        let Some(machine) = self.machines.by_node.get(node) else { return };
        let name = format!("{program}/{node}");
        let is_meant = |id: &&ActorId| self.schedule.name(**id) == Some(&*name);
        if let Some(id) = machine.runs.iter().find(is_meant).copied() {
            self.signal(id, Signal::Terminate);
        }
    }

    /// Somebody wrote a file from which the kubelet of a node runs a pod.
    pub(in crate::engine) fn write_static_pod(&mut self, node: &str, pod: StaticPod) {
        let Some(machine) = self.machines.by_node.get_mut(node) else { return };
        machine.static_pods.retain(|other| !pod.replaces(other));
        machine.static_pods.push(pod.clone());
        if let Some(kubelet) = machine.runs.first().copied() {
            self.signal(kubelet, Signal::StaticPod(pod));
        }
    }

    /// The machine of the actor `id` goes down with all that runs on it, to come back after `silence`; without that, only
    /// when somebody starts it.
    pub(in crate::engine) fn reboot(&mut self, id: ActorId, disk: Disk, silence: Option<SignedDuration>) {
        let Some((node, machine)) = self.machines.of(id) else { return };
        let is_other = machine.disk.config != disk.config;
        let config = disk.config.clone();
        (machine.disk, machine.loops) = (disk, 0);
        machine.silence = silence.unwrap_or_default();
        let node = node.clone();
        if is_other {
            self.check_drained(&node, &config);
        }
        self.take_down(&node);
        let up = silence.map(|silence| after(self.now(), silence));
        self.machines.boots.extend(up.map(|up| (up, node)));
    }

    /// Holds the invariant that a node was drained for the MachineConfig that its machine reboots into.
    fn check_drained(&mut self, node: &str, config: &str) {
        let object = self.view.get(&NODES, "", node);
        if let Some(how) = object.and_then(|object| node_order::undrained(object, config)) {
            let now = self.now();
            self.invariants.report(Invariant::NodeOrder, &format!("Node/{node}"), now, &how);
        }
    }

    /// Ends all that runs on the machine of a node.
    fn take_down(&mut self, node: &str) {
        let Some(machine) = self.machines.by_node.get_mut(node) else { return };
        for actor in std::mem::take(&mut machine.runs) {
            for (pod, container) in self.processes.started_by(actor) {
                self.end_process(&pod, &container, 0);
            }
            self.remove(actor);
        }
    }

    /// Somebody starts the machine of a node, if nothing runs on it.
    pub(in crate::engine) fn power_on(&mut self, node: &str) {
        let is_down = self.machines.by_node.get(node).is_some_and(|machine| machine.runs.is_empty());
        if is_down && !self.machines.boots.iter().any(|(_, other)| other == node) {
            self.machines.boots.insert((self.now(), node.to_owned()));
        }
    }

    /// Starts the machines whose time has come, and has those go down again that reboot in a loop.
    pub(in crate::engine) fn boot(&mut self) {
        self.serve_machines();
        let now = self.now();
        while let Some((_, node)) = pop_due(&mut self.machines.boots, now) {
            let Some(machine) = self.machines.by_node.get_mut(&node) else { continue };
            machine.boots += 1;
            let id = self.streams.stream(&format!("boot/{node}/{}", machine.boots)).uuid();
            let at = after(now, machine.ahead);
            let boot = Boot { id, os_image: machine.disk.os_image.clone(), at };
            machine.boot = Some(boot.clone());
            if let Some(joining) = machine.joining.clone()
                && !self.register(&joining, &boot)
            {
                continue;
            }
            let Some(machine) = self.machines.by_node.get_mut(&node) else { continue };
            let told = fault(&self.view, &node).filter(|fault| fault.kind == FaultKind::RebootLoop);
            if told.is_some_and(|fault| machine.loops < fault.times) {
                machine.loops += 1;
                self.machines.falls.insert((after(now, UP_IN_LOOP), node.clone()));
            }
            self.run_machine(&node);
        }
        while let Some((_, node)) = pop_due(&mut self.machines.falls, now) {
            let silence =
                self.machines.by_node.get(&node).map_or(SignedDuration::ZERO, |machine| machine.silence);
            self.note(Event::Fault { text: format!("node {node} reboots again") });
            self.take_down(&node);
            self.machines.boots.insert((after(now, silence), node));
        }
    }

    /// Has the clocks of machines go as their Nodes are told.
    pub(in crate::engine) fn notice_node(&mut self, change: &Change) {
        if !change.key.is(&NODES)
            || Fault::told(&change.object) == change.old.as_ref().and_then(|old| Fault::told(old))
        {
            return;
        }
        if let Some(machine) = self.machines.by_node.get_mut(&change.key.name) {
            machine.ahead = match Fault::told(&change.object).flatten() {
                Some(fault) if fault.kind == FaultKind::ClockAhead => fault.by,
                Some(fault) if fault.kind == FaultKind::ClockBehind => -fault.by,
                _ => SignedDuration::ZERO,
            };
        }
        self.set_clock(&change.key.name);
    }

    /// Gives all that runs on a machine its clock.
    fn set_clock(&mut self, node: &str) {
        let Some(machine) = self.machines.by_node.get(node) else { return };
        for id in &machine.runs {
            self.schedule.set_clock_ahead(*id, machine.ahead);
        }
    }
}

/// The first whose time has come.
fn pop_due(times: &mut BTreeSet<(Time, String)>, now: Time) -> Option<(Time, String)> {
    if times.first().is_none_or(|(at, _)| *at > now) { None } else { times.pop_first() }
}

/// What a node is told to get wrong.
fn fault(view: &View, node: &str) -> Option<Fault> {
    view.get(&NODES, "", node).and_then(|node| Fault::told(node).flatten())
}

//! Boots machines, takes them down, and keeps what their programs write.

use jiff::SignedDuration;
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_controllers::machine::{Boot, Disk, StaticPod};
use windtunnel_controllers::schedule::ActorId;
use windtunnel_controllers::{Actor, Signal};
use windtunnel_core::clock::after;
use windtunnel_core::resources::NODES;
use windtunnel_core::{Change, View};

use super::machines::{Machine, pop_due};
use super::simulation::Simulation;
use crate::engine::invariants::node_order;
use crate::plan::Invariant;
use crate::record::Event;

/// How long a machine in a reboot loop is up: its kubelet has reported, and its machine-config daemon does
/// not run yet.
const UP_IN_LOOP: SignedDuration = SignedDuration::from_secs(12);

impl Simulation {
    /// Adds the machine of a node, which has been running since the installation.
    pub(in crate::engine) fn add_machine(&mut self, node: &str, disk: Disk, static_pods: Vec<StaticPod>) {
        self.machines.by_node.insert(node.to_owned(), Machine { disk, static_pods, ..Machine::default() });
        self.run_machine(node);
    }

    fn run_machine(&mut self, node: &str) {
        let runs = self.programs_of(node).into_iter().map(|actor| self.add(actor)).collect();
        self.machines.set_running(node, runs);
        self.set_clock(node);
    }

    /// The programs of a machine right after its boot.
    fn programs_of(&self, node: &str) -> Vec<Box<dyn Actor>> {
        let Some(Machine { disk, static_pods, boot, clock_ahead: ahead, .. }) =
            self.machines.by_node.get(node)
        else {
            return Vec::new();
        };
        let now = after(self.now(), *ahead);
        let mut programs = windtunnel_openshift::on_machine(
            node,
            disk,
            static_pods,
            boot.clone(),
            &self.environment,
            &self.streams,
            now,
        );
        programs.retain(|program| !self.environment.is_without(program.name()));
        programs
    }

    /// A replacement for a crashed actor of a machine.
    pub(in crate::engine) fn replacement_program(&self, id: ActorId) -> Option<Box<dyn Actor>> {
        let (node, index) = self.machines.place_of_actor(id)?;
        self.programs_of(node).into_iter().nth(index)
    }

    /// Keeps the disk that the actor `id` wrote.
    pub(in crate::engine) fn write_disk(&mut self, id: ActorId, disk: Disk) {
        if let Some((_, machine)) = self.machines.machine_of_actor(id) {
            machine.disk = disk;
        }
    }

    /// Terminates a program on the machine of a node. Its supervisor restarts it at once.
    pub(in crate::engine) fn restart_on_machine(&mut self, node: &str, program: &str) {
        let Some(machine) = self.machines.by_node.get(node) else { return };
        let name = format!("{program}/{node}");
        let is_meant = |id: &&ActorId| self.schedule.name(**id) == Some(&*name);
        if let Some(id) = machine.runs.iter().find(is_meant).copied() {
            self.signal(id, Signal::Terminate);
        }
    }

    /// Writes a static pod manifest on the machine of a node.
    pub(in crate::engine) fn write_static_pod(&mut self, node: &str, pod: StaticPod) {
        let Some(machine) = self.machines.by_node.get_mut(node) else { return };
        machine.static_pods.retain(|other| !pod.replaces(other));
        machine.static_pods.push(pod.clone());
        if let Some(kubelet) = machine.runs.first().copied() {
            self.signal(kubelet, Signal::StaticPod(pod));
        }
    }

    /// Takes down the machine of the actor `id` with everything that runs on it. It is back after `silence`;
    /// without that, only when it is powered on.
    pub(in crate::engine) fn reboot(&mut self, id: ActorId, disk: Disk, silence: Option<SignedDuration>) {
        let Some((node, machine)) = self.machines.machine_of_actor(id) else { return };
        let is_other = machine.disk.config != disk.config;
        let config = disk.config.clone();
        (machine.disk, machine.loops) = (disk, 0);
        machine.reboot_duration = silence.unwrap_or_default();
        let node = node.to_owned();
        if is_other {
            self.check_drained(&node, &config);
        }
        self.take_down(&node);
        let up = silence.map(|silence| after(self.now(), silence));
        self.machines.boots.extend(up.map(|up| (up, node)));
    }

    /// Checks that a node was drained for the MachineConfig that its machine reboots into.
    fn check_drained(&mut self, node: &str, config: &str) {
        let object = self.view.get(&NODES, "", node);
        if let Some(how) = object.and_then(|object| node_order::missing_drain(object, config)) {
            let now = self.now();
            self.observers.invariants.report(Invariant::NodeOrder, &format!("Node/{node}"), now, &how);
        }
    }

    /// Ends everything that runs on the machine of a node.
    pub(super) fn take_down(&mut self, node: &str) {
        for actor in self.machines.take_running(node) {
            for (pod, container) in self.processes.started_by(actor) {
                self.end_process(&pod, &container, 0);
            }
            self.remove(actor);
        }
        self.check_quorum();
    }

    /// Switches off the machine of a node, until it is powered on.
    pub(in crate::engine) fn power_off(&mut self, node: &str) {
        self.machines.cancel_boots(node);
        self.take_down(node);
    }

    /// Makes the API server time out while most members of etcd are down, and answer again when most are up.
    fn check_quorum(&mut self) {
        let has_quorum = self.machines.have_quorum();
        if std::mem::replace(&mut self.machines.has_lost_quorum, !has_quorum) == has_quorum {
            let text = if has_quorum { "etcd has a quorum again" } else { "etcd has lost its quorum" };
            self.record_event(Event::Fault { text: text.to_owned() });
            self.connection.set_quorum(has_quorum);
        }
    }

    /// Powers on the machine of a node, if nothing runs on it.
    pub(in crate::engine) fn power_on(&mut self, node: &str) {
        let is_down = self.machines.by_node.get(node).is_some_and(|machine| machine.runs.is_empty());
        if is_down && !self.machines.boots.iter().any(|(_, other)| other == node) {
            self.machines.boots.insert((self.now(), node.to_owned()));
        }
    }

    /// Boots the machines that are due, and takes machines in a reboot loop down again.
    pub(in crate::engine) fn boot(&mut self) {
        self.serve_machines();
        let now = self.now();
        while let Some((_, node)) = pop_due(&mut self.machines.boots, now) {
            let Some(machine) = self.machines.by_node.get_mut(&node) else { continue };
            machine.boots += 1;
            let id = self.streams.stream(&format!("boot/{node}/{}", machine.boots)).uuid();
            let at = after(now, machine.clock_ahead);
            let boot = Boot { id, os_image: machine.disk.os_image.clone(), at };
            machine.boot = Some(boot.clone());
            if let Some(joining) = machine.joining.clone()
                && !self.register(&joining, &boot)
            {
                continue;
            }
            let Some(machine) = self.machines.by_node.get_mut(&node) else { continue };
            let reboot_loop = fault(&self.view, &node).filter(|fault| fault.kind == FaultKind::RebootLoop);
            if reboot_loop.is_some_and(|fault| machine.loops < fault.times) {
                machine.loops += 1;
                self.machines.next_crashes.insert((after(now, UP_IN_LOOP), node.clone()));
            }
            self.run_machine(&node);
            self.check_quorum();
        }
        while let Some((_, node)) = pop_due(&mut self.machines.next_crashes, now) {
            let silence = self
                .machines
                .by_node
                .get(&node)
                .map_or(SignedDuration::ZERO, |machine| machine.reboot_duration);
            self.record_event(Event::Fault { text: format!("node {node} reboots again") });
            self.take_down(&node);
            self.machines.boots.insert((after(now, silence), node));
        }
    }

    /// Sets the clock of a machine if the fault of its Node changed.
    pub(in crate::engine) fn set_clock_by_fault(&mut self, change: &Change) {
        if !change.key.is_kind(&NODES)
            || Fault::from_annotations(&change.object)
                == change.old.as_ref().and_then(|old| Fault::from_annotations(old))
        {
            return;
        }
        if let Some(machine) = self.machines.by_node.get_mut(&change.key.name) {
            machine.clock_ahead = match Fault::from_annotations(&change.object).flatten() {
                Some(fault) if fault.kind == FaultKind::ClockAhead => fault.by,
                Some(fault) if fault.kind == FaultKind::ClockBehind => -fault.by,
                _ => SignedDuration::ZERO,
            };
        }
        self.set_clock(&change.key.name);
    }

    /// Gives every actor on a machine its clock.
    fn set_clock(&mut self, node: &str) {
        let Some(machine) = self.machines.by_node.get(node) else { return };
        for id in &machine.runs {
            self.schedule.set_clock_ahead(*id, machine.clock_ahead);
        }
    }
}

/// The fault of a node.
fn fault(view: &View, node: &str) -> Option<Fault> {
    view.get(&NODES, "", node).and_then(|node| Fault::from_annotations(node).flatten())
}

//! The machines beneath the nodes: what is on their disks, what runs on them, and when one that reboots is back.

use std::collections::{BTreeMap, BTreeSet};

use super::router::ActorId;
use super::simulation::Simulation;
use crate::actors::{self, Actor};
use crate::base::clock::{Time, after};
use crate::model::machine::{Boot, Disk};

/// One machine.
#[derive(Debug, Default)]
struct Machine {
    disk: Disk,
    /// How often it was started, and the last start; `None`: it has been running all along.
    boots: u32,
    boot: Option<Boot>,
    /// What runs on it; nothing while it reboots.
    runs: Vec<ActorId>,
}

/// All machines, by the names of their nodes.
#[derive(Debug, Default)]
pub(super) struct Machines {
    by_node: BTreeMap<String, Machine>,
    /// When machines that reboot are back.
    boots: BTreeSet<(Time, String)>,
}

impl Machines {
    /// When the next one is back.
    pub(super) fn next_boot(&self) -> Option<Time> {
        self.boots.first().map(|(at, _)| *at)
    }

    /// The one that an actor runs on.
    fn of(&mut self, actor: ActorId) -> Option<(&String, &mut Machine)> {
        self.by_node.iter_mut().find(|(_, machine)| machine.runs.contains(&actor))
    }
}

impl Simulation {
    /// Adds the machine of a node, which has been running all along.
    pub(super) fn add_machine(&mut self, node: &str, disk: Disk) {
        self.machines.by_node.insert(node.to_owned(), Machine { disk, ..Machine::default() });
        self.run_machine(node);
    }

    fn run_machine(&mut self, node: &str) {
        let runs = self.programs_of(node).into_iter().map(|actor| self.add(actor)).collect();
        if let Some(machine) = self.machines.by_node.get_mut(node) {
            machine.runs = runs;
        }
    }

    /// What a machine runs, as it is right after having been started.
    fn programs_of(&self, node: &str) -> Vec<Box<dyn Actor>> {
        let Some(Machine { disk, boot, .. }) = self.machines.by_node.get(node) else { return Vec::new() };
        actors::on_machine(node, disk, boot.clone(), &self.world, &self.streams, self.now())
    }

    /// What replaces an actor that runs on a machine and died.
    #[cfg(test)]
    pub(super) fn program_again(&self, id: ActorId) -> Option<Box<dyn Actor>> {
        let (node, machine) = self.machines.by_node.iter().find(|(_, machine)| machine.runs.contains(&id))?;
        let index = machine.runs.iter().position(|run| *run == id)?;
        self.programs_of(node).into_iter().nth(index)
    }

    /// The actor `id` wrote to the disk of its machine.
    pub(super) fn write_disk(&mut self, id: ActorId, disk: Disk) {
        if let Some((_, machine)) = self.machines.of(id) {
            machine.disk = disk;
        }
    }

    /// The machine of the actor `id` goes down with all that runs on it, to come back after `silence`; without that, only
    /// when somebody starts it.
    pub(super) fn reboot(&mut self, id: ActorId, disk: Disk, silence: Option<jiff::SignedDuration>) {
        let up = silence.map(|silence| after(self.now(), silence));
        let Some((node, machine)) = self.machines.of(id) else { return };
        machine.disk = disk;
        let (node, runs) = (node.clone(), std::mem::take(&mut machine.runs));
        for actor in runs {
            for (pod, container) in self.processes.started_by(actor) {
                self.end_process(&pod, &container);
            }
            self.remove(actor);
        }
        self.machines.boots.extend(up.map(|up| (up, node)));
    }

    /// Somebody starts the machine of a node, if nothing runs on it.
    pub(super) fn power_on(&mut self, node: &str) {
        let is_down = self.machines.by_node.get(node).is_some_and(|machine| machine.runs.is_empty());
        if is_down && !self.machines.boots.iter().any(|(_, other)| other == node) {
            self.machines.boots.insert((self.now(), node.to_owned()));
        }
    }

    /// Starts the machines whose time has come.
    pub(super) fn boot(&mut self) {
        let now = self.now();
        while let Some((at, node)) = self.machines.boots.pop_first() {
            if at > now {
                self.machines.boots.insert((at, node));
                return;
            }
            let Some(machine) = self.machines.by_node.get_mut(&node) else { continue };
            machine.boots += 1;
            let id = self.streams.stream(&format!("boot/{node}/{}", machine.boots)).uuid();
            machine.boot = Some(Boot { id, os_image: machine.disk.os_image.clone() });
            self.run_machine(&node);
        }
    }
}

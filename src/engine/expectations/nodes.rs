//! Checks expectations about nodes: their phase, their phases so far, and their reboots.

use windtunnel_core::resources::NODES;
use windtunnel_update_status::assessment::node::phase::Phase;

use crate::engine::invariants::node_order::Phases;
use crate::engine::runtime::Simulation;
use crate::record::{Event, Record};

/// Whether a node is in this phase.
pub(in crate::engine) fn phase(seen: &Phases, node: &str, wanted: Phase) -> Result<(), String> {
    match seen.phases_of(node).last() {
        Some(last) if *last == wanted => Ok(()),
        Some(last) => Err(format!("node {node} is {last:?}")),
        None => Err(format!("no pool has a node {node}")),
    }
}

/// Whether a node was in exactly these phases since the run began.
pub(in crate::engine) fn phases(seen: &Phases, node: &str, wanted: &[Phase]) -> Result<(), String> {
    let seen = seen.phases_of(node);
    let list = || seen.iter().map(|phase| format!("{phase:?}")).collect::<Vec<_>>().join(", then ");
    match seen == wanted {
        true => Ok(()),
        false if seen.is_empty() => Err(format!("no pool has a node {node}")),
        false => Err(format!("node {node} was {}", list())),
    }
}

/// Whether a node was rebooted `wanted` times since the run began.
pub(in crate::engine) fn reboots(simulation: &Simulation, node: &str, wanted: u32) -> Result<(), String> {
    if simulation.view.get(&NODES, "", node).is_none() {
        return Err(format!("there is no node {node}"));
    }
    let seen = boots(&simulation.record, node);
    let plural = if seen == 1 { "" } else { "s" };
    (seen == wanted).then_some(()).ok_or_else(|| format!("node {node} was rebooted {seen} time{plural}"))
}

/// Counts the changes of a node's `status.nodeInfo.bootID` after the set-up.
fn boots(record: &Record, node: &str) -> u32 {
    let boot = "/status/nodeInfo/bootID";
    let run = record.entries.iter().filter(|entry| !record.is_set_up(entry));
    let boots = run.filter_map(|entry| match &entry.event {
        Event::Write(write) if write.key.is_kind(&NODES) && write.key.name == node => {
            let (before, after) = (write.before.as_ref()?, write.after.as_ref()?);
            (before.text(boot) != after.text(boot)).then_some(1)
        }
        _ => None,
    });
    boots.sum()
}

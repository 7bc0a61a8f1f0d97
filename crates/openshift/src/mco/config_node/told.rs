//! What is told of a node on its way to another MachineConfig: a phase, and where it has steps, the step.

use windtunnel_core::condition::Condition;

/// A phase and one of its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mco) struct Told {
    /// The phase.
    pub(super) parent: Condition,
    /// The step.
    pub(super) child: Option<Condition>,
}

fn phase(kind: &str, status: &str, message: impl Into<String>) -> Told {
    Told { parent: Condition::new(kind, status, kind, message), child: None }
}

/// A step of a phase; the phase's reason is the step, and the step's is both.
fn step(
    (parent, parent_status, parent_message): (&str, &str, &str),
    (child, status, message): (&str, &str, String),
) -> Told {
    Told {
        parent: Condition::new(parent, parent_status, child, parent_message),
        child: Some(Condition::new(child, status, &format!("{parent}{child}"), message)),
    }
}

/// Something happens to a node that is updated.
pub(super) fn disturbed() -> Condition {
    phase("Updated", "False", "This node is not updated, sensed disruption via a manual update.").parent
}

/// It is to have another MachineConfig.
pub(in crate::mco) fn needs_update(node: &str) -> Told {
    phase("Updated", "False", format!("Node {node} needs an update"))
}

/// It can have it. The list of actions is written before any is known.
pub(in crate::mco) fn prepared(drain: bool) -> Told {
    let message = format!("Update Compatible. Post Cfg Actions: [] Drain Required: {drain}");
    phase("UpdatePrepared", "True", message)
}

/// It is cordoned. What the node reports is read before that.
pub(in crate::mco) fn cordoned() -> Told {
    step(
        ("UpdateExecuted", "Unknown", "Cordoned Node as part of update executed phase"),
        ("Cordoned", "True", "Cordoned node. The node is reporting Unschedulable = false".to_owned()),
    )
}

/// A drain begins, by wish `desired`; `applied` is the last one that came true.
pub(in crate::mco) fn draining(desired: &str, applied: &str) -> Told {
    let message = format!(
        "Draining node. The drain will not be complete until desired drainer {desired} matches current drainer {applied}"
    );
    step(
        ("UpdateExecuted", "Unknown", "Draining Node as part of update executed phase"),
        ("Drained", "Unknown", message),
    )
}

/// An attempt to drain it failed.
pub(in crate::mco) fn drain_failed(failure: &str, desired: &str, applied: &str) -> Told {
    let message = format!(
        "Error: Node Drain has not succeeded. Error is: {failure} The drain will not be complete until desired drainer {desired} matches current drainer {applied}"
    );
    step(("UpdateExecuted", "Unknown", "Node Drain has not succeeded"), ("Drained", "Unknown", message))
}

/// It is drained.
pub(in crate::mco) fn drained(desired: &str) -> Told {
    let message = format!(
        "Drained node. The drain is complete as the desired drainer matches current drainer: {desired}"
    );
    step(
        ("UpdateExecuted", "Unknown", "Drained Node as part of update executed phase"),
        ("Drained", "True", message),
    )
}

/// It need not be drained.
pub(in crate::mco) fn not_drained() -> Told {
    let message = "Node Drain Not required for this update.";
    step(("UpdateExecuted", "Unknown", message), ("Drained", "False", message.to_owned()))
}

/// Files and the operating system are written; whether the latter and keys have to be.
pub(in crate::mco) fn applying(os: bool, keys: bool) -> Told {
    let (os, keys) = (needed(os), needed(keys));
    let message = format!(
        "Applying files and new OS config to node. OS will {os} need an update. SSH Keys will {keys} need an update"
    );
    step(
        ("UpdateExecuted", "Unknown", "Updating the Files and OS on disk as a part of the in progress phase"),
        ("AppliedFilesAndOS", "Unknown", message),
    )
}

/// They are written.
pub(in crate::mco) fn applied(os: bool, keys: bool) -> Told {
    let (os, keys) = (needed(os), needed(keys));
    let message = format!(
        "Applied files and new OS config to node. OS did {os} need an update. SSH Keys did {keys} need an update"
    );
    step(
        ("UpdateExecuted", "True", "Updated the Files and OS on disk as a part of the in progress phase"),
        ("AppliedFilesAndOS", "True", message),
    )
}

/// Where something is needed the sentence has two spaces.
fn needed(is: bool) -> &'static str {
    if is { "" } else { "not" }
}

/// It is about to reboot.
pub(in crate::mco) fn rebooting() -> Told {
    phase("RebootedNode", "Unknown", "Upgrade requires a reboot.")
}

/// It did.
pub(in crate::mco) fn rebooted() -> Told {
    phase("RebootedNode", "True", "Node has rebooted")
}

/// It need not reboot.
pub(in crate::mco) fn not_rebooted() -> Told {
    let parent =
        Condition::new("UpdatePostActionComplete", "True", "None", "Changes do not require a reboot");
    Told { parent, child: None }
}

/// The daemon goes on as usual.
pub(in crate::mco) fn resumed(config: &str) -> Told {
    phase("Resumed", "True", format!("In desired config {config}. Resumed normal operations."))
}

/// It is uncordoned.
pub(in crate::mco) fn uncordoned() -> Told {
    step(
        ("UpdateComplete", "True", "Uncordoned Node as part of completing upgrade phase"),
        ("Uncordoned", "True", "UnCordoned node. The node is reporting Unschedulable = false".to_owned()),
    )
}

/// It has what it is to have.
pub(in crate::mco) fn updated(node: &str) -> Told {
    phase("Updated", "True", format!("Node {node} Updated"))
}

/// The daemon failed.
pub(in crate::mco) fn degraded(node: &str, why: &str) -> Told {
    phase("NodeDegraded", "True", format!("Node {node} upgrade failure. {why}"))
}

/// The daemon got through.
pub(in crate::mco) fn succeeded(node: &str) -> Told {
    phase("NodeDegraded", "False", format!("Node {node} upgrade succeeded"))
}

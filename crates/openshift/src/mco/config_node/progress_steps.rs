//! Progress steps of a MachineConfig update: a phase, and the step in phases that have steps.

use windtunnel_core::condition::Condition;

/// A phase and one of its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mco) struct ProgressStep {
    pub(super) parent: Condition,
    pub(super) child: Option<Condition>,
}

fn phase(kind: &str, status: &str, message: impl Into<String>) -> ProgressStep {
    ProgressStep { parent: Condition::new(kind, status, kind, message), child: None }
}

/// A step of a phase. The phase's reason is the step's type, and the step's reason is both types combined.
fn step(
    (parent, parent_status, parent_message): (&str, &str, &str),
    (child, status, message): (&str, &str, String),
) -> ProgressStep {
    ProgressStep {
        parent: Condition::new(parent, parent_status, child, parent_message),
        child: Some(Condition::new(child, status, &format!("{parent}{child}"), message)),
    }
}

/// An updated node changes without an update.
pub(super) fn manually_disrupted() -> Condition {
    phase("Updated", "False", "This node is not updated, sensed disruption via a manual update.").parent
}

/// The node has a new desired MachineConfig.
pub(in crate::mco) fn needs_update(node: &str) -> ProgressStep {
    phase("Updated", "False", format!("Node {node} needs an update"))
}

/// The update is validated. The list of actions is empty because it is written before the actions are known.
pub(in crate::mco) fn prepared(drain: bool) -> ProgressStep {
    let message = format!("Update Compatible. Post Cfg Actions: [] Drain Required: {drain}");
    phase("UpdatePrepared", "True", message)
}

/// The node is cordoned. The message has the node's state from before that.
pub(in crate::mco) fn cordoned() -> ProgressStep {
    step(
        ("UpdateExecuted", "Unknown", "Cordoned Node as part of update executed phase"),
        ("Cordoned", "True", "Cordoned node. The node is reporting Unschedulable = false".to_owned()),
    )
}

/// A drain starts with request `desired`. `applied` is the last completed request.
pub(in crate::mco) fn draining(desired: &str, applied: &str) -> ProgressStep {
    let message = format!(
        "Draining node. The drain will not be complete until desired drainer {desired} matches current drainer {applied}"
    );
    step(
        ("UpdateExecuted", "Unknown", "Draining Node as part of update executed phase"),
        ("Drained", "Unknown", message),
    )
}

/// An attempt to drain the node failed.
pub(in crate::mco) fn drain_failed(failure: &str, desired: &str, applied: &str) -> ProgressStep {
    let message = format!(
        "Error: Node Drain has not succeeded. Error is: {failure} The drain will not be complete until desired drainer {desired} matches current drainer {applied}"
    );
    step(("UpdateExecuted", "Unknown", "Node Drain has not succeeded"), ("Drained", "Unknown", message))
}

pub(in crate::mco) fn drained(desired: &str) -> ProgressStep {
    let message = format!(
        "Drained node. The drain is complete as the desired drainer matches current drainer: {desired}"
    );
    step(
        ("UpdateExecuted", "Unknown", "Drained Node as part of update executed phase"),
        ("Drained", "True", message),
    )
}

/// The node needs no drain.
pub(in crate::mco) fn not_drained() -> ProgressStep {
    let message = "Node Drain Not required for this update.";
    step(("UpdateExecuted", "Unknown", message), ("Drained", "False", message.to_owned()))
}

/// Files and the operating system are being written. `os` and `keys` say whether OS and SSH keys change.
pub(in crate::mco) fn applying(os: bool, keys: bool) -> ProgressStep {
    let (os, keys) = (needed(os), needed(keys));
    let message = format!(
        "Applying files and new OS config to node. OS will {os} need an update. SSH Keys will {keys} need an update"
    );
    step(
        ("UpdateExecuted", "Unknown", "Updating the Files and OS on disk as a part of the in progress phase"),
        ("AppliedFilesAndOS", "Unknown", message),
    )
}

/// Files and the operating system are written.
pub(in crate::mco) fn applied(os: bool, keys: bool) -> ProgressStep {
    let (os, keys) = (needed(os), needed(keys));
    let message = format!(
        "Applied files and new OS config to node. OS did {os} need an update. SSH Keys did {keys} need an update"
    );
    step(
        ("UpdateExecuted", "True", "Updated the Files and OS on disk as a part of the in progress phase"),
        ("AppliedFilesAndOS", "True", message),
    )
}

/// Without `not`, the original messages have two spaces.
fn needed(is: bool) -> &'static str {
    if is { "" } else { "not" }
}

/// The node is about to reboot.
pub(in crate::mco) fn rebooting() -> ProgressStep {
    phase("RebootedNode", "Unknown", "Upgrade requires a reboot.")
}

/// The node has rebooted.
pub(in crate::mco) fn rebooted() -> ProgressStep {
    phase("RebootedNode", "True", "Node has rebooted")
}

/// The node needs no reboot.
pub(in crate::mco) fn not_rebooted() -> ProgressStep {
    let parent =
        Condition::new("UpdatePostActionComplete", "True", "None", "Changes do not require a reboot");
    ProgressStep { parent, child: None }
}

/// The daemon continues normal operation.
pub(in crate::mco) fn resumed(config: &str) -> ProgressStep {
    phase("Resumed", "True", format!("In desired config {config}. Resumed normal operations."))
}

/// The node is uncordoned.
pub(in crate::mco) fn uncordoned() -> ProgressStep {
    step(
        ("UpdateComplete", "True", "Uncordoned Node as part of completing upgrade phase"),
        ("Uncordoned", "True", "UnCordoned node. The node is reporting Unschedulable = false".to_owned()),
    )
}

/// The node has its desired MachineConfig.
pub(in crate::mco) fn updated(node: &str) -> ProgressStep {
    phase("Updated", "True", format!("Node {node} Updated"))
}

pub(in crate::mco) fn degraded(node: &str, why: &str) -> ProgressStep {
    phase("NodeDegraded", "True", format!("Node {node} upgrade failure. {why}"))
}

pub(in crate::mco) fn succeeded(node: &str) -> ProgressStep {
    phase("NodeDegraded", "False", format!("Node {node} upgrade succeeded"))
}

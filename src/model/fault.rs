//! What an operator, a node or a pod is told to get wrong. It stands in annotations of the ClusterOperator, Node or Pod, so that whoever
//! may write there can tell it: a scenario, or somebody with `oc annotate`.

use serde_json::{Value, json};

/// The annotation of a ClusterOperator, a Node or a Pod that names the fault, or says [`NONE`].
pub const ANNOTATION: &str = "windtunnel.dev/fault";
/// The annotation with the reason that is given for the fault.
pub const REASON: &str = "windtunnel.dev/fault-reason";
/// The annotation with the message that is given for the fault.
pub const MESSAGE: &str = "windtunnel.dev/fault-message";

/// What [`ANNOTATION`] says when all is to be well again.
pub const NONE: &str = "none";

/// How an operator, a node or a pod can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// An operator reports `Degraded=True`; on a node the machine-config daemon fails with the message.
    Degraded,
    /// It reports `Available=False`.
    Unavailable,
    /// It reports `Available=False` and `True` in turn.
    Flapping,
    /// It reports `Upgradeable=False`.
    NotUpgradeable,
    /// It begins rollouts and never ends them.
    Stalled,
    /// It reports nothing at all: its status is empty.
    Silent,
    /// The kubelet reports `Ready=False`.
    NotReady,
    /// The kubelet reports `DiskPressure=True`.
    DiskPressure,
    /// A file on the node's disk is not what the MachineConfig says.
    OnDiskMismatch,
    /// The node cannot be brought to another MachineConfig.
    Unreconcilable,
    /// The image of the operating system cannot be had.
    OsUpdateFails,
    /// The machine does not come back from its next reboot.
    DoesNotReturn,
    /// The containers of a pod run and their readiness probes fail.
    Unready,
    /// Their liveness probes fail, so that they are restarted again and again.
    NotLive,
    /// Their programs end with an error again and again.
    CrashLooping,
}

const NAMES: [(FaultKind, &str); 15] = [
    (FaultKind::Degraded, "degraded"),
    (FaultKind::Unavailable, "unavailable"),
    (FaultKind::Flapping, "flapping"),
    (FaultKind::NotUpgradeable, "not-upgradeable"),
    (FaultKind::Stalled, "stalled"),
    (FaultKind::Silent, "silent"),
    (FaultKind::NotReady, "not-ready"),
    (FaultKind::DiskPressure, "disk-pressure"),
    (FaultKind::OnDiskMismatch, "on-disk-mismatch"),
    (FaultKind::Unreconcilable, "unreconcilable"),
    (FaultKind::OsUpdateFails, "os-update-fails"),
    (FaultKind::DoesNotReturn, "does-not-return"),
    (FaultKind::Unready, "unready"),
    (FaultKind::NotLive, "not-live"),
    (FaultKind::CrashLooping, "crash-looping"),
];

impl FaultKind {
    /// The names of the faults that operators have, as scenarios and the annotation have them.
    pub const OF_OPERATORS: [&str; 6] =
        ["degraded", "unavailable", "flapping", "not-upgradeable", "stalled", "silent"];
    /// The names of the faults that nodes have.
    pub const OF_NODES: [&str; 7] = [
        "not-ready",
        "disk-pressure",
        "on-disk-mismatch",
        "unreconcilable",
        "os-update-fails",
        "does-not-return",
        "degraded",
    ];
    /// The names of the faults that pods have.
    pub const OF_PODS: [&str; 3] = ["unready", "not-live", "crash-looping"];

    /// The fault of this name.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// Its name, such as `not-upgradeable`.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// A fault with what is said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which.
    pub kind: FaultKind,
    /// The reason of the condition that tells of it; empty for one that every fault has.
    pub reason: String,
    /// The message of that condition; empty for one that every fault has.
    pub message: String,
}

/// Who fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Faulty {
    /// The operator of this ClusterOperator.
    Operator(String),
    /// This node.
    Node(String),
    /// The pods of this name in this namespace; a name that ends in `*` means all that begin so.
    Pods {
        /// The namespace.
        namespace: String,
        /// The name.
        name: String,
    },
}

impl Fault {
    /// What the annotations of an object say: nothing (`None`), that all is well (`Some(None)`), or a fault.
    pub fn told(object: &Value) -> Option<Option<Self>> {
        let text = |name: &str| object["metadata"]["annotations"][name].as_str();
        let name = text(ANNOTATION)?;
        if name == NONE {
            return Some(None);
        }
        let said = |name: &str| text(name).unwrap_or_default().to_owned();
        let kind = FaultKind::named(name)?;
        Some(Some(Self { kind, reason: said(REASON), message: said(MESSAGE) }))
    }

    /// The message, or `otherwise` where none is given.
    pub fn message_or<'a>(&'a self, otherwise: &'a str) -> &'a str {
        if self.message.is_empty() { otherwise } else { &self.message }
    }

    /// The merge patch that puts a fault into an object's annotations, or says that all is well.
    pub fn patch(fault: Option<&Self>) -> Value {
        let text = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
        let (name, reason, message) = fault.map_or((NONE, Value::Null, Value::Null), |fault| {
            (fault.kind.name(), text(&fault.reason), text(&fault.message))
        });
        json!({ "metadata": { "annotations": { ANNOTATION: name, REASON: reason, MESSAGE: message } } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_patch_tells_is_read_back() {
        let fault = Fault { kind: FaultKind::Stalled, reason: "Waiting".to_owned(), message: String::new() };
        for told in [None, Some(fault)] {
            let mut object = json!({});
            json_patch::merge(&mut object, &Fault::patch(told.as_ref()));
            assert_eq!(Fault::told(&object), Some(told));
        }
        assert_eq!(Fault::told(&json!({})), None);
        assert_eq!(Fault::told(&json!({ "metadata": { "annotations": { ANNOTATION: "sad" } } })), None);
        let words = FaultKind::OF_OPERATORS.iter().chain(&FaultKind::OF_NODES).chain(&FaultKind::OF_PODS);
        assert!({ words }.all(|name| FaultKind::named(name).unwrap().name() == *name));
    }
}

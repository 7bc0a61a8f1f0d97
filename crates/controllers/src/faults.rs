//! What goes wrong. What an operator, a node or a pod is told to get wrong stands in annotations of the ClusterOperator, Node or Pod, so
//! that whoever may write there can tell it: a scenario, or somebody with `oc annotate`.

use jiff::SignedDuration;
use serde_json::{Value, json};

/// The annotation of a ClusterOperator, a Node or a Pod that names the fault, or says [`NONE`].
pub const ANNOTATION: &str = "windtunnel.dev/fault";
/// The annotation with the reason that is given for the fault.
pub const REASON: &str = "windtunnel.dev/fault-reason";
/// The annotation with the message that is given for the fault.
pub const MESSAGE: &str = "windtunnel.dev/fault-message";
/// The annotation with how often something happens.
pub const TIMES: &str = "windtunnel.dev/fault-times";
/// The annotation with how many seconds something is off.
pub const SECONDS: &str = "windtunnel.dev/fault-seconds";

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
    /// The kubelet does not run, on a machine that does.
    KubeletStopped,
    /// The kubelet reports `DiskPressure=True`.
    DiskPressure,
    /// A file on the node's disk is not what the MachineConfig says.
    OnDiskMismatch,
    /// The same, and nobody saw it change: the machine-config daemon finds out when it starts or is to change it.
    HiddenMismatch,
    /// The node cannot be brought to another MachineConfig.
    Unreconcilable,
    /// The image of the operating system cannot be had.
    OsUpdateFails,
    /// That image cannot be pulled.
    ImagePullFails,
    /// The machine is not rebooted when it is to be.
    RebootRefused,
    /// The machine does not come back from its next reboot.
    DoesNotReturn,
    /// The machine reboots so many times more before it stays up.
    RebootLoop,
    /// A pod of the node may not be evicted.
    DrainBlocked,
    /// The clock of the machine is ahead.
    ClockAhead,
    /// The clock of the machine is behind.
    ClockBehind,
    /// The containers of a pod run and their readiness probes fail.
    Unready,
    /// Their liveness probes fail, so that they are restarted again and again.
    NotLive,
    /// Their startup probes fail, so that they are restarted again and again.
    NotStarted,
    /// Their programs end with an error again and again.
    CrashLooping,
}

const NAMES: [(FaultKind, &str); 24] = [
    (FaultKind::Degraded, "degraded"),
    (FaultKind::Unavailable, "unavailable"),
    (FaultKind::Flapping, "flapping"),
    (FaultKind::NotUpgradeable, "not-upgradeable"),
    (FaultKind::Stalled, "stalled"),
    (FaultKind::Silent, "silent"),
    (FaultKind::NotReady, "not-ready"),
    (FaultKind::KubeletStopped, "kubelet-stopped"),
    (FaultKind::DiskPressure, "disk-pressure"),
    (FaultKind::OnDiskMismatch, "on-disk-mismatch"),
    (FaultKind::HiddenMismatch, "hidden-mismatch"),
    (FaultKind::Unreconcilable, "unreconcilable"),
    (FaultKind::OsUpdateFails, "os-update-fails"),
    (FaultKind::ImagePullFails, "image-pull-fails"),
    (FaultKind::RebootRefused, "reboot-refused"),
    (FaultKind::DoesNotReturn, "does-not-return"),
    (FaultKind::RebootLoop, "reboot-loop"),
    (FaultKind::DrainBlocked, "drain-blocked"),
    (FaultKind::ClockAhead, "clock-ahead"),
    (FaultKind::ClockBehind, "clock-behind"),
    (FaultKind::Unready, "unready"),
    (FaultKind::NotLive, "not-live"),
    (FaultKind::NotStarted, "not-started"),
    (FaultKind::CrashLooping, "crash-looping"),
];

impl FaultKind {
    /// The names of the faults that operators have, as scenarios and the annotation have them.
    pub const OF_OPERATORS: [&str; 6] =
        ["degraded", "unavailable", "flapping", "not-upgradeable", "stalled", "silent"];
    /// The names of the faults that nodes have.
    pub const OF_NODES: [&str; 15] = [
        "not-ready",
        "kubelet-stopped",
        "disk-pressure",
        "on-disk-mismatch",
        "hidden-mismatch",
        "unreconcilable",
        "os-update-fails",
        "image-pull-fails",
        "reboot-refused",
        "does-not-return",
        "reboot-loop",
        "drain-blocked",
        "clock-ahead",
        "clock-behind",
        "degraded",
    ];
    /// The names of the faults that pods have.
    pub const OF_PODS: [&str; 4] = ["unready", "not-live", "not-started", "crash-looping"];

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
    /// How often, of [`FaultKind::RebootLoop`]; else 0.
    pub times: u32,
    /// How much, of [`FaultKind::ClockAhead`] and [`FaultKind::ClockBehind`]; else 0.
    pub by: SignedDuration,
}

impl Fault {
    /// A fault of which nothing more is said.
    pub fn of(kind: FaultKind) -> Self {
        Self { kind, reason: String::new(), message: String::new(), times: 0, by: SignedDuration::ZERO }
    }

    /// What the annotations of an object say: nothing (`None`), that all is well (`Some(None)`), or a fault.
    pub fn told(object: &Value) -> Option<Option<Self>> {
        let text = |name: &str| object["metadata"]["annotations"][name].as_str();
        let name = text(ANNOTATION)?;
        if name == NONE {
            return Some(None);
        }
        let said = |name: &str| text(name).unwrap_or_default().to_owned();
        let kind = FaultKind::named(name)?;
        let number = |name: &str| text(name).and_then(|text| text.parse::<u32>().ok()).unwrap_or_default();
        let by = SignedDuration::from_secs(number(SECONDS).into());
        let times = number(TIMES);
        Some(Some(Self { kind, reason: said(REASON), message: said(MESSAGE), times, by }))
    }

    /// The message, or `otherwise` where none is given.
    pub fn message_or<'a>(&'a self, otherwise: &'a str) -> &'a str {
        if self.message.is_empty() { otherwise } else { &self.message }
    }

    /// The merge patch that puts a fault into an object's annotations, or says that all is well.
    pub fn patch(fault: Option<&Self>) -> Value {
        let text = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
        let number = |number: i64| if number == 0 { Value::Null } else { json!(number.to_string()) };
        let all_well = Self::of(FaultKind::Degraded);
        let Self { kind, reason, message, times, by } = fault.unwrap_or(&all_well);
        json!({ "metadata": { "annotations": {
            ANNOTATION: fault.map_or(NONE, |_| kind.name()),
            REASON: text(reason),
            MESSAGE: text(message),
            TIMES: number((*times).into()),
            SECONDS: number(by.as_secs()),
        } } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_patch_tells_is_read_back() {
        let fault = Fault { reason: "Waiting".to_owned(), ..Fault::of(FaultKind::Stalled) };
        let by = SignedDuration::from_mins(10);
        let numbers = Fault { times: 3, by, ..Fault::of(FaultKind::RebootLoop) };
        for told in [None, Some(fault), Some(numbers)] {
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

//! Faults of operators, nodes, pods and pools. They are set by annotations of the ClusterOperator, Node, Pod or
//! MachineConfigPool, so scenarios and users with `oc annotate` can inject them.

use jiff::SignedDuration;
use serde_json::{Value, json};

/// The annotation of a ClusterOperator, Node, Pod or MachineConfigPool with the name of a fault or [`NONE`].
pub const ANNOTATION: &str = "windtunnel.dev/fault";
/// The annotation with the reason that the component reports.
pub const REASON: &str = "windtunnel.dev/fault-reason";
/// The annotation with the message that the component reports.
pub const MESSAGE: &str = "windtunnel.dev/fault-message";
/// The annotation with the number of repetitions of a fault.
pub const TIMES: &str = "windtunnel.dev/fault-times";
/// The annotation with the number of seconds by which a clock is wrong.
pub const SECONDS: &str = "windtunnel.dev/fault-seconds";

/// The value of [`ANNOTATION`] that heals a fault.
pub const NONE: &str = "none";

/// The ways in which an operator, a node, a pod or a pool can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// An operator reports `Degraded=True`; on a node the machine-config daemon fails with the message; a pool cannot be rendered.
    Degraded,
    /// The operator reports `Available=False`.
    Unavailable,
    /// The operator alternates between `Available=False` and `True`.
    Flapping,
    /// The operator reports `Upgradeable=False`.
    NotUpgradeable,
    /// The operator starts rollouts and never completes them.
    Stalled,
    /// The operator reports nothing: its status is empty.
    Silent,
    /// The kubelet reports `Ready=False`.
    NotReady,
    /// The kubelet does not run, but the machine does.
    KubeletStopped,
    /// The kubelet reports `DiskPressure=True`.
    DiskPressure,
    /// A file on the node's disk differs from the MachineConfig.
    OnDiskMismatch,
    /// Like [`Self::OnDiskMismatch`], but undetected until the machine-config daemon starts or updates the
    /// node.
    HiddenMismatch,
    /// The node cannot be updated to another MachineConfig.
    Unreconcilable,
    /// The OS update (`rpm-ostree rebase`) fails.
    OsUpdateFails,
    /// The OS image cannot be pulled.
    ImagePullFails,
    /// The machine does not reboot when it should.
    RebootRefused,
    /// The machine does not come back from its next reboot.
    DoesNotReturn,
    /// The machine is switched off. It is no annotation, because an API server without its etcd stores none.
    PoweredOff,
    /// The machine reboots several more times before it stays up.
    RebootLoop,
    /// A pod of the node cannot be evicted.
    DrainBlocked,
    /// The clock of the machine is fast.
    ClockAhead,
    /// The clock of the machine is slow.
    ClockBehind,
    /// The containers of a pod run, but their readiness probes fail.
    Unready,
    /// The liveness probes of a pod fail, so its containers are restarted again and again.
    NotLive,
    /// The startup probes of a pod fail, so its containers are restarted again and again.
    NotStarted,
    /// The programs of a pod exit with an error again and again.
    CrashLooping,
    /// The builds of a pool's custom OS image fail.
    ImageBuildFails,
}

const NAMES: [(FaultKind, &str); 26] = [
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
    (FaultKind::PoweredOff, "powered-off"),
    (FaultKind::RebootLoop, "reboot-loop"),
    (FaultKind::DrainBlocked, "drain-blocked"),
    (FaultKind::ClockAhead, "clock-ahead"),
    (FaultKind::ClockBehind, "clock-behind"),
    (FaultKind::Unready, "unready"),
    (FaultKind::NotLive, "not-live"),
    (FaultKind::NotStarted, "not-started"),
    (FaultKind::CrashLooping, "crash-looping"),
    (FaultKind::ImageBuildFails, "image-build-fails"),
];

impl FaultKind {
    /// The names of operator faults in scenarios and in the annotation.
    pub const OF_OPERATORS: [&str; 6] =
        ["degraded", "unavailable", "flapping", "not-upgradeable", "stalled", "silent"];
    /// The names of node faults.
    pub const OF_NODES: [&str; 16] = [
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
        "powered-off",
        "reboot-loop",
        "drain-blocked",
        "clock-ahead",
        "clock-behind",
        "degraded",
    ];
    /// The names of pod faults.
    pub const OF_PODS: [&str; 4] = ["unready", "not-live", "not-started", "crash-looping"];
    /// The names of pool faults that are annotations.
    pub const OF_POOLS: [&str; 2] = ["image-build-fails", "degraded"];

    /// The fault of this name.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// Its name, such as `not-upgradeable`.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// A fault with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The reason of the reported condition; empty for the default.
    pub reason: String,
    /// The message of the reported condition; empty for the default.
    pub message: String,
    /// The number of reboots of [`FaultKind::RebootLoop`], or of failed attempts of each build of
    /// [`FaultKind::ImageBuildFails`], 0 for all; otherwise 0.
    pub times: u32,
    /// The offset of [`FaultKind::ClockAhead`] and [`FaultKind::ClockBehind`]; otherwise 0.
    pub by: SignedDuration,
}

impl Fault {
    /// Creates a fault with default parameters.
    pub fn new(kind: FaultKind) -> Self {
        Self { kind, reason: String::new(), message: String::new(), times: 0, by: SignedDuration::ZERO }
    }

    /// Reads the annotations of an object: a fault, `Some(None)` for [`NONE`], or `None` without a known
    /// name.
    pub fn from_annotations(object: &Value) -> Option<Option<Self>> {
        let text = |name: &str| object["metadata"]["annotations"][name].as_str();
        let name = text(ANNOTATION)?;
        if name == NONE {
            return Some(None);
        }
        let parameter = |name: &str| text(name).unwrap_or_default().to_owned();
        let kind = FaultKind::named(name)?;
        let number = |name: &str| text(name).and_then(|text| text.parse::<u32>().ok()).unwrap_or_default();
        let by = SignedDuration::from_secs(number(SECONDS).into());
        let times = number(TIMES);
        Some(Some(Self { kind, reason: parameter(REASON), message: parameter(MESSAGE), times, by }))
    }

    /// The message, or `otherwise` if it is empty.
    pub fn message_or<'a>(&'a self, otherwise: &'a str) -> &'a str {
        if self.message.is_empty() { otherwise } else { &self.message }
    }

    /// The merge patch that sets the annotations of a fault, or [`NONE`].
    pub fn annotation_patch(fault: Option<&Self>) -> Value {
        let text = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
        let number = |number: i64| if number == 0 { Value::Null } else { json!(number.to_string()) };
        let all_well = Self::new(FaultKind::Degraded);
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
    fn a_fault_is_read_back_from_its_patch() {
        let fault = Fault { reason: "Waiting".to_owned(), ..Fault::new(FaultKind::Stalled) };
        let by = SignedDuration::from_mins(10);
        let numbers = Fault { times: 3, by, ..Fault::new(FaultKind::RebootLoop) };
        for wanted in [None, Some(fault), Some(numbers)] {
            let mut object = json!({});
            json_patch::merge(&mut object, &Fault::annotation_patch(wanted.as_ref()));
            assert_eq!(Fault::from_annotations(&object), Some(wanted));
        }
        assert_eq!(Fault::from_annotations(&json!({})), None);
        assert_eq!(
            Fault::from_annotations(&json!({ "metadata": { "annotations": { ANNOTATION: "sad" } } })),
            None
        );
        let words = FaultKind::OF_OPERATORS.iter().chain(&FaultKind::OF_NODES).chain(&FaultKind::OF_PODS);
        let words = words.chain(&FaultKind::OF_POOLS);
        assert!({ words }.all(|name| FaultKind::named(name).unwrap().name() == *name));
    }
}

//! What an operator is told to get wrong. It stands in annotations of its ClusterOperator, so that whoever may write there
//! can tell it: a scenario, or somebody with `oc annotate`.

use serde_json::{Value, json};

/// The annotation of a ClusterOperator that names the fault, or says [`NONE`].
pub const ANNOTATION: &str = "windtunnel.dev/fault";
/// The annotation with the reason that the operator gives for its fault.
pub const REASON: &str = "windtunnel.dev/fault-reason";
/// The annotation with the message that the operator gives for its fault.
pub const MESSAGE: &str = "windtunnel.dev/fault-message";

/// What [`ANNOTATION`] says when an operator is to report that all is well again.
pub const NONE: &str = "none";

/// How an operator can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// It reports `Degraded=True`.
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
}

const NAMES: [(FaultKind, &str); 6] = [
    (FaultKind::Degraded, "degraded"),
    (FaultKind::Unavailable, "unavailable"),
    (FaultKind::Flapping, "flapping"),
    (FaultKind::NotUpgradeable, "not-upgradeable"),
    (FaultKind::Stalled, "stalled"),
    (FaultKind::Silent, "silent"),
];

impl FaultKind {
    /// The names of all faults, as scenarios and the annotation have them.
    pub const WORDS: [&str; 6] = [NAMES[0].1, NAMES[1].1, NAMES[2].1, NAMES[3].1, NAMES[4].1, NAMES[5].1];

    /// The fault of this name.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// Its name, such as `not-upgradeable`.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// A fault with what the operator says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which.
    pub kind: FaultKind,
    /// The reason of the condition that tells of it; empty for one that every fault has.
    pub reason: String,
    /// The message of that condition; empty for one that every fault has.
    pub message: String,
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
        assert!(FaultKind::WORDS.iter().all(|name| FaultKind::named(name).unwrap().name() == *name));
    }
}

//! Rules about records, and their findings.

use windtunnel_core::View;
use windtunnel_core::alert::Alert;
use windtunnel_core::clock::Time;

use super::calm::Calm;
use crate::record::{ADMINISTRATOR, INSTALLER, WriteEvent};

/// A place at which a record breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFinding {
    /// The id of the rule.
    pub rule: String,
    /// The index of the entry in the record.
    pub entry: usize,
    /// The moment.
    pub at: Time,
    /// The object, such as `Node/worker-0`.
    pub object: String,
    /// How it breaks the rule.
    pub how: String,
}

/// How an object breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObjectFinding {
    pub(super) object: String,
    pub(super) how: String,
}

impl ObjectFinding {
    pub(super) fn new(object: impl Into<String>, how: impl Into<String>) -> Self {
        Self { object: object.into(), how: how.into() }
    }

    /// How the object of a write breaks a rule.
    pub(super) fn by(write: &WriteEvent, how: impl Into<String>) -> Self {
        Self::new(name_of(write), how)
    }
}

/// Returns the name of a write's object: `Kind/NAMESPACE/NAME`.
pub(super) fn name_of(write: &WriteEvent) -> String {
    let WriteEvent { kind, key, .. } = write;
    let namespace = if key.namespace.is_empty() { String::new() } else { format!("{}/", key.namespace) };
    format!("{kind}/{namespace}{}", key.name)
}

/// A moment of the record, with the cluster before its entry.
pub(super) struct Scene<'r> {
    pub(super) at: Time,
    pub(super) view: &'r View,
    /// The faults that are in effect or ended a short time ago.
    pub(super) calm: &'r Calm,
    /// The pending and firing alerts.
    pub(super) alerts: &'r [Alert],
}

/// The start or the end of a simulated program in a pod.
pub(super) struct ProcessEvent<'r> {
    pub(super) program: &'r str,
    /// The name of the pod.
    pub(super) pod: &'r str,
    pub(super) started: bool,
}

/// A rule for the entries of a record. It keeps state between them.
pub(super) trait Rule {
    /// The id.
    fn id(&self) -> String;

    /// Looks at a write that was accepted or rejected, before it changes the cluster.
    fn before(&mut self, _scene: &Scene<'_>, _write: &WriteEvent) -> Option<ObjectFinding> {
        None
    }

    /// Looks at an accepted write after it changed the cluster.
    fn after(&mut self, _scene: &Scene<'_>, _write: &WriteEvent) -> Option<ObjectFinding> {
        None
    }

    /// Looks at the start or the end of a program.
    fn process(&mut self, _scene: &Scene<'_>, _event: &ProcessEvent<'_>) -> Option<ObjectFinding> {
        None
    }

    /// Looks at a quiet cluster.
    fn quiet(&mut self, _scene: &Scene<'_>) -> Vec<ObjectFinding> {
        Vec::new()
    }
}

/// Returns whether a write was made by a component, not by the administrator or the installer.
pub(super) fn is_of_component(write: &WriteEvent) -> bool {
    ![ADMINISTRATOR, INSTALLER].contains(&&*write.by)
}

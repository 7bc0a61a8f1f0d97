//! The actions that a scenario performs on a cluster.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::Propagation;
use windtunnel_core::resources::SECRETS;

use super::{ObjectRef, Target};
use crate::plan::{FaultEvent, FaultTarget, InjectedFault};

/// An action of the administrator, or the start or end of a fault.
#[derive(Debug, Clone)]
pub enum Action {
    /// Requests an update: writes `spec.desiredUpdate` past the guards of `oc adm upgrade`.
    Update {
        /// The new release.
        to: Target,
        /// `spec.desiredUpdate.force`.
        force: bool,
    },
    /// Withdraws the update request: removes `spec.desiredUpdate`.
    ClearUpdate,
    /// Creates the ConfigMap that makes the update status controller publish insights.
    PublishInsights,
    /// Creates an object, or merges it into the existing one.
    Apply(Value),
    /// Merges a patch (RFC 7386) into existing objects.
    Patch {
        /// The object, or all whose name begins with a text and `*`; at least one must exist.
        object: ObjectRef,
        /// The patch.
        patch: Value,
        /// Whether the patch goes to the subresource `status`, as an operator writes it.
        status: bool,
    },
    /// Deletes an object.
    Delete {
        /// The object.
        object: ObjectRef,
        /// The propagation policy for its dependents, if the scenario names one.
        cascade: Option<Propagation>,
    },
    /// Adds a machine, which becomes a worker when it has started.
    Join {
        /// The name of its node.
        node: String,
        /// Labels of the node, in addition to those of every worker.
        labels: BTreeMap<String, String>,
    },
    /// Prints lines to the log of each pod of a name, as its program would.
    Log {
        /// The namespace of the pods.
        namespace: String,
        /// The name of a pod, or a prefix of it.
        pod: String,
        /// The container; `None` for the first one of a pod.
        container: Option<String>,
        /// The lines, without line ends.
        lines: Vec<String>,
    },
    /// Starts a fault.
    Fault {
        /// The fault.
        fault: InjectedFault,
        /// The change at which it begins; `None` for the step.
        event: Option<FaultEvent>,
        /// The delay after the step, or after the change; zero starts it at once.
        after: SignedDuration,
        /// The duration; with `None` the fault lasts until it is healed or ends by its own rules.
        lasts: Option<SignedDuration>,
    },
    /// Ends the faults of this target.
    Heal(FaultTarget),
}

impl Action {
    /// Returns the Secret that it creates or merges, or the patch of one.
    pub(super) fn written_secret(&self) -> Option<&Value> {
        match self {
            Self::Apply(object) => Some(object).filter(|object| SECRETS.is_kind_of(object)),
            Self::Patch { object, patch, .. } => Some(patch).filter(|_| object.resource == SECRETS),
            _ => None,
        }
    }

    /// Returns an action that starts a fault at once; the fault lasts until it is healed.
    pub fn fault(fault: InjectedFault) -> Self {
        Self::Fault { fault, event: None, after: SignedDuration::ZERO, lasts: None }
    }
}

//! What is done to a cluster.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::Propagation;

use super::{ObjectRef, Target};
use crate::plan::{Disturbance, Faulty};

/// What an administrator does.
#[derive(Debug, Clone)]
pub enum Action {
    /// Requests an update: writes `spec.desiredUpdate` past the guards of `oc adm upgrade`.
    Update {
        /// Where to.
        to: Target,
        /// `spec.desiredUpdate.force`.
        force: bool,
    },
    /// Takes the update request back: removes `spec.desiredUpdate`.
    ClearUpdate,
    /// Creates the ConfigMap that asks the update status controller to publish.
    PublishInsights,
    /// Creates an object, or merges it into the one that is there.
    Apply(Value),
    /// Deletes an object.
    Delete {
        /// The object.
        object: ObjectRef,
        /// What becomes of those that it owns, if that is said.
        cascade: Option<Propagation>,
    },
    /// Adds a machine, which becomes a worker when it has started.
    Join {
        /// The name of its node.
        node: String,
        /// Labels of that beside those that every worker has.
        labels: BTreeMap<String, String>,
    },
    /// Has something go wrong.
    Fault {
        /// What.
        fault: Disturbance,
        /// How long after the step; none: at once.
        after: SignedDuration,
        /// How long it lasts; `None`: until it is healed, or over by itself.
        lasts: Option<SignedDuration>,
    },
    /// Has somebody be well again.
    Heal(Faulty),
}

impl Action {
    /// Has something go wrong at once, until it is healed.
    pub fn fault(fault: Disturbance) -> Self {
        Self::Fault { fault, after: SignedDuration::ZERO, lasts: None }
    }
}

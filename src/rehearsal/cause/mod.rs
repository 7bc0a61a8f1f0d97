//! The object to blame for a stop, by the evidence in the cluster: who waits for what, and which write is rejected by what.
//!
//! * `accept.rs`: the release is not accepted
//! * `rejections.rs`: webhooks, policies, quotas and budgets that reject writes
//! * `machines.rs`: nodes and pools that hold the update up
//! * `operators.rs`: operators that are not done

mod accept;
mod machines;
mod operators;
mod rejections;

use std::fmt;

use windtunnel_core::clock::Time;
use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_core::text::{one_line, truncate};
use windtunnel_core::{Object, View, condition};

use super::milestones::SETTLING;
use super::repair::Repair;
use crate::engine::Session;

/// The longest message of a stop, in characters.
const MESSAGE_MAX: usize = 600;

/// The object to blame.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Blamed {
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for cluster-wide kinds.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Blamed {
    pub(super) fn new(kind: &str, namespace: &str, name: &str) -> Self {
        let [kind, namespace, name] = [kind, namespace, name].map(str::to_owned);
        Self { kind, namespace, name }
    }

    pub(super) fn object(object: &Object) -> Self {
        Self::new(object.text("/kind"), object.namespace(), object.name())
    }
}

impl fmt::Display for Blamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{} {}{separator}{}", self.kind, self.namespace, self.name)
    }
}

/// Where an update is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// The release is not accepted yet.
    Accept,
    /// Operators and the pool of the control plane are updated.
    ControlPlane,
    /// The machines of this pool are updated.
    Pool(String),
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accept => f.write_str("accept"),
            Self::ControlPlane => f.write_str("control-plane"),
            Self::Pool(name) => write!(f, "pool {name}"),
        }
    }
}

/// The explanation of a stop.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// The object to blame, if there is one.
    pub(super) blamed: Option<Blamed>,
    /// Who waits for what.
    pub(super) waits: String,
    /// The message that an administrator sees.
    pub(super) message: String,
    /// What ends the stop.
    pub(super) repair: Option<Repair>,
}

impl Found {
    fn new(blamed: Blamed, waits: impl Into<String>, message: &str, repair: Option<Repair>) -> Self {
        let message = truncate(&one_line(message), MESSAGE_MAX);
        Self { blamed: Some(blamed), waits: waits.into(), message, repair }
    }
}

/// Explains a stop that began at `since`.
pub(super) fn find(session: &Session, phase: &Phase, since: Time) -> Found {
    let view = session.view();
    let rejected = || rejections::find(session, since);
    let found = match phase {
        Phase::Accept => accept::find(view).or_else(|| rejections::find(session, since - SETTLING)),
        Phase::ControlPlane => rejected()
            .or_else(|| machines::find(view, "master"))
            .or_else(|| machines::unready(view))
            .or_else(|| machines::any_degraded(view))
            .or_else(|| operators::find(view)),
        Phase::Pool(name) => machines::paused(view, name)
            .or_else(rejected)
            .or_else(|| machines::find(view, name))
            .or_else(|| machines::unready(view))
            .or_else(|| machines::cordoned(view, name)),
    };
    found.unwrap_or_else(|| unexplained(session))
}

/// A stop that no evidence explains, with what the components say.
fn unexplained(session: &Session) -> Found {
    let pending = session.pending();
    let waits: Vec<String> = pending
        .iter()
        .take(3)
        .map(|pending| format!("{} waits for {}", pending.actor, pending.why))
        .collect();
    let message = version_message(session.view());
    Found { blamed: None, waits: waits.join("; "), message, repair: None }
}

/// What `oc adm upgrade` shows first: the failure of the ClusterVersion, or else its progress.
fn version_message(view: &View) -> String {
    let Some(version) = view.get(&CLUSTER_VERSIONS, "", "version") else { return String::new() };
    let message = |kind: &str, status: &str| {
        let found = condition::find_in_status(version, kind).filter(|found| found["status"] == status)?;
        Some(found["message"].as_str().unwrap_or_default().to_owned())
    };
    let found = message("ReleaseAccepted", "False")
        .or_else(|| message("Failing", "True"))
        .or_else(|| message("Progressing", "True"));
    truncate(&one_line(&found.unwrap_or_default()), MESSAGE_MAX)
}

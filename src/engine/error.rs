//! Why a run cannot go on.

use windtunnel_core::{Refusal, Write};

use crate::backends::BackendError;

/// Why a command to a session failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The API server refused what an administrator or the installer asked for.
    #[error("the API server refused to {what}: {message}")]
    Refused {
        /// What was asked, such as `patch clusterversions.config.openshift.io/version`.
        what: String,
        /// The refusal.
        message: String,
        /// Whether the same request may get through later: the API server is in trouble, or somebody else was faster.
        may_pass: bool,
        /// Line and column of the object that the scenario begins with, when it is one.
        place: Option<(usize, usize)>,
    },
    /// There is no such release in this run.
    #[error("no release {version} exists in this run; it has {known}")]
    NoRelease {
        /// What was asked for.
        version: String,
        /// What there is.
        known: String,
    },
    /// An object is of a kind that no simulated cluster has.
    #[error("objects of kind `{kind}` are not known{hint}")]
    UnknownKind {
        /// The kind.
        kind: String,
        /// The nearest one, as `; did you mean ...`.
        hint: String,
    },
    /// The cluster has no such operator or node.
    #[error("the cluster has no {kind} `{name}`{hint}")]
    NotThere {
        /// Its kind.
        kind: String,
        /// The name.
        name: String,
        /// The nearest one, as `; did you mean ...`.
        hint: String,
    },
    /// An invariant does not hold.
    #[error("{0}")]
    Broken(String),
    /// There is no cluster.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// There is a cluster no longer.
    #[error("{0}")]
    Lost(String),
    /// The cluster cannot do what a step asks for.
    #[error("{0}")]
    Unable(String),
    /// A step would do nothing in a cluster that is as this one.
    #[error("{0}")]
    Pointless(String),
    /// An expectation does not hold.
    #[error("{0}")]
    Unmet(String),
    /// Controllers keep making requests although hardly any time passes.
    #[error(
        "controllers made {requests} requests within one second of cluster time: one of them runs in a hot loop"
    )]
    HotLoop {
        /// How many.
        requests: u64,
    },
    /// The moment came at which the session was to stop.
    #[error("the run was to stop here")]
    Halted,
    /// The session's thread or runtime is gone, or could not be made.
    #[error("the session ended unexpectedly")]
    Ended,
    /// Actors keep taking turns although no time passes.
    #[error(
        "{steps} steps were taken without time passing, the next would be {actor}'s: no progress is made"
    )]
    NoProgress {
        /// The one that was next.
        actor: String,
        /// How many.
        steps: u32,
    },
}

impl SessionError {
    /// The API server refused a write of an administrator or the installer.
    pub(super) fn refused(write: &Write, refusal: Refusal) -> Self {
        Self::Refused {
            what: format!("{} {}", write.verb(), write.key()),
            may_pass: matches!(refusal.code, 429 | 500..) || refusal.reason == "Conflict",
            message: refusal.message,
            place: None,
        }
    }

    /// Whether the same request may get through later.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Refused { may_pass: true, .. })
    }

    /// With what may be shown of its texts.
    pub(super) fn hidden(mut self, hide: impl Fn(&str) -> String) -> Self {
        match &mut self {
            Self::Refused { message: text, .. }
            | Self::Broken(text)
            | Self::Lost(text)
            | Self::Unable(text)
            | Self::Pointless(text)
            | Self::Unmet(text) => *text = hide(text),
            _ => {}
        }
        self
    }

    /// With the place in the scenario's file of what was refused.
    pub(super) fn at(mut self, found: Option<(usize, usize)>) -> Self {
        if let Self::Refused { place, .. } = &mut self {
            *place = found;
        }
        self
    }

    /// Line and column, from 1, in the scenario's file of what was refused, where one object of it was.
    pub fn place(&self) -> Option<(usize, usize)> {
        match self {
            Self::Refused { place, .. } => *place,
            _ => None,
        }
    }
}

//! Errors that end a run, and what each is about.

use windtunnel_core::{Rejection, Write};

use crate::backends::BackendError;
use crate::record::FailureKind;

/// An error of a command to a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The API server rejected a request of an administrator or the installer.
    #[error("the API server rejected the request to {what}: {message}")]
    Refused {
        /// The request, such as `patch clusterversions.config.openshift.io/version`.
        what: String,
        /// The message of the rejection.
        message: String,
        /// Whether the same request may succeed later: the API server has trouble, or there was a conflict.
        is_retryable: bool,
        /// Line and column of the rejected object, if the scenario's cluster defines it.
        place: Option<(usize, usize)>,
    },
    /// This run has no such release.
    #[error("this run has no release {version}; it has {known}")]
    NoRelease {
        /// The requested version.
        version: String,
        /// The versions of this run.
        known: String,
    },
    /// No simulated cluster has objects of this kind.
    #[error("unknown kind `{kind}`{hint}")]
    UnknownKind {
        /// The kind.
        kind: String,
        /// The nearest kind, as `; did you mean ...`.
        hint: String,
    },
    /// The cluster has no object or process of this name.
    #[error("the cluster has no {kind} `{name}`{hint}")]
    NotThere {
        /// Its kind.
        kind: String,
        /// The name.
        name: String,
        /// The nearest name, as `; did you mean ...`.
        hint: String,
    },
    /// An invariant is broken.
    #[error("{0}")]
    InvariantBroken(String),
    /// The backend provided no cluster.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The cluster was lost during the run.
    #[error("{0}")]
    ClusterLost(String),
    /// The cluster lacks a capability that a step needs.
    #[error("{0}")]
    Unsupported(String),
    /// A program beside the cluster cannot be started.
    #[error("{0}")]
    ProgramNotStarted(String),
    /// A program in Rust panicked, or ended before the run.
    #[error("{0}")]
    ProgramEnded(String),
    /// A step would have no effect in the current cluster.
    #[error("{0}")]
    NoEffect(String),
    /// An expectation does not hold.
    #[error("{0}")]
    ExpectationFailed(String),
    /// An expectation does not hold, and cannot: its moment is past, or it names something that has never existed.
    #[error("{0}")]
    CannotHold(String),
    /// A command of the scenario that must succeed ended with an error.
    #[error("{0}")]
    CommandFailed(String),
    /// A strict run: the expectation has held since before the last actions.
    #[error(
        "held before: this has been true since before the last action, so `within` waits for nothing and the step passes \
         whatever the action does; expect what the action changes, first or instead, or leave out `within`"
    )]
    HeldBefore,
    /// Controllers keep making requests although hardly any time passes.
    #[error(
        "controllers made {requests} requests within one second of cluster time: one of them runs in a hot loop"
    )]
    HotLoop {
        /// The number of requests.
        requests: u64,
    },
    /// Components keep writing, as set by `Session::limit_writes`.
    #[error("the run made more than {writes} writes, most of the last ones by {by}")]
    TooManyWrites {
        /// The greatest number of writes.
        writes: usize,
        /// The component or client.
        by: String,
    },
    /// The run reached the time at which the session stops, as set by `Session::halt_after`.
    #[error("the run reached the time at which it stops")]
    Halted,
    /// The session's thread or runtime is gone, or could not be created.
    #[error("the session ended unexpectedly")]
    Ended,
    /// Actors keep taking turns although no time passes.
    #[error("no progress: actors took {steps} turns without time passing, and {actor} is next")]
    NoProgress {
        /// The actor whose turn was next.
        actor: String,
        /// The number of turns.
        steps: u32,
    },
}

impl SessionError {
    /// Creates the error for a rejected write of an administrator or the installer.
    pub(super) fn refused(write: &Write, rejection: Rejection) -> Self {
        Self::Refused {
            what: format!("{} {}", write.verb(), write.key()),
            is_retryable: matches!(rejection.code, 429 | 500..) || rejection.reason == "Conflict",
            message: rejection.message,
            place: None,
        }
    }

    /// Returns the object that the API server rejected, such as `nodes/worker-0`.
    pub fn rejected_object(&self) -> Option<&str> {
        match self {
            Self::Refused { what, .. } => what.split_once(' ').map(|(_, object)| object),
            _ => None,
        }
    }

    /// Returns what the failure is about, by the rules of `docs/how-to/failure-kinds.md`.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::ExpectationFailed(_)
            | Self::InvariantBroken(_)
            | Self::HotLoop { .. }
            | Self::TooManyWrites { .. }
            | Self::ProgramEnded(_) => FailureKind::Product,
            Self::HeldBefore
            | Self::CannotHold(_)
            | Self::CommandFailed(_)
            | Self::Refused { .. }
            | Self::NoRelease { .. }
            | Self::UnknownKind { .. }
            | Self::NotThere { .. }
            | Self::NoEffect(_) => FailureKind::Scenario,
            Self::Backend(_)
            | Self::ClusterLost(_)
            | Self::Unsupported(_)
            | Self::ProgramNotStarted(_)
            | Self::Halted
            | Self::Ended
            | Self::NoProgress { .. } => FailureKind::Tool,
        }
    }

    /// Whether a check failed, as opposed to a request or the run.
    pub(super) fn is_unmet(&self) -> bool {
        matches!(self, Self::ExpectationFailed(_) | Self::CannotHold(_) | Self::CommandFailed(_))
    }

    /// Returns the failure of a check with the step before its text. Other errors stay as they are.
    pub(super) fn in_step(mut self, step: &str) -> Self {
        if let Self::ExpectationFailed(text) | Self::CannotHold(text) | Self::CommandFailed(text) = &mut self
        {
            *text = format!("{step}: {text}");
        }
        self
    }

    /// Whether the same request may succeed later.
    pub(super) fn is_retryable(&self) -> bool {
        matches!(self, Self::Refused { is_retryable: true, .. })
    }

    /// Applies `hide` to the texts of the error.
    pub(super) fn redact_with(mut self, hide: impl Fn(&str) -> String) -> Self {
        let texts = match &mut self {
            Self::Refused { what: one, message: other, .. }
            | Self::NotThere { name: one, hint: other, .. }
            | Self::UnknownKind { kind: one, hint: other } => vec![one, other],
            Self::InvariantBroken(text)
            | Self::ClusterLost(text)
            | Self::Unsupported(text)
            | Self::ProgramNotStarted(text)
            | Self::ProgramEnded(text)
            | Self::NoEffect(text)
            | Self::ExpectationFailed(text)
            | Self::CannotHold(text)
            | Self::CommandFailed(text) => vec![text],
            _ => Vec::new(),
        };
        for text in texts {
            *text = hide(text);
        }
        self
    }

    /// Adds the place of the rejected object in the scenario file.
    pub(super) fn at(mut self, found: Option<(usize, usize)>) -> Self {
        if let Self::Refused { place, .. } = &mut self {
            *place = found;
        }
        self
    }

    /// Line and column, from 1, of the rejected object in the scenario file, if the scenario defines it.
    pub fn place(&self) -> Option<(usize, usize)> {
        match self {
            Self::Refused { place, .. } => *place,
            _ => None,
        }
    }
}

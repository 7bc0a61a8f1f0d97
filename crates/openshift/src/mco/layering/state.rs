//! The state of a MachineOSBuild, and its conditions.

use windtunnel_core::Object;
use windtunnel_core::condition::{self, Condition};

/// The failed attempts after which a build fails: its Job makes three retries.
const ATTEMPTS: i64 = 4;

/// The state of a MachineOSBuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mco) enum BuildState {
    /// It has no Job yet.
    Initial,
    /// Its Job has no pod yet.
    Prepared,
    /// A pod builds the image, or the next attempt is due soon.
    Building,
    /// The image is in the registry.
    Succeeded,
    /// All attempts failed.
    Failed,
    /// Its Job was deleted before it ended.
    Interrupted,
}

/// The condition of each state, with reason and message. They are the same whether the condition is true or not.
const CONDITIONS: [(BuildState, &str, &str, &str); 5] = [
    (BuildState::Prepared, "Prepared", "Prepared", "Build Prepared and Pending"),
    (BuildState::Building, "Building", "Building", "Image Build In Progress"),
    (BuildState::Failed, "Failed", "Failed", "Build Failed"),
    (BuildState::Interrupted, "Interrupted", "Interrupted", "Build Interrupted"),
    (BuildState::Succeeded, "Succeeded", "Ready", "Build Ready"),
];

impl BuildState {
    /// The state in the conditions of `build`.
    pub(in crate::mco) fn of(build: &Object) -> Self {
        let found = CONDITIONS.iter().find(|(_, kind, ..)| condition::is_true(build, kind));
        found.map_or(Self::Initial, |(state, ..)| *state)
    }

    /// The state of a build with this Job (`MapJobStatusToBuildStatus`).
    pub(in crate::mco) fn of_job(job: &Object) -> Self {
        let count = |field: &str| job.number(&format!("/status/{field}")).unwrap_or(0);
        let (active, succeeded, failed) = (count("active"), count("succeeded"), count("failed"));
        let is_complete = job.conditions().is_empty() || condition::is_true(job, "Complete");
        if job.is_terminating() && succeeded == 0 && failed < ATTEMPTS {
            Self::Interrupted
        } else if succeeded > 0 && is_complete {
            Self::Succeeded
        } else if failed >= ATTEMPTS || condition::is_true(job, "Failed") {
            Self::Failed
        } else if active == 0 && succeeded == 0 && failed == 0 {
            Self::Prepared
        } else {
            Self::Building
        }
    }

    /// Returns whether a build in this state has ended.
    pub(in crate::mco) fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Interrupted)
    }

    /// Returns whether the API allows the change to `next`. A build neither goes back nor changes after its end.
    pub(in crate::mco) fn may_become(self, next: Self) -> bool {
        match (self, next) {
            (Self::Building, Self::Prepared) | (_, Self::Initial) => false,
            (old, new) => !old.is_over() && old != new,
        }
    }

    /// The conditions of a build in this state.
    pub(in crate::mco) fn conditions(self) -> impl Iterator<Item = Condition> {
        CONDITIONS.into_iter().map(move |(state, kind, reason, message)| {
            Condition::new(kind, if state == self { "True" } else { "False" }, reason, message)
        })
    }
}

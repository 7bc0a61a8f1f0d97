//! The rules in which `oc adm upgrade status` and the update status controller differ.

use windtunnel_core::clock::Time;

use super::time::ZERO_TIME;

/// The program whose rules apply where the two differ. The comment at each use describes the difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// Those of the client, `oc adm upgrade status`.
    Oc,
    /// Those of the update status controller.
    Controller,
}

impl Rules {
    /// Returns the start of a problem for comparisons; `None` if a problem without a start counts as old enough
    /// for every threshold.
    ///
    /// `oc` counts from the year 1, Go's zero time. That differs only for a dump without any time, where `oc`
    /// takes the year 1 as the current time as well.
    pub(crate) fn known_start(self, since: Option<Time>) -> Option<Time> {
        match self {
            Self::Oc => since.or(Some(ZERO_TIME)),
            Self::Controller => since,
        }
    }

    /// Returns whether an alert that is active since `active_at` started after the update.
    ///
    /// If the start of the update is unknown, both count every alert with a start. For `oc`, unknown times are
    /// the year 1.
    pub(crate) fn starts_after(self, active_at: Option<Time>, update_started: Option<Time>) -> bool {
        match self {
            Self::Oc => active_at.unwrap_or(ZERO_TIME) > update_started.unwrap_or(ZERO_TIME),
            Self::Controller => active_at.is_some_and(|at| update_started.is_none_or(|started| at > started)),
        }
    }

    /// Returns whether a time was set. For `oc`, Go's zero time is a missing time.
    pub(crate) fn is_known(self, at: Time) -> bool {
        self == Self::Controller || at != ZERO_TIME
    }
}

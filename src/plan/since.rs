//! The moment from which an expectation about writes or requests counts.

use std::fmt;

use jiff::SignedDuration;
use windtunnel_core::text::short_duration;

/// The moment from which an expectation about writes or requests counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Since {
    /// The start of the run.
    Start,
    /// The first of the last actions that followed each other without a wait or an expectation between them; the start of
    /// the run if there was none.
    #[default]
    LastAction,
    /// The last time that an update was requested.
    LastUpdate,
    /// This long before now.
    Back(SignedDuration),
    /// The beginning of the step with this number in the timeline, from 1.
    Step(u32),
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("since the start"),
            Self::LastAction => f.write_str("since the last action"),
            Self::LastUpdate => f.write_str("since the last update"),
            Self::Back(span) => write!(f, "in the last {}", short_duration(*span)),
            Self::Step(number) => write!(f, "since step {number}"),
        }
    }
}

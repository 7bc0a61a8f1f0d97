//! Faults of programs.

use jiff::SignedDuration;

use super::{Hits, RequestFilter};

/// A fault of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramFault {
    /// The program crashes at some of its writes. It loses its memory, including work that it had planned.
    Crash {
        /// The writes that may be affected.
        writes: RequestFilter,
        /// Whether the write is executed before the crash.
        after: bool,
        /// The subset of matching writes.
        hits: Hits,
    },
    /// Its watches deliver nothing until the fault is healed, so it sees an outdated cluster. Then it lists
    /// again.
    StaleWatch,
    /// Its watches are closed, and it lists again at once.
    DroppedWatch,
    /// Another candidate takes its Lease and holds it for this long.
    LosesLease(SignedDuration),
    /// It is killed at once.
    Killed,
    /// It does nothing until the fault is healed. Its connections stay open.
    Paused,
    /// Of the components that are ready at a moment, it takes its turn after all others.
    LastInTurn,
    /// It takes each turn this much later than it could.
    Slow(SignedDuration),
    /// The times of its Leases are those of a clock that is this far ahead; negative if it is behind.
    SkewedClock(SignedDuration),
}

impl ProgramFault {
    /// All names.
    pub const NAMES: [&str; 11] = [
        "crash-before-write",
        "crash-after-write",
        "watch-stale",
        "watch-dropped",
        "lease-lost",
        "killed",
        "paused",
        "last-in-turn",
        "slow",
        "clock-ahead",
        "clock-behind",
    ];

    /// Its name, such as `crash-before-write`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Crash { after: false, .. } => "crash-before-write",
            Self::Crash { after: true, .. } => "crash-after-write",
            Self::StaleWatch => "watch-stale",
            Self::DroppedWatch => "watch-dropped",
            Self::LosesLease(_) => "lease-lost",
            Self::Killed => "killed",
            Self::Paused => "paused",
            Self::LastInTurn => "last-in-turn",
            Self::Slow(_) => "slow",
            Self::SkewedClock(ahead) if ahead.is_negative() => "clock-behind",
            Self::SkewedClock(_) => "clock-ahead",
        }
    }
}

//! The effect of a fault on the requests that it matches.

use jiff::SignedDuration;

/// The effect of a fault on the requests that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultEffect {
    /// The API server returns an error instead of handling the request.
    Error(ErrorFault),
    /// The client gets no answer of the API server.
    Lost(LostAnswer),
    /// The client's watches, and its reads of a cache, show something other than the present.
    Watch(WatchFault),
    /// The program of the user's machine that sends the request is killed. Never applies to reads.
    Kill(KillMoment),
    /// The times in Leases that the client writes and reads are those of a clock that is this far ahead; negative if it is
    /// behind.
    SkewedClock(SignedDuration),
}

/// When a program is killed at one of its writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillMoment {
    /// The server does not execute the write.
    Before,
    /// The server executes the write, and the program gets no answer.
    After,
}

impl FaultEffect {
    /// The names of all effects that requests can select.
    pub const NAMES: [&str; 16] = [
        "too-many-requests",
        "internal-error",
        "etcd-timed-out",
        "unavailable",
        "timeout",
        "conflict",
        "timeout-after-write",
        "connection-dropped",
        "connection-dropped-after-write",
        "watch-stale",
        "watch-slow",
        "watch-behind",
        "watch-gap",
        "watch-disconnect",
        "watch-410",
        "watch-duplicate",
    ];

    /// The effect of this name. `watch-slow` takes the delay, and `watch-behind` the number of events.
    pub fn named(name: &str, delay: SignedDuration, events: u32) -> Option<Self> {
        ErrorFault::named(name)
            .map(Self::Error)
            .or_else(|| LostAnswer::named(name).map(Self::Lost))
            .or_else(|| WatchFault::named(name, delay, events).map(Self::Watch))
    }

    /// Its name, such as `conflict` or `watch-stale`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error(error) => error.name(),
            Self::Lost(lost) => lost.name(),
            Self::Watch(watch) => watch.name(),
            Self::Kill(KillMoment::Before) => "crash-before-write",
            Self::Kill(KillMoment::After) => "crash-after-write",
            Self::SkewedClock(ahead) if ahead.is_negative() => "clock-behind",
            Self::SkewedClock(_) => "clock-ahead",
        }
    }
}

impl From<ErrorFault> for FaultEffect {
    fn from(error: ErrorFault) -> Self {
        Self::Error(error)
    }
}

/// How the answer to a request is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostAnswer {
    /// The server executes the write, and the client gets 504 `Timeout`. Never applies to reads.
    TimeoutAfterWrite,
    /// The connection closes before the server handles the request.
    Dropped,
    /// The server executes the write, and the connection closes before the answer. Never applies to reads.
    DroppedAfterWrite,
}

impl LostAnswer {
    /// The answer that is lost by this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::TimeoutAfterWrite, Self::Dropped, Self::DroppedAfterWrite];
        all.into_iter().find(|lost| lost.name() == name)
    }

    /// Its name, such as `timeout-after-write`.
    pub fn name(self) -> &'static str {
        match self {
            Self::TimeoutAfterWrite => "timeout-after-write",
            Self::Dropped => "connection-dropped",
            Self::DroppedAfterWrite => "connection-dropped-after-write",
        }
    }

    /// Whether it needs a write that the server executes.
    pub fn follows_a_write(self) -> bool {
        self != Self::Dropped
    }
}

/// A change of the events on a client's watches. Each is something that a real API server may show: no watch goes back in time,
/// and none delivers an event twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchFault {
    /// Watches and reads of the cache (resource version 0) show the moment at which the fault began, until it ends.
    Stale,
    /// Events arrive this much later. Different delays of kinds change their order.
    Slow(SignedDuration),
    /// This number of events of the kind has not arrived yet.
    Behind(u32),
    /// As `Stale`; then only the last state of each object arrives, and intermediate states are lost.
    Gap,
    /// The watch ends.
    Disconnect,
    /// The watch ends with 410 `Expired`, and the client cannot continue it: it has to list again.
    Expired,
    /// As `Expired`, but directly after an event: the list repeats what the client knows. A watch itself must not
    /// deliver an event twice.
    Duplicate,
}

impl WatchFault {
    /// The effect of this name. `watch-slow` takes the delay, and `watch-behind` the number of events.
    pub fn named(name: &str, delay: SignedDuration, events: u32) -> Option<Self> {
        let all = [
            Self::Stale,
            Self::Slow(delay),
            Self::Behind(events),
            Self::Gap,
            Self::Disconnect,
            Self::Expired,
            Self::Duplicate,
        ];
        all.into_iter().find(|effect| effect.name() == name)
    }

    /// Its name, such as `watch-stale`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stale => "watch-stale",
            Self::Slow(_) => "watch-slow",
            Self::Behind(_) => "watch-behind",
            Self::Gap => "watch-gap",
            Self::Disconnect => "watch-disconnect",
            Self::Expired => "watch-410",
            Self::Duplicate => "watch-duplicate",
        }
    }

    /// Whether it ends watches.
    pub fn ends_watches(self) -> bool {
        matches!(self, Self::Disconnect | Self::Expired | Self::Duplicate)
    }
}

/// The error that the API server returns instead of handling a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorFault {
    /// 429, with a `Retry-After`.
    TooManyRequests,
    /// 500 `InternalError`.
    InternalError,
    /// 500 without a reason, as the server reports errors of etcd.
    EtcdTimedOut,
    /// 503 `ServiceUnavailable`.
    Unavailable,
    /// 504 `Timeout`.
    Timeout,
    /// 409 `Conflict`, for an object that another client changed meanwhile. Never applies to creations.
    Conflict,
}

const ERRORS: [(ErrorFault, &str); 6] = [
    (ErrorFault::TooManyRequests, "too-many-requests"),
    (ErrorFault::InternalError, "internal-error"),
    (ErrorFault::EtcdTimedOut, "etcd-timed-out"),
    (ErrorFault::Unavailable, "unavailable"),
    (ErrorFault::Timeout, "timeout"),
    (ErrorFault::Conflict, "conflict"),
];

impl ErrorFault {
    /// All names.
    pub const NAMES: [&str; 6] =
        ["too-many-requests", "internal-error", "etcd-timed-out", "unavailable", "timeout", "conflict"];

    /// The error of this name.
    pub fn named(name: &str) -> Option<Self> {
        ERRORS.iter().find(|(_, known)| *known == name).map(|(error, _)| *error)
    }

    /// Its name, such as `too-many-requests`.
    pub fn name(self) -> &'static str {
        ERRORS.iter().find(|(error, _)| *error == self).map_or("", |(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        let named = |name| FaultEffect::named(name, SignedDuration::from_secs(1), 2);
        assert!(FaultEffect::NAMES.iter().all(|name| named(name).unwrap().name() == *name));
        assert!(ErrorFault::NAMES.iter().all(|name| FaultEffect::NAMES.contains(name)));
        assert_eq!(named("watch"), None);
    }
}

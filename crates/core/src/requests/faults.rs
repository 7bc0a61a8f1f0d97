//! Faults of API requests and of the programs that send them.

use jiff::SignedDuration;

/// A filter of API requests. Fields that are not set match all; a trailing `*` matches any suffix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestFilter {
    /// The RBAC verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: Option<String>,
    /// The kind, such as `ClusterVersion`.
    pub kind: Option<String>,
    /// The name of the object.
    pub name: Option<String>,
    /// The subresource, such as `status`; empty for the object itself.
    pub subresource: Option<String>,
    /// The client: a component by its name in the timeline, a user agent up to its slash, a user, or the last
    /// part of a user name.
    pub by: Option<String>,
}

/// The verbs that [`RequestFilter`] can match.
pub const VERBS: [&str; 8] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/// The attributes of one request.
#[derive(Debug, Clone, Copy)]
pub struct RequestAttributes<'a> {
    /// The verb.
    pub verb: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The name; empty if it is not generated yet.
    pub name: &'a str,
    /// The subresource, or an empty text.
    pub subresource: &'a str,
    /// The `User-Agent`. Simulated components use their name.
    pub agent: &'a str,
    /// The user.
    pub user: &'a str,
}

impl RequestFilter {
    /// Whether the filter matches a request.
    pub fn matches(&self, request: &RequestAttributes<'_>) -> bool {
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| fits(wanted, found));
        let callers = || {
            let agent = request.agent.split('/').next().unwrap_or_default();
            [request.agent, agent, request.user, request.user.rsplit(':').next().unwrap_or_default()]
        };
        is(&self.verb, request.verb)
            && is(&self.kind, request.kind)
            && is(&self.name, request.name)
            && is(&self.subresource, request.subresource)
            && self.by.as_deref().is_none_or(|wanted| callers().iter().any(|found| fits(wanted, found)))
    }
}

/// Whether a text matches a pattern, which may end with a star.
fn fits(wanted: &str, found: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(beginning) => found.starts_with(beginning),
        None => wanted == found,
    }
}

impl std::fmt::Display for RequestFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.verb.as_deref().unwrap_or("request"))?;
        if let Some(kind) = &self.kind {
            write!(f, " {kind}")?;
        }
        if let Some(name) = &self.name {
            write!(f, "{}{name}", if self.kind.is_some() { "/" } else { " " })?;
        }
        match self.subresource.as_deref() {
            Some("") => f.write_str(" itself")?,
            Some(subresource) => write!(f, " {subresource}")?,
            None => {}
        }
        self.by.as_ref().map_or(Ok(()), |by| write!(f, " by {by}"))
    }
}

/// The subset of matching requests that a fault affects: from the `first` one on (1 is the next), for a
/// number of `times` or until the fault is healed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hits {
    /// The number of the first affected match, from 1.
    pub first: u32,
    /// The number of affected matches; `None` for all.
    pub times: Option<u32>,
    /// The number of matches so far.
    seen: u32,
}

impl Hits {
    /// Affects `times` matches, beginning with number `first`.
    pub fn new(first: u32, times: Option<u32>) -> Self {
        Self { first: first.max(1), times, seen: 0 }
    }

    /// Counts a match and returns whether it is affected.
    pub fn count_match(&mut self) -> bool {
        self.seen = self.seen.saturating_add(1);
        self.seen >= self.first && !self.is_past(self.seen - 1)
    }

    /// Whether no further match will be affected.
    pub fn is_over(&self) -> bool {
        self.is_past(self.seen)
    }

    fn is_past(&self, seen: u32) -> bool {
        self.times.is_some_and(|times| seen >= self.first.saturating_add(times) - 1)
    }
}

impl std::fmt::Display for Hits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.first, self.times) {
            (1, None) => Ok(()),
            (1, Some(1)) => f.write_str(" once"),
            (1, Some(times)) => write!(f, " {times} times"),
            (first, None) => write!(f, " from number {first} on"),
            (first, Some(1)) => write!(f, ", number {first}"),
            (first, Some(times)) => write!(f, ", numbers {first} to {}", first.saturating_add(times) - 1),
        }
    }
}

/// The error that the API server returns instead of handling a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedError {
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

const ERRORS: [(InjectedError, &str); 6] = [
    (InjectedError::TooManyRequests, "too-many-requests"),
    (InjectedError::InternalError, "internal-error"),
    (InjectedError::EtcdTimedOut, "etcd-timed-out"),
    (InjectedError::Unavailable, "unavailable"),
    (InjectedError::Timeout, "timeout"),
    (InjectedError::Conflict, "conflict"),
];

impl InjectedError {
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

/// A fault that makes the API server answer requests with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFault {
    /// The requests that may be affected.
    pub requests: RequestFilter,
    /// The error.
    pub trouble: InjectedError,
    /// The subset of matching requests.
    pub hits: Hits,
    /// The message of the error; empty for the default message.
    pub message: String,
    /// The `Retry-After` of `TooManyRequests`, in seconds.
    pub retry_after: u32,
}

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
}

impl ProgramFault {
    /// All names.
    pub const NAMES: [&str; 5] =
        ["crash-before-write", "crash-after-write", "watch-stale", "watch-dropped", "lease-lost"];

    /// Its name, such as `crash-before-write`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Crash { after: false, .. } => "crash-before-write",
            Self::Crash { after: true, .. } => "crash-after-write",
            Self::StaleWatch => "watch-stale",
            Self::DroppedWatch => "watch-dropped",
            Self::LosesLease(_) => "lease-lost",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> RequestAttributes<'static> {
        RequestAttributes {
            verb: "update",
            kind: "ClusterVersion",
            name: "version",
            subresource: "status",
            agent: "kubelet/worker-0",
            user: "system:node:worker-0",
        }
    }

    #[test]
    fn unset_fields_match_any_request() {
        assert!(RequestFilter::default().matches(&request()));
        let by = |by: &str| {
            RequestFilter { by: Some(by.to_owned()), ..RequestFilter::default() }.matches(&request())
        };
        let known = ["kubelet", "kubelet/worker-0", "kubelet/*", "worker-0", "system:node:worker-0"];
        assert!(known.into_iter().all(by));
        assert!(!by("kubelet/worker-1") && !by("kube"));
        let itself = RequestFilter { subresource: Some(String::new()), ..RequestFilter::default() };
        assert!(!itself.matches(&request()));
    }

    #[test]
    fn hits_affect_the_requested_range_of_matches() {
        let pattern = |first, times| {
            let mut hits = Hits::new(first, times);
            let struck: String = (0..5).map(|_| if hits.count_match() { 'x' } else { '.' }).collect();
            (struck, hits.is_over())
        };
        assert_eq!(pattern(1, None), ("xxxxx".to_owned(), false));
        assert_eq!(pattern(1, Some(2)), ("xx...".to_owned(), true));
        assert_eq!(pattern(3, Some(1)), ("..x..".to_owned(), true));
        assert_eq!(pattern(4, None), ("...xx".to_owned(), false));
        assert!(!Hits::new(1, Some(1)).is_over());
    }

    #[test]
    fn names_of_errors_round_trip() {
        assert!(InjectedError::NAMES.iter().all(|name| InjectedError::named(name).unwrap().name() == *name));
    }
}

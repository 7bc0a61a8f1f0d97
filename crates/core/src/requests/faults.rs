//! What goes wrong with requests to the API server, and with who makes them.

use jiff::SignedDuration;

/// Requests to the API server. Everything that is not said may be anything; a trailing `*` stands for any ending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`, as RBAC names it.
    pub verb: Option<String>,
    /// The kind, such as `ClusterVersion`.
    pub kind: Option<String>,
    /// The name of the object.
    pub name: Option<String>,
    /// `status` and the like; empty: the object itself.
    pub subresource: Option<String>,
    /// Who asks: a component as the timeline calls it, a user agent up to its slash, a user or the end of its name.
    pub by: Option<String>,
}

/// The verbs of [`Requests`].
pub const VERBS: [&str; 8] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/// What is known of one request.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The verb.
    pub verb: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The name; empty where there is none yet.
    pub name: &'a str,
    /// The subresource, or nothing.
    pub subresource: &'a str,
    /// `User-Agent`: for a component of the simulation its name.
    pub agent: &'a str,
    /// The user.
    pub user: &'a str,
}

impl Requests {
    /// Whether a request is one of these.
    pub fn have(&self, asked: &Asked<'_>) -> bool {
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| fits(wanted, found));
        let callers = || {
            let agent = asked.agent.split('/').next().unwrap_or_default();
            [asked.agent, agent, asked.user, asked.user.rsplit(':').next().unwrap_or_default()]
        };
        is(&self.verb, asked.verb)
            && is(&self.kind, asked.kind)
            && is(&self.name, asked.name)
            && is(&self.subresource, asked.subresource)
            && self.by.as_deref().is_none_or(|wanted| callers().iter().any(|found| fits(wanted, found)))
    }
}

/// Whether a text is the one that is wanted, which may end in a star.
fn fits(wanted: &str, found: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(beginning) => found.starts_with(beginning),
        None => wanted == found,
    }
}

impl std::fmt::Display for Requests {
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

/// Which of the things that match are hit: from the `first` on (1 is the next), so many `times`, or until it is healed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hits {
    /// The first one that is hit, from 1.
    pub first: u32,
    /// How many are hit from there on; `None`: all.
    pub times: Option<u32>,
    /// How many matched so far.
    seen: u32,
}

impl Hits {
    /// From the `first` one on, from 1, so many `times`.
    pub fn new(first: u32, times: Option<u32>) -> Self {
        Self { first: first.max(1), times, seen: 0 }
    }

    /// Counts one that matches; true when it is hit.
    pub fn strike(&mut self) -> bool {
        self.seen = self.seen.saturating_add(1);
        self.seen >= self.first && !self.is_past(self.seen - 1)
    }

    /// Whether none will be hit any more.
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

/// What the API server answers in place of doing what it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// 429, with a `Retry-After`.
    TooManyRequests,
    /// 500 `InternalError`.
    InternalError,
    /// 500 without a reason, as etcd's errors are passed on.
    EtcdTimedOut,
    /// 503 `ServiceUnavailable`.
    Unavailable,
    /// 504 `Timeout`.
    Timeout,
    /// 409 `Conflict`, of an object that somebody else changed meanwhile. No creation meets it.
    Conflict,
}

const TROUBLES: [(Trouble, &str); 6] = [
    (Trouble::TooManyRequests, "too-many-requests"),
    (Trouble::InternalError, "internal-error"),
    (Trouble::EtcdTimedOut, "etcd-timed-out"),
    (Trouble::Unavailable, "unavailable"),
    (Trouble::Timeout, "timeout"),
    (Trouble::Conflict, "conflict"),
];

impl Trouble {
    /// All names.
    pub const NAMES: [&str; 6] =
        ["too-many-requests", "internal-error", "etcd-timed-out", "unavailable", "timeout", "conflict"];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        TROUBLES.iter().find(|(_, known)| *known == name).map(|(trouble, _)| *trouble)
    }

    /// Its name, such as `too-many-requests`.
    pub fn name(self) -> &'static str {
        TROUBLES.iter().find(|(trouble, _)| *trouble == self).map_or("", |(_, name)| name)
    }
}

/// Requests that the API server answers with trouble.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFault {
    /// Which.
    pub requests: Requests,
    /// How it answers.
    pub trouble: Trouble,
    /// Which of them.
    pub hits: Hits,
    /// What it says; empty for what it always says.
    pub message: String,
    /// Seconds of `Retry-After` of `TooManyRequests`.
    pub retry_after: u32,
}

/// What goes wrong with a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramFault {
    /// It dies at these writes of its own: its memory is gone, and what it had decided to do after.
    Crash {
        /// The writes.
        writes: Requests,
        /// Whether the write itself is made.
        after: bool,
        /// Which of them.
        hits: Hits,
    },
    /// Its watches are silent until the fault is healed: it sees the cluster as it was. Then it lists anew.
    StaleWatch,
    /// Its watches are dropped, and it lists anew at once.
    DroppedWatch,
    /// Another candidate takes its Lease, and holds it for so long.
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

    fn asked() -> Asked<'static> {
        Asked {
            verb: "update",
            kind: "ClusterVersion",
            name: "version",
            subresource: "status",
            agent: "kubelet/worker-0",
            user: "system:node:worker-0",
        }
    }

    #[test]
    fn what_is_not_said_of_requests_may_be_anything() {
        assert!(Requests::default().have(&asked()));
        let by = |by: &str| Requests { by: Some(by.to_owned()), ..Requests::default() }.have(&asked());
        let known = ["kubelet", "kubelet/worker-0", "kubelet/*", "worker-0", "system:node:worker-0"];
        assert!(known.into_iter().all(by));
        assert!(!by("kubelet/worker-1") && !by("kube"));
        let itself = Requests { subresource: Some(String::new()), ..Requests::default() };
        assert!(!itself.have(&asked()));
    }

    #[test]
    fn hits_begin_with_the_first_and_end_after_so_many() {
        let pattern = |first, times| {
            let mut hits = Hits::new(first, times);
            let struck: String = (0..5).map(|_| if hits.strike() { 'x' } else { '.' }).collect();
            (struck, hits.is_over())
        };
        assert_eq!(pattern(1, None), ("xxxxx".to_owned(), false));
        assert_eq!(pattern(1, Some(2)), ("xx...".to_owned(), true));
        assert_eq!(pattern(3, Some(1)), ("..x..".to_owned(), true));
        assert_eq!(pattern(4, None), ("...xx".to_owned(), false));
        assert!(!Hits::new(1, Some(1)).is_over());
    }

    #[test]
    fn names_are_read_back() {
        assert!(Trouble::NAMES.iter().all(|name| Trouble::named(name).unwrap().name() == *name));
    }
}

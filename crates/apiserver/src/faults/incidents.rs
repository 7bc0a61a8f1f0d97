//! Incidents: the effects of faults on clients.

use std::collections::VecDeque;
use std::fmt;

use windtunnel_core::clock::Time;
use windtunnel_core::requests::faults::RequestAttributes;

/// One thing that a fault did to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// The time of the server.
    pub at: Time,
    /// The name of the fault, such as `conflict` or `stale`.
    pub fault: String,
    /// The `User-Agent` of the client.
    pub agent: String,
    /// The user.
    pub user: String,
    /// The verb of the request, such as `update`.
    pub verb: String,
    /// The kind of the objects, such as `Pod`.
    pub kind: String,
    /// `namespace/name` of the object, as far as the request names it.
    pub object: String,
    /// The effect, such as `answered 409`.
    pub effect: String,
}

impl Incident {
    pub(super) fn new(
        at: Time,
        fault: &str,
        request: &RequestAttributes<'_>,
        namespace: &str,
        effect: String,
    ) -> Self {
        let object = match (namespace, request.name) {
            ("", name) => name.to_owned(),
            (namespace, "") => format!("{namespace}/*"),
            (namespace, name) => format!("{namespace}/{name}"),
        };
        Self {
            at,
            fault: fault.to_owned(),
            agent: request.agent.to_owned(),
            user: request.user.to_owned(),
            verb: request.verb.to_owned(),
            kind: request.kind.to_owned(),
            object,
            effect,
        }
    }
}

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.agent.split('/').next().unwrap_or_default();
        let program = if program.is_empty() { "a client" } else { program };
        let Self { at, fault, user, verb, kind, object, effect, .. } = self;
        let at = at.strftime("%H:%M:%S%.3f");
        let space = if object.is_empty() { "" } else { " " };
        write!(f, "{at} {fault}: {verb} {kind}{space}{object} by {program} ({user}): {effect}")
    }
}

/// The last incidents.
#[derive(Debug, Clone, Default)]
pub(crate) struct Incidents {
    last: VecDeque<Incident>,
    limit: usize,
}

impl Incidents {
    /// Keeps the last `limit` incidents; 0 keeps none.
    pub(crate) fn keep(&mut self, limit: usize) {
        self.limit = limit;
        self.last.truncate(limit);
    }

    /// The incidents since the last call, oldest first.
    pub(crate) fn take(&mut self) -> Vec<Incident> {
        self.last.drain(..).collect()
    }

    /// Adds an incident, unless none are kept.
    pub(super) fn add(&mut self, incident: impl FnOnce() -> Incident) {
        if self.limit == 0 {
            return;
        }
        if self.last.len() >= self.limit {
            self.last.pop_front();
        }
        self.last.push_back(incident());
    }
}

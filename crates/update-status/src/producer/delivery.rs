//! A delivery: the content of an UpdateInsight.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::{Time, after, parse_rfc3339};

use crate::insight::HealthInsight;
use crate::insight::published::NAMESPACE;

/// An UpdateInsight.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// The namespace of the object.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The informer that it claims to belong to; empty if it names none.
    pub informer: String,
    /// The insight, or why it is none.
    pub health: Result<HealthInsight, String>,
    /// When the object was created, by the clock of the API server.
    pub created: Time,
    /// When its spec last changed, by `metadata.managedFields`. A simulated API server keeps none.
    pub renewed: Option<Time>,
    /// `spec.renewTime`.
    pub claimed: Option<Time>,
}

/// How far a time may lie ahead because clocks differ.
const SKEW: SignedDuration = SignedDuration::from_mins(1);

impl Delivery {
    /// Creates the delivery of a spec that is new at this time.
    pub fn new(namespace: String, name: String, spec: &Value, at: Time) -> Self {
        let informer = spec["informer"].as_str().unwrap_or_default().to_owned();
        let health =
            serde_json::from_value(spec["health"].clone()).map_err(|error| format!("spec.health: {error}"));
        let claimed = spec["renewTime"].as_str().and_then(parse_rfc3339);
        Self { namespace, name, informer, health, created: at, renewed: None, claimed }
    }

    /// Returns the last renewal: the last change by `metadata.managedFields`, or else the one that the controller
    /// observed, or what the producer claims. A client can write any time into these fields: a time to come does
    /// not count, since the insight would never expire.
    pub fn renewed_by(&self, now: Time, observed: Option<Time>) -> Time {
        let is_possible = |at: &Time| *at <= after(now, SKEW);
        let renewed = match self.renewed {
            Some(at) => Some(at).filter(is_possible),
            None => observed.max(self.claimed.filter(is_possible)),
        };
        renewed.map_or(self.created, |at| at.max(self.created)).min(now)
    }

    /// Returns whether the HTTPS endpoint stored the object: only the controller may write in its namespace.
    pub(crate) fn is_of_endpoint(&self) -> bool {
        self.namespace == NAMESPACE
    }

    /// Returns the insight's uid within its informer; `None` if the object's name has the wrong form. The
    /// endpoint stores the insights of all informers in one namespace, so their names start with the informer.
    pub fn uid(&self) -> Option<&str> {
        if self.is_of_endpoint() {
            return self
                .name
                .strip_prefix(self.informer.as_str())?
                .strip_prefix('.')
                .filter(|uid| is_label(uid));
        }
        Some(self.name.as_str()).filter(|name| is_label(name))
    }

    /// Returns the object as `namespace/name`.
    pub fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// Returns whether a text is a DNS label.
pub(crate) fn is_label(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_end = |c: Option<char>| c.is_some_and(|c| c != '-');
    text.len() <= 63
        && text.chars().all(fits)
        && is_end(text.chars().next())
        && is_end(text.chars().next_back())
}

/// Reads an UpdateInsight from its JSON; `None` if its metadata lacks a name, a namespace or a time. The last
/// change of its spec is the latest time in `metadata.managedFields` of a client that owns fields of the spec.
pub fn delivery_of_object(object: &Value) -> Option<Delivery> {
    let metadata = &object["metadata"];
    let text = |field: &str| metadata[field].as_str().map(str::to_owned);
    let managers = metadata["managedFields"].as_array().into_iter().flatten();
    let times = managers
        .filter(|manager| manager["fieldsV1"].get("f:spec").is_some())
        .filter_map(|manager| parse_rfc3339(manager["time"].as_str()?));
    let created = metadata["creationTimestamp"].as_str().and_then(parse_rfc3339)?;
    Some(Delivery {
        renewed: times.max(),
        ..Delivery::new(text("namespace")?, text("name")?, &object["spec"], created)
    })
}

//! Recording of Events with client-go's limits: repeated Events are counted, similar ones combined, and
//! excessive ones dropped.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::resources::{EVENT_TTL, EVENTS};
use windtunnel_core::{Object, Resource, Write};

/// From this number of different messages of one reason on, further messages are combined.
const SIMILAR_MAX: usize = 10;
/// The count of different messages restarts after this time without an Event of the reason.
const SIMILAR_FOR: SignedDuration = SignedDuration::from_mins(10);
const COMBINED: &str = "(combined from similar events)";
/// The number of Events about an object that may be written at once. One more is allowed per `REFILL`.
const BURST: i32 = 25;
const REFILL: SignedDuration = SignedDuration::from_mins(5);

/// The content of an Event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    warns: bool,
    reason: &'static str,
    message: String,
}

/// Formats the notice as client-go logs an Event.
impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.warns { "Warning" } else { "Normal" };
        write!(f, "type: '{kind}' reason: '{}' {}", self.reason, self.message)
    }
}

impl Notice {
    /// Creates a notice of type Normal.
    pub fn normal(reason: &'static str, message: impl Into<String>) -> Self {
        Self { warns: false, reason, message: message.into() }
    }

    /// Creates a notice of type Warning.
    pub fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self { warns: true, reason, message: message.into() }
    }
}

/// An Event that was recorded.
#[derive(Debug, Clone)]
struct RecordedEvent {
    name: String,
    first: Time,
    /// The time of its last write.
    last: Time,
    count: u32,
    /// Whether it was written; the rate limit may have dropped it.
    exists: bool,
}

/// The messages of one reason, for combining.
#[derive(Debug, Clone)]
struct Similar {
    messages: BTreeSet<String>,
    last: Time,
}

/// The object and source of Events.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// A reference to the object, whose name prefixes the names of Events.
    pub involved: Value,
    /// The namespace of the Events.
    pub namespace: String,
    /// The reporting component and its node.
    pub source: Value,
}

impl Subject {
    /// An object that a component of the control plane reports about. Events about cluster-scoped objects are in
    /// namespace `default`.
    pub fn of(resource: &Resource, object: &Object, component: &str) -> Self {
        let mut involved = json!({
            "apiVersion": resource.api_version(),
            "kind": resource.kind,
            "name": object.name(),
            "uid": object.uid(),
        });
        let namespace = object.namespace();
        if !namespace.is_empty() {
            involved["namespace"] = json!(namespace);
        }
        let namespace = if namespace.is_empty() { "default" } else { namespace }.to_owned();
        Self { involved, namespace, source: json!({ "component": component }) }
    }
}

/// Records the Events of one object.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    subject: Subject,
    /// Whether Events name their reporting controller besides their source.
    reports_controller: bool,
    recorded: BTreeMap<(bool, &'static str, String), RecordedEvent>,
    similar: BTreeMap<(bool, &'static str), Similar>,
    /// The time at which the token bucket was empty; it gains a token per `REFILL` since then. `None` before
    /// the first Event.
    filled_at: Option<Time>,
    made: i64,
}

impl Recorder {
    /// Creates a recorder without Events.
    pub fn of(subject: Subject) -> Self {
        Self { subject, ..Self::default() }
    }

    /// Sets the version of the object to which new Events refer.
    pub fn refer_to(&mut self, object: &Object) {
        self.subject.involved["resourceVersion"] = json!(object.resource_version());
    }

    /// Sets whether new Events name their reporting controller besides their source.
    pub fn set_reporting(&mut self, reports_controller: bool) {
        self.reports_controller = reports_controller;
    }

    /// Returns the write that records a notice; `None` if the rate limit drops it.
    pub fn record(&mut self, notice: Notice, now: Time) -> Option<Write> {
        let Notice { warns, reason, message } = notice;
        let (key, message) = self.combine(warns, reason, message, now);
        self.made += 1;
        let unique = now.as_nanosecond() + i128::from(self.made);
        let allowed = self.allows(now);
        let event = self.recorded.entry((warns, reason, key)).or_insert_with(|| RecordedEvent {
            name: format!("{}.{unique:x}", self.subject.involved["name"].as_str().unwrap_or_default()),
            first: now,
            last: now,
            count: 0,
            exists: false,
        });
        event.count += 1;
        if !allowed {
            return None;
        }
        // An Event that has expired is created again.
        let is_current = event.exists && now.duration_since(event.last) < EVENT_TTL;
        event.last = now;
        if is_current {
            let patch = json!({ "count": event.count, "lastTimestamp": rfc3339(now), "message": message });
            return Some(Write::merge_patch(&EVENTS, &self.subject.namespace, &event.name, patch));
        }
        event.exists = true;
        let mut object = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": { "name": event.name, "namespace": self.subject.namespace },
            "involvedObject": self.subject.involved,
            "type": if warns { "Warning" } else { "Normal" },
            "reason": reason,
            "message": message,
            "source": self.subject.source,
            "firstTimestamp": rfc3339(event.first),
            "lastTimestamp": rfc3339(now),
            "count": event.count,
        });
        if self.reports_controller {
            object["reportingComponent"] = self.subject.source["component"].clone();
            object["reportingInstance"] = json!(self.subject.source["host"].as_str().unwrap_or_default());
        }
        Some(Write::create(&EVENTS, object))
    }

    /// Returns the message to count by and the message to write. From the tenth different message of a reason
    /// on, messages are combined.
    fn combine(&mut self, warns: bool, reason: &'static str, message: String, now: Time) -> (String, String) {
        let empty = || Similar { messages: BTreeSet::new(), last: now };
        let similar = self.similar.entry((warns, reason)).or_insert_with(empty);
        if now.duration_since(similar.last) > SIMILAR_FOR {
            *similar = empty();
        }
        similar.last = now;
        similar.messages.insert(message.clone());
        if similar.messages.len() < SIMILAR_MAX {
            return (message.clone(), message);
        }
        similar.messages.pop_last();
        (COMBINED.to_owned(), format!("{COMBINED}: {message}"))
    }

    /// Takes a token if there is one.
    fn allows(&mut self, now: Time) -> bool {
        let earliest = now - REFILL * BURST;
        let filled_at = self.filled_at.map_or(earliest, |at| at.max(earliest));
        let taken = filled_at + REFILL;
        let allowed = taken <= now;
        if allowed {
            self.filled_at = Some(taken);
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_core::Operation;

    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_second(1_700_000_000 + seconds).unwrap()
    }

    /// The effect of recording a message: `new <message>`, `<count>`, or nothing.
    fn record(events: &mut Recorder, message: &str, seconds: i64) -> String {
        let write = events.record(Notice::warning("Failed", message), at(seconds));
        match write.map(|write| write.operation) {
            Some(Operation::Create(object)) => format!("new {}", object["message"].as_str().unwrap()),
            Some(Operation::MergePatch(patch)) => patch["count"].to_string(),
            _ => String::new(),
        }
    }

    #[test]
    fn counts_repeated_events() {
        let mut events = Recorder::default();
        assert_eq!(record(&mut events, "a", 0), "new a");
        assert_eq!(record(&mut events, "a", 5), "2");
        assert_eq!(record(&mut events, "b", 6), "new b");
        assert_eq!(record(&mut events, "a", 7), "3");
        assert_eq!(record(&mut events, "a", 6 + 3 * 3600), "4");
        assert_eq!(record(&mut events, "a", 6 + 6 * 3600), "new a", "the first Event has expired");
    }

    #[test]
    fn combines_messages_of_a_reason_from_the_tenth_on() {
        let mut events = Recorder::default();
        let last: Vec<String> = (0..11).map(|i| record(&mut events, &format!("pod {i:02}"), i)).collect();
        assert_eq!(last[8], "new pod 08");
        assert_eq!(last[9], "new (combined from similar events): pod 09");
        assert_eq!(last[10], "2", "both messages share one Event");
        assert_eq!(record(&mut events, "pod 12", 10 + 601), "new pod 12", "the count restarts");
    }

    #[test]
    fn allows_25_events_at_once_and_then_one_per_five_minutes() {
        let mut events = Recorder::default();
        let count = |events: &mut Recorder, seconds| usize::from(!record(events, "a", seconds).is_empty());
        assert_eq!((0..30).map(|_| count(&mut events, 0)).sum::<usize>(), 25);
        assert_eq!(count(&mut events, 299), 0);
        assert_eq!(count(&mut events, 300), 1);
        assert_eq!(count(&mut events, 301), 0);
    }
}

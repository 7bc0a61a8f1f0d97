//! The place in the record of a run at which a finding shows: the write that caused it.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windtunnel_core::text::clock_time;
use windtunnel_core::{Object, condition};

use crate::record::{Entry, Event, Record, WriteEvent};

/// An entry of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The line in the record file, from 1.
    pub line: usize,
    /// Seconds since the start of the run.
    pub at: i64,
    /// The entry in words, with its object.
    pub entry: String,
}

impl Place {
    /// Finds the place of a finding in the record of a run. Its last expectation or its text names the object; without one,
    /// it is the step that failed.
    pub(super) fn find(record: &Record, oracle: &str, text: &str, last_steps: &[Value]) -> Option<Self> {
        let evidence = Evidence::of(oracle, text, last_steps);
        let shown = evidence.and_then(|evidence| {
            let mut writes = run(record).filter(|(_, entry)| evidence.is_shown_by(entry));
            if evidence.is_first { writes.next() } else { writes.last() }
        });
        let failed = || run(record).filter(|(_, entry)| is_failure(entry)).last();
        shown.or_else(failed).map(|(index, entry)| Self::of(record, index, entry))
    }

    fn of(record: &Record, index: usize, entry: &Entry) -> Self {
        let at = entry.at.duration_since(record.header.epoch).as_secs();
        // Lines count from 1, and the first one is the header.
        Self { line: index + 2, at, entry: words(&entry.event) }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = clock_time(SignedDuration::from_secs(self.at));
        write!(f, "record line {}: {at}: {}", self.line, self.entry)
    }
}

/// The entries of a record after the set-up, with their indices.
fn run(record: &Record) -> impl Iterator<Item = (usize, &Entry)> {
    record.entries.iter().enumerate().filter(|(_, entry)| !record.is_set_up(entry))
}

fn is_failure(entry: &Entry) -> bool {
    matches!(&entry.event, Event::Outcome { failure: Some(_), .. })
}

fn words(event: &Event) -> String {
    match event {
        Event::Write(write) => {
            let WriteEvent { by, verb, kind, key, subresource, code, .. } = &**write;
            let namespace =
                if key.namespace.is_empty() { String::new() } else { format!("{}/", key.namespace) };
            let subresource =
                if subresource.is_empty() { String::new() } else { format!(" ({subresource})") };
            let answer = if *code < 400 { String::new() } else { format!(", rejected with {code}") };
            format!("{by}: {verb} {kind}/{namespace}{}{subresource}{answer}", key.name)
        }
        Event::Outcome { text, .. } => format!("failed step `{text}`"),
        _ => "another entry".to_owned(),
    }
}

/// The description of the entry that shows a finding.
struct Evidence {
    /// `Kind/name` or `Kind/namespace/name`; empty for any.
    object: String,
    /// The part of the object that changed.
    part: Part,
    /// The requests that the finding is about: some fields of an expectation of requests.
    requests: Option<Value>,
    /// Whether the first such entry shows it, and not the last.
    is_first: bool,
}

/// A part of an object.
enum Part {
    Whole,
    /// A condition of the status, by its type.
    Condition(String),
    /// A field, as JSON pointer.
    Field(String),
}

impl Evidence {
    fn of(oracle: &str, text: &str, last_steps: &[Value]) -> Option<Self> {
        let object =
            |object: &str, part| Self { object: object.to_owned(), part, requests: None, is_first: false };
        if let Some((name, _)) = text.split_once(" broke invariant ") {
            return Some(object(name, Part::Whole));
        }
        let history = || object("ClusterVersion/version", Part::Field("/status/history".to_owned()));
        if oracle == "history" {
            return Some(history());
        }
        let expect = last_steps.iter().rev().find_map(|step| step.get("expect"))?;
        if let Some(requests) = expect.get("requests") {
            let is_first = requests["refused"] == "none";
            return Some(Self { requests: Some(requests.clone()), is_first, ..object("", Part::Whole) });
        }
        let Some(name) = expect["object"].as_str() else {
            return expect.get("update").map(|_| history());
        };
        let field = || {
            let fields = expect.get("fields").and_then(Value::as_object);
            let unchanged = expect["unchanged"][0].as_str();
            fields.and_then(|fields| fields.keys().next()).map(String::as_str).or(unchanged)
        };
        let part = match (expect["condition"]["type"].as_str(), field()) {
            (Some(condition), _) => Part::Condition(condition.to_owned()),
            (None, Some(field)) => Part::Field(pointer(field)),
            (None, None) => Part::Whole,
        };
        Some(object(name, part))
    }

    fn is_shown_by(&self, entry: &Entry) -> bool {
        let Event::Write(write) = &entry.event else { return false };
        match &self.requests {
            Some(wanted) if wanted["refused"] == "none" => {
                write.code == 403 && write.message.contains(" cannot ")
            }
            Some(wanted) => {
                let fits =
                    |key: &str, text: &str| wanted.get(key).is_none_or(|wanted| wanted == &json!(text));
                fits("by", &write.by) && fits("verb", &write.verb) && fits("kind", &write.kind)
            }
            None => write.code < 400 && names(write).contains(&self.object) && self.part.changed_in(write),
        }
    }
}

impl Part {
    fn changed_in(&self, write: &WriteEvent) -> bool {
        let (before, after) = (write.before.as_ref(), write.after.as_ref());
        match self {
            Self::Whole => true,
            Self::Condition(kind) => {
                let state = |object: Option<&Object>| {
                    let found = condition::find_in_status(object?, kind)?;
                    Some((found["status"].clone(), found["reason"].clone()))
                };
                state(before) != state(after)
            }
            Self::Field(pointer) => {
                let field =
                    |object: Option<&Object>| object.and_then(|object| object.pointer(pointer)).cloned();
                field(before) != field(after)
            }
        }
    }
}

/// The names by which a scenario can refer to the object of a write.
fn names(write: &WriteEvent) -> Vec<String> {
    let WriteEvent { kind, key, .. } = write;
    vec![format!("{kind}/{}", key.name), format!("{kind}/{}/{}", key.namespace, key.name), kind.clone()]
}

/// The JSON pointer of a path such as `status.history[0].state` or `metadata.annotations["a/b"]`.
fn pointer(path: &str) -> String {
    let mut pointer = String::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (part, after) = match rest.strip_prefix('[') {
            Some(bracket) => bracket.split_once(']').unwrap_or((bracket, "")),
            None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
        };
        pointer.push('/');
        pointer.push_str(&part.trim_matches('"').replace('~', "~0").replace('/', "~1"));
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    pointer
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use windtunnel_core::resources::NODES;

    use super::*;
    use crate::record::Header;

    fn write(at: i64, status: &str, code: u16, message: &str) -> Entry {
        let node = json!({ "metadata": { "name": "worker-0" }, "status": { "conditions": [{ "type": "Ready", "status": status }] } });
        let write = WriteEvent {
            by: "kubelet/worker-0".to_owned(),
            process: String::new(),
            verb: "update".to_owned(),
            kind: "Node".to_owned(),
            key: NODES.key("", "worker-0"),
            subresource: "status".to_owned(),
            code,
            message: message.to_owned(),
            before: None,
            after: Some(Object::new(node)),
        };
        Entry { at: Timestamp::from_second(at).unwrap(), event: Event::Write(Box::new(write)) }
    }

    /// The entries are written one after the other.
    fn record(mut entries: Vec<Entry>) -> Record {
        let mut before: Option<Object> = None;
        for entry in &mut entries {
            if let Event::Write(write) = &mut entry.event {
                write.before = before.replace(write.after.clone().unwrap());
            }
        }
        let failure = Some("it is not Ready".to_owned());
        let event =
            Event::Outcome { text: "expect Node".to_owned(), failure, kind: None, held_before: false };
        entries.push(Entry { at: Timestamp::from_second(9000).unwrap(), event });
        Record::new(Header { epoch: Timestamp::from_second(0).unwrap(), ..Header::default() }, entries)
    }

    fn place(record: &Record, expect: &Value) -> String {
        let steps = [json!({ "expect": expect })];
        Place::find(record, "converges", "x", &steps).unwrap().to_string()
    }

    #[test]
    fn a_condition_shows_where_it_changed_last() {
        let entries = vec![
            write(-60, "False", 200, ""),
            write(60, "True", 200, ""),
            write(3600, "False", 200, ""),
            write(7200, "False", 200, ""),
        ];
        let expect = json!({ "object": "Node/worker-0", "condition": { "type": "Ready", "status": "True" } });
        assert_eq!(
            place(&record(entries), &expect),
            "record line 4: 1:00:00: kubelet/worker-0: update Node/worker-0 (status)"
        );
    }

    #[test]
    fn refused_requests_show_in_the_first_one() {
        let entries = vec![
            write(1, "True", 200, ""),
            write(2, "True", 403, "it cannot update"),
            write(3, "True", 403, "it cannot update"),
        ];
        assert_eq!(
            place(&record(entries), &json!({ "requests": { "refused": "none" } })),
            "record line 3: 0:00:02: kubelet/worker-0: update Node/worker-0 (status), rejected with 403"
        );
    }

    #[test]
    fn other_problems_show_in_the_step_that_failed() {
        let expect = json!({ "alert": "Down" });
        assert_eq!(place(&record(Vec::new()), &expect), "record line 2: 2:30:00: failed step `expect Node`");
    }

    #[test]
    fn paths_become_pointers() {
        assert_eq!(pointer("status.history[0].state"), "/status/history/0/state");
        assert_eq!(pointer("metadata.annotations[\"a/b\"]"), "/metadata/annotations/a~1b");
    }
}

//! What holds of every ClusterVersion that the operator writes, whatever happens to it.

mod nodes;

use serde_json::{Value, json};
use windtunnel::model::{Object, condition};
use windtunnel::record::{Event, Record};

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

fn entries(object: &Object) -> Vec<(String, String, String)> {
    let list = object.list("/status/history").iter();
    list.map(|entry| {
        (
            text(entry, "startedTime").to_owned(),
            text(entry, "version").to_owned(),
            text(entry, "state").to_owned(),
        )
    })
    .collect()
}

fn said(object: &Object, kind: &str) -> (String, String) {
    let found = condition::of(object, kind).cloned().unwrap_or_default();
    (text(&found, "status").to_owned(), text(&found, "message").to_owned())
}

/// What is wrong with one write.
fn wrong(before: &Object, after: &Object) -> Option<String> {
    let (old, new) = (entries(before), entries(after));
    let refusal = said(after, "ReleaseAccepted");
    if refusal.0 == "False" && refusal != said(before, "ReleaseAccepted") {
        let desired = |object: &Object| object["status"]["desired"]["image"].clone();
        let progressing = |object: &Object| said(object, "Progressing").0;
        if old != new || desired(before) != desired(after) || progressing(before) != progressing(after) {
            return Some(format!("a refusal changes more than itself: {}", refusal.1));
        }
    }
    let number = |field: &str| after.number(field).unwrap_or(0);
    if number("/status/observedGeneration") > number("/metadata/generation") {
        return Some("a generation is observed that does not exist yet".to_owned());
    }
    let (Some(head), was) = (new.first(), old.first()) else { return None };
    if head.2 == "Completed" && was != Some(head) {
        let wanted = ("True".to_owned(), format!("Done applying {}", head.1));
        if said(after, "Available") != wanted {
            return Some(format!("{} is completed and is not available", head.1));
        }
    }
    let risen =
        new.iter().skip(1).filter(|entry| entry.2 == "Completed").find(|entry| {
            old.iter().any(|one| (&one.0, &one.1) == (&entry.0, &entry.1) && one.2 == "Partial")
        });
    risen.map(|entry| format!("{} is completed after another release took its place", entry.1))
}

/// The first write of a run that contradicts what was told before.
pub(super) fn contradiction(record: &Record) -> Option<String> {
    of_the_operator(record).or_else(|| nodes::contradiction(record))
}

fn of_the_operator(record: &Record) -> Option<String> {
    let writes = record.entries.iter().filter_map(|entry| match &entry.event {
        Event::Write(write) if write.kind == "ClusterVersion" && write.by == "cluster-version-operator" => {
            Some(write)
        }
        _ => None,
    });
    let mut changes = writes.filter_map(|write| write.before.as_ref().zip(write.after.as_ref()));
    changes.find_map(|(before, after)| wrong(before, after))
}

/// A ClusterVersion that is at 4.18.1, or on its way from there to 4.18.3.
fn at(moves: bool, accepted: &str) -> Value {
    let entry =
        |version: &str, state: &str| json!({ "startedTime": version, "version": version, "state": state });
    let mut history = vec![entry("4.18.1", "Completed")];
    if moves {
        history.insert(0, entry("4.18.3", "Partial"));
    }
    json!({
        "metadata": { "generation": 2 },
        "status": {
            "observedGeneration": 2,
            "desired": { "image": if moves { "new" } else { "old" } },
            "history": history,
            "conditions": [
                { "type": "ReleaseAccepted", "status": accepted, "message": accepted },
                { "type": "Progressing", "status": if moves { "True" } else { "False" } },
                { "type": "Available", "status": "True", "message": "Done applying 4.18.1" },
            ],
        },
    })
}

#[test]
fn contradictions_are_found() {
    let found = |before: Value, after: Value| wrong(&Object::new(before), &Object::new(after));
    let and = |mut object: Value, field: &str, value: Value| {
        *object.pointer_mut(field).unwrap() = value;
        object
    };
    assert_eq!(found(at(false, "True"), at(false, "False")), None);
    assert_eq!(found(at(false, "True"), at(true, "True")), None);
    for (before, after, expected) in [
        (at(false, "True"), at(true, "False"), "a refusal changes more than itself: False"),
        (
            at(true, "True"),
            and(at(true, "True"), "/status/observedGeneration", json!(3)),
            "a generation is observed that does not exist yet",
        ),
        (
            at(true, "True"),
            and(at(true, "True"), "/status/history/0/state", json!("Completed")),
            "4.18.3 is completed and is not available",
        ),
        (
            and(at(true, "True"), "/status/history/1/state", json!("Partial")),
            at(true, "True"),
            "4.18.1 is completed after another release took its place",
        ),
    ] {
        assert_eq!(found(before, after).as_deref(), Some(expected));
    }
}

//! What holds of every ClusterVersion that the operator writes, whatever happens to it.

use serde_json::Value;
use windtunnel::model::{Object, condition};
use windtunnel::record::Event;

use super::{plans, play, shipped};

/// Scenarios in which updates are refused, broken off, taken back and interrupted.
const ROUGH: &[&str] = &[
    "scenarios/faults/operator-crashes.yaml",
    "scenarios/retrieval/bad-digest-pod.yaml",
    "scenarios/retrieval/edits-wait.yaml",
    "scenarios/retrieval/signature-refused.yaml",
    "scenarios/rollback/abort-half-way.yaml",
    "scenarios/rollback/z-stream.yaml",
    "scenarios/update/operator-replaced.yaml",
    "scenarios/update/retarget.yaml",
];

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

#[test]
fn no_status_contradicts_what_was_told_before() {
    let mut told = 0;
    for (file, text) in shipped("scenarios", "yaml").iter().filter(|(file, _)| ROUGH.contains(&file.as_str()))
    {
        let (outcome, failure) = play(&plans(file, text)[0], 3);
        assert_eq!(failure, "");
        for entry in &outcome.record.entries {
            let Event::Write(write) = &entry.event else { continue };
            let (Some(before), Some(after)) = (&write.before, &write.after) else { continue };
            if write.kind == "ClusterVersion" && write.by == "cluster-version-operator" {
                told += 1;
                assert_eq!(wrong(before, after), None, "{file}: {}", after.to_value());
            }
        }
    }
    assert!(told > 20 * ROUGH.len(), "{told} statuses show little");
}

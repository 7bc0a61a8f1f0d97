//! The history of ClusterVersion.

use serde_json::Value;
use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_core::text_of;
use windtunnel_openshift::cvo::NAME as CLUSTER_VERSION_OPERATOR;

use super::rule::{ObjectFinding, Rule, Scene};
use crate::record::WriteEvent;

/// The rule about the histories that the cluster-version operator writes.
pub(super) struct History;

impl Rule for History {
    fn id(&self) -> String {
        "history".to_owned()
    }

    fn before(&mut self, _: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        if !write.key.is_kind(&CLUSTER_VERSIONS) || write.by != CLUSTER_VERSION_OPERATOR {
            return None;
        }
        let (before, after) = (write.before.as_ref()?, write.after.as_ref()?);
        let how = contradiction(before.list("/status/history"), after.list("/status/history"))?;
        Some(ObjectFinding::by(write, how))
    }
}

/// The fields of a completed entry that never change. The accepted risks are those of the last request.
const KEPT: [&str; 3] = ["state", "completionTime", "image"];

/// Returns how a history contradicts the one before it. The operator may drop old entries from the middle.
fn contradiction(before: &[Value], after: &[Value]) -> Option<String> {
    let is_completed = |entry: &&Value| text_of(entry, "state") == "Completed";
    for old in before.iter().filter(is_completed) {
        let same = |new: &&Value| ["startedTime", "version"].iter().all(|key| new[*key] == old[*key]);
        if after.iter().find(same).is_some_and(|new| KEPT.iter().any(|key| new[*key] != old[*key])) {
            return Some(format!("the completed entry {} of the history changed", text_of(old, "version")));
        }
    }
    let started = |entry: &Value| text_of(entry, "startedTime").to_owned();
    let is_sorted = after.windows(2).all(|pair| started(&pair[0]) >= started(&pair[1]));
    if !is_sorted {
        return Some("the history is not in the order of time".to_owned());
    }
    let open = after.iter().skip(1).find(|entry| entry["completionTime"].is_null());
    open.map(|entry| {
        format!("the replaced entry {} of the history has no completion time", text_of(entry, "version"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(started: u32, state: &str) -> Value {
        let completed = if state == "Completed" { json!("t") } else { Value::Null };
        json!({ "startedTime": started.to_string(), "version": "4.18.1", "state": state, "completionTime": completed })
    }

    #[test]
    fn completed_entries_stay_and_entries_are_sorted() {
        let (one, two) = (entry(1, "Completed"), entry(2, "Partial"));
        assert_eq!(contradiction(std::slice::from_ref(&one), &[two.clone(), one.clone()]), None);
        let mut altered = one.clone();
        altered["completionTime"] = json!("later");
        assert!(
            contradiction(std::slice::from_ref(&one), &[two.clone(), altered]).unwrap().contains("changed")
        );
        assert!(contradiction(&[], &[one.clone(), entry(3, "Completed")]).unwrap().contains("order of time"));
        assert!(contradiction(&[], &[entry(3, "Partial"), two]).unwrap().contains("no completion time"));
    }
}

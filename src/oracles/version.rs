//! The combinations of conditions in ClusterVersion.

use serde_json::Value;
use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_core::{Object, condition, text_of};
use windtunnel_openshift::cvo::NAME as CLUSTER_VERSION_OPERATOR;

use super::rule::{ObjectFinding, Rule, Scene};
use crate::record::WriteEvent;

/// The rule about the status that the cluster-version operator computes (`pkg/cvo/status.go`).
pub(super) struct Combinations;

impl Rule for Combinations {
    fn id(&self) -> String {
        "operator-contract".to_owned()
    }

    fn before(&mut self, _: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        if !write.key.is_kind(&CLUSTER_VERSIONS) || write.by != CLUSTER_VERSION_OPERATOR {
            return None;
        }
        let (before, after) = (write.before.as_ref()?, write.after.as_ref()?);
        let how = contradiction(after).or_else(|| lost_availability(before, after))?;
        Some(ObjectFinding::by(write, how))
    }
}

/// Returns which parts of a status contradict each other.
fn contradiction(version: &Object) -> Option<String> {
    let newest = version.list("/status/history").first()?;
    let is_partial = text_of(newest, "state") == "Partial";
    let progressing = condition::find_in_status(version, "Progressing");
    // With other capabilities or overrides, the operator also works towards a release that is Completed.
    if is_partial && progressing.is_some_and(is_at_rest) {
        return Some("has Progressing=False, but the newest release in its history is Partial".to_owned());
    }
    let failing = condition::find_in_status(version, "Failing");
    let is_unexplained =
        |failing: &Value| text_of(failing, "status") == "True" && text_of(failing, "message").is_empty();
    if failing.is_some_and(is_unexplained) {
        return Some("has Failing=True without a message".to_owned());
    }
    let desired = &version["status"]["desired"];
    let differs = |field: &str| {
        let (one, other) = (text_of(desired, field), text_of(newest, field));
        one != other && !one.is_empty() && !other.is_empty()
    };
    (differs("image") || differs("version"))
        .then(|| "has another release in `desired` than at the top of its history".to_owned())
}

/// Whether the operator reports that it has nothing to do, and does not report why.
fn is_at_rest(progressing: &Value) -> bool {
    text_of(progressing, "status") == "False" && text_of(progressing, "reason").is_empty()
}

/// `Available` becomes `False` only when the operator gives up a synchronisation (`syncFailingStatus`).
fn lost_availability(before: &Object, after: &Object) -> Option<String> {
    let is_lost = condition::is_true(before, "Available") && !condition::is_true(after, "Available");
    (is_lost && !condition::is_true(after, "Failing"))
        .then(|| "loses Available=True without Failing=True".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::oracles::testing::Story;

    fn version(conditions: &[(&str, &str)], state: &str, image: &str) -> Value {
        let conditions: Vec<Value> =
            conditions.iter().map(|(kind, status)| json!({ "type": kind, "status": status })).collect();
        json!({
            "metadata": { "name": "version" },
            "status": {
                "desired": { "image": image }, "conditions": conditions,
                "history": [{ "state": state, "image": "one", "startedTime": "1", "completionTime": "2" }],
            },
        })
    }

    fn found(conditions: &[(&str, &str)], state: &str, image: &str) -> Vec<String> {
        let first = version(&[("Available", "True")], "Completed", "one");
        Story::new()
            .status(1, CLUSTER_VERSION_OPERATOR, &CLUSTER_VERSIONS, first)
            .status(2, CLUSTER_VERSION_OPERATOR, &CLUSTER_VERSIONS, version(conditions, state, image))
            .findings("operator-contract")
    }

    #[test]
    fn the_conditions_agree_with_each_other_and_with_the_history() {
        let well = ("Available", "True");
        assert!(found(&[well, ("Progressing", "False")], "Completed", "one").is_empty());
        assert!(found(&[well, ("Progressing", "True")], "Partial", "one").is_empty());
        assert!(found(&[well, ("Progressing", "True")], "Completed", "one").is_empty());
        assert_eq!(
            found(&[well, ("Progressing", "False")], "Partial", "one"),
            [
                "ClusterVersion/version: has Progressing=False, but the newest release in its history is Partial"
            ]
        );
        for (conditions, image, how) in [
            (&[well, ("Failing", "True")][..], "one", "has Failing=True without a message"),
            (&[well], "two", "has another release in `desired` than at the top of its history"),
            (&[("Available", "False")], "one", "loses Available=True without Failing=True"),
        ] {
            assert_eq!(found(conditions, "Completed", image), [format!("ClusterVersion/version: {how}")]);
        }
    }
}

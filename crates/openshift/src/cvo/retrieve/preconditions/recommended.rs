//! `ClusterVersionRecommendedUpdate`: warns of an update that the update service does not recommend.

use semver::Version;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::condition::{self, Condition};

use super::FailedPrecondition;

/// Checks an update from `current` to `target`. The target must be an available update, or a conditional
/// update without a risk that applies.
pub(in crate::cvo) fn check(
    cluster_version: &Object,
    current: &str,
    target: &Version,
) -> Option<FailedPrecondition> {
    let version = target.to_string();
    if cluster_version.list("/status/availableUpdates").iter().any(|update| update["version"] == *version) {
        return None;
    }
    let failed = |reason: &str, message: &str| {
        Some(FailedPrecondition::new("ClusterVersionRecommendedUpdate", reason, message, false))
    };
    let conditional = cluster_version.list("/status/conditionalUpdates");
    if let Some(update) = conditional.iter().find(|update| update["release"]["version"] == *version) {
        return at_risk(update, current, target).and_then(|(reason, message)| failed(&reason, &message));
    }
    let unknown = format!("so the recommended status of updating from {current} to {target} is unknown.");
    if cluster_version.text("/spec/channel").is_empty() {
        return failed("NoChannel", &format!("Configured channel is unset, {unknown}"));
    }
    let Some(retrieved) =
        condition::find_in_status(cluster_version, "RetrievedUpdates").map(Condition::from_value)
    else {
        return failed("UnknownUpdate", &format!("No RetrievedUpdates, {unknown}"));
    };
    let seen = format!("RetrievedUpdates={} ({})", retrieved.status, retrieved.reason);
    let judgement = if retrieved.status == "True" {
        format!("so the update from {current} to {target} is probably neither recommended nor supported.")
    } else {
        unknown
    };
    failed("UnknownUpdate", &format!("{seen}, {judgement}"))
}

/// Reason and message of the condition Recommended of a conditional update, unless it is True.
fn at_risk(update: &Value, current: &str, target: &Version) -> Option<(String, String)> {
    let conditions = update["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(recommended) = condition::find(conditions, "Recommended") else {
        let text = format!(
            "Update from {current} to {target} has a status.conditionalUpdates entry, but no Recommended condition."
        );
        return Some(("UnknownConditionType".to_owned(), text));
    };
    let Condition { status, reason, message, .. } = Condition::from_value(recommended);
    match status.as_str() {
        "True" => None,
        "False" => {
            let text = format!("Update from {current} to {target} is not recommended:\n\n{message}");
            Some((reason, text))
        }
        _ => {
            let text =
                format!("Update from {current} to {target} is Recommended={status}: {reason}: {message}");
            Some((reason, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Checks an update from 4.20.1 to 4.20.3. `status` is that of RetrievedUpdates.
    fn check_recommended(channel: &str, status: &str, offered: &[&str], expected: &str) {
        let offered: Vec<_> = offered.iter().map(|version| json!({ "version": version })).collect();
        let object = Object::new(json!({
            "spec": { "channel": channel },
            "status": {
                "availableUpdates": offered,
                "conditions": [{ "type": "RetrievedUpdates", "status": status, "reason": if status == "True" { "" } else { "RemoteFailed" } }],
            },
        }));
        let found = check(&object, "4.20.1", &"4.20.3".parse().unwrap());
        assert!(found.iter().all(|failed| !failed.blocks));
        let found = found.map(|failed| failed.text).unwrap_or_default();
        let prefix = "Precondition \"ClusterVersionRecommendedUpdate\" failed because of ";
        assert_eq!(found.strip_prefix(prefix).unwrap_or(&found), expected);
    }

    #[test]
    fn warns_of_an_update_that_is_not_available() {
        check_recommended("stable-4.20", "True", &["4.20.3", "4.20.2"], "");
        check_recommended(
            "stable-4.20",
            "True",
            &["4.20.2"],
            "\"UnknownUpdate\": RetrievedUpdates=True (), so the update from 4.20.1 to 4.20.3 is probably neither recommended nor supported.",
        );
        check_recommended(
            "stable-4.20",
            "False",
            &[],
            "\"UnknownUpdate\": RetrievedUpdates=False (RemoteFailed), so the recommended status of updating from 4.20.1 to 4.20.3 is unknown.",
        );
        check_recommended(
            "",
            "False",
            &[],
            "\"NoChannel\": Configured channel is unset, so the recommended status of updating from 4.20.1 to 4.20.3 is unknown.",
        );
    }

    fn check_conditional(status: &str, expected: &str) {
        let recommended = json!({ "type": "Recommended", "status": status, "reason": "SomeRisk", "message": "Nodes may hang." });
        let object = Object::new(json!({
            "spec": { "channel": "stable-4.20" },
            "status": { "conditionalUpdates": [
                { "release": { "version": "4.20.3" }, "conditions": [recommended] },
            ] },
        }));
        let found = check(&object, "4.20.1", &"4.20.3".parse().unwrap());
        assert_eq!(found.map(|failed| failed.text).unwrap_or_default(), expected);
    }

    #[test]
    fn warns_of_a_conditional_update_without_a_recommended_condition() {
        let object = Object::new(json!({
            "spec": { "channel": "stable-4.20" },
            "status": { "conditionalUpdates": [{ "release": { "version": "4.20.3" }, "conditions": [] }] },
        }));
        let found = check(&object, "4.20.1", &"4.20.3".parse().unwrap()).unwrap();
        let expected = "Precondition \"ClusterVersionRecommendedUpdate\" failed because of \"UnknownConditionType\": Update from 4.20.1 to 4.20.3 has a status.conditionalUpdates entry, but no Recommended condition.";
        assert_eq!((found.text.as_str(), found.blocks), (expected, false));
    }

    #[test]
    fn warns_of_a_conditional_update_whose_risk_applies_or_is_unknown() {
        let prefix = "Precondition \"ClusterVersionRecommendedUpdate\" failed because of \"SomeRisk\": Update from 4.20.1 to 4.20.3 is";
        check_conditional("True", "");
        check_conditional("False", &format!("{prefix} not recommended:\n\nNodes may hang."));
        check_conditional("Unknown", &format!("{prefix} Recommended=Unknown: SomeRisk: Nodes may hang."));
    }
}

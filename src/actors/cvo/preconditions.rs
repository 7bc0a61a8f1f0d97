//! Checks between loading a payload and accepting it. Forced updates pass them, and say so in `acceptedRisks`.

use semver::Version;

use super::behaviour::Behaviour;
use crate::model::{Object, release::Release};

/// What the checks came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All passed.
    Passed,
    /// Failed, but the update was forced; the text is for `acceptedRisks`.
    Forced(String),
    /// The update is refused, and why.
    Blocked(String),
}

/// Runs the checks of this operator's release for an update to `target`.
pub(super) fn check(
    behaviour: Behaviour,
    cluster_version: &Object,
    target: &Release,
    force: bool,
) -> Verdict {
    let failures: Vec<String> =
        [behaviour.guards_rollback.then(|| rollback(cluster_version, &target.version)).flatten()]
            .into_iter()
            .flatten()
            .collect();
    let summary = match failures.as_slice() {
        [] => return Verdict::Passed,
        [one] => one.clone(),
        several => format!("Multiple precondition checks failed:\n* {}", several.join("\n* ")),
    };
    if force {
        Verdict::Forced(format!("Forced through blocking failures: {summary}"))
    } else {
        Verdict::Blocked(summary)
    }
}

/// `ClusterVersionRollback`: a lower version is only allowed when it is the previous one, of the same minor.
fn rollback(cluster_version: &Object, target: &Version) -> Option<String> {
    let current: Version = cluster_version.text("/status/desired/version").parse().ok()?;
    if *target >= current {
        return None;
    }
    let current_image = cluster_version.text("/status/desired/image");
    let previous = cluster_version
        .list("/status/history")
        .iter()
        .find(|entry| entry["version"] != current.to_string().as_str() || entry["image"] != current_image);
    let parsed = previous.and_then(|entry| entry["version"].as_str()?.parse::<Version>().ok());
    let less = format!("{target} is less than the current target {current}");
    let message = match (previous, parsed) {
        (Some(_), Some(version)) if version == *target => {
            if (version.major, version.minor) == (current.major, current.minor) {
                return None;
            }
            format!(
                "{less} and matches the cluster's previous version, but rollbacks that change major or minor versions are not recommended"
            )
        }
        (Some(entry), Some(version)) => format!(
            "{less}, and the only supported rollback is to the cluster's previous version {version} ({})",
            entry["image"].as_str().unwrap_or_default()
        ),
        _ => format!("{less}, and the cluster has no previous Semantic Version"),
    };
    Some(format!(
        "Precondition \"ClusterVersionRollback\" failed because of \"LowDesiredVersion\": {message}"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check_rollback(target: &str, history: &[(&str, &str)], expected: &str) {
        let entries: Vec<_> =
            history.iter().map(|(version, image)| json!({ "version": version, "image": image })).collect();
        let (version, image) = history[0];
        let object = Object::new(json!({
            "status": { "desired": { "version": version, "image": image }, "history": entries },
        }));
        let found = rollback(&object, &target.parse().unwrap()).unwrap_or_default();
        let prefix = "Precondition \"ClusterVersionRollback\" failed because of \"LowDesiredVersion\": ";
        assert_eq!(found.strip_prefix(prefix).unwrap_or(&found), expected);
    }

    #[test]
    fn going_on_and_going_back_to_the_previous_version_of_the_minor_are_allowed() {
        check_rollback("4.14.8", &[("4.14.1", "a")], "");
        check_rollback("4.14.1", &[("4.14.8", "b"), ("4.14.1", "a")], "");
    }

    #[test]
    fn other_lower_versions_are_refused_with_the_previous_one_named() {
        check_rollback(
            "4.14.0",
            &[("4.14.8", "b"), ("4.14.1", "a"), ("4.14.0", "z")],
            "4.14.0 is less than the current target 4.14.8, and the only supported rollback is to the cluster's previous version 4.14.1 (a)",
        );
    }

    #[test]
    fn a_rollback_over_a_minor_is_not_recommended() {
        check_rollback(
            "4.13.9",
            &[("4.14.1", "b"), ("4.13.9", "a")],
            "4.13.9 is less than the current target 4.14.1 and matches the cluster's previous version, but rollbacks that change major or minor versions are not recommended",
        );
    }
}

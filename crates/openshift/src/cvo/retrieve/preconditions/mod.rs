//! Preconditions, which the operator checks after it loads a payload and before it accepts it. Warnings and
//! forced failures are recorded in `acceptedRisks`.

mod etcd_backup;
mod recommended;
#[cfg(test)]
mod releases;

use semver::Version;
use windtunnel_core::{Object, View};

use crate::cvo::behaviour::Behaviour;
use crate::cvo::upgradeable::precondition;
use crate::release::Release;

/// The names of the preconditions.
const ROLLBACK: &str = "ClusterVersionRollback";
const GIANT_HOP: &str = "ClusterVersionGiantHop";
const UPGRADEABLE: &str = "ClusterVersionUpgradeable";

/// The result of all checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cvo) enum Verdict {
    Passed,
    /// Only warnings failed, or `force` overrides the failures. The text is for `acceptedRisks`.
    PassedWithRisk(String),
    /// The update is rejected for this reason.
    Blocked(String),
}

/// A failed check.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FailedPrecondition {
    text: String,
    reason: String,
    message: String,
    /// Whether it rejects the update, or is only a warning.
    blocks: bool,
}

impl FailedPrecondition {
    fn new(name: &str, reason: &str, message: &str, blocks: bool) -> Self {
        Self {
            text: format!("Precondition \"{name}\" failed because of \"{reason}\": {message}"),
            reason: reason.to_owned(),
            message: message.to_owned(),
            blocks,
        }
    }
}

/// Runs the preconditions of this operator's release for an update to `target`, all of them and in the
/// operator's order.
pub(in crate::cvo) fn check(
    behaviour: Behaviour,
    view: &View,
    cluster_version: &Object,
    target: &Release,
    force: bool,
) -> Verdict {
    let mut failures = failures_of_state(behaviour, view, cluster_version, &target.version);
    let known = cluster_version.text("/status/desired/version");
    let recommended =
        behaviour.checks_recommendation.then(|| recommended::check(cluster_version, known, &target.version));
    failures.extend(recommended.flatten());
    summarize(&failures, force)
}

/// Runs the preconditions of the release `target` for an update to it. Returns reason and message of each
/// failure. The update service's recommendation is not among them, because the status has it already.
pub(in crate::cvo) fn preflight(
    view: &View,
    cluster_version: &Object,
    target: &Release,
) -> Vec<(String, String)> {
    let behaviour = Behaviour::for_release(target);
    let failures = failures_of_state(behaviour, view, cluster_version, &target.version);
    failures.into_iter().map(|failed| (failed.reason, failed.message)).collect()
}

/// The failures of the preconditions about the state of the cluster.
fn failures_of_state(
    behaviour: Behaviour,
    view: &View,
    cluster_version: &Object,
    target: &Version,
) -> Vec<FailedPrecondition> {
    let known = cluster_version.text("/status/desired/version");
    let current = known.parse::<Version>();
    // Each check that needs the current version warns if it is invalid. The update is not rejected, because
    // it may fix the problem.
    let from = |name, check: &dyn Fn(&Version) -> Option<FailedPrecondition>| match &current {
        Ok(current) => check(current),
        Err(_) => Some(FailedPrecondition::new(name, "InvalidCurrentVersion", &wrong_version(known), false)),
    };
    let upgradeable_from = |current: &Version| upgradeable(behaviour, cluster_version, current, target);
    let failures = [
        behaviour
            .checks_rollback
            .then(|| from(ROLLBACK, &|current| rollback(cluster_version, current, target)))
            .flatten(),
        behaviour
            .checks_hops
            .then(|| from(GIANT_HOP, &|current| giant_hop(behaviour, current, target)))
            .flatten(),
        precondition::refuses(cluster_version).then(|| from(UPGRADEABLE, &upgradeable_from)).flatten(),
        behaviour.requires_backup.then(|| etcd_backup::check(view, cluster_version, target)).flatten(),
    ];
    failures.into_iter().flatten().collect()
}

/// The error of the operator's semver library for an invalid version.
fn wrong_version(text: &str) -> String {
    let parts: Vec<&str> = text.splitn(3, '.').collect();
    let [major, minor, rest] = parts[..] else {
        return match text {
            "" => "Version string empty".to_owned(),
            _ => "No Major.Minor.Patch elements found".to_owned(),
        };
    };
    let patch = rest.split(['-', '+']).next().unwrap_or_default();
    let named = [("major", major), ("minor", minor), ("patch", patch)];
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match named.into_iter().find(|(_, part)| !is_number(part)) {
        Some((name, part)) => format!("Invalid character(s) found in {name} number \"{part}\""),
        None => format!("Invalid version \"{text}\""),
    }
}

fn summarize(failures: &[FailedPrecondition], force: bool) -> Verdict {
    let texts: Vec<&str> = failures.iter().map(|failed| failed.text.as_str()).collect();
    let summary = match texts.as_slice() {
        [] => return Verdict::Passed,
        [one] => (*one).to_owned(),
        several => format!("Multiple precondition checks failed:\n* {}", several.join("\n* ")),
    };
    match (failures.iter().any(|failed| failed.blocks), force) {
        (false, _) => Verdict::PassedWithRisk(summary),
        (true, true) => Verdict::PassedWithRisk(format!("Forced through blocking failures: {summary}")),
        (true, false) => Verdict::Blocked(summary),
    }
}

/// `ClusterVersionGiantHop`: rejects a larger major (except from 4 to 5.0, in releases that allow it) and
/// skipped minors.
fn giant_hop(behaviour: Behaviour, current: &Version, target: &Version) -> Option<FailedPrecondition> {
    let failed = |reason, message: &str| Some(FailedPrecondition::new(GIANT_HOP, reason, message, true));
    if target.major > current.major {
        let next_major = behaviour.allows_next_major && (current.major, target.major) == (4, 5);
        if next_major && target.minor == 0 {
            return None;
        }
        let besides = if next_major { " or to 5.0" } else { "" };
        let message = format!(
            "{target} has a larger major version than the current target {current} ({} > {}), and only updates within the current major version{besides} are supported.",
            target.major, current.major
        );
        return failed("MajorVersionUpdate", &message);
    }
    if target.major < current.major || target.minor <= current.minor + 1 {
        return None;
    }
    let message = format!(
        "{target} is more than one minor version beyond the current target {current} ({}.{} > {}.({}+1)), and only updates within the current minor version or to the next minor version are supported.",
        target.major, target.minor, current.major, current.minor
    );
    failed("MultipleMinorVersionsUpdate", &message)
}

/// `ClusterVersionUpgradeable`: applies the condition Upgradeable.
fn upgradeable(
    behaviour: Behaviour,
    cluster_version: &Object,
    current: &Version,
    target: &Version,
) -> Option<FailedPrecondition> {
    let error = precondition::judge(behaviour, cluster_version, current, target)?;
    Some(FailedPrecondition::new(UPGRADEABLE, &error.reason, &error.message, error.blocks))
}

/// `ClusterVersionRollback`: accepts a lower version only if it is the previous one and of the same minor.
fn rollback(cluster_version: &Object, current: &Version, target: &Version) -> Option<FailedPrecondition> {
    if target >= current {
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
    Some(FailedPrecondition::new(ROLLBACK, "LowDesiredVersion", &message, true))
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
        let found = rollback(&object, &version.parse().unwrap(), &target.parse().unwrap());
        let found = found.map(|failed| failed.text).unwrap_or_default();
        let prefix = "Precondition \"ClusterVersionRollback\" failed because of \"LowDesiredVersion\": ";
        assert_eq!(found.strip_prefix(prefix).unwrap_or(&found), expected);
    }

    #[test]
    fn accepts_later_versions_and_a_rollback_to_the_previous_version_of_the_minor() {
        check_rollback("4.14.8", &[("4.14.1", "a")], "");
        check_rollback("4.14.1", &[("4.14.8", "b"), ("4.14.1", "a")], "");
    }

    #[test]
    fn rejects_other_lower_versions_and_names_the_previous_one() {
        check_rollback(
            "4.14.0",
            &[("4.14.8", "b"), ("4.14.1", "a"), ("4.14.0", "z")],
            "4.14.0 is less than the current target 4.14.8, and the only supported rollback is to the cluster's previous version 4.14.1 (a)",
        );
    }

    #[test]
    fn rejects_a_rollback_to_another_minor() {
        check_rollback(
            "4.13.9",
            &[("4.14.1", "b"), ("4.13.9", "a")],
            "4.13.9 is less than the current target 4.14.1 and matches the cluster's previous version, but rollbacks that change major or minor versions are not recommended",
        );
    }

    fn check_hop(current: &str, target: &str, expected: &str) {
        let (current, target): (Version, Version) = (current.parse().unwrap(), target.parse().unwrap());
        let behaviour = Behaviour::for_release(&Release::find(&current).unwrap());
        let found = giant_hop(behaviour, &current, &target);
        let found = found.map(|failed| failed.text).unwrap_or_default();
        let prefix = "Precondition \"ClusterVersionGiantHop\" failed because of ";
        assert_eq!(found.strip_prefix(prefix).unwrap_or(&found), expected);
    }

    #[test]
    fn accepts_the_next_minor_lower_versions_and_5_0() {
        check_hop("4.20.1", "4.20.9", "");
        check_hop("4.20.1", "4.21.0", "");
        check_hop("4.20.1", "4.12.0", "");
        check_hop("4.22.1", "5.0.0", "");
    }

    #[test]
    fn rejects_a_skipped_minor_and_other_majors() {
        check_hop(
            "4.20.1",
            "4.22.0",
            "\"MultipleMinorVersionsUpdate\": 4.22.0 is more than one minor version beyond the current target 4.20.1 (4.22 > 4.(20+1)), and only updates within the current minor version or to the next minor version are supported.",
        );
        check_hop(
            "4.22.1",
            "5.1.0",
            "\"MajorVersionUpdate\": 5.1.0 has a larger major version than the current target 4.22.1 (5 > 4), and only updates within the current major version or to 5.0 are supported.",
        );
        check_hop(
            "4.21.1",
            "5.0.0",
            "\"MajorVersionUpdate\": 5.0.0 has a larger major version than the current target 4.21.1 (5 > 4), and only updates within the current major version are supported.",
        );
    }

    #[test]
    fn only_blocking_checks_reject_an_update_and_force_overrides_them() {
        let (warning, block) =
            (FailedPrecondition::new("A", "R", "m", false), FailedPrecondition::new("B", "R", "m", true));
        let (a, b) = (
            "Precondition \"A\" failed because of \"R\": m",
            "Precondition \"B\" failed because of \"R\": m",
        );
        let both = format!("Multiple precondition checks failed:\n* {b}\n* {a}");
        assert_eq!(summarize(&[], true), Verdict::Passed);
        assert_eq!(summarize(std::slice::from_ref(&warning), true), Verdict::PassedWithRisk(a.to_owned()));
        assert_eq!(summarize(&[block.clone(), warning.clone()], false), Verdict::Blocked(both.clone()));
        let forced = format!("Forced through blocking failures: {both}");
        assert_eq!(summarize(&[block, warning], true), Verdict::PassedWithRisk(forced));
    }
}

//! What the history of a ClusterVersion tells: from where to where, since when, and how long the last update took.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, parse_rfc3339};

use super::go_time::{moment, since};

/// Stands for a version that no history entry tells.
const UNKNOWN: &str = "unknown";

/// How long an update is thought to take where no earlier one tells.
const USUAL_UPDATE: SignedDuration = SignedDuration::from_hours(1);

/// `status.history`, newest first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct History<'a>(&'a [Value]);

impl<'a> History<'a> {
    pub(crate) fn of(cluster_version: &'a Object) -> Self {
        Self(cluster_version.list("/status/history"))
    }

    /// The version that the cluster goes to or is at.
    pub(super) fn current_version(self) -> Option<&'a str> {
        self.0.first().map(version)
    }

    /// As [`Self::current_version`], in words.
    pub(super) fn current_version_or_unknown(self) -> &'a str {
        self.current_version().unwrap_or(UNKNOWN)
    }

    /// When the current update began.
    pub(super) fn started(self) -> Option<Time> {
        self.0.first().map(|entry| moment(entry, "startedTime"))
    }

    /// When the current update was completed, if it was.
    pub(crate) fn completed(self) -> Option<Time> {
        self.0.first().and_then(completion)
    }

    /// Whether the current update is completed, at no time that is told: more than `oc` can take.
    pub(super) fn lacks_completion_time(self) -> bool {
        self.0.first().is_some_and(|entry| entry["state"] == "Completed") && self.completed().is_none()
    }

    /// The version that the update before this one did not get to.
    pub(super) fn interrupted(self) -> Option<&'a str> {
        self.0.get(1).filter(|entry| entry["state"] == "Partial").map(version)
    }

    /// The version of the last update that was completed before those two, in words.
    pub(super) fn last_completed_before_previous(self) -> &'a str {
        let older = self.0.get(2..).unwrap_or_default();
        older.iter().find(|entry| entry["state"] == "Completed").map_or(UNKNOWN, version)
    }

    /// Whether only the architecture changes: same version as before, another image.
    pub(crate) fn is_multi_arch_migration(self) -> bool {
        match self.0 {
            [current, previous, ..] => {
                version(current) == version(previous) && current["image"] != previous["image"]
            }
            _ => false,
        }
    }

    /// The line on where the update goes and where it comes from.
    pub(super) fn target(self) -> String {
        match self.0 {
            [] => format!("{UNKNOWN} (from {UNKNOWN})"),
            [only] => format!("{} (a new install)", version(only)),
            [current, previous, ..] => {
                let (to, from) = (version(current), version(previous));
                if self.interrupted().is_some() {
                    format!("{to} (from incomplete {from})")
                } else if self.is_multi_arch_migration() {
                    format!("{to} to Multi-Architecture")
                } else {
                    format!("{to} (from {from})")
                }
            }
        }
    }

    /// How long the latest completed update took, the installation and the current update aside; an hour if there was
    /// none.
    pub(crate) fn baseline(self) -> SignedDuration {
        let earlier = self.0.split_last().and_then(|(_, updates)| updates.get(1..)).unwrap_or_default();
        let took = |entry| completion(entry).map(|at| since(at, moment(entry, "startedTime")));
        earlier.iter().find_map(took).unwrap_or(USUAL_UPDATE)
    }
}

fn version(entry: &Value) -> &str {
    entry["version"].as_str().unwrap_or_default()
}

fn completion(entry: &Value) -> Option<Time> {
    (entry["state"] == "Completed").then(|| entry["completionTime"].as_str().and_then(parse_rfc3339))?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with_history(entries: &[(&str, &str, &str)]) -> Object {
        let entries = entries.iter().map(|(version, state, image)| {
            json!({ "version": version, "state": state, "image": image,
                "startedTime": "2024-01-01T00:00:00Z", "completionTime": "2024-01-01T00:40:00Z" })
        });
        Object::new(json!({ "status": { "history": entries.collect::<Vec<_>>() } }))
    }

    fn check_target(entries: &[(&str, &str, &str)], expected: &str) {
        assert_eq!(History::of(&with_history(entries)).target(), expected);
    }

    #[test]
    fn the_target_tells_where_the_update_comes_from() {
        check_target(&[], "unknown (from unknown)");
        check_target(&[("4.16.1", "Partial", "a")], "4.16.1 (a new install)");
        check_target(&[("4.16.2", "Partial", "b"), ("4.16.1", "Completed", "a")], "4.16.2 (from 4.16.1)");
        check_target(
            &[("4.16.2", "Partial", "b"), ("4.16.1", "Partial", "a")],
            "4.16.2 (from incomplete 4.16.1)",
        );
    }

    #[test]
    fn the_same_version_with_another_image_is_a_change_of_architecture() {
        check_target(
            &[("4.16.1", "Partial", "b"), ("4.16.1", "Completed", "a")],
            "4.16.1 to Multi-Architecture",
        );
        check_target(&[("4.16.1", "Partial", "a"), ("4.16.1", "Completed", "a")], "4.16.1 (from 4.16.1)");
    }

    #[test]
    fn neither_the_current_update_nor_the_installation_is_a_baseline() {
        let (partial, done) = (("4.16.2", "Partial", "b"), ("4.16.1", "Completed", "a"));
        for (entries, minutes) in [
            (&[][..], 60),
            (&[done], 60),
            (&[done, done], 60),
            (&[partial, partial, done], 60),
            (&[partial, done, done], 40),
            (&[partial, partial, done, done], 40),
        ] {
            let baseline = History::of(&with_history(entries)).baseline();
            assert_eq!(baseline, SignedDuration::from_mins(minutes), "{entries:?}");
        }
    }
}

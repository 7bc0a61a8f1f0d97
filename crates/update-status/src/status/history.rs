//! The history of a ClusterVersion: source and target of the update, its start, and the duration of earlier
//! updates.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, parse_rfc3339};

use super::go_time::{moment, since};

/// Placeholder for a version that is not in the history.
const UNKNOWN: &str = "unknown";

/// Assumed duration of an update if the history has no earlier one.
const USUAL_UPDATE: SignedDuration = SignedDuration::from_hours(1);

/// `status.history`, newest first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct History<'a>(&'a [Value]);

impl<'a> History<'a> {
    pub(crate) fn of(cluster_version: &'a Object) -> Self {
        Self(cluster_version.list("/status/history"))
    }

    /// Returns the target version of the current or last update.
    pub(super) fn current_version(self) -> Option<&'a str> {
        self.0.first().map(version)
    }

    pub(super) fn current_version_or_unknown(self) -> &'a str {
        self.current_version().unwrap_or(UNKNOWN)
    }

    pub(super) fn started(self) -> Option<Time> {
        self.0.first().map(|entry| moment(entry, "startedTime"))
    }

    /// Returns when the current update completed, if it did.
    pub(crate) fn completed(self) -> Option<Time> {
        self.0.first().and_then(completion)
    }

    /// Returns whether the current update is completed but has no completion time. `oc` crashes on this.
    pub(super) fn lacks_completion_time(self) -> bool {
        self.0.first().is_some_and(|entry| entry["state"] == "Completed") && self.completed().is_none()
    }

    /// Returns the target of the previous update, if that update was not completed.
    pub(super) fn interrupted(self) -> Option<&'a str> {
        self.0.get(1).filter(|entry| entry["state"] == "Partial").map(version)
    }

    /// Returns the version of the last completed update before the current and the previous one.
    pub(super) fn last_completed_before_previous(self) -> &'a str {
        let older = self.0.get(2..).unwrap_or_default();
        older.iter().find(|entry| entry["state"] == "Completed").map_or(UNKNOWN, version)
    }

    /// Returns whether only the architecture changes: the same version as before with another image.
    pub(crate) fn is_multi_arch_migration(self) -> bool {
        match self.0 {
            [current, previous, ..] => {
                version(current) == version(previous) && current["image"] != previous["image"]
            }
            _ => false,
        }
    }

    /// Returns the text of the line `Target Version:`.
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

    /// Returns the duration of the latest completed update, not counting the installation and the current
    /// update; one hour if there was none.
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
    fn the_target_line_names_the_previous_version() {
        check_target(&[], "unknown (from unknown)");
        check_target(&[("4.16.1", "Partial", "a")], "4.16.1 (a new install)");
        check_target(&[("4.16.2", "Partial", "b"), ("4.16.1", "Completed", "a")], "4.16.2 (from 4.16.1)");
        check_target(
            &[("4.16.2", "Partial", "b"), ("4.16.1", "Partial", "a")],
            "4.16.2 (from incomplete 4.16.1)",
        );
    }

    #[test]
    fn the_same_version_with_another_image_is_an_architecture_migration() {
        check_target(
            &[("4.16.1", "Partial", "b"), ("4.16.1", "Completed", "a")],
            "4.16.1 to Multi-Architecture",
        );
        check_target(&[("4.16.1", "Partial", "a"), ("4.16.1", "Completed", "a")], "4.16.1 (from 4.16.1)");
    }

    #[test]
    fn the_baseline_ignores_the_current_update_and_the_installation() {
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

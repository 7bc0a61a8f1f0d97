//! The history of a ClusterVersion: source and target of the update, its start, and the duration of earlier
//! updates.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::Time;

use super::time::{ZERO_TIME, duration_between, time_field};

/// Placeholder for a version that is not in the history.
pub(crate) const UNKNOWN: &str = "unknown";

/// Assumed duration of an update if the history has no earlier one.
const USUAL_UPDATE: SignedDuration = SignedDuration::from_hours(1);

/// `status.history`, newest first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct History<'a>(&'a [Value]);

impl<'a> History<'a> {
    pub(crate) fn of(cluster_version: &'a Value) -> Self {
        Self(cluster_version["status"]["history"].as_array().map_or(&[], Vec::as_slice))
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the entries of the current or last update and the one before.
    pub(crate) fn current_and_previous(self) -> [Option<&'a Value>; 2] {
        [self.0.first(), self.0.get(1)]
    }

    /// Returns the target version of the current or last update.
    pub(crate) fn current_version(self) -> Option<&'a str> {
        self.0.first().map(version)
    }

    pub(crate) fn current_version_or_unknown(self) -> &'a str {
        self.current_version().unwrap_or(UNKNOWN)
    }

    /// Returns the start of the current or last update, if it is known. May be the zero time.
    pub(crate) fn started(self) -> Option<Time> {
        time_field(self.0.first()?, "startedTime")
    }

    /// Returns the start of the current or last update, if it is known and not the zero time.
    pub(crate) fn known_start(self) -> Option<Time> {
        self.started().filter(|at| *at != ZERO_TIME)
    }

    /// Returns when the current update completed, if it did.
    pub(crate) fn completed(self) -> Option<Time> {
        self.0.first().and_then(completion)
    }

    /// Returns whether the current update is completed but has no completion time. `oc` crashes on this.
    pub(crate) fn lacks_completion_time(self) -> bool {
        self.0.first().is_some_and(|entry| entry["state"] == "Completed") && self.completed().is_none()
    }

    /// Returns the target of the previous update, if that update was not completed.
    pub(crate) fn interrupted(self) -> Option<&'a str> {
        self.0.get(1).filter(|entry| entry["state"] == "Partial").map(version)
    }

    /// Returns the version of the last completed update before the current and the previous one.
    pub(crate) fn last_completed_before_previous(self) -> &'a str {
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

    /// Returns the duration of the latest completed update, not counting the installation and the current
    /// update; one hour if there was none.
    pub(crate) fn baseline(self) -> SignedDuration {
        let earlier = self.0.split_last().and_then(|(_, updates)| updates.get(1..)).unwrap_or_default();
        let took = |entry| {
            completion(entry)
                .map(|at| duration_between(time_field(entry, "startedTime").unwrap_or(ZERO_TIME), at))
        };
        earlier.iter().find_map(took).unwrap_or(USUAL_UPDATE)
    }
}

/// Returns the version of an entry; empty if it has none.
pub(crate) fn version(entry: &Value) -> &str {
    entry["version"].as_str().unwrap_or_default()
}

fn completion(entry: &Value) -> Option<Time> {
    (entry["state"] == "Completed").then(|| time_field(entry, "completionTime"))?
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::Object;

    use super::*;

    fn with_history(entries: &[(&str, &str, &str)]) -> Object {
        let entries = entries.iter().map(|(version, state, image)| {
            json!({ "version": version, "state": state, "image": image,
                "startedTime": "2024-01-01T00:00:00Z", "completionTime": "2024-01-01T00:40:00Z" })
        });
        Object::new(json!({ "status": { "history": entries.collect::<Vec<_>>() } }))
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

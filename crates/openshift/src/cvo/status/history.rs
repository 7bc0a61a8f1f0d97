//! `status.history` of ClusterVersion: newest first, at most 100 entries.

use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};

const ENTRIES_MAX: usize = 100;

/// The release of the apply loop, in the form of a history entry.
#[derive(Debug, Clone, Copy)]
pub(in crate::cvo) struct Applied<'a> {
    pub(in crate::cvo) version: &'a str,
    pub(in crate::cvo) image: &'a str,
    /// Whether it was applied completely at least once.
    pub(in crate::cvo) completed: bool,
    /// Whether its signature was verified.
    pub(in crate::cvo) verified: bool,
    /// The risks accepted for it. `None` (a local payload) keeps the entry's risks.
    pub(in crate::cvo) accepted_risks: Option<&'a str>,
}

/// Which entry is removed when there are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cvo) enum Pruning {
    /// The oldest one, except the initial release of the cluster (up to 4.11).
    ByAge,
    /// The one with the lowest rank.
    ByWeight,
}

/// Updates the history with the current release (`mergeOperatorHistory`). If the first entry is about another
/// release, that entry is closed (a Partial one stays Partial) and a new entry is inserted before it.
pub(in crate::cvo) fn merge(history: &mut Vec<Value>, applied: Applied<'_>, pruning: Pruning, now: Time) {
    if applied.image.is_empty() {
        return;
    }
    let same = history.first().is_some_and(|head| is_about(head, applied));
    if !same {
        if let Some(head) = history.first_mut().filter(|head| head["completionTime"].is_null()) {
            head["completionTime"] = json!(rfc3339(now));
        }
        history.insert(0, entry(applied, now));
    }
    let head = &mut history[0];
    if head["version"].as_str().is_none_or(str::is_empty) {
        head["version"] = json!(applied.version);
    }
    if applied.completed && head["state"] != "Completed" {
        head["state"] = json!("Completed");
        head["completionTime"] = json!(rfc3339(now));
    }
    if applied.verified {
        head["verified"] = json!(true);
    }
    if let Some(risks) = applied.accepted_risks {
        set_risks(head, risks);
    }
    if history.len() > ENTRIES_MAX {
        match pruning {
            Pruning::ByAge => prune_by_age(history),
            Pruning::ByWeight => prune(history),
        }
    }
}

fn is_about(head: &Value, applied: Applied<'_>) -> bool {
    let (version, image) =
        (head["version"].as_str().unwrap_or_default(), head["image"].as_str().unwrap_or_default());
    let same_version = version == applied.version;
    (image == applied.image && (same_version || version.is_empty() || applied.version.is_empty()))
        || (same_version && image.is_empty())
}

fn entry(applied: Applied<'_>, now: Time) -> Value {
    json!({
        "state": "Partial",
        "startedTime": rfc3339(now),
        "completionTime": null,
        "version": applied.version,
        "image": applied.image,
        "verified": applied.verified,
    })
}

fn set_risks(head: &mut Value, risks: &str) {
    if risks.is_empty() {
        if let Some(fields) = head.as_object_mut() {
            fields.remove("acceptedRisks");
        }
    } else {
        head["acceptedRisks"] = json!(risks);
    }
}

/// Removes the oldest entry, or the one before it if the oldest is Completed.
fn prune_by_age(history: &mut Vec<Value>) {
    let oldest = history.len() - 1;
    let is_protected = history[oldest]["state"] == "Completed";
    history.remove(if is_protected { oldest - 1 } else { oldest });
}

/// Removes the entry with the lowest rank. The newest five entries, the oldest, and the newest completed one
/// are protected. Next come completed entries at the borders of a minor and partial entries between two
/// minors. Partial entries between two patches rank lowest. Among equals the older one is removed.
fn prune(history: &mut Vec<Value>) {
    let newest_completed = history.iter().position(|entry| entry["state"] == "Completed");
    let victim = (0..history.len())
        .min_by(|a, b| rank(history, *a, newest_completed).total_cmp(&rank(history, *b, newest_completed)));
    if let Some(index) = victim {
        history.remove(index);
    }
}

#[expect(clippy::cast_precision_loss, reason = "an index below 101")]
fn rank(history: &[Value], index: usize, newest_completed: Option<usize>) -> f64 {
    let oldest = history.len() - 1;
    let minor = |entry: &Value| {
        entry["version"].as_str().and_then(|version| version.split('.').nth(1)).unwrap_or_default().to_owned()
    };
    let completed = |entry: &Value| entry["state"] == "Completed";
    let base = if index < 5 || index == oldest || newest_completed == Some(index) {
        1000.0
    } else {
        let next_completed = (0..index).rev().find(|i| completed(&history[*i]));
        let previous_completed = (index + 1..history.len()).find(|i| completed(&history[*i]));
        let differs =
            |other: Option<usize>| other.is_none_or(|i| minor(&history[i]) != minor(&history[index]));
        if completed(&history[index]) {
            if differs(next_completed) || differs(previous_completed) { 30.0 } else { 0.0 }
        } else {
            match (next_completed, previous_completed) {
                (Some(a), Some(b)) if minor(&history[a]) != minor(&history[b]) => 20.0,
                (Some(a), Some(b)) if history[a]["version"] != history[b]["version"] => -20.0,
                _ => 0.0,
            }
        }
    };
    base - 1.01 * index as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied<'a>(version: &'a str, image: &'a str, completed: bool) -> Applied<'a> {
        Applied { version, image, completed, verified: false, accepted_risks: None }
    }

    fn merge(history: &mut Vec<Value>, applied: Applied<'_>, now: Time) {
        super::merge(history, applied, Pruning::ByWeight, now);
    }

    #[test]
    fn pruning_by_age_removes_the_oldest_entry_but_keeps_a_completed_initial_release() {
        let check = |oldest: &str, gone: &str| {
            let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
            let mut history: Vec<Value> = (0..100)
                .map(|i| json!({ "state": "Completed", "version": format!("4.1.{i}"), "image": "i" }))
                .collect();
            history[99]["state"] = json!(oldest);
            let before = history.clone();
            super::merge(&mut history, applied("4.2.0", "new", false), Pruning::ByAge, now);
            assert_eq!(history.len(), 100);
            let is_there =
                |entry: &&Value| history.iter().any(|remaining| remaining["version"] == entry["version"]);
            let missing = before.iter().find(|entry| !is_there(entry)).unwrap();
            assert_eq!(missing["version"], gone);
        };
        check("Completed", "4.1.98");
        check("Partial", "4.1.99");
    }

    fn check(reports: &[(&str, &str, bool)], expected: &[&str]) {
        let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
        let mut history = Vec::new();
        for (version, image, completed) in reports {
            merge(&mut history, applied(version, image, *completed), now);
        }
        let lines: Vec<String> = history
            .iter()
            .map(|e| {
                let closed = if e["completionTime"].is_null() { "open" } else { "closed" };
                format!("{} {} {closed}", e["state"].as_str().unwrap(), e["version"].as_str().unwrap())
            })
            .collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_superseded_update_stays_partial_and_is_closed_on_rollback() {
        check(
            &[("4.1.0", "a", true), ("4.1.1", "b", false), ("4.1.0", "a", false)],
            &["Partial 4.1.0 open", "Partial 4.1.1 closed", "Completed 4.1.0 closed"],
        );
    }

    #[test]
    fn a_version_that_becomes_known_later_fills_the_first_entry() {
        check(&[("", "a", false), ("4.1.0", "a", true)], &["Completed 4.1.0 closed"]);
    }

    #[test]
    fn the_101st_entry_removes_the_second_oldest_entry() {
        let versions: Vec<String> = (0..101).map(|i| format!("4.1.{i}")).collect();
        let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
        let mut history = Vec::new();
        for version in &versions {
            merge(&mut history, applied(version, version, true), now);
        }
        assert_eq!(history.len(), 100);
        assert_eq!(history[99]["version"], "4.1.0", "the oldest is protected");
        assert_eq!(history[98]["version"], "4.1.2", "the second oldest is removed");
    }

    /// Checks the index of the entry that the next update removes. The history is full of completed patches
    /// of 4.1, oldest last, except for the entries in `change` (index, state and version).
    fn check_victim(change: &[(usize, &str, &str)], expected: usize) {
        let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
        let mut history: Vec<Value> = (0..100)
            .map(|i| json!({ "state": "Completed", "version": format!("4.1.{}", 100 - i), "image": i.to_string() }))
            .collect();
        for (index, state, version) in change {
            (history[*index]["state"], history[*index]["version"]) = (json!(state), json!(version));
        }
        let before = history.clone();
        merge(&mut history, applied("4.9.0", "new", false), now);
        assert_eq!(history.len(), 100);
        let gone = before
            .iter()
            .position(|entry| !history.iter().any(|remaining| remaining["image"] == entry["image"]));
        assert_eq!(gone, Some(expected));
    }

    #[test]
    fn a_partial_patch_is_removed_before_slightly_older_completed_ones() {
        check_victim(&[], 98);
        check_victim(&[(85, "Partial", "4.1.15")], 85);
        check_victim(&[(85, "Partial", "4.1.15"), (90, "Partial", "4.1.10")], 90);
        check_victim(&[(50, "Partial", "4.1.50")], 98);
        // An attempt between two entries of the same version was no step between patches.
        check_victim(
            &[(84, "Completed", "4.1.9"), (85, "Partial", "4.1.15"), (86, "Completed", "4.1.9")],
            98,
        );
    }

    #[test]
    fn partial_entries_between_minors_and_border_releases_are_kept_longer() {
        check_victim(&[(98, "Partial", "4.1.2")], 98);
        check_victim(&[(98, "Partial", "4.1.0"), (99, "Completed", "4.0.7")], 96);
    }

    #[test]
    fn the_newest_completed_entry_is_kept_at_any_age() {
        let partial: Vec<(usize, &str, &str)> =
            (0..99).filter(|i| *i != 98).map(|i| (i, "Partial", "4.1.7")).collect();
        check_victim(&partial, 97);
    }

    #[test]
    fn verified_stays_true_and_the_last_known_risks_are_kept() {
        let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
        let mut history = Vec::new();
        let first =
            Applied { verified: true, accepted_risks: Some("forced"), ..applied("4.1.1", "a", false) };
        merge(&mut history, first, now);
        merge(&mut history, applied("4.1.1", "a", true), now);
        assert_eq!((&history[0]["verified"], &history[0]["acceptedRisks"]), (&json!(true), &json!("forced")));
        merge(&mut history, Applied { accepted_risks: Some(""), ..applied("4.1.1", "a", true) }, now);
        assert_eq!(history[0].get("acceptedRisks"), None);
        merge(&mut history, applied("4.1.1", "b", true), now);
        assert_eq!(history.len(), 2, "another image of the same version is another entry");
        assert_eq!((&history[0]["state"], &history[0]["verified"]), (&json!("Completed"), &json!(false)));
    }
}

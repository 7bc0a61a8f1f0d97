//! How far the operators are, and how long the update of the control plane may still take, as `oc adm upgrade status`
//! computes it.

use jiff::SignedDuration;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, after};

use super::cluster_operator::{MACHINE_CONFIG, Operator};
use super::cluster_version::{desired, started};
use crate::status::estimate::{TEN_MINUTES, remaining};
use crate::status::history::History;

/// By what the client divides what an update is late: it is stalled when this much of it is over ten minutes.
const LATE: SignedDuration = SignedDuration::from_mins(12);

/// How far the operators of the payload are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// How many there are.
    pub total: usize,
    /// How many are updated.
    pub updated: usize,
    /// The names of the others.
    pub waiting: Vec<String>,
    /// How long the update goes on.
    pub updating_for: SignedDuration,
    /// How long it may still take; negative when it should have been over.
    pub remaining: SignedDuration,
    /// When it will be stalled if nothing else happens; `None`: it is.
    pub stalls_at: Option<Time>,
}

impl Progress {
    /// By the history of the ClusterVersion and its operators; `image` is the one that the machine-config operator's
    /// Deployment has. `None` where nothing is known of an update.
    pub fn of<'a>(
        cluster_version: &Object,
        operators: impl Iterator<Item = &'a Operator>,
        image: &str,
        now: Time,
    ) -> Option<Self> {
        let history = History::of(cluster_version);
        let started = started(cluster_version)?;
        let operators: Vec<&Operator> = operators.filter(|operator| operator.is_of_payload).collect();
        let is_updated = |operator: &Operator| {
            let counts = operator.name == MACHINE_CONFIG;
            operator.is_updated(desired(cluster_version), if counts { image } else { "" })
        };
        let (updated, waiting): (Vec<&Operator>, Vec<&Operator>) =
            operators.iter().copied().partition(|operator| is_updated(operator));
        let last_progress = last_progress(&operators, &waiting).filter(|at| *at > started).unwrap_or(now);
        let updating_for = history.completed().unwrap_or(now).duration_since(started);
        let (total, updated) = (operators.len(), updated.len());
        let share = share(updated, total);
        let remaining =
            remaining(history.baseline(), last_progress.duration_since(started), updating_for, share);
        Some(Self {
            total,
            updated,
            waiting: waiting.into_iter().map(|operator| operator.name.clone()).collect(),
            updating_for,
            remaining,
            stalls_at: (remaining >= -TEN_MINUTES).then(|| stalls_at(remaining, now)),
        })
    }

    /// Whether it is over its estimate by more than ten minutes.
    pub fn is_stalled(&self) -> bool {
        self.stalls_at.is_none()
    }

    /// The part of the operators that is updated, in percent.
    pub fn completion(&self) -> i32 {
        percent(self.updated, self.total)
    }
}

/// The last time that an operator was seen to move. If only the machine-config operator is left and at work, its own.
fn last_progress(operators: &[&Operator], waiting: &[&Operator]) -> Option<Time> {
    let transition = |operator: &&Operator| operator.progressing.as_ref()?.since;
    let is_at_work =
        |operator: &Operator| operator.progressing.as_ref().is_some_and(|progressing| progressing.is("True"));
    match waiting {
        [last] if last.name == MACHINE_CONFIG && is_at_work(last) => transition(last),
        _ => operators.iter().filter_map(transition).max(),
    }
}

fn share(part: usize, whole: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if whole == 0 { 1.0 } else { number(part) / number(whole) }
}

/// The client stretches what remains and shrinks what is late, each by a fifth.
fn stalls_at(remaining: SignedDuration, now: Time) -> Time {
    let rest = if remaining.is_negative() { remaining * 6 / 5 } else { remaining * 5 / 6 };
    after(now, rest + LATE + SignedDuration::from_secs(1))
}

/// A part of a whole in percent, halves to the even one as C's `%.0f` has it, but 100 for the whole alone. All of nothing
/// is 100.
pub(super) fn percent(part: usize, whole: usize) -> i32 {
    if part >= whole {
        return 100;
    }
    let (floor, rest) = (part * 100 / whole, part * 100 % whole);
    let rounded = match (rest * 2).cmp(&whole) {
        std::cmp::Ordering::Greater => floor + 1,
        std::cmp::Ordering::Equal => floor + floor % 2,
        std::cmp::Ordering::Less => floor,
    };
    i32::try_from(rounded.min(99)).unwrap_or(99)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Operators `(name, version, minute of the last transition)` on their way to `2` since minute 0, `at` minutes later.
    fn progress(operators: &[(&str, &str, u32)], at: u32) -> Progress {
        let minute = |minute: u32| format!("2024-01-01T{:02}:{:02}:00Z", minute / 60, minute % 60);
        let operators: Vec<Operator> = operators
            .iter()
            .map(|(name, version, moved)| {
                Operator::read(&json!({
                    "metadata": {"name": name, "annotations": {"include.release.openshift.io/a": ""}},
                    "status": {
                        "versions": [{"name": "operator", "version": version}],
                        "conditions": [{"type": "Progressing", "status": "False", "lastTransitionTime": minute(*moved)}],
                    },
                }))
            })
            .collect();
        let history = json!([{"version": "2", "state": "Partial", "startedTime": minute(0)}]);
        let cluster_version: Value = json!({"status": {"desired": {"version": "2"}, "history": history}});
        let cluster_version = Object::new(cluster_version);
        Progress::of(&cluster_version, operators.iter(), "", minute(at).parse().unwrap()).unwrap()
    }

    #[test]
    fn an_update_is_estimated_as_the_client_estimates_it() {
        let operators = [("a", "2", 30), ("b", "1", 0), ("c", "1", 0), ("d", "1", 0), ("e", "1", 0)];
        let told = progress(&operators, 30);
        assert_eq!((told.completion(), told.waiting.len(), told.updating_for.as_mins()), (20, 4, 30));
        assert_eq!(told.remaining, SignedDuration::from_mins(69));
    }

    #[test]
    fn an_update_is_stalled_when_it_is_over_its_estimate_by_more_than_ten_minutes() {
        let operators = [("a", "1", 0), ("b", "1", 0)];
        let early = progress(&operators, 10);
        assert!(!early.is_stalled());
        let stalls = early.stalls_at.unwrap().to_string();
        assert!(stalls.starts_with("2024-01-01T01:12:"), "{stalls}");
        assert!(!progress(&operators, 72).is_stalled());
        assert!(progress(&operators, 73).is_stalled());
    }

    #[test]
    fn only_the_whole_is_a_hundred_percent() {
        let told = [(0, 0), (0, 3), (1, 8), (3, 8), (1, 3), (2, 3), (199, 200), (200, 200)];
        let told = told.map(|(part, whole)| percent(part, whole));
        assert_eq!(told, [100, 0, 12, 38, 33, 67, 99, 100]);
    }
}

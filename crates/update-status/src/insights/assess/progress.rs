//! The progress of the operators and the estimated remaining time of the control plane's update, computed
//! like `oc adm upgrade status`.

use jiff::SignedDuration;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, after};

use super::cluster_operator::{MACHINE_CONFIG, Operator};
use super::cluster_version::{desired, started};
use crate::status::estimate::{TEN_MINUTES, remaining};
use crate::status::history::History;

/// The real delay at which an update becomes stalled. The client divides a delay by 1.2, and its limit is ten
/// minutes.
const LATE: SignedDuration = SignedDuration::from_mins(12);

/// The progress of the operators of the payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The number of operators.
    pub total: usize,
    /// The number of updated operators.
    pub updated: usize,
    /// The names of the outdated operators.
    pub waiting: Vec<String>,
    /// The duration of the update so far.
    pub updating_for: SignedDuration,
    /// The estimated remaining time; negative if the update is late.
    pub remaining: SignedDuration,
    /// When the update becomes stalled without progress; `None` if it is.
    pub stalls_at: Option<Time>,
}

impl Progress {
    /// Computes the progress from a ClusterVersion and its operators. `image` is the image in the
    /// machine-config operator's Deployment. Returns `None` if the start of the update is unknown.
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

    /// Returns whether the estimated delay exceeds ten minutes.
    pub fn is_stalled(&self) -> bool {
        self.stalls_at.is_none()
    }

    /// Returns the percentage of updated operators.
    pub fn completion(&self) -> i32 {
        percent(self.updated, self.total)
    }
}

/// The latest `Progressing` transition; that of the machine-config operator if only it is outdated and
/// progressing.
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

/// Undoes the client's scaling, which multiplies remaining time by 1.2 and divides delay by 1.2.
fn stalls_at(remaining: SignedDuration, now: Time) -> Time {
    let rest = if remaining.is_negative() { remaining * 6 / 5 } else { remaining * 5 / 6 };
    after(now, rest + LATE + SignedDuration::from_secs(1))
}

/// Returns a percentage, rounding halves to even like C's `%.0f`, but 100 only for the whole. Zero of zero is
/// 100.
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

    /// Progress of operators `(name, version, minute of the last transition)` updating to `2`, `at` minutes
    /// after the start.
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
    fn estimates_an_update_like_the_client() {
        let operators = [("a", "2", 30), ("b", "1", 0), ("c", "1", 0), ("d", "1", 0), ("e", "1", 0)];
        let told = progress(&operators, 30);
        assert_eq!((told.completion(), told.waiting.len(), told.updating_for.as_mins()), (20, 4, 30));
        assert_eq!(told.remaining, SignedDuration::from_mins(69));
    }

    #[test]
    fn an_update_is_stalled_when_its_estimated_delay_exceeds_ten_minutes() {
        let operators = [("a", "1", 0), ("b", "1", 0)];
        let early = progress(&operators, 10);
        assert!(!early.is_stalled());
        let stalls = early.stalls_at.unwrap().to_string();
        assert!(stalls.starts_with("2024-01-01T01:12:"), "{stalls}");
        assert!(!progress(&operators, 72).is_stalled());
        assert!(progress(&operators, 73).is_stalled());
    }

    #[test]
    fn only_the_whole_is_100_percent() {
        let told = [(0, 0), (0, 3), (1, 8), (3, 8), (1, 3), (2, 3), (199, 200), (200, 200)];
        let told = told.map(|(part, whole)| percent(part, whole));
        assert_eq!(told, [100, 0, 12, 38, 33, 67, 99, 100]);
    }
}

//! The progress of the operators and the estimated remaining time of the control plane's update.

use jiff::SignedDuration;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, after};

use super::cluster_operator::Operator;
use super::estimate::{TEN_MINUTES, remaining};
use super::history::History;
use super::operator_counts::{OperatorCounts, target_version};
use super::percent::percent;
use super::rules::Rules;
use super::time::duration_between;

/// The real delay at which an update becomes stalled. The estimate divides a delay by 1.2, and its limit is ten
/// minutes.
const LATE: SignedDuration = SignedDuration::from_mins(12);

/// How long an update has taken so far, and how long it will take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UpdateTimes {
    /// The duration of the update so far, or in total.
    pub(crate) updating_for: SignedDuration,
    /// The estimated remaining time; negative if the update is late.
    pub(crate) remaining: SignedDuration,
}

impl UpdateTimes {
    /// Estimates an update that started at `started`; without a start, as if it started now.
    pub(crate) fn estimate(
        history: History<'_>,
        started: Option<Time>,
        operators: &OperatorCounts<'_>,
        now: Time,
    ) -> Self {
        let (mut to_last_progress, mut updating_for) = (SignedDuration::ZERO, SignedDuration::ZERO);
        if let Some(started) = started {
            let last_progress = operators.last_progress().filter(|at| *at > started).unwrap_or(now);
            to_last_progress = duration_between(started, last_progress);
            updating_for = duration_between(started, history.completed().unwrap_or(now));
        }
        let remaining = remaining(history.baseline(), to_last_progress, updating_for, operators.share());
        Self { updating_for, remaining }
    }

    /// Returns whether the estimated delay exceeds ten minutes.
    pub(crate) fn is_stalled(self) -> bool {
        self.remaining < -TEN_MINUTES
    }
}

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
    pub fn compute<'a>(
        cluster_version: &Object,
        operators: impl Iterator<Item = &'a Operator>,
        image: &str,
        now: Time,
    ) -> Option<Self> {
        let history = History::of(cluster_version);
        let started = history.known_start()?;
        let operators =
            OperatorCounts::new(operators, target_version(cluster_version), image, Rules::Controller);
        let times = UpdateTimes::estimate(history, Some(started), &operators, now);
        Some(Self {
            total: operators.total(),
            updated: operators.updated(),
            waiting: operators.outdated.iter().map(|operator| operator.name.clone()).collect(),
            updating_for: times.updating_for,
            remaining: times.remaining,
            stalls_at: (!times.is_stalled()).then(|| stalls_at(times.remaining, now)),
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

/// Undoes the scaling of the estimate, which multiplies remaining time by 1.2 and divides delay by 1.2.
fn stalls_at(remaining: SignedDuration, now: Time) -> Time {
    let rest = if remaining.is_negative() { remaining * 6 / 5 } else { remaining * 5 / 6 };
    after(now, rest + LATE + SignedDuration::from_secs(1))
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
        Progress::compute(&cluster_version, operators.iter(), "", minute(at).parse().unwrap()).unwrap()
    }

    #[test]
    fn estimates_an_update_like_the_client() {
        let operators = [("a", "2", 30), ("b", "1", 0), ("c", "1", 0), ("d", "1", 0), ("e", "1", 0)];
        let estimated = progress(&operators, 30);
        assert_eq!(
            (estimated.completion(), estimated.waiting.len(), estimated.updating_for.as_mins()),
            (20, 4, 30)
        );
        assert_eq!(estimated.remaining, SignedDuration::from_mins(69));
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
}

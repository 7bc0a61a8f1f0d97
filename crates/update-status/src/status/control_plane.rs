//! The section `= Control Plane =`.

use std::fmt::Write as _;

use windtunnel_core::Object;
use windtunnel_core::clock::{Time, rfc3339};

use super::error::StatusError;
use super::go_time::{short, truncate};
use super::operators;
use crate::assessment::cluster_operator::Operator;
use crate::assessment::estimate::TEN_MINUTES;
use crate::assessment::history::{History, UNKNOWN, version};
use crate::assessment::operator_counts::{OperatorCounts, target_version};
use crate::assessment::percent::percent_of_oc;
use crate::assessment::progress::UpdateTimes;
use crate::assessment::rules::Rules;
use crate::assessment::time::{MINUTE, SECOND, ZERO_TIME, round};

/// The update of the control plane at one moment.
#[derive(Debug)]
pub(super) struct ControlPlane<'a> {
    history: History<'a>,
    operators: OperatorCounts<'a>,
    /// When the update completed, or now; the year 1 without a history.
    completion: Time,
    times: UpdateTimes,
}

impl<'a> ControlPlane<'a> {
    /// Assesses the update. `mco_image` is the image in the machine-config operator's Deployment; empty if unknown.
    ///
    /// # Errors
    /// `oc` crashes on the history of the ClusterVersion.
    pub(super) fn assess(
        cluster_version: &'a Object,
        operators: &'a [Operator],
        mco_image: &str,
        now: Time,
    ) -> Result<Self, StatusError> {
        let history = History::of(cluster_version);
        if history.lacks_completion_time() {
            return Err(StatusError::NoCompletionTime);
        }
        let operators = OperatorCounts::new(operators, target_version(cluster_version), mco_image, Rules::Oc);
        // For `oc`, an update of unknown start has started in the year 1. Without a history, there is none.
        let started = (!history.is_empty()).then(|| history.started().unwrap_or(ZERO_TIME));
        let completion = started.map_or(ZERO_TIME, |_| history.completed().unwrap_or(now));
        let times = UpdateTimes::estimate(history, started, &operators, now);
        Ok(Self { history, operators, completion, times })
    }

    /// Returns the operators of the payload.
    pub(super) fn operators(&self) -> &[&'a Operator] {
        &self.operators.all
    }

    /// Returns whether all operators are updated, regardless of the history.
    pub(super) fn is_completed(&self) -> bool {
        self.operators.all_updated()
    }

    /// Renders the section with its title.
    pub(super) fn block(&self) -> String {
        let mut text = "= Control Plane =\n".to_owned();
        if self.is_completed() {
            let _ = writeln!(
                text,
                "Update to {} successfully completed at {} (duration: {})",
                self.history.current_version_or_unknown(),
                rfc3339(self.completion),
                self.duration()
            );
            return text;
        }
        let mut line = |label: &str, value: &str| {
            let _ = writeln!(text, "{label:<16} {value}");
        };
        line("Assessment:", self.assessment());
        line("Target Version:", &target(self.history));
        let names: Vec<&str> =
            self.operators.updating.iter().map(|operator| operator.name.as_str()).collect();
        if !names.is_empty() {
            line("Updating:", &names.join(", "));
        }
        line("Completion:", &self.progress());
        line("Duration:", &(self.duration() + &self.estimate()));
        line("Operator Health:", &operators::health(&self.operators));
        text
    }

    /// Renders the table of updating operators with its title and a blank line before it; empty if no
    /// operator is updating.
    pub(super) fn updating_operators(&self, now: Time) -> String {
        if self.operators.updating.is_empty() {
            return String::new();
        }
        format!("\nUpdating Cluster Operators\n{}", operators::table(&self.operators.updating, now))
    }

    fn assessment(&self) -> &'static str {
        if self.times.is_stalled() {
            "Stalled"
        } else if self.times.remaining.is_negative() {
            "Progressing - Slow"
        } else {
            "Progressing"
        }
    }

    fn progress(&self) -> String {
        let (updated, updating) = (self.operators.updated(), self.operators.updating.len());
        let (percent, waiting) = (percent_of_oc(self.operators.share()), self.operators.waiting);
        format!("{percent}% ({updated} operators updated, {updating} updating, {waiting} waiting)")
    }

    fn duration(&self) -> String {
        let unit = if self.times.updating_for > TEN_MINUTES { MINUTE } else { SECOND };
        short(round(self.times.updating_for, unit))
    }

    /// Returns the estimate in parentheses after a blank; empty if it is exactly zero.
    fn estimate(&self) -> String {
        if self.times.remaining.is_zero() {
            return String::new();
        }
        let text = if self.history.is_multi_arch_migration() {
            "N/A for Multi-Architecture Migration".to_owned()
        } else if self.times.is_stalled() {
            let total = truncate(self.times.updating_for.saturating_add(self.times.remaining), MINUTE);
            format!("N/A; estimate duration was {}", short(total))
        } else if self.times.remaining < TEN_MINUTES {
            "<10m".to_owned()
        } else {
            short(self.times.remaining)
        };
        format!(" (Est. Time Remaining: {text})")
    }
}

/// Returns the text of the line `Target Version:`.
fn target(history: History<'_>) -> String {
    match history.current_and_previous() {
        [None, _] => format!("{UNKNOWN} (from {UNKNOWN})"),
        [Some(only), None] => format!("{} (a new install)", version(only)),
        [Some(current), Some(previous)] => {
            let (to, from) = (version(current), version(previous));
            if history.interrupted().is_some() {
                format!("{to} (from incomplete {from})")
            } else if history.is_multi_arch_migration() {
                format!("{to} to Multi-Architecture")
            } else {
                format!("{to} (from {from})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check_target(entries: &[(&str, &str, &str)], expected: &str) {
        let entries = entries
            .iter()
            .map(|(version, state, image)| json!({ "version": version, "state": state, "image": image }));
        let cluster_version = json!({ "status": { "history": entries.collect::<Vec<_>>() } });
        assert_eq!(target(History::of(&cluster_version)), expected);
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
}

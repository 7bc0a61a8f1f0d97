//! The section `= Control Plane =`.

use std::fmt::Write as _;

use jiff::SignedDuration;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, rfc3339};

use super::Inputs;
use super::estimate::{TEN_MINUTES, remaining};
use super::go_time::{MINUTE, SECOND, ZERO_TIME, round, short, since, truncate};
use super::history::History;
use super::operators::Census;
use super::refusal::Refusal;

/// The update of the control plane at one moment.
#[derive(Debug)]
pub(super) struct ControlPlane<'a> {
    history: History<'a>,
    operators: Census<'a>,
    /// When the update completed, or now; the year 1 without a history.
    completion: Time,
    /// The duration of the update so far, or in total.
    updating_for: SignedDuration,
    /// The estimated remaining time.
    remaining: SignedDuration,
}

impl<'a> ControlPlane<'a> {
    /// # Errors
    /// `oc` crashes on the history of the ClusterVersion.
    pub(super) fn assess(inputs: &'a Inputs, now: Time) -> Result<Self, Refusal> {
        let history = History::of(&inputs.cluster_version);
        if history.lacks_completion_time() {
            return Err(Refusal::NoCompletionTime);
        }
        let operators = Census::take(inputs);
        let mut completion = ZERO_TIME;
        let (mut to_last_progress, mut updating_for) = (SignedDuration::ZERO, SignedDuration::ZERO);
        if let Some(started) = history.started() {
            let last_progress = if operators.last_progress > started { operators.last_progress } else { now };
            to_last_progress = since(last_progress, started);
            completion = history.completed().unwrap_or(now);
            updating_for = since(completion, started);
        }
        let remaining = remaining(history.baseline(), to_last_progress, updating_for, operators.share());
        Ok(Self { history, operators, completion, updating_for, remaining })
    }

    /// Returns the operators of the payload.
    pub(super) fn operators(&self) -> impl Iterator<Item = &'a Object> {
        self.operators.all.iter().copied()
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
        line("Target Version:", &self.history.target());
        let names: Vec<&str> =
            self.operators.updating.iter().map(|operator| Object::name(operator)).collect();
        if !names.is_empty() {
            line("Updating:", &names.join(", "));
        }
        line("Completion:", &self.progress());
        line("Duration:", &(self.duration() + &self.estimate()));
        line("Operator Health:", &self.operators.health());
        text
    }

    /// Renders the table of updating operators with its title and a blank line before it; empty if no
    /// operator is updating.
    pub(super) fn updating_operators(&self, now: Time) -> String {
        if self.operators.updating.is_empty() {
            return String::new();
        }
        format!("\nUpdating Cluster Operators\n{}", self.operators.table(now))
    }

    fn assessment(&self) -> &'static str {
        if self.remaining < -TEN_MINUTES {
            "Stalled"
        } else if self.remaining.is_negative() {
            "Progressing - Slow"
        } else {
            "Progressing"
        }
    }

    fn progress(&self) -> String {
        let Census { updated, updating, waiting, .. } = &self.operators;
        let updating = updating.len();
        let percent = percent(self.operators.share());
        format!("{percent}% ({updated} operators updated, {updating} updating, {waiting} waiting)")
    }

    fn duration(&self) -> String {
        let unit = if self.updating_for > TEN_MINUTES { MINUTE } else { SECOND };
        short(round(self.updating_for, unit))
    }

    /// Returns the estimate in parentheses after a blank; empty if it is exactly zero.
    fn estimate(&self) -> String {
        if self.remaining.is_zero() {
            return String::new();
        }
        let text = if self.history.is_multi_arch_migration() {
            "N/A for Multi-Architecture Migration".to_owned()
        } else if self.remaining < -TEN_MINUTES {
            let total = truncate(self.updating_for.saturating_add(self.remaining), MINUTE);
            format!("N/A; estimate duration was {}", short(total))
        } else if self.remaining < TEN_MINUTES {
            "<10m".to_owned()
        } else {
            short(self.remaining)
        };
        format!(" (Est. Time Remaining: {text})")
    }
}

/// Formats a fraction from 0 to 1 as whole percent, rounding halves to even (C's `%.0f`).
fn percent(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_half_percents_to_even() {
        let shown = [1.0, 3.0, 5.0, 7.0].map(|eighths: f64| percent(eighths / 8.0));
        assert_eq!(shown, ["12", "38", "62", "88"]);
    }
}

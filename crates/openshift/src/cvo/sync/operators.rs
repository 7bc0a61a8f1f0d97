//! Checks of ClusterOperators in a pass, and how long the operator has waited for each of them.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::{Object, condition};

use super::failure::{FailingEffect, Failure};
use super::graph::ApplyMode;

/// How long a ClusterOperator may be degraded before the update fails.
const DEGRADED_MAX: SignedDuration = SignedDuration::from_mins(40);
const SLOW: SignedDuration = SignedDuration::from_mins(30);
const SLOW_MACHINE_CONFIG: SignedDuration = SignedDuration::from_mins(90);

/// Returns the failure of a ClusterOperator that is not available, is degraded, or does not report these
/// versions. Progressing is ignored. During an installation a degraded operator is only reported, and
/// versions are ignored.
pub(in crate::cvo) fn operator_failure(
    object: &Object,
    versions: &[(String, String)],
    mode: ApplyMode,
) -> Option<Failure> {
    let fail = |reason, what, effect| Some(Failure::of_operator(reason, what, effect, object.name()));
    if versions.is_empty() {
        return fail("ClusterOperatorNoVersions", "does not declare expected versions", FailingEffect::Fail);
    }
    if !condition::is_true(object, "Available") {
        return fail("ClusterOperatorNotAvailable", "is not available", FailingEffect::Fail);
    }
    let installs = mode == ApplyMode::Initializing;
    if condition::find_in_status(object, "Degraded").is_none_or(|degraded| degraded["status"] != "False") {
        let effect = if installs { FailingEffect::Report } else { FailingEffect::FailAfterInterval };
        return fail("ClusterOperatorDegraded", "is degraded", effect);
    }
    let reported = object.list("/status/versions");
    let reports = |(name, version): &(String, String)| {
        reported.iter().any(|entry| entry["name"] == name.as_str() && entry["version"] == version.as_str())
    };
    if installs || versions.iter().all(reports) {
        return None;
    }
    fail("ClusterOperatorUpdating", "is updating versions", FailingEffect::None)
}

/// Start of the wait for each ClusterOperator. It is lost when the work changes and when the process ends.
#[derive(Debug, Clone, Default)]
pub(in crate::cvo) struct Watches {
    started_at: BTreeMap<String, Time>,
}

impl Watches {
    /// Starts the wait for an operator, unless it is running already.
    pub(in crate::cvo) fn start(&mut self, operator: &str, now: Time) {
        self.started_at.entry(operator.to_owned()).or_insert(now);
    }

    /// Ends the wait for a healthy operator.
    pub(in crate::cvo) fn stop(&mut self, operator: &str) {
        self.started_at.remove(operator);
    }

    /// The operators with a wait of over 40 minutes, or without a start time.
    pub(in crate::cvo) fn degraded_too_long<'a>(&self, operators: &'a [String], now: Time) -> Vec<&'a str> {
        let exceeded = |name: &&str| self.waited(name, now).is_none_or(|waited| waited > DEGRADED_MAX);
        operators.iter().map(String::as_str).filter(exceeded).collect()
    }

    /// The message about operators that take over 30 minutes (machine-config: 90), if there are any. An
    /// operator without a start time is not slow.
    pub(in crate::cvo) fn slow(&self, operators: &[String], now: Time) -> Option<String> {
        let over = |name: &str, limit| self.waited(name, now).is_some_and(|waited| waited > limit);
        let slow: Vec<&str> = operators
            .iter()
            .map(String::as_str)
            .filter(|n| *n != "machine-config" && over(n, SLOW))
            .collect();
        let machine_config = operators.iter().any(|n| n == "machine-config" && over(n, SLOW_MACHINE_CONFIG));
        let mut parts = Vec::new();
        if !slow.is_empty() {
            parts.push(format!("{} over 30 minutes", slow.join(", ")));
        }
        if machine_config {
            parts.push("machine-config over 90 minutes".to_owned());
        }
        (!parts.is_empty())
            .then(|| format!("waiting on {} which is longer than expected", parts.join(" and ")))
    }

    fn waited(&self, operator: &str, now: Time) -> Option<SignedDuration> {
        self.started_at.get(operator).map(|started_at| now.duration_since(*started_at))
    }
}

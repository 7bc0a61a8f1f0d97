//! What the operator demands of ClusterOperators, and for how long it has been waiting for each.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use windtunnel_core::Object;
use windtunnel_core::clock::Time;
use windtunnel_core::condition;

use super::failure::{Effect, Failure};
use super::graph::Mode;

/// How long an operator may stay degraded before that fails the update.
const DEGRADED_MAX: SignedDuration = SignedDuration::from_mins(40);
const SLOW: SignedDuration = SignedDuration::from_mins(30);
const SLOW_MACHINE_CONFIG: SignedDuration = SignedDuration::from_mins(90);

/// What is wrong with one ClusterOperator: does it say what it should, is it healthy, and does it report these versions? Progressing
/// does not count. In a cluster that is being installed a degraded operator is only told of, and any version will do.
pub(super) fn fault(object: &Object, versions: &[(String, String)], mode: Mode) -> Option<Failure> {
    let fail = |reason, what, effect| Some(Failure::of_operator(reason, what, effect, object.name()));
    if versions.is_empty() {
        return fail("ClusterOperatorNoVersions", "does not declare expected versions", Effect::Fail);
    }
    if !condition::is_true(object, "Available") {
        return fail("ClusterOperatorNotAvailable", "is not available", Effect::Fail);
    }
    let installs = mode == Mode::Initializing;
    if condition::of(object, "Degraded").is_none_or(|degraded| degraded["status"] != "False") {
        let effect = if installs { Effect::Report } else { Effect::FailAfterInterval };
        return fail("ClusterOperatorDegraded", "is degraded", effect);
    }
    let reported = object.list("/status/versions");
    let reports = |(name, version): &(String, String)| {
        reported.iter().any(|entry| entry["name"] == name.as_str() && entry["version"] == version.as_str())
    };
    if installs || versions.iter().all(reports) {
        return None;
    }
    fail("ClusterOperatorUpdating", "is updating versions", Effect::None)
}

/// Since when each ClusterOperator has been waited for. Lost with the work, and with the process.
#[derive(Debug, Clone, Default)]
pub(super) struct Watches {
    since: BTreeMap<String, Time>,
}

impl Watches {
    /// Starts the clock of an operator that is waited for; a running clock goes on.
    pub(super) fn start(&mut self, operator: &str, now: Time) {
        self.since.entry(operator.to_owned()).or_insert(now);
    }

    /// Stops the clock of a healthy operator.
    pub(super) fn stop(&mut self, operator: &str) {
        self.since.remove(operator);
    }

    /// Those of these operators that have been waited for longer than 40 minutes; one without a clock counts.
    pub(super) fn degraded_too_long<'a>(&self, operators: &'a [String], now: Time) -> Vec<&'a str> {
        let exceeded = |name: &&str| self.waited(name, now).is_none_or(|waited| waited > DEGRADED_MAX);
        operators.iter().map(String::as_str).filter(exceeded).collect()
    }

    /// The sentence about operators that take over 30 minutes (machine-config: 90), if there are any; one without a
    /// clock does not count.
    pub(super) fn slow(&self, operators: &[String], now: Time) -> Option<String> {
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
        self.since.get(operator).map(|since| now.duration_since(*since))
    }
}

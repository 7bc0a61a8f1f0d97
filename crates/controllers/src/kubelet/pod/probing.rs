//! The attempts of the probes of processes, and the state that their results lead to.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::probe::ProbeKind;

use super::probe_timing::{FAILURES, first_success, number, period};

/// The probes of a pod, by container and kind.
#[derive(Debug, Clone, Default)]
pub(in crate::kubelet) struct Probing(BTreeMap<(String, ProbeKind), Attempts>);

/// The attempts of one probe.
#[derive(Debug, Clone)]
struct Attempts {
    /// The start of the container that they belong to.
    since: Time,
    /// The time of the next attempt.
    due: Time,
    /// Whether an attempt has begun and has no result yet.
    in_flight: bool,
    result: Option<Result<(), String>>,
    successes: i64,
    failures: i64,
    verdict: Verdict,
}

/// The current state of a probe.
#[derive(Debug)]
pub(super) struct ProbeState {
    pub(super) verdict: Verdict,
    /// The reason of the last result, if it is a new failure.
    pub(super) failure: Option<String>,
    /// The time of the next attempt; `None` while one is in flight.
    pub(super) next: Option<Time>,
}

/// The state of a container by the results of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// There were too few results.
    Open,
    Success,
    Failure,
}

impl Probing {
    /// Stores the result of an attempt.
    pub(in crate::kubelet) fn store(
        &mut self,
        container: &str,
        kind: ProbeKind,
        result: &Result<(), String>,
    ) {
        if let Some(attempts) = self.0.get_mut(&(container.to_owned(), kind)) {
            attempts.result = Some(result.clone());
        }
    }

    /// Counts the last result of a probe of a container that runs since `since`.
    pub(super) fn take_result(
        &mut self,
        container: &str,
        kind: ProbeKind,
        since: Time,
        probe: &Value,
        now: Time,
    ) -> ProbeState {
        let entry = self.0.entry((container.to_owned(), kind));
        let attempts = entry.or_insert_with(|| Attempts::new(since, probe));
        if attempts.since != since {
            *attempts = Attempts::new(since, probe);
        }
        let result = attempts.result.take();
        if let Some(result) = &result {
            attempts.in_flight = false;
            attempts.due = after(attempts.due, period(probe)).max(now);
            attempts.count(result.is_ok(), probe);
        }
        let failure = result.and_then(Result::err);
        let next = (!attempts.in_flight).then_some(attempts.due);
        ProbeState { verdict: attempts.verdict, failure, next }
    }

    /// Notes that an attempt has begun.
    pub(super) fn begin(&mut self, container: &str, kind: ProbeKind) {
        if let Some(attempts) = self.0.get_mut(&(container.to_owned(), kind)) {
            attempts.in_flight = true;
        }
    }

    /// Shifts all times when the clock is set.
    pub(in crate::kubelet) fn leap(&mut self, by: SignedDuration) {
        self.0.values_mut().for_each(|attempts| attempts.due = after(attempts.due, by));
    }
}

impl Attempts {
    fn new(since: Time, probe: &Value) -> Self {
        Self {
            since,
            due: after(since, first_success(probe)),
            in_flight: false,
            result: None,
            successes: 0,
            failures: 0,
            verdict: Verdict::Open,
        }
    }

    /// Counts a result. A liveness or startup probe succeeds at its first success.
    fn count(&mut self, success: bool, probe: &Value) {
        let reached = |count: i64, field: &str, default: i64| count >= number(probe, field, default).max(1);
        if success {
            (self.successes, self.failures) = (self.successes + 1, 0);
            if reached(self.successes, "successThreshold", 1) {
                self.verdict = Verdict::Success;
            }
        } else {
            (self.successes, self.failures) = (0, self.failures + 1);
            if reached(self.failures, "failureThreshold", FAILURES) {
                self.verdict = Verdict::Failure;
            }
        }
    }
}

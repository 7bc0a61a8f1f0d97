//! The condition Failing: the failures of a pass that count.

use windtunnel_core::clock::Time;
use windtunnel_core::condition::Condition;

use crate::cvo::behaviour::Behaviour;
use crate::cvo::sync::apply::{ApplyLoop, ApplyMode};
use crate::cvo::sync::failure::{self, FailingEffect, Failure};

/// The condition Failing. During an update an operator that still updates is no failure, and a degraded one
/// becomes a failure after 40 minutes. While reconciling, every failure counts at once.
pub(super) fn failing(apply: &ApplyLoop, behaviour: Behaviour, now: Time) -> Condition {
    let none = Condition::new("Failing", "False", "", "");
    let Some(failure) = &apply.progress.failure else { return none };
    let as_true =
        |failure: &Failure| Condition::new("Failing", "True", &failure.reason, failure.message.clone());
    if apply.mode == ApplyMode::Reconciling {
        return as_true(failure);
    }
    let Some(failure) = without_harmless(failure) else {
        let waited = operators_of(failure);
        return match apply.watches.slow(&waited, now).filter(|_| behaviour.reports_slow_operators) {
            Some(message) => Condition::new("Failing", "Unknown", "SlowClusterOperator", message),
            None => none,
        };
    };
    // Among several failures, a degraded operator fails at once (`convertErrorToProgressing` looks only at
    // the merged error).
    let is_single = apply.progress.failure.as_ref().is_some_and(|failure| failure.parts.is_empty());
    let too_early = is_single
        && failure.effect == FailingEffect::FailAfterInterval
        && apply.watches.degraded_too_long(&failure.operators, now).is_empty();
    if too_early { none } else { as_true(&failure) }
}

/// The failure without its parts that are no failures during an update.
fn without_harmless(failure: &Failure) -> Option<Failure> {
    if failure.parts.is_empty() {
        return (failure.effect != FailingEffect::None).then(|| failure.clone());
    }
    let mut parts: Vec<Failure> =
        failure.parts.iter().filter(|part| part.effect != FailingEffect::None).cloned().collect();
    match parts.len() {
        0 | 1 => parts.pop(),
        _ => Some(failure::multiple(parts)),
    }
}

fn operators_of(failure: &Failure) -> Vec<String> {
    failure.operators.iter().chain(failure.parts.iter().flat_map(|part| &part.operators)).cloned().collect()
}

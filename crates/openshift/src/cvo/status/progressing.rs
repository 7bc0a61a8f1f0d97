//! The condition Progressing: its percentage, and the operators that an update waits for.

use windtunnel_core::clock::Time;
use windtunnel_core::condition::Condition;

use crate::cvo::behaviour::Behaviour;
use crate::cvo::sync::apply::{ApplyLoop, ApplyMode};
use crate::cvo::sync::failure::{FailingEffect, Failure};

/// The condition Progressing: the progress of the update, and what it waits for.
pub(super) fn progressing(
    apply: &ApplyLoop,
    behaviour: Behaviour,
    version: &str,
    invalid: bool,
    now: Time,
) -> Condition {
    let condition = |status, reason: &str, message| Condition::new("Progressing", status, reason, message);
    let failure = apply.progress.failure.as_ref();
    if apply.mode == ApplyMode::Reconciling {
        return match failure {
            Some(failure) => {
                let message = format!("Error while reconciling {version}: {}", failure.summary());
                condition("False", &failure.reason, message)
            }
            None if invalid => {
                let message = format!("Stopped at {version}: the cluster version is invalid");
                condition("False", "InvalidClusterVersion", message)
            }
            None => condition("False", "", format!("Cluster version is {version}")),
        };
    }
    let waiting = failure.map(|failure| waiting(apply, failure, behaviour, now)).transpose();
    match (failure, waiting) {
        (Some(failure), Err(summary)) => {
            condition("True", &failure.reason, format!("Unable to apply {version}: {summary}"))
        }
        _ if invalid => {
            let message = format!("Reconciling {version}: the cluster version is invalid");
            condition("True", "InvalidClusterVersion", message)
        }
        (Some(failure), Ok(waiting)) => {
            condition("True", &failure.reason, towards(apply, version, &waiting.unwrap_or_default()))
        }
        (None, _) => condition("True", "", towards(apply, version, "")),
    }
}

/// The operators that the update waits for, if the failure is only a wait.
///
/// # Errors
/// Why the release cannot be applied.
fn waiting(apply: &ApplyLoop, failure: &Failure, behaviour: Behaviour, now: Time) -> Result<String, String> {
    let names = failure.operators.join(", ");
    match failure.effect {
        FailingEffect::None => {
            let slow =
                apply.watches.slow(&failure.operators, now).filter(|_| behaviour.reports_slow_operators);
            Ok(slow.unwrap_or_else(|| format!("waiting on {names}")))
        }
        FailingEffect::Report => Err(failure.message.clone()),
        FailingEffect::FailAfterInterval if failure.parts.is_empty() => {
            let exceeded = apply.watches.degraded_too_long(&failure.operators, now);
            if exceeded.is_empty() {
                return Ok(format!("waiting up to 40 minutes on {names}"));
            }
            let exceeded = exceeded.join(", ");
            Err(format!("wait has exceeded 40 minutes for these operators: {exceeded}"))
        }
        _ => Err(failure.summary()),
    }
}

/// `Working towards ...` with the progress and the wait.
fn towards(apply: &ApplyLoop, version: &str, waiting: &str) -> String {
    let (done, total) = (apply.progress.done, apply.progress.total.max(1));
    match (done, waiting) {
        (0, "") => format!("Working towards {version}"),
        (0, _) => format!("Working towards {version}: {waiting}"),
        _ => {
            let percent = u64::from(done) * 100 / u64::from(total);
            let progress = format!("Working towards {version}: {done} of {total} done ({percent}% complete)");
            if waiting.is_empty() { progress } else { format!("{progress}, {waiting}") }
        }
    }
}

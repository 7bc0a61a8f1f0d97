//! The finding that a failed step shows.

use jiff::SignedDuration;
use serde_json::json;
use windtunnel_core::text::short_duration;

use super::OracleFinding;
use crate::engine::{Failure, SessionError};

impl OracleFinding {
    /// The finding that a failed step or the time after the last step shows. `None` if an administrator's request failed,
    /// which is no finding about the cluster. `is_own`: the step is one of the user's scenario.
    pub(in crate::explore) fn of_failure(
        failure: &Failure,
        now: SignedDuration,
        is_own: bool,
    ) -> Option<Self> {
        let Failure { step, error, line, .. } = failure;
        let oracle_finding = match error {
            SessionError::InvariantBroken(text) => {
                let name = text.split('`').nth(1).unwrap_or_default();
                let how = text.split_once(": ").map_or(text.as_str(), |(_, how)| how);
                let object = text.split(" broke ").next().unwrap_or_default();
                let cause = format!("{object}: {how}");
                Self { cause: Some(cause), ..Self::new(&format!("invariant/{name}"), text) }
            }
            SessionError::NoProgress { actor, .. } => {
                Self { cause: Some(actor.clone()), ..Self::new("hot-loop", error.to_string()) }
            }
            SessionError::HotLoop { .. } => {
                Self { cause: Some("controllers".to_owned()), ..Self::new("hot-loop", error.to_string()) }
            }
            _ if is_own => {
                Self { cause: Some(step.clone()), ..Self::new("expectation", format!("{step}: {error}")) }
            }
            _ => return None,
        };
        // The last step of a case takes no time, and what comes after it fails.
        if *line == 0 {
            let until = round_up(now);
            return Some(Self { last_steps: vec![json!({ "at": short_duration(until) })], ..oracle_finding });
        }
        Some(oracle_finding)
    }
}

/// The next full minute.
fn round_up(span: SignedDuration) -> SignedDuration {
    SignedDuration::from_mins(span.as_secs() / 60 + 1)
}

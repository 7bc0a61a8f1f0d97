//! The status of an UpdateInformer: whether the controller accepts it, and what became of its insights.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, parse_rfc3339, rfc3339};

use crate::producer::{Outcome, Registration};

/// How old the reported time of the last delivery may be. Each renewal would cost a write otherwise.
const DELIVERY_LAG: SignedDuration = SignedDuration::from_mins(1);

/// The inputs of a status.
pub(super) struct Report<'a> {
    /// The registration, or the reason and the message of its rejection.
    pub(super) registration: Result<&'a Registration, (&'static str, String)>,
    pub(super) outcome: &'a Outcome,
    pub(super) generation: i64,
}

impl Report<'_> {
    /// Returns the status at this time, with the transition times of the one before.
    pub(super) fn status(&self, before: &Value, now: Time) -> Value {
        let outcome = self.outcome;
        let conditions = [self.registered(), self.rejected(), self.silent(), delivery_rejected(before)];
        let conditions = conditions.map(|condition| dated(condition, self.generation, before, now));
        let mut status = json!({
            "acceptedInsights": outcome.admitted.len(),
            "rejectedInsights": outcome.rejected.len(),
            "conditions": conditions,
        });
        if let Some(time) = last_delivery(outcome, before) {
            status["lastDeliveryTime"] = json!(time);
        }
        status
    }

    fn registered(&self) -> Condition {
        match &self.registration {
            Ok(_) => ("Registered", "True", "AsExpected", String::new()),
            Err((reason, why)) => ("Registered", "False", *reason, why.clone()),
        }
        .into()
    }

    fn rejected(&self) -> Condition {
        let Some((insight, rejection)) = self.outcome.rejected.first() else {
            return ("Rejected", "False", "AsExpected", String::new()).into();
        };
        let mut message = format!("UpdateInsight {insight}: {}", rejection.message);
        if self.outcome.rejected.len() > 1 {
            message += &format!("; and {} more", self.outcome.rejected.len() - 1);
        }
        Condition { kind: "Rejected", status: "True", reason: rejection.reason.name(), message }
    }

    fn silent(&self) -> Condition {
        let outcome = self.outcome;
        if !outcome.admitted.is_empty() || !outcome.rejected.is_empty() {
            return ("Silent", "False", "AsExpected", String::new()).into();
        }
        // An informer without problems has nothing to say: only insights that expired prove that it is silent.
        match outcome.renewed.filter(|_| outcome.expired > 0) {
            Some(_) => {
                let expiry =
                    self.registration.as_ref().map_or(0, |registration| registration.expiry.as_secs());
                let message = format!("{} insights were not renewed within {expiry}s", outcome.expired);
                ("Silent", "True", "InsightsExpired", message).into()
            }
            None => ("Silent", "False", "NoInsights", String::new()).into(),
        }
    }
}

/// Whether the last delivery over HTTPS was rejected, by the field that the endpoint writes.
fn delivery_rejected(status: &Value) -> Condition {
    let rejected = &status[REJECTED_DELIVERY];
    let text = |field: &str| rejected[field].as_str().unwrap_or_default();
    if text("reason").is_empty() {
        return ("DeliveryRejected", "False", "AsExpected", String::new()).into();
    }
    let message = format!("{} by user {}: {}", text("time"), text("user"), text("message"));
    Condition { kind: "DeliveryRejected", status: "True", reason: text("reason").to_owned(), message }
}

/// Returns a status without the field of the endpoint, which no report writes.
pub(super) fn without_rejected_delivery(status: &Value) -> Value {
    let mut status = status.clone();
    if let Some(fields) = status.as_object_mut() {
        fields.remove(REJECTED_DELIVERY);
    }
    status
}

/// The field of the status with the last rejection of a delivery over HTTPS.
const REJECTED_DELIVERY: &str = "rejectedDelivery";

struct Condition {
    kind: &'static str,
    status: &'static str,
    reason: String,
    message: String,
}

impl From<(&'static str, &'static str, &'static str, String)> for Condition {
    fn from((kind, status, reason, message): (&'static str, &'static str, &'static str, String)) -> Self {
        Self { kind, status, reason: reason.to_owned(), message }
    }
}

fn dated(condition: Condition, generation: i64, before: &Value, now: Time) -> Value {
    let Condition { kind, status, reason, message } = condition;
    let old = find(before, kind).filter(|old| old["status"] == status);
    let since = old.map_or_else(|| json!(rfc3339(now)), |old| old["lastTransitionTime"].clone());
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": since, "observedGeneration": generation,
    })
}

fn find<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    status["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// Returns whether a status says that the producer is silent.
pub(super) fn is_silent(status: &Value) -> bool {
    find(status, "Silent").is_some_and(|condition| condition["status"] == "True")
}

/// Returns the time of the last delivery, or the reported one while that is recent enough.
fn last_delivery(outcome: &Outcome, before: &Value) -> Option<String> {
    let reported = before["lastDeliveryTime"].as_str();
    let Some(renewed) = outcome.renewed else { return reported.map(str::to_owned) };
    let is_recent = |reported: &&str| {
        parse_rfc3339(reported)
            .is_some_and(|reported| reported <= renewed && renewed.duration_since(reported) < DELIVERY_LAG)
    };
    Some(reported.filter(is_recent).map_or_else(|| rfc3339(renewed), str::to_owned))
}

//! The rules for deliveries: which insights of an informer are published, and why others are rejected.

use std::fmt;

use windtunnel_core::clock::{Time, after};

use super::{Delivery, INFORMER_ROOM, Registration};
use crate::assessment::node::MASTER;
use crate::insight::{Detail, HealthInsight, Insight, ScopeType};

/// Longest texts of a health insight, in characters, by the API.
const SUMMARY_MAX: usize = 256;
const DESCRIPTION_MAX: usize = 4096;
const REFERENCE_MAX: usize = 512;
/// Maximum number of objects that an insight names, by the API.
const RESOURCES_MAX: usize = 16;

/// The kind of a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectionReason {
    /// A field is missing or invalid.
    InvalidInsight,
    /// The informer that the object claims has its producer in another namespace, or is not registered.
    ForeignInformer,
    /// The informer may not speak about this part of the cluster.
    ScopeNotAllowed,
    /// The informer may not speak about this object.
    ObjectNotAllowed,
    /// The level is higher than the informer may claim.
    LevelNotAllowed,
    /// The informer has more insights than it may have.
    TooManyInsights,
    /// The insights of the informer are larger than they may be.
    TooLarge,
}

impl RejectionReason {
    /// Returns the reason of the condition `Rejected`.
    pub fn name(self) -> String {
        format!("{self:?}")
    }
}

/// Why an insight is not published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsightRejection {
    /// Its kind.
    pub reason: RejectionReason,
    /// What is wrong, and what is allowed.
    pub message: String,
}

impl InsightRejection {
    pub(crate) fn new(reason: RejectionReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

impl fmt::Display for InsightRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason.name(), self.message)
    }
}

/// The result of the rules for one informer.
#[derive(Debug, Default, PartialEq)]
pub struct Outcome {
    /// The insights that are published. Their uids are unique within the informer.
    pub admitted: Vec<Insight>,
    /// The other ones that have not expired, by `namespace/name`, in this order.
    pub rejected: Vec<(String, InsightRejection)>,
    /// The number of insights that expired.
    pub expired: usize,
    /// The last renewal of any insight.
    pub renewed: Option<Time>,
    /// When the next insight expires without a renewal.
    pub next_expiry: Option<Time>,
}

/// Applies the rules to the deliveries of one informer, which come from its producer, each with its last renewal. If there are too many insights, the worst are kept;
/// among equals, the first by uid.
pub fn admit<'a>(
    registration: &Registration,
    deliveries: impl IntoIterator<Item = (&'a Delivery, Time)>,
    now: Time,
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut allowed = Vec::new();
    for (delivery, renewed) in deliveries {
        outcome.renewed = outcome.renewed.max(Some(renewed));
        let expires = after(renewed, registration.expiry);
        if expires <= now {
            outcome.expired += 1;
            continue;
        }
        outcome.next_expiry = Some(outcome.next_expiry.map_or(expires, |next| next.min(expires)));
        match allowed_insight(registration, delivery) {
            Ok((uid, health)) => allowed.push((delivery, renewed, uid, health)),
            Err(rejection) => outcome.rejected.push((delivery.key(), rejection)),
        }
    }
    allowed.sort_by_key(|(.., uid, health)| (std::cmp::Reverse(health.impact.level), *uid));
    let mut room = INFORMER_ROOM;
    for (delivery, renewed, uid, health) in allowed {
        let size = serde_json::to_vec(health).map_or(0, |json| json.len());
        let is_known = outcome.admitted.iter().any(|other| other.uid == uid);
        let rejection = if is_known {
            let message = format!("uid {uid} is delivered twice, as an object and to the endpoint");
            Some(InsightRejection::new(RejectionReason::InvalidInsight, message))
        } else {
            rejection_of_excess(registration, outcome.admitted.len(), size, room)
        };
        if let Some(rejection) = rejection {
            outcome.rejected.push((delivery.key(), rejection));
            continue;
        }
        room -= size;
        outcome.admitted.push(admitted(uid, health, renewed));
    }
    outcome.rejected.sort_by(|(one, _), (other, _)| one.cmp(other));
    outcome
}

fn rejection_of_excess(
    registration: &Registration,
    count: usize,
    size: usize,
    room: usize,
) -> Option<InsightRejection> {
    if count == registration.max_insights {
        let message = format!("spec.maxInsights of the informer is {count}");
        return Some(InsightRejection::new(RejectionReason::TooManyInsights, message));
    }
    (size > room).then(|| {
        let message = format!("the insights of an informer have at most {INFORMER_ROOM} bytes");
        InsightRejection::new(RejectionReason::TooLarge, message)
    })
}

fn admitted(uid: &str, health: &HealthInsight, renewed: Time) -> Insight {
    // A producer's clock may be ahead.
    let health = HealthInsight { started_at: health.started_at.min(renewed), ..health.clone() };
    Insight { uid: uid.to_owned(), acquired_at: renewed, detail: Detail::Health(health) }
}

/// Returns uid and content of a delivery that the registration allows.
fn allowed_insight<'a>(
    registration: &Registration,
    delivery: &'a Delivery,
) -> Result<(&'a str, &'a HealthInsight), InsightRejection> {
    use RejectionReason as Reason;
    let invalid = |message: String| InsightRejection::new(Reason::InvalidInsight, message);
    let uid = delivery.uid().ok_or_else(|| invalid("metadata.name: expected a DNS label".to_owned()))?;
    let health = delivery.health.as_ref().map_err(|why| invalid(why.clone()))?;
    check_texts(health).map_err(invalid)?;
    let scope = &health.scope;
    if !registration.scopes.contains(&scope.kind) {
        let message = format!("spec.health.scope.type: the informer may not speak about {:?}", scope.kind);
        return Err(InsightRejection::new(Reason::ScopeNotAllowed, message));
    }
    check_pool(health).map_err(invalid)?;
    if let Some(other) = scope.resources.iter().find(|resource| !registration.allows(resource)) {
        let message = format!("spec.health.scope.resources: the informer may not speak about {other}");
        return Err(InsightRejection::new(Reason::ObjectNotAllowed, message));
    }
    if health.impact.level > registration.max_level {
        let message = format!(
            "spec.health.impact.level: {:?} is above {:?}, the highest level of the informer",
            health.impact.level, registration.max_level
        );
        return Err(InsightRejection::new(Reason::LevelNotAllowed, message));
    }
    Ok((uid, health))
}

/// # Errors
/// A text is empty, too long, or could move the cursor of a terminal.
fn check_texts(health: &HealthInsight) -> Result<(), String> {
    let (impact, reference) = (&health.impact, &health.remediation.reference);
    let texts = [
        ("impact.summary", &impact.summary, SUMMARY_MAX, false),
        ("impact.description", &impact.description, DESCRIPTION_MAX, true),
        ("remediation.reference", reference, REFERENCE_MAX, false),
    ];
    for (field, text, most, has_lines) in texts {
        if text.chars().count() > most {
            return Err(format!("spec.health.{field}: expected at most {most} characters"));
        }
        if text.chars().any(|c| c.is_control() && !(has_lines && c == '\n')) {
            return Err(format!("spec.health.{field}: expected no control characters"));
        }
    }
    if impact.summary.trim().is_empty() {
        return Err("spec.health.impact.summary: expected a line of text".to_owned());
    }
    if !reference.starts_with("https://") {
        return Err(format!("spec.health.remediation.reference: expected https://..., found {reference:?}"));
    }
    let found = health.scope.resources.len();
    if !(1..=RESOURCES_MAX).contains(&found) {
        return Err(format!(
            "spec.health.scope.resources: expected 1 to {RESOURCES_MAX} objects, found {found}"
        ));
    }
    Ok(())
}

/// # Errors
/// The scope contradicts the pool that the insight names.
fn check_pool(health: &HealthInsight) -> Result<(), String> {
    let pool = health.scope.resources.iter().find(|resource| resource.resource == "machineconfigpools");
    let is_of_workers = pool.is_some_and(|pool| pool.name != MASTER);
    match health.scope.kind {
        ScopeType::WorkerPool if !is_of_workers => {
            Err("spec.health.scope: expected the MachineConfigPool of the workers among the resources"
                .to_owned())
        }
        ScopeType::ControlPlane if is_of_workers => {
            Err("spec.health.scope.type: expected WorkerPool, since the resources name a pool of workers"
                .to_owned())
        }
        _ => Ok(()),
    }
}

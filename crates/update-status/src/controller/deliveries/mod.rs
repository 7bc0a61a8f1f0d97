//! Deliveries over HTTPS: authenticates a producer, checks what it says, and stores its insights as
//! UpdateInsights in the controller's namespace. From there on they are like all others, so any replica may
//! take a delivery, and a restart loses none.
//!
//! The caller does HTTP and TLS.

mod rate;
mod requests;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use windtunnel_core::clock::{Clock, Time, after, rfc3339, rfc3339_micro};

use super::observer::{Note, Observer, error_message};
use crate::insight::published::NAMESPACE;
use crate::producer::{Delivery, Registration, RejectionReason, admit, is_label};
use rate::{Buckets, Rate};
use requests::{InformerRef, Requests, User};

/// The audience that tokens of producers must have, so that the controller cannot use them elsewhere.
pub const AUDIENCE: &str = "update-status-controller";

/// Maximum size of the body of a delivery, in bytes.
pub const BODY_MAX: usize = 64 * 1024;

/// Attempts from one address, by any user: each costs the API server a TokenReview.
const PER_ADDRESS: Rate = Rate { burst: 20, every: Duration::from_secs(1) };
/// Deliveries of one informer: each costs the API server a write per insight.
const PER_INFORMER: Rate = Rate { burst: 5, every: Duration::from_secs(10) };
/// Rejections that an UpdateInformer reports: each costs the API server a write. Those of its producer and those of
/// others have separate limits, so that others cannot hide the producer's.
const PER_REPORT: Rate = Rate { burst: 2, every: Duration::from_secs(60) };

/// Maximum length of a reported message, in characters.
const MESSAGE_MAX: usize = 1024;

/// Time limit for one delivery, including the wait for others.
const DELIVERY_MAX: Duration = Duration::from_secs(30);

/// A delivery that was not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryError {
    /// The HTTP status code.
    pub code: u16,
    /// What is wrong, where, and what is expected.
    pub message: String,
    /// When to try again, for the header `Retry-After`.
    pub retry_after: Option<Duration>,
    /// The reason of the condition `DeliveryRejected`; `None` if the UpdateInformer does not report the error.
    reason: Option<String>,
}

/// The body is not what a delivery must be.
const INVALID_BODY: &str = "InvalidBody";
/// The user has no right to deliver for the informer.
const NOT_ALLOWED: &str = "NotAllowed";
/// The user has the right, but the UpdateInformer names another producer.
const NOT_THE_PRODUCER: &str = "NotTheProducer";

impl DeliveryError {
    /// An error that the UpdateInformer does not report.
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retry_after: None, reason: None }
    }

    fn with_reason(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }

    fn too_many(retry_after: Duration) -> Self {
        let message = format!("too many deliveries: try again in {} s", retry_after.as_secs().max(1));
        Self { retry_after: Some(retry_after), ..Self::new(429, message) }
    }
}

/// A failed request to the API server. Its message may describe the cluster, so only the log has it.
impl From<kube::Error> for DeliveryError {
    fn from(error: kube::Error) -> Self {
        Self::new(503, format!("the API server does not answer as expected: {}", error_message(&error)))
    }
}

/// The body of a delivery: all current insights of an informer. Insights of earlier deliveries that are not among
/// them leave.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    insights: Vec<DeliveredInsight>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeliveredInsight {
    /// Unique within the informer.
    uid: String,
    /// The insight, with the schema of the UpdateStatus.
    health: Value,
}

/// Takes deliveries.
pub struct Deliveries {
    requests: Requests,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    limits: Mutex<Limits>,
    /// Held while a delivery is checked and stored, so that two of one informer do not mix.
    storing: Mutex<()>,
}

struct Limits {
    addresses: Buckets<IpAddr>,
    informers: Buckets<String>,
    /// By informer, and whether the user is another one than its producer.
    reports: Buckets<(String, bool)>,
}

impl Deliveries {
    /// Creates it with the controller's client.
    pub fn new(client: Client, clock: Arc<dyn Clock>, observer: Arc<dyn Observer>) -> Self {
        let limits = Limits {
            addresses: Buckets::new(PER_ADDRESS),
            informers: Buckets::new(PER_INFORMER),
            reports: Buckets::new(PER_REPORT),
        };
        let (limits, storing) = (Mutex::new(limits), Mutex::new(()));
        Self { requests: Requests::new(client), clock, observer, limits, storing }
    }

    /// Takes an attempt of a client at this address into account. Call it before the body is read.
    ///
    /// # Errors
    /// 429: the client makes too many attempts.
    pub async fn admit_address(&self, address: IpAddr) -> Result<(), DeliveryError> {
        let wait = self.limits.lock().await.addresses.take(address, Instant::now());
        wait.map_or(Ok(()), |wait| Err(DeliveryError::too_many(wait)))
    }

    /// Stores the insights in the body of a request for an informer, and returns the answer: the number of insights, and
    /// when they expire.
    ///
    /// # Errors
    /// 401, 403, 404, 409, 422, 429 and 503 with the reason. Nothing is stored after a 4xx other than 409.
    pub async fn deliver(
        &self,
        informer: &str,
        token: Option<&str>,
        body: &[u8],
    ) -> Result<Value, DeliveryError> {
        let outcome = timeout(DELIVERY_MAX, self.deliver_now(informer, token, body)).await;
        let outcome = outcome.unwrap_or_else(|_| {
            Err(DeliveryError::new(503, format!("no answer in {} s", DELIVERY_MAX.as_secs())))
        });
        if let Err(error) = &outcome
            && !matches!(error.code, 401 | 429)
        {
            let why = format!("{}: {}", error.code, error.message);
            self.observer.note(Note::Rejected { informer, insight: "of a delivery", why: &why });
        }
        outcome
    }

    async fn deliver_now(
        &self,
        informer: &str,
        token: Option<&str>,
        body: &[u8],
    ) -> Result<Value, DeliveryError> {
        if !is_label(informer) {
            return Err(DeliveryError::new(404, "expected the name of an UpdateInformer"));
        }
        let user = self.authenticate(token).await?;
        let outcome = self.deliver_as(&user, informer, body).await;
        if let Err(DeliveryError { reason: Some(reason), message, .. }) = &outcome {
            self.report(informer, &user, reason, message).await;
        }
        outcome
    }

    async fn deliver_as(&self, user: &User, informer: &str, body: &[u8]) -> Result<Value, DeliveryError> {
        let (found, registration) = self.authorize(informer, user).await?;
        let _turn = self.storing.lock().await;
        let wait = self.limits.lock().await.informers.take(informer.to_owned(), Instant::now());
        if let Some(wait) = wait {
            return Err(DeliveryError::too_many(wait));
        }
        let insights = parse(body)?;
        let now = self.clock.now();
        let objects: Vec<Value> =
            insights.iter().map(|insight| object(&found, insight, &rfc3339_micro(now))).collect();
        let stored = self.requests.stored(informer).await?;
        for (place, object) in objects.iter().enumerate() {
            let checked = self.requests.store(object, &stored, true).await;
            checked.map_err(|error| schema_error(error, place))?;
        }
        check_authority(&registration, informer, &insights, now)?;
        for (place, object) in objects.iter().enumerate() {
            self.requests.store(object, &stored, false).await.map_err(|error| schema_error(error, place))?;
        }
        let names: Vec<&str> =
            objects.iter().filter_map(|object| object["metadata"]["name"].as_str()).collect();
        for name in stored.keys().filter(|name| !names.contains(&name.as_str())) {
            self.requests.remove(name).await?;
        }
        if !found.rejected.is_null() {
            // The insights are stored, so a failure is no reason to deliver again.
            let _ = self.requests.report(informer, &Value::Null).await;
        }
        let expires = rfc3339(after(now, registration.expiry));
        Ok(json!({"insights": insights.len(), "expires": expires}))
    }

    /// Returns the user of a token.
    async fn authenticate(&self, token: Option<&str>) -> Result<User, DeliveryError> {
        let token = token.ok_or_else(|| DeliveryError::new(401, "expected `Authorization: Bearer TOKEN`"))?;
        self.requests.review_token(token).await?.ok_or_else(|| {
            DeliveryError::new(401, format!("the token is invalid, or not for the audience {AUDIENCE}"))
        })
    }

    /// Reports a rejection in the status of the UpdateInformer, from which the controller derives the condition
    /// `DeliveryRejected`. Users without a valid token cannot cause that, others only as often as the limit allows. The
    /// rejection of a stranger does not replace that of the producer. A failed write is ignored: the log and the client
    /// have the rejection as well.
    async fn report(&self, informer: &str, user: &User, reason: &str, message: &str) {
        let is_strangers = |reason: &str| [NOT_ALLOWED, NOT_THE_PRODUCER].contains(&reason);
        let key = (informer.to_owned(), is_strangers(reason));
        if self.limits.lock().await.reports.take(key, Instant::now()).is_some() {
            return;
        }
        let Ok(Some(InformerRef { rejected: before, .. })) = self.requests.informer(informer).await else {
            return;
        };
        let is_kept = before["reason"].as_str().is_some_and(|before| !is_strangers(before));
        if is_strangers(reason) && is_kept {
            return;
        }
        let message: String = message.chars().take(MESSAGE_MAX).collect();
        let user: String = user.name.chars().take(MESSAGE_MAX).collect();
        let time = rfc3339(self.clock.now());
        let rejected = json!({"time": time, "user": user, "reason": reason, "message": message});
        let _ = self.requests.report(informer, &rejected).await;
    }

    /// Returns the UpdateInformer and its registration, if the user may deliver to it.
    async fn authorize(
        &self,
        informer: &str,
        user: &User,
    ) -> Result<(InformerRef, Registration), DeliveryError> {
        let name = &user.name;
        if !self.requests.may_deliver(user, informer).await? {
            let message = format!(
                "user {name} may not create updateinformers/insights of group update.openshift.io named {informer:?}"
            );
            return Err(DeliveryError::new(403, message).with_reason(NOT_ALLOWED));
        }
        let found = self.requests.informer(informer).await?;
        let found = found
            .ok_or_else(|| DeliveryError::new(404, format!("there is no UpdateInformer {informer:?}")))?;
        let registration = Registration::read(informer, &found.spec)
            .map_err(|why| DeliveryError::new(403, format!("UpdateInformer {informer} is invalid: {why}")))?;
        if registration.user().as_ref() != Some(name) {
            let message = format!("user {name} is not the producer that UpdateInformer {informer} names");
            return Err(DeliveryError::new(403, message).with_reason(NOT_THE_PRODUCER));
        }
        Ok((found, registration))
    }
}

/// Parses a body.
fn parse(body: &[u8]) -> Result<Vec<DeliveredInsight>, DeliveryError> {
    let body: Value = serde_json::from_slice(body).map_err(|error| {
        DeliveryError::new(400, format!("the body is no JSON: {error}")).with_reason(INVALID_BODY)
    })?;
    let body: Body = serde_json::from_value(body).map_err(|error| {
        let expected = r#"expected {"insights": [{"uid": ..., "health": {...}}]}"#;
        DeliveryError::new(422, format!("{expected}: {error}")).with_reason(INVALID_BODY)
    })?;
    for (place, insight) in body.insights.iter().enumerate() {
        if !is_label(&insight.uid) {
            let message = format!("insights[{place}].uid: expected a DNS label, found {:?}", insight.uid);
            return Err(DeliveryError::new(422, message).with_reason(INVALID_BODY));
        }
        if body.insights[..place].iter().any(|other| other.uid == insight.uid) {
            let message = format!("insights[{place}].uid: {:?} occurs twice", insight.uid);
            return Err(DeliveryError::new(422, message).with_reason(INVALID_BODY));
        }
    }
    Ok(body.insights)
}

/// The UpdateInsight that stores an insight. It is deleted with its UpdateInformer.
fn object(informer: &InformerRef, insight: &DeliveredInsight, now: &str) -> Value {
    let name = &informer.name;
    json!({
        "apiVersion": "update.openshift.io/v1alpha1",
        "kind": "UpdateInsight",
        "metadata": {
            "name": format!("{name}.{}", insight.uid),
            "namespace": NAMESPACE,
            "labels": {requests::LABEL: name},
            "ownerReferences": [{
                "apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateInformer",
                "name": name, "uid": informer.uid,
            }],
        },
        "spec": {"informer": name, "renewTime": now, "health": insight.health},
    })
}

/// # Errors
/// 422 with the place of the insight, if the API server rejects its object.
fn schema_error(error: kube::Error, place: usize) -> DeliveryError {
    match error {
        kube::Error::Api(status) if matches!(status.code, 400 | 422) => {
            let message = status.message.replace("spec.health", &format!("insights[{place}].health"));
            DeliveryError::new(422, message).with_reason(RejectionReason::InvalidInsight.name())
        }
        kube::Error::Api(status) if status.code == 409 => {
            DeliveryError::new(409, "the insights changed at the same time: deliver again")
        }
        error => error.into(),
    }
}

/// # Errors
/// 403 or 422 with the place of the first insight that the registration does not allow.
fn check_authority(
    registration: &Registration,
    informer: &str,
    insights: &[DeliveredInsight],
    now: Time,
) -> Result<(), DeliveryError> {
    let deliveries: Vec<Delivery> = insights
        .iter()
        .map(|insight| {
            let spec = json!({"informer": informer, "health": insight.health});
            Delivery::new(NAMESPACE.to_owned(), format!("{informer}.{}", insight.uid), &spec, now)
        })
        .collect();
    let outcome = admit(registration, deliveries.iter().map(|delivery| (delivery, now)), now);
    let Some((key, rejection)) = outcome.rejected.first() else { return Ok(()) };
    let place = deliveries.iter().position(|delivery| delivery.key() == *key).unwrap_or_default();
    let code = match rejection.reason {
        RejectionReason::InvalidInsight | RejectionReason::TooManyInsights | RejectionReason::TooLarge => 422,
        _ => 403,
    };
    let message = match rejection.message.strip_prefix("spec.health") {
        Some(rest) => format!("insights[{place}].health{rest}"),
        None => format!("insights[{place}]: {}", rejection.message),
    };
    Err(DeliveryError::new(code, message).with_reason(rejection.reason.name()))
}

//! Rejections: `metav1.Status` bodies with the messages of a kube-apiserver.

use std::fmt::Write as _;
use std::ops::{Deref, DerefMut};

use serde_json::{Map, Value, json};
use windtunnel_core::Resource;

use super::field::{FieldError, aggregate};
use super::profile::Profile;

/// The most errors that a rejection names. A real server names all of them: a body of 3 MB gets an answer of 100 MB.
const MAX_ERRORS: usize = 1000;

/// The rejection of a request. Boxed, to keep results small.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoxedRejection(Box<RejectionContent>);

/// The content of a rejection.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RejectionContent {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
    /// The reason of a webhook, which replaces `reason`.
    pub(crate) given_reason: String,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
    /// The seconds of a `Retry-After` header.
    pub(crate) retry_after: Option<u32>,
    /// Whether the body is the message as plain text instead of a Status.
    pub(crate) plain: bool,
    /// `metadata.continue` of the Status: a token to continue an expired list.
    pub(crate) resume: Option<String>,
}

/// A result whose error is a rejection.
pub(crate) type Outcome<T> = Result<T, BoxedRejection>;

impl Deref for BoxedRejection {
    type Target = RejectionContent;

    fn deref(&self) -> &RejectionContent {
        &self.0
    }
}

impl DerefMut for BoxedRejection {
    fn deref_mut(&mut self) -> &mut RejectionContent {
        &mut self.0
    }
}

impl BoxedRejection {
    fn new(code: u16, reason: &'static str, message: impl Into<String>, details: Option<Value>) -> Self {
        let message = message.into();
        Self(Box::new(RejectionContent {
            code,
            reason,
            given_reason: String::new(),
            message,
            details,
            retry_after: None,
            plain: false,
            resume: None,
        }))
    }

    /// 404 for a missing object.
    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {} not found", qualified(resource), quote(name));
        Self::new(404, "NotFound", message, Some(details(name, &resource.group, &resource.plural)))
    }

    /// 404 for an unknown resource of a known group and version.
    pub(crate) fn unknown_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource", Some(json!({})))
    }

    /// 404 for an unknown path.
    pub(crate) fn unknown_path() -> Self {
        let mut rejection = Self::new(404, "", "404 page not found\n", None);
        rejection.plain = true;
        rejection
    }

    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {} already exists", qualified(resource), quote(name));
        Self::new(409, "AlreadyExists", message, Some(details(name, &resource.group, &resource.plural)))
    }

    /// 409 for a generated name that is taken (`NewGenerateNameConflict`).
    pub(crate) fn no_unique_name(resource: &Resource, name: &str) -> Self {
        let mut rejection = Self::already_exists(resource, name);
        rejection.message.push_str(", the server was not able to generate a unique name for the object");
        if let Some(details) = &mut rejection.details {
            details["retryAfterSeconds"] = json!(1);
        }
        rejection.retry_after = Some(1);
        rejection
    }

    /// 409 with the message of a failed precondition; `kind` is the plural or, for deletions, the kind.
    pub(crate) fn conflict(resource: &Resource, kind: &str, name: &str, text: &str) -> Self {
        let qualified =
            if resource.group.is_empty() { kind.to_owned() } else { format!("{kind}.{}", resource.group) };
        let message = format!("Operation cannot be fulfilled on {qualified} {}: {text}", quote(name));
        Self::new(409, "Conflict", message, Some(details(name, &resource.group, kind)))
    }

    /// 409 for an apply that would change fields of other managers.
    pub(crate) fn apply_conflict(message: String, causes: &[Value]) -> Self {
        Self::new(409, "Conflict", message, Some(json!({ "causes": causes })))
    }

    /// 409 for an update of an outdated version of the object.
    pub(crate) fn modified(resource: &Resource, name: &str) -> Self {
        let text =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, &resource.plural, name, text)
    }

    /// 422 with the field errors of an object; `kind` is used in the message unchanged.
    pub(crate) fn invalid(
        group: &str,
        kind: &str,
        name: &str,
        errors: &[FieldError],
        profile: &Profile,
    ) -> Self {
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let (errors, more) = errors.split_at(errors.len().min(MAX_ERRORS));
        let mut message = format!("{qualified} {} is invalid: {}", quote(name), aggregate(errors, profile));
        if !more.is_empty() {
            let _ = write!(message, " (and {} more errors)", more.len());
        }
        let mut details = details(name, group, kind);
        details["causes"] = errors.iter().map(|error| error.as_cause(profile)).collect();
        Self::new(422, "Invalid", message, Some(details))
    }

    /// 422 for a JSON patch that cannot be applied.
    pub(crate) fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(422, "Invalid", message, Some(json!({})))
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message, None)
    }

    /// 400 for an object of another namespace than that of the path.
    pub(crate) fn other_namespace() -> Self {
        Self::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )
    }

    /// 501 for a request that needs a running container.
    pub(crate) fn no_containers(what: &str) -> Self {
        let message = format!("windtunnel simulates pods and runs no containers: {what}");
        Self::new(501, "NotImplemented", message, None)
    }

    /// 401 for invalid credentials.
    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized", None)
    }

    /// 429 of an overloaded server, as plain text.
    #[cfg(feature = "https")]
    pub(crate) fn too_many_requests() -> Self {
        let message = "Too many requests, please try again later.\n";
        let mut rejection = Self::new(429, "TooManyRequests", message, None);
        (rejection.plain, rejection.retry_after) = (true, Some(1));
        rejection
    }

    /// 403 from admission.
    pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("{} {} is forbidden: {why}", qualified(resource), quote(name));
        Self::new(403, "Forbidden", message, Some(details(name, &resource.group, &resource.plural)))
    }

    /// 403 for a request that the user may not make. `resource` is empty for paths that are not of a resource.
    pub(crate) fn not_allowed(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = match (resource, name) {
            ("", _) => format!("forbidden: {why}"),
            (_, "") => format!("{} is forbidden: {why}", with_group(resource, group)),
            _ => format!("{} {} is forbidden: {why}", with_group(resource, group), quote(name)),
        };
        let details = if resource.is_empty() { json!({}) } else { details(name, group, resource) };
        Self::new(403, "Forbidden", message, Some(details))
    }

    /// 405 for a method that the path does not support.
    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message, Some(json!({})))
    }

    /// 405 with the reason why no object of a resource can be created.
    pub(crate) fn not_supported_because(resource: &Resource, why: &str) -> Self {
        Self::new(405, "MethodNotAllowed", why, Some(details("", &resource.group, &resource.plural)))
    }

    /// 405 for a verb that the subresource of a custom resource does not support.
    pub(crate) fn not_supported(resource: &Resource, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind {}", quote(&qualified(resource)));
        Self::new(405, "MethodNotAllowed", message, Some(details("", &resource.group, &resource.plural)))
    }

    /// 415 with the accepted types.
    pub(crate) fn media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message, None)
    }

    /// 415 for an unknown patch type.
    pub(crate) fn patch_type() -> Self {
        Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type", Some(json!({})))
    }

    /// 406 of the router, with the media types of the route.
    pub(crate) fn not_acceptable(produced: &str) -> Self {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {produced}");
        Self::new(406, "NotAcceptable", message, Some(json!({})))
    }

    /// 406 for a response that cannot have the requested shape.
    pub(crate) fn unsupported_shape(message: impl Into<String>) -> Self {
        Self::new(406, "NotAcceptable", message, None)
    }

    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::new(413, "RequestEntityTooLarge", message, None)
    }

    /// 410 for a resource version, watch cursor or continue token that is older than the history.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message, None)
    }

    /// 504 for a resource version in the future.
    pub(crate) fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let causes =
            json!([{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }]);
        let mut rejection =
            Self::new(504, "Timeout", message, Some(json!({ "causes": causes, "retryAfterSeconds": 1 })));
        rejection.retry_after = Some(1);
        rejection
    }

    /// The same rejection, after which clients need not retry.
    pub(crate) fn without_retry(mut self) -> Self {
        self.retry_after = None;
        if let Some(details) = self.details.as_mut().and_then(Value::as_object_mut) {
            details.remove("retryAfterSeconds");
        }
        self
    }

    /// 504 for a request that took too long (`NewTimeoutError` of the filter for timeouts).
    pub(crate) fn timed_out() -> Self {
        let message = "Timeout: request did not complete within the allotted timeout";
        Self::new(504, "Timeout", message, Some(json!({})))
    }

    /// 504 for a write that waited too long, such as for webhooks (`finisher.FinishRequest`).
    pub(crate) fn deadline_exceeded() -> Self {
        let message =
            "Timeout: request did not complete within requested timeout - context deadline exceeded";
        Self::new(504, "Timeout", message, Some(json!({})))
    }

    /// 429 for a write that is temporarily not possible. With `seconds` of 0 there is no `Retry-After` header.
    pub(crate) fn too_many(message: &str, cause: &str, why: &str, seconds: u32) -> Self {
        let mut details = json!({ "causes": [{ "reason": cause, "message": why }] });
        if seconds > 0 {
            details["retryAfterSeconds"] = json!(seconds);
        }
        let mut rejection = Self::new(429, "TooManyRequests", message, Some(details));
        rejection.retry_after = Some(seconds).filter(|seconds| *seconds > 0);
        rejection
    }

    /// 429 of a server that asks the client to retry after some seconds (`NewTooManyRequests`).
    pub(crate) fn overloaded(message: &str, seconds: u32) -> Self {
        let details = json!({ "retryAfterSeconds": seconds });
        let mut rejection = Self::new(429, "TooManyRequests", message, Some(details));
        rejection.retry_after = Some(seconds);
        rejection
    }

    /// 429 for a kind whose storage is reinitialised; `why` is appended to the message unchanged.
    pub(crate) fn initialising(why: &str) -> Self {
        Self::overloaded(&format!("storage is (re)initializing{why}"), 1)
    }

    /// 503 for a backend of the server that does not answer.
    pub(crate) fn unavailable(message: &str) -> Self {
        Self::new(503, "ServiceUnavailable", message, None)
    }

    /// The rejection of an admission webhook, with its own code and reason.
    pub(crate) fn by_webhook(code: u16, reason: &str, message: String, details: Option<Value>) -> Self {
        let mut rejection = Self::new(code, "", message, details);
        reason.clone_into(&mut rejection.given_reason);
        rejection
    }

    /// 500 for an error within the server, or of a webhook (`NewInternalError`).
    pub(crate) fn internal_error(why: &str) -> Self {
        let message = format!("Internal error occurred: {why}");
        Self::new(500, "InternalError", message, Some(json!({ "causes": [{ "message": why }] })))
    }

    /// 500 without a reason: an error that the server returns unchanged.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message, None)
    }

    /// The Status object.
    pub(crate) fn body(&self) -> Value {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        let reason = if self.given_reason.is_empty() { self.reason } else { &self.given_reason };
        if !reason.is_empty() {
            body["reason"] = json!(reason);
        }
        if let Some(token) = &self.resume {
            body["metadata"]["continue"] = json!(token);
        }
        if let Some(details) = &self.details {
            body["details"] = details.clone();
        }
        body
    }
}

/// The `metav1.Status` of a completed deletion.
pub(crate) fn deleted(resource: &Resource, name: &str, uid: &str) -> Value {
    let mut details = details(name, &resource.group, &resource.plural);
    details["uid"] = json!(uid);
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}

/// `plural.group`, or only the plural for the core group (`schema.GroupResource`).
pub(crate) fn qualified(resource: &Resource) -> String {
    with_group(&resource.plural, &resource.group)
}

fn with_group(plural: &str, group: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}

fn details(name: &str, group: &str, kind: &str) -> Value {
    let fields = [("name", name), ("group", group), ("kind", kind)];
    let fields = fields.into_iter().filter(|(_, text)| !text.is_empty());
    Value::Object(fields.map(|(key, text)| (key.to_owned(), json!(text))).collect::<Map<_, _>>())
}

fn quote(text: &str) -> String {
    super::gotext::quote(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::FieldError;

    #[test]
    fn invalid_names_the_first_errors_and_counts_the_others() {
        let profile = Profile::of(36, false);
        let errors: Vec<FieldError> =
            (0..1203).map(|index| FieldError::required(format!("spec.list[{index}]"), "")).collect();
        let rejection = BoxedRejection::invalid("", "Pod", "p", &errors, &profile);
        assert_eq!(rejection.details.as_ref().unwrap()["causes"].as_array().unwrap().len(), 1000);
        assert!(
            rejection.message.ends_with("spec.list[999]: Required value] (and 203 more errors)"),
            "{}",
            rejection.message
        );
        let rejection = BoxedRejection::invalid("", "Pod", "p", &errors[..1000], &profile);
        assert!(rejection.message.ends_with("spec.list[999]: Required value]"), "{}", rejection.message);
    }
}

//! `AdmissionReview`: the request to a webhook and the validation of its response.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use windtunnel_core::{Identity, Resource};

use crate::admission::Attributes;
use crate::call::Call;
use crate::gotext::quote;
use crate::kinds::Kind;
use crate::rejection::BoxedRejection;

/// The response of a webhook.
#[derive(Debug)]
pub(in crate::admission) struct Verdict {
    /// The error, if the webhook rejects the write.
    pub(in crate::admission) denied: Option<BoxedRejection>,
    /// The JSON patch of a mutating webhook, not parsed yet.
    pub(in crate::admission) patch: Option<Vec<u8>>,
    pub(in crate::admission) warnings: Vec<String>,
}

/// Builds the review of a write, in the version of `kind` and without a uid.
pub(in crate::admission) fn request(
    version: &str,
    call: &Call<'_>,
    kind: &Kind,
    attributes: Attributes<'_>,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Value {
    let (resource, asked) = (&kind.resource, &call.kind.resource);
    let (matched_type, requested_type) = match attributes.object_type {
        Some(object_type) => (object_type, object_type),
        None => (resource, asked),
    };
    // The namespace of a Namespace object is its own name.
    let namespace = if kind.is_resource("", "namespaces") { attributes.name } else { attributes.namespace };
    let mut request = json!({
        "kind": type_of(matched_type), "resource": resource_of(resource),
        "requestKind": type_of(requested_type), "requestResource": resource_of(asked),
        "operation": attributes.operation.name(), "userInfo": user_info(call.request.user),
        "object": object, "oldObject": old, "dryRun": call.dry_run, "options": attributes.options,
    });
    for (field, text) in [
        ("name", attributes.name),
        ("namespace", namespace),
        ("subResource", &*call.path.subresource),
        ("requestSubResource", &*call.path.subresource),
    ] {
        if !text.is_empty() {
            request[field] = json!(text);
        }
    }
    json!({ "kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"), "request": request })
}

/// A `GroupVersionKind`.
fn type_of(resource: &Resource) -> Value {
    json!({ "group": resource.group, "version": resource.version, "kind": resource.kind })
}

/// A `GroupVersionResource`.
fn resource_of(resource: &Resource) -> Value {
    json!({ "group": resource.group, "version": resource.version, "resource": resource.plural })
}

/// The user of a request (`authentication/v1 UserInfo`).
fn user_info(user: &Identity) -> Value {
    let groups: Vec<&str> = user.all_groups().collect();
    let mut info = json!({ "username": user.user, "groups": groups });
    if !user.uid.is_empty() {
        info["uid"] = json!(user.uid);
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}

/// Reads the response to a review.
///
/// # Errors
/// The real server's message about an invalid response.
pub(in crate::admission) fn response(
    webhook: &str,
    asked: &Value,
    answer: &Value,
    mutating: bool,
) -> Result<Verdict, String> {
    let strict = asked["apiVersion"] == "admission.k8s.io/v1";
    let response = &answer["response"];
    if !response.is_object() {
        return Err("webhook response was absent".to_owned());
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (expected, got) = (text(&asked["request"]["uid"]), text(&response["uid"]));
    if strict && expected != got {
        return Err(format!("expected response.uid={}, got {}", quote(&expected), quote(&got)));
    }
    if strict {
        check_type(asked, answer)?;
    }
    let warnings = response["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let denied = (response["allowed"] != true).then(|| denial(webhook, &response["status"]));
    Ok(Verdict {
        patch: patch(response, mutating, strict)?,
        warnings: warnings.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        denied,
    })
}

fn check_type(asked: &Value, answer: &Value) -> Result<(), String> {
    if answer["apiVersion"] == asked["apiVersion"] && answer["kind"] == "AdmissionReview" {
        return Ok(());
    }
    let version = answer["apiVersion"].as_str().unwrap_or_default();
    let kind = answer["kind"].as_str().unwrap_or_default();
    // Go prints the empty group of the core API, too.
    let slash = if version.contains('/') { "" } else { "/" };
    let got = format!("{slash}{version}, Kind={kind}");
    Err(format!("expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {got}"))
}

/// The patch of a response; only a mutating webhook may send one.
fn patch(response: &Value, mutating: bool, strict: bool) -> Result<Option<Vec<u8>>, String> {
    let text = response["patch"].as_str().unwrap_or_default();
    let kind = response["patchType"].as_str().unwrap_or_default();
    if !mutating {
        return match (strict, text.is_empty(), kind.is_empty()) {
            (true, false, _) => Err("validating webhook may not return response.patch".to_owned()),
            (true, _, false) => Err("validating webhook may not return response.patchType".to_owned()),
            _ => Ok(None),
        };
    }
    if strict {
        match (text.is_empty(), kind) {
            (false, "") => {
                return Err("webhook returned response.patch but not response.patchType".to_owned());
            }
            (true, kind) if !kind.is_empty() => {
                return Err("webhook returned response.patchType but not response.patch".to_owned());
            }
            (false, kind) if kind != "JSONPatch" => {
                return Err(format!("webhook returned invalid response.patchType of {}", quote(kind)));
            }
            _ => {}
        }
    }
    if text.is_empty() {
        return Ok(None);
    }
    STANDARD.decode(text).map(Some).map_err(|error| format!("illegal base64 data: {error}"))
}

/// The error of a webhook that rejects the write (`ToStatusErr`): the webhook's status, with a code of at least 400.
fn denial(webhook: &str, status: &Value) -> BoxedRejection {
    let by = format!("admission webhook {} denied the request", quote(webhook));
    let text = |field: &str| status[field].as_str().unwrap_or_default();
    let message = match (text("message"), text("reason")) {
        ("", "") => format!("{by} without explanation"),
        ("", reason) => format!("{by}: {reason}"),
        (message, _) => format!("{by}: {message}"),
    };
    let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(0).max(400);
    BoxedRejection::by_webhook(
        code,
        text("reason"),
        message,
        status.get("details").filter(|details| details.is_object()).cloned(),
    )
}

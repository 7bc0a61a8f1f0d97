//! A server whose every response is checked.

use serde_json::Value;
use windtunnel_apiserver::{ApiServer, Body, Method, Poll, Reply, ReplyBody, Request};
use windtunnel_core::Identity;
use windtunnel_core::clock::Time;

pub(super) const APPLY: &str = "application/apply-patch+yaml";
pub(super) const MERGE: &str = "application/merge-patch+json";
pub(super) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(super) const JSON: &str = "application/json-patch+json";

/// Messages of errors 500 that a real server returns as well.
const INTERNAL: [&str; 20] = [
    "resourceVersion should not be set on objects to be created",
    "strconv.ParseUint: parsing",
    "resourceVersion: Invalid value",
    "failed to create typed patch object",
    // An applied quantity is text that is no quantity.
    "to proper version: unable to convert unstructured object to",
    // The storage version rejects something that this version accepts.
    "failed to create typed live object",
    // A patch removes the `apiVersion` of a custom resource.
    "object has no apiVersion field",
    // Only in requests for the scale subresource.
    "the spec replicas field ",
    "Timeout: Too large resource version",
    // The server validates the target of a Binding apart from other objects.
    "target.name: Required value",
    "target.kind: ",
    // Invalid strategic merge patches for which the real server does not return an error 4xx.
    "does not contain declared merge key",
    "unknown patch type: ",
    "cannot merge lists without merge key",
    "The order in patch list:",
    "no elements in any of the given slices",
    "list element types are not identical",
    "merging lists cannot yet be specified in the patch",
    "but received a ",
    "unable to find api field in struct",
];

/// Messages of errors 500 about the options of a deletion, whose decoder returns no error 4xx before Kubernetes 1.36.
/// In protobuf there are more of them.
const OF_DELETIONS: [&str; 5] = [
    "couldn't get version/kind; json parse error: ",
    "json: cannot unmarshal ",
    "no kind \"",
    ": unknown conversion",
    "yaml: ",
];

/// A response that passed the checks.
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) body: Value,
}

impl Answer {
    pub(super) fn is_good(&self) -> bool {
        self.code < 300
    }

    pub(super) fn version(&self) -> &Value {
        &self.body["metadata"]["resourceVersion"]
    }
}

pub(super) fn now() -> Time {
    "2024-01-01T00:00:00Z".parse().unwrap()
}

pub(super) fn server(minor: u32) -> ApiServer {
    ApiServer::builder().kubernetes(minor).seed(7).history(100).build(now())
}

/// Sends a request of an administrator with a body.
pub(super) fn ask(
    server: &mut ApiServer,
    method: Method,
    path: &str,
    content_type: &str,
    body: &Value,
) -> Result<Answer, String> {
    let admin = Identity::admin();
    let mut request = Request::new(method, path, &admin).with_content_type(content_type);
    request.user_agent = "fuzz/1.0".into();
    if !body.is_null() {
        request.body = Body::Bytes(body.to_string().into_bytes().into());
    }
    send(server, &request)
}

/// Sends a request and reads the whole response.
///
/// # Errors
/// Request and response, if no real server gives that response.
pub(super) fn send(server: &mut ApiServer, request: &Request<'_>) -> Result<Answer, String> {
    let mut reply = server.handle(request, now());
    let encoded = reply.encode();
    if let ReplyBody::Watch(watch) = &mut reply.body {
        while matches!(server.poll(watch, now()), Poll::Lines(_)) {}
    } else if encoded.is_none() && !is_missing_document(&reply) {
        return Err(format!("{request:?}: the response cannot be encoded"));
    }
    let body = reply.json().unwrap_or_default();
    let text = body["message"].as_str().unwrap_or_default();
    let has_one = |messages: &[&str]| messages.iter().any(|known| text.contains(known));
    let is_protobuf = request.content_type.contains("protobuf");
    let known =
        has_one(&INTERNAL) || request.method == Method::Delete && (is_protobuf || has_one(&OF_DELETIONS));
    if !(200..500).contains(&reply.code) && !known {
        return Err(format!("{request:?}: {} {text:?}", reply.code));
    }
    let has_status = body["status"] == "Failure" || matches!(reply.body, ReplyBody::Text(_));
    if reply.code >= 400 && !has_status && !is_missing_document(&reply) {
        return Err(format!("{request:?}: {} with {body}", reply.code));
    }
    Ok(Answer { code: reply.code, body })
}

/// Whether a reply is that for an OpenAPI document that does not exist, which has no body.
fn is_missing_document(reply: &Reply) -> bool {
    reply.code == 404 && matches!(reply.body, ReplyBody::Empty)
}

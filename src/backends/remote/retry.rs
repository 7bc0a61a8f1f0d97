//! Retries of requests after a broken connection. A rejection of the retry can mean that the first attempt
//! succeeded and only its answer was lost.

use http::header::CONTENT_TYPE;
use http::{Method, Request};
use serde_json::{Value, json};

use super::reply::Reply;

/// Fields of `metadata` that the server sets.
const OF_THE_SERVER: [&str; 3] = ["generation", "managedFields", "resourceVersion"];

/// Part of the HTTP client's message if the connection broke before an answer.
const BROKEN: &str = "(SendRequest)";
/// Start of the message if the connection broke during an answer.
pub(super) const CUT_OFF: &str = "the answer was cut off";

/// Returns whether a failed request may have been processed.
pub(super) fn is_broken(why: &str) -> bool {
    why.contains(BROKEN) || why.starts_with(CUT_OFF)
}

/// Returns whether to retry a failed request: there was no connection, or it broke, or the request only
/// reads. Go's client retries only the last kind; here, later checks find out whether the first attempt was
/// processed.
pub(super) fn should_retry(method: &Method, why: &str) -> bool {
    *method == Method::GET || why.contains("(Connect)") || is_broken(why)
}

/// Returns the path of the object to check if this rejection can mean that the first attempt succeeded. A
/// deletion needs no check: a missing object is deleted.
pub(super) fn path_to_check(request: &Request<Vec<u8>>, refused: &Reply) -> Option<String> {
    let path = request.uri().path();
    match (request.method(), refused.code) {
        (&Method::PUT, 409) => Some(path.to_owned()),
        (&Method::PATCH, 409) if is_merge(request) => Some(path.to_owned()),
        (&Method::POST, 409) => match path.strip_suffix("/binding") {
            Some(pod) => Some(pod.to_owned()),
            None => {
                let sent: Value = serde_json::from_slice(request.body()).ok()?;
                Some(format!("{path}/{}", sent["metadata"]["name"].as_str()?))
            }
        },
        _ => None,
    }
}

/// Returns whether the server chooses the name of the object that a request creates.
pub(super) fn has_generated_name(request: &Request<Vec<u8>>) -> bool {
    let sent: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    let metadata = &sent["metadata"];
    *request.method() == Method::POST && metadata["generateName"].is_string() && !metadata["name"].is_string()
}

fn is_merge(request: &Request<Vec<u8>>) -> bool {
    let media = request.headers().get(CONTENT_TYPE);
    media.is_some_and(|media| media.as_bytes().starts_with(b"application/merge-patch+json"))
}

/// Returns the lost answer, if the live object proves that the request was processed.
pub(super) fn lost_answer(request: &Request<Vec<u8>>, live: Value) -> Option<Reply> {
    let mut sent: Value = serde_json::from_slice(request.body()).ok()?;
    let path = request.uri().path();
    if path.ends_with("/binding") {
        let is_bound = live["spec"]["nodeName"] == sent["target"]["name"];
        return is_bound.then(|| Reply { code: 201, body: success() });
    }
    if request.method() == Method::POST {
        // For kinds with a status subresource, a creation does not set the status.
        sent.as_object_mut()?.remove("status");
        return holds(&live, &sent).then_some(Reply { code: 201, body: live });
    }
    if request.method() == Method::PATCH {
        // A patch was applied if it would change nothing now.
        if let Some(Value::Object(metadata)) = sent.get_mut("metadata") {
            metadata.remove("resourceVersion");
        }
        let mut patched = live.clone();
        json_patch::merge(&mut patched, &sent);
        return (patched == live).then_some(Reply { code: 200, body: live });
    }
    let is_written = if path.ends_with("/status") {
        live["status"] == sent["status"]
    } else {
        let mut own = live.clone();
        for object in [&mut own, &mut sent] {
            object.as_object_mut()?.remove("status");
            let metadata = object["metadata"].as_object_mut()?;
            metadata.retain(|field, _| !OF_THE_SERVER.contains(&field.as_str()));
        }
        own == sent
    };
    is_written.then_some(Reply { code: 200, body: live })
}

/// Returns the answer to a deletion whose object is gone.
pub(super) fn deleted() -> Reply {
    Reply { code: 200, body: success() }
}

fn success() -> Value {
    json!({ "apiVersion": "v1", "kind": "Status", "status": "Success" })
}

/// Returns whether `whole` contains `part`; the server may have added defaults.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(field, part)| part.is_null() || whole.get(field).is_some_and(|whole| holds(whole, part))),
        // Admission may append to a list.
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() >= part.len() && whole.iter().zip(part).all(|(whole, part)| holds(whole, part))
        }
        _ => whole == part,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::scripted;
    use super::super::wire::Wire;
    use super::*;

    /// Returns a connection to a server that breaks the first connection after reading a request, and then
    /// gives these answers.
    fn breaks_then_answers(answers: Vec<(u16, Value)>) -> Arc<Wire> {
        scripted::wire(Some(""), answers)
    }

    fn rejection(code: u16) -> (u16, Value) {
        (code, json!({ "kind": "Status", "code": code }))
    }

    const NAMESPACES: &str = "/api/v1/namespaces";

    #[test]
    fn recognizes_a_create_that_succeeded_before_the_connection_broke() {
        let sent = json!({ "metadata": { "name": "a", "labels": { "run": "1" } } });
        let live = |run: &str| json!({ "metadata": { "name": "a", "uid": "u", "labels": { "run": run } }, "status": {} });
        let own = breaks_then_answers(vec![rejection(409), (200, live("1"))]).change(
            Method::POST,
            NAMESPACES,
            &sent,
        );
        assert_eq!((own.code, &own.body["metadata"]["uid"]), (201, &json!("u")));
        let other = breaks_then_answers(vec![rejection(409), (200, live("2"))]).change(
            Method::POST,
            NAMESPACES,
            &sent,
        );
        assert_eq!(other.code, 409);
    }

    #[test]
    fn recognizes_an_update_or_delete_that_succeeded_before_the_connection_broke() {
        let object = |revision: &str, value: &str| json!({ "metadata": { "name": "a", "resourceVersion": revision }, "data": { "x": value } });
        let path = "/api/v1/namespaces/n/configmaps/a";
        let put = |live: Value| {
            breaks_then_answers(vec![rejection(409), (200, live)])
                .change(Method::PUT, path, &object("1", "y"))
                .code
        };
        assert_eq!([put(object("2", "y")), put(object("2", "z"))], [200, 409]);
        let gone = breaks_then_answers(vec![rejection(404)]).change(Method::DELETE, path, &json!({}));
        assert_eq!((gone.code, &gone.body["status"]), (200, &json!("Success")));
    }

    #[test]
    fn recognizes_a_patch_that_succeeded_before_the_connection_broke() {
        let patch = json!({ "metadata": { "resourceVersion": "1" }, "data": { "x": "y", "old": null } });
        let change = |live: Value| {
            let wire = breaks_then_answers(vec![rejection(409), (200, live)]);
            wire.change(Method::PATCH, "/api/v1/namespaces/n/configmaps/a", &patch).code
        };
        let live = |data: Value| json!({ "metadata": { "name": "a", "resourceVersion": "2" }, "data": data });
        assert_eq!(change(live(json!({ "x": "y", "other": "" }))), 200);
        assert_eq!(change(live(json!({ "x": "z" }))), 409);
        assert_eq!(change(live(json!({ "x": "y", "old": "" }))), 409);
    }

    #[test]
    fn treats_a_truncated_answer_as_lost() {
        let begun = "HTTP/1.1 201 Created\r\ncontent-length: 500\r\n\r\n{";
        let sent = json!({ "metadata": { "name": "a" } });
        let live = json!({ "metadata": { "name": "a", "uid": "u" } });
        let wire = scripted::wire(Some(begun), vec![rejection(409), (200, live)]);
        let reply = wire.change(Method::POST, NAMESPACES, &sent);
        assert_eq!((reply.code, &reply.body["metadata"]["uid"]), (201, &json!("u")));
    }

    #[test]
    fn never_retries_a_create_with_a_generated_name() {
        let sent = json!({ "metadata": { "generateName": "a-" } });
        for begun in ["", "HTTP/1.1 201 Created\r\ncontent-length: 500\r\n\r\n{"] {
            // The server would answer a second request.
            let wire = scripted::wire(Some(begun), vec![(201, json!({ "metadata": { "name": "a-2" } }))]);
            let reply = wire.change(Method::POST, "/api/v1/namespaces/n/pods", &sent);
            assert_eq!(reply.code, 503, "{begun}");
            // Without `retryAfterSeconds` no client resends it automatically.
            assert!(reply.body["details"]["retryAfterSeconds"].is_null(), "{}", reply.body);
        }
    }

    #[test]
    fn recognizes_a_binding_that_succeeded_before_the_connection_broke() {
        let binding = json!({ "metadata": { "name": "p" }, "target": { "kind": "Node", "name": "n" } });
        let bind = |node: &str| {
            let live = json!({ "spec": { "nodeName": node } });
            let wire = breaks_then_answers(vec![rejection(409), (200, live)]);
            wire.change(Method::POST, "/api/v1/namespaces/a/pods/p/binding", &binding).code
        };
        assert_eq!([bind("n"), bind("m")], [201, 409]);
    }

    #[test]
    fn keeps_the_rejection_of_a_first_attempt() {
        let wire = breaks_then_answers(vec![(200, json!({})), rejection(409)]);
        assert_eq!(wire.get("/version").code, 200);
        assert_eq!(wire.change(Method::POST, NAMESPACES, &json!({ "metadata": { "name": "a" } })).code, 409);
    }
}

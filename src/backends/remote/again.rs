//! What a refusal means for a request that was made again because its connection broke: maybe that it had been done the
//! first time, and only the answer was lost.

use http::header::CONTENT_TYPE;
use http::{Method, Request};
use serde_json::{Value, json};

use super::wire::Reply;

/// Fields of `metadata` that the server writes.
const OF_THE_SERVER: [&str; 3] = ["generation", "managedFields", "resourceVersion"];

/// What the HTTP client says where the connection broke before there was an answer.
const BROKEN: &str = "(SendRequest)";
/// What is said where it broke in the middle of one.
pub(super) const CUT_OFF: &str = "the answer broke off";

/// Whether a request that failed may have been done.
pub(super) fn is_broken(why: &str) -> bool {
    why.contains(BROKEN) || why.starts_with(CUT_OFF)
}

/// Whether a request that failed is made again: there was no connection, or it broke, or the request changes nothing. Go's
/// client does so only for the latter; here it is told afterwards what had been done.
pub(super) fn is_made_again(method: &Method, why: &str) -> bool {
    *method == Method::GET || why.contains("(Connect)") || is_broken(why)
}

/// Whether such a refusal may say that the request was done, and where to look. A deletion needs no look: what is not
/// there is deleted.
pub(super) fn where_to_look(request: &Request<Vec<u8>>, refused: &Reply) -> Option<String> {
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

/// Whether the server chooses the name of what a request creates.
pub(super) fn names_itself_anew(request: &Request<Vec<u8>>) -> bool {
    let sent: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    let metadata = &sent["metadata"];
    *request.method() == Method::POST && metadata["generateName"].is_string() && !metadata["name"].is_string()
}

fn is_merge(request: &Request<Vec<u8>>) -> bool {
    let media = request.headers().get(CONTENT_TYPE);
    media.is_some_and(|media| media.as_bytes().starts_with(b"application/merge-patch+json"))
}

/// The answer that was lost, if the object that is there shows that the request was done.
pub(super) fn lost_answer(request: &Request<Vec<u8>>, live: Value) -> Option<Reply> {
    let mut sent: Value = serde_json::from_slice(request.body()).ok()?;
    let path = request.uri().path();
    if path.ends_with("/binding") {
        let is_bound = live["spec"]["nodeName"] == sent["target"]["name"];
        return is_bound.then(|| Reply { code: 201, body: success() });
    }
    if request.method() == Method::POST {
        // Where a kind has a status of its own, a creation does not write it.
        sent.as_object_mut()?.remove("status");
        return holds(&live, &sent).then_some(Reply { code: 201, body: live });
    }
    if request.method() == Method::PATCH {
        // It was done if it would change nothing any more.
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

/// The answer to a deletion whose object is gone.
pub(super) fn deleted() -> Reply {
    Reply { code: 200, body: success() }
}

fn success() -> Value {
    json!({ "apiVersion": "v1", "kind": "Status", "status": "Success" })
}

/// Whether everything of `part` is in `whole`, which may have been filled in.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(field, part)| part.is_null() || whole.get(field).is_some_and(|whole| holds(whole, part))),
        // Admission may add to a list, at its end.
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

    /// A server that reads a request and breaks the connection, and then gives these answers.
    fn breaks_then_says(answers: Vec<(u16, Value)>) -> Arc<Wire> {
        scripted::wire(Some(""), answers)
    }

    fn refusal(code: u16) -> (u16, Value) {
        (code, json!({ "kind": "Status", "code": code }))
    }

    const NAMESPACES: &str = "/api/v1/namespaces";

    #[test]
    fn what_was_created_before_the_connection_broke_is_created() {
        let sent = json!({ "metadata": { "name": "a", "labels": { "run": "1" } } });
        let live = |run: &str| json!({ "metadata": { "name": "a", "uid": "u", "labels": { "run": run } }, "status": {} });
        let own =
            breaks_then_says(vec![refusal(409), (200, live("1"))]).change(Method::POST, NAMESPACES, &sent);
        assert_eq!((own.code, &own.body["metadata"]["uid"]), (201, &json!("u")));
        let other =
            breaks_then_says(vec![refusal(409), (200, live("2"))]).change(Method::POST, NAMESPACES, &sent);
        assert_eq!(other.code, 409);
    }

    #[test]
    fn what_was_written_or_deleted_before_the_connection_broke_is_so() {
        let object = |revision: &str, value: &str| json!({ "metadata": { "name": "a", "resourceVersion": revision }, "data": { "x": value } });
        let path = "/api/v1/namespaces/n/configmaps/a";
        let put = |live: Value| {
            breaks_then_says(vec![refusal(409), (200, live)])
                .change(Method::PUT, path, &object("1", "y"))
                .code
        };
        assert_eq!([put(object("2", "y")), put(object("2", "z"))], [200, 409]);
        let gone = breaks_then_says(vec![refusal(404)]).change(Method::DELETE, path, &json!({}));
        assert_eq!((gone.code, &gone.body["status"]), (200, &json!("Success")));
    }

    #[test]
    fn what_was_patched_before_the_connection_broke_is_so() {
        let patch = json!({ "metadata": { "resourceVersion": "1" }, "data": { "x": "y", "old": null } });
        let change = |live: Value| {
            let wire = breaks_then_says(vec![refusal(409), (200, live)]);
            wire.change(Method::PATCH, "/api/v1/namespaces/n/configmaps/a", &patch).code
        };
        let live = |data: Value| json!({ "metadata": { "name": "a", "resourceVersion": "2" }, "data": data });
        assert_eq!(change(live(json!({ "x": "y", "other": "" }))), 200);
        assert_eq!(change(live(json!({ "x": "z" }))), 409);
        assert_eq!(change(live(json!({ "x": "y", "old": "" }))), 409);
    }

    #[test]
    fn an_answer_that_breaks_off_is_one_that_was_lost() {
        let begun = "HTTP/1.1 201 Created\r\ncontent-length: 500\r\n\r\n{";
        let sent = json!({ "metadata": { "name": "a" } });
        let live = json!({ "metadata": { "name": "a", "uid": "u" } });
        let wire = scripted::wire(Some(begun), vec![refusal(409), (200, live)]);
        let reply = wire.change(Method::POST, NAMESPACES, &sent);
        assert_eq!((reply.code, &reply.body["metadata"]["uid"]), (201, &json!("u")));
    }

    #[test]
    fn what_is_named_by_the_server_is_created_once() {
        let sent = json!({ "metadata": { "generateName": "a-" } });
        for begun in ["", "HTTP/1.1 201 Created\r\ncontent-length: 500\r\n\r\n{"] {
            // A second request would be answered.
            let wire = scripted::wire(Some(begun), vec![(201, json!({ "metadata": { "name": "a-2" } }))]);
            let reply = wire.change(Method::POST, "/api/v1/namespaces/n/pods", &sent);
            assert_eq!(reply.code, 503, "{begun}");
            // Nobody sends it again by itself.
            assert!(reply.body["details"]["retryAfterSeconds"].is_null(), "{}", reply.body);
        }
    }

    #[test]
    fn a_pod_is_bound_where_it_was_bound_before() {
        let binding = json!({ "metadata": { "name": "p" }, "target": { "kind": "Node", "name": "n" } });
        let bind = |node: &str| {
            let live = json!({ "spec": { "nodeName": node } });
            let wire = breaks_then_says(vec![refusal(409), (200, live)]);
            wire.change(Method::POST, "/api/v1/namespaces/a/pods/p/binding", &binding).code
        };
        assert_eq!([bind("n"), bind("m")], [201, 409]);
    }

    #[test]
    fn a_refusal_of_what_was_asked_once_stays_one() {
        let wire = breaks_then_says(vec![(200, json!({})), refusal(409)]);
        assert_eq!(wire.get("/version").code, 200);
        assert_eq!(wire.change(Method::POST, NAMESPACES, &json!({ "metadata": { "name": "a" } })).code, 409);
    }
}

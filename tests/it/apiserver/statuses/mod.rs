//! Rejections, row by row of the table of Status bodies: code, reason, message and details of each case.
//! Rejections at the edge of the server (a deadline, too many requests, no credentials) are in `https`, those
//! of webhooks in `webhooks` and `conversion`, and those of the database in `objects`.

mod access;
mod bodies;
mod objects;
mod options;

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Body, Method, Reply, ReplyBody, Request};
use windtunnel_core::{Identity, resources};

use super::requests::{now, server};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CVS: &str = "/apis/ex.io/v1/cvs";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";

/// A request and its rejection; `name` is that of the table.
struct Row {
    name: &'static str,
    method: Method,
    path: &'static str,
    content_type: &'static str,
    accept: &'static str,
    user: &'static str,
    body: String,
    code: u16,
    reason: &'static str,
    message: String,
    details: Value,
}

/// An incomplete row without a body.
fn row(name: &'static str, method: Method, path: &'static str) -> Row {
    Row {
        name,
        method,
        path,
        content_type: "",
        accept: "",
        user: "",
        body: String::new(),
        code: 0,
        reason: "",
        message: String::new(),
        details: Value::Null,
    }
}

impl Row {
    fn json(self, body: &Value) -> Self {
        Self { body: body.to_string(), ..self }
    }

    fn text(self, body: &str) -> Self {
        Self { body: body.to_owned(), ..self }
    }

    fn of_type(self, content_type: &'static str) -> Self {
        Self { content_type, ..self }
    }

    fn accepting(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    fn by(self, user: &'static str) -> Self {
        Self { user, ..self }
    }

    fn is(self, code: u16, reason: &'static str, message: impl Into<String>, details: Value) -> Self {
        Self { code, reason, message: message.into(), details, ..self }
    }

    fn ask(&self, server: &mut ApiServer) -> Reply {
        let user = if self.user.is_empty() {
            Identity::admin()
        } else {
            Identity::new(self.user, &["system:authenticated"])
        };
        let mut request = Request::new(self.method, self.path, &user)
            .with_content_type(self.content_type)
            .with_accept(self.accept);
        if !self.body.is_empty() {
            request.body = Body::Bytes(self.body.clone().into());
        }
        server.handle(&request, now())
    }

    /// Sends the request and compares everything in the response.
    fn check(&self, server: &mut ApiServer) {
        let reply = self.ask(server);
        let row = self.name;
        if let ReplyBody::Text(text) = &reply.body {
            assert_eq!((reply.code, text.trim_end()), (self.code, self.message.as_str()), "row: {row}");
            return;
        }
        let body = reply.json().unwrap_or_default();
        assert_eq!(body["message"], self.message, "row: {row}");
        assert_eq!((reply.code, body["code"].as_u64()), (self.code, Some(self.code.into())), "row: {row}");
        assert_eq!(body["reason"].as_str().unwrap_or_default(), self.reason, "row: {row}");
        assert_eq!(body["details"], self.details, "row: {row}");
        assert_eq!((&body["kind"], &body["status"]), (&json!("Status"), &json!("Failure")), "row: {row}");
    }
}

/// Checks each row on its own server, with a ConfigMap `a`, one that is being deleted, and a CRD.
fn check(rows: &[Row]) {
    for row in rows {
        row.check(&mut prepared());
    }
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "k": "v" } })
}

fn cv(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "ex.io/v1", "kind": "CV", "metadata": { "name": name }, "spec": spec })
}

fn prepared() -> ApiServer {
    let mut server = server(36);
    let strings = json!({ "type": "array", "items": { "type": "string", "enum": ["A", "B"] } });
    let spec = json!({ "type": "object", "properties": { "caps": strings, "n": { "type": "integer" } } });
    let crd = json!({ "metadata": { "name": "cvs.ex.io" }, "spec": {
        "group": "ex.io", "scope": "Cluster", "names": { "plural": "cvs", "kind": "CV" },
        "versions": [{ "name": "v1", "served": true, "storage": true,
            "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } } }] } });
    let mut with_finalizer = map("f");
    with_finalizer["metadata"]["finalizers"] = json!(["x.io/y"]);
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for (path, body) in
        [(crds, crd), (MAPS, map("a")), (MAPS, with_finalizer), (CVS, cv("version", &json!({ "n": 1 })))]
    {
        let created = row("preparation", Method::Post, path).json(&body).ask(&mut server);
        assert_eq!(created.code, 201, "{body}");
    }
    assert!(server.object(&resources::CONFIG_MAPS, "default", "f").is_some());
    assert_eq!(
        row("preparation", Method::Delete, "/api/v1/namespaces/default/configmaps/f").ask(&mut server).code,
        200
    );
    server
}

fn details_of(name: &str, kind: &str) -> Value {
    json!({ "name": name, "kind": kind })
}

//! Sends the requests of a case to a server.

mod client;
mod trust;
mod watch;

use std::time::Duration;

use serde_json::{Value, json};

use crate::compare::{Volatile, shape, sort};
use crate::corpus::{Env, edit, fill, find};

pub use client::{Answer, ClientError, Connection, Server};
pub use trust::any_certificate;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The normalized answer to a step of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The pointer of the step in the case.
    pub at: String,
    /// What the step recorded: `status`, `body`, `warnings`, or the events of a watch.
    pub answer: Value,
}

/// Runs one case against one server.
#[derive(Debug)]
pub struct Player<'a> {
    server: &'a Server,
    connection: Connection<'a>,
    env: Env,
    volatile: Volatile,
    definitions: Vec<String>,
    answers: Vec<Answered>,
}

impl<'a> Player<'a> {
    /// A player whose names end with `tail`, so that cases do not meet each other's objects.
    pub fn new(server: &'a Server, tail: &str) -> Self {
        let env = Env::from([
            ("case".to_owned(), json!(format!("c{tail}"))),
            ("ns".to_owned(), json!(format!("ns-{tail}"))),
        ]);
        Self {
            server,
            connection: server.connect(),
            env,
            volatile: Volatile::new(tail),
            definitions: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// The answers to all steps of a case.
    pub async fn play(mut self, case: &Value) -> Vec<Answered> {
        for (name, value) in case["defs"].as_object().into_iter().flatten() {
            let value = fill(value, &self.env);
            self.env.insert(name.clone(), value);
        }
        if case["namespace"] != false {
            let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.env["ns"]}});
            self.connection.ask(&json!({"method": "POST", "path": "/api/v1/namespaces", "body": body})).await;
        }
        self.steps(&case["steps"], "/steps").await;
        self.clean_up(case).await;
        self.answers
    }

    async fn steps(&mut self, steps: &Value, at: &str) {
        for (index, step) in steps.as_array().into_iter().flatten().enumerate() {
            let at = format!("{at}/{index}");
            if step.get("watch").is_some() {
                Box::pin(self.watch(step, &at)).await;
            } else if let Some(definition) = step.get("crd") {
                self.define(&fill(definition, &self.env), &at).await;
            } else if step.get("request").is_some() {
                self.request(step, &at).await;
            } else if let Some(seconds) = step["settle"].as_f64() {
                tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
            }
        }
    }

    async fn clean_up(&mut self, case: &Value) {
        for request in case["cleanup"].as_array().into_iter().flatten() {
            let request = fill(request, &self.env);
            self.connection.ask(&request).await;
        }
        for name in std::mem::take(&mut self.definitions) {
            self.connection.ask(&json!({"method": "DELETE", "path": format!("{DEFINITIONS}/{name}")})).await;
        }
    }

    async fn request(&mut self, step: &Value, at: &str) {
        let mut request = fill(&step["request"], &self.env);
        let changes = request.clone();
        if let Some(body) = request.get_mut("body") {
            edit(body, &changes);
        }
        let mut answer = self.connection.ask(&request).await;
        if let Some(retry) = step.get("retry") {
            answer = self.until(&request, &fill(retry, &self.env)).await;
        }
        for (name, pointer) in step["capture"].as_object().into_iter().flatten() {
            let value = find(&answer.body, pointer.as_str().unwrap_or_default());
            self.env.insert(name.clone(), value);
        }
        let answer = self.normalized(step, &answer);
        self.answers.push(Answered { at: at.to_owned(), answer });
    }

    async fn until(&mut self, request: &Value, retry: &Value) -> Answer {
        let pointer = retry["pointer"].as_str().unwrap_or_default();
        let tries = retry["seconds"].as_u64().unwrap_or(10) * 10;
        let mut answer = self.connection.ask(request).await;
        for _ in 0..tries {
            if find(&answer.body, pointer) == retry["equals"] {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            answer = self.connection.ask(request).await;
        }
        answer
    }

    fn normalized(&self, step: &Value, answer: &Answer) -> Value {
        let mut got = json!({"status": answer.status});
        let mut warnings: Vec<String> = answer
            .headers
            .get_all("warning")
            .iter()
            .map(|warning| self.volatile.text(&String::from_utf8_lossy(warning.as_bytes())))
            .collect();
        warnings.sort();
        if !warnings.is_empty() {
            got["warnings"] = json!(warnings);
        }
        for name in step["headers"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let value = answer.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
            got["headers"][name] = json!(value.map(|value| self.volatile.text(&value)));
        }
        for (pointer, value) in step["same"].as_object().into_iter().flatten() {
            got["same"][pointer] = json!(find(&answer.body, pointer) == fill(value, &self.env));
        }
        let mut body = shape(step, &answer.body, &self.volatile);
        if let Some(pointer) = step["sort"].as_str() {
            sort(&mut body, pointer);
        }
        got["body"] = body;
        got
    }

    /// Creates or replaces a definition, and waits until its versions are served.
    async fn define(&mut self, definition: &Value, at: &str) {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let answer = if self.definitions.contains(&name) {
            self.redefine(&name, definition).await
        } else {
            self.connection.ask(&json!({"method": "POST", "path": DEFINITIONS, "body": definition})).await
        };
        let status = answer.status;
        let answer = self.normalized(&json!({"ignore": ["/status", "/metadata/generation"]}), &answer);
        self.answers.push(Answered { at: at.to_owned(), answer });
        if status < 300 {
            if !self.definitions.contains(&name) {
                self.definitions.push(name.clone());
            }
            self.await_definition(&name, &definition["spec"]).await;
        }
    }

    async fn redefine(&mut self, name: &str, definition: &Value) -> Answer {
        let path = format!("{DEFINITIONS}/{name}");
        loop {
            let old = self.connection.ask(&json!({"path": path})).await;
            let mut new = definition.clone();
            new["metadata"]["resourceVersion"] = old.body["metadata"]["resourceVersion"].clone();
            let answer = self.connection.ask(&json!({"method": "PUT", "path": path, "body": new})).await;
            if answer.status != 409 {
                return answer;
            }
        }
    }

    async fn await_definition(&mut self, name: &str, spec: &Value) {
        let path = format!("{DEFINITIONS}/{name}");
        let established = json!({"pointer": "/status/conditions/type=Established/status", "equals": "True"});
        self.until(&json!({"path": path}), &established).await;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
        for version in
            spec["versions"].as_array().into_iter().flatten().filter(|version| version["served"] == true)
        {
            let path = format!("/apis/{group}/{}/{plural}", text(&version["name"]));
            self.until_served(&json!({"path": path, "query": {"limit": "1"}})).await;
        }
        // A real server replaces its handlers a moment later.
        tokio::time::sleep(Duration::from_millis(400)).await;
    }

    async fn until_served(&mut self, request: &Value) {
        for _ in 0..100 {
            if self.connection.ask(request).await.status == 200 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

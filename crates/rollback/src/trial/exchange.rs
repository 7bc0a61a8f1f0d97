//! A request to an API server, with its answer.

use serde_json::Value;
use windtunnel_core::{Object, Operation, Rejection, Write};

use crate::servers::bare;

/// A request to an API server, with its answer. Bodies lack the fields that a server sets; a replacement needs the
/// `resourceVersion` of the stored object.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The purpose, such as `update the status`.
    pub purpose: &'static str,
    /// The HTTP method.
    pub method: &'static str,
    /// The path of the request.
    pub path: String,
    /// The body; `null` for reads.
    pub body: Value,
    /// The HTTP status code of the answer.
    pub code: u16,
    /// The message of a rejection; empty if the request was accepted.
    pub message: String,
}

impl Exchange {
    /// Describes a write and its answer.
    pub(super) fn of(purpose: &'static str, write: &Write, answer: &Result<Object, Rejection>) -> Self {
        let (method, body, created) = match &write.operation {
            Operation::Create(body) => ("POST", bare(body), 201),
            Operation::Update(body) => ("PUT", bare(body), 200),
            Operation::MergePatch(body) | Operation::JsonPatch(body) => ("PATCH", body.clone(), 200),
            Operation::Delete(_) => ("DELETE", Value::Null, 200),
        };
        let name = if method == "POST" { "" } else { &write.name };
        let mut path = write.resource.path(&write.namespace, name);
        if let Some(subresource) = write.subresource {
            path = format!("{path}/{subresource}");
        }
        let (code, message) = match answer {
            Ok(_) => (created, String::new()),
            Err(rejection) => (rejection.code, rejection.message.clone()),
        };
        Self { purpose, method, path, body, code, message }
    }

    /// Describes a read and its answer.
    pub(super) fn read(purpose: &'static str, path: String, answer: &Result<Object, Rejection>) -> Self {
        let (code, message) = match answer {
            Ok(_) => (200, String::new()),
            Err(rejection) => (rejection.code, rejection.message.clone()),
        };
        Self { purpose, method: "GET", path, body: Value::Null, code, message }
    }

    /// Describes a request for the kinds of a version and its answer.
    pub(crate) fn discovery(path: String, answer: Result<Value, (u16, String)>) -> Self {
        let (code, message) = answer.map_or_else(|rejection| rejection, |_| (200, String::new()));
        Self {
            purpose: "list the kinds of the version",
            method: "GET",
            path,
            body: Value::Null,
            code,
            message,
        }
    }

    /// Whether the server rejected the request.
    pub fn is_rejected(&self) -> bool {
        self.code >= 400
    }
}

//! The log of writes and their outcomes, for recordings of runs.

use std::collections::VecDeque;

use windtunnel_core::clock::Time;
use windtunnel_core::{Key, Object};

use crate::call::{Call, RequestInfo};
use crate::reply::{Reply, ReplyBody};
use crate::request::{Method, Via};
use crate::store::Stored;

/// The outcome of a write request.
#[derive(Debug, Clone)]
pub struct WriteOutcome {
    /// The time of the request.
    pub at: Time,
    /// The name of the user.
    pub user: String,
    /// The program of the user's machine; empty for other clients.
    pub program: String,
    /// The process of the program; empty for other clients.
    pub process: String,
    /// How the request reached the server.
    pub via: Via,
    /// `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: &'static str,
    /// The kind of the object, such as `ConfigMap`.
    pub kind: String,
    /// The key of the object, with the generated name if there is one.
    pub key: Key,
    /// The subresource, such as `status`; empty for the object itself.
    pub subresource: String,
    /// The HTTP status code of the reply.
    pub code: u16,
    /// The error message; empty for success.
    pub message: String,
    /// The object before the write; `None` if it did not exist.
    pub before: Option<Object>,
    /// The object after the write; `None` if it was deleted or the server rejected the write.
    pub after: Option<Object>,
}

/// The last outcomes of writes.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteLog {
    outcomes: VecDeque<WriteOutcome>,
    limit: usize,
    /// If set, only writes that reached the server this way are logged.
    only: Option<Via>,
}

impl WriteLog {
    pub(crate) fn configure(&mut self, limit: usize, only: Option<Via>) {
        self.limit = limit;
        self.only = only;
        while self.outcomes.len() > limit {
            self.outcomes.pop_front();
        }
    }

    pub(crate) fn take(&mut self) -> Vec<WriteOutcome> {
        self.outcomes.drain(..).collect()
    }

    pub(crate) fn add(&mut self, call: &Call<'_>, reply: &Reply) {
        if self.limit == 0 || self.only.is_some_and(|only| only != call.info.request.via) {
            return;
        }
        if matches!(call.info.request.method, Method::Get | Method::Options | Method::Other) {
            return;
        }
        let mut key = call.info.key();
        if let Some(name) = &call.written.new_name {
            name.clone_into(&mut key.name);
        }
        let message = match &reply.body {
            ReplyBody::Value(status) if reply.is_refusal() => status["message"].as_str().unwrap_or_default(),
            ReplyBody::Text(text) => text,
            _ => "",
        };
        let object = |object: &Option<Stored>| object.as_ref().map(|object| Object::from(object.whole()));
        if self.outcomes.len() >= self.limit {
            self.outcomes.pop_front();
        }
        self.outcomes.push_back(WriteOutcome {
            at: call.info.now,
            user: call.info.request.user.user.clone(),
            program: call.info.request.user.program().to_owned(),
            process: call.info.request.user.process().to_owned(),
            via: call.info.request.via,
            verb: call.info.verb(),
            kind: call.info.kind.resource.kind.to_string(),
            key,
            subresource: call.info.path.subresource.to_string(),
            code: reply.code,
            message: message.to_owned(),
            before: object(&call.written.before),
            after: if reply.is_refusal() { None } else { object(&call.written.after) },
        });
    }
}

/// A read of a client.
#[derive(Debug, Clone)]
pub struct ClientRead {
    /// The time of the request.
    pub at: Time,
    /// The name of the user.
    pub user: String,
    /// The program of the user's machine; empty for other clients.
    pub program: String,
    /// The `User-Agent`.
    pub agent: String,
    /// `get`, `list` or `watch`.
    pub verb: &'static str,
    /// The kind of the objects, such as `ConfigMap`.
    pub kind: String,
    /// The name of the object; empty for a collection.
    pub name: String,
    /// The subresource, such as `status`; empty for the object itself.
    pub subresource: String,
    /// The HTTP status code of the reply.
    pub code: u16,
}

/// The last reads of clients.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadLog {
    reads: VecDeque<ClientRead>,
    limit: usize,
}

impl ReadLog {
    /// Keeps the last `limit` reads from now on.
    pub(super) fn keep(&mut self, limit: usize) {
        self.limit = limit;
        self.reads.truncate(limit);
    }

    /// The reads since the last call.
    pub(super) fn take(&mut self) -> Vec<ClientRead> {
        self.reads.drain(..).collect()
    }

    pub(crate) fn add(&mut self, info: &RequestInfo<'_>, reply: &Reply) {
        if self.limit == 0 || info.request.via != Via::Client {
            return;
        }
        if self.reads.len() >= self.limit {
            self.reads.pop_front();
        }
        self.reads.push_back(ClientRead {
            at: info.now,
            user: info.request.user.user.clone(),
            program: info.request.user.program().to_owned(),
            agent: info.request.user_agent.to_string(),
            verb: info.verb(),
            kind: info.kind.resource.kind.to_string(),
            name: info.path.name.to_string(),
            subresource: info.path.subresource.to_string(),
            code: reply.code,
        });
    }
}

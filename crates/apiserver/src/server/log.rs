//! The log of writes and their outcomes, for recordings of runs.

use std::collections::VecDeque;

use windtunnel_core::clock::Time;
use windtunnel_core::{Key, Object};

use crate::call::Call;
use crate::reply::{Reply, ReplyBody};
use crate::request::{Method, Via};
use crate::server::ApiServer;
use crate::store::Stored;

/// The outcome of a write request.
#[derive(Debug, Clone)]
pub struct WriteOutcome {
    /// The time of the request.
    pub at: Time,
    /// The name of the user.
    pub user: String,
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
        if self.limit == 0 || self.only.is_some_and(|only| only != call.request.via) {
            return;
        }
        let verb = match call.request.method {
            Method::Post => "create",
            Method::Put => "update",
            Method::Patch => "patch",
            Method::Delete if call.path.name.is_empty() => "deletecollection",
            Method::Delete => "delete",
            Method::Get | Method::Other => return,
        };
        let mut key = call.key();
        if let Some(name) = &call.new_name {
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
            at: call.now,
            user: call.request.user.user.clone(),
            via: call.request.via,
            verb,
            kind: call.kind.resource.kind.to_string(),
            key,
            subresource: call.path.subresource.to_string(),
            code: reply.code,
            message: message.to_owned(),
            before: object(&call.before),
            after: if reply.is_refusal() { None } else { object(&call.after) },
        });
    }
}

impl ApiServer {
    /// Keeps the last `limit` outcomes of writes for [`ApiServer::take_log`]; 0 keeps none.
    pub fn keep_log(&mut self, limit: usize) {
        self.log.configure(limit, None);
    }

    /// Keeps the last `limit` outcomes of writes by HTTP clients. Direct calls are not logged, which saves time.
    pub fn keep_client_log(&mut self, limit: usize) {
        self.log.configure(limit, Some(Via::Client));
    }

    /// The outcomes of writes since the last call, including rejected ones, oldest first.
    pub fn take_log(&mut self) -> Vec<WriteOutcome> {
        self.log.take()
    }
}

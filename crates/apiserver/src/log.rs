//! Outcomes of writes, for whoever records a run.

use std::collections::VecDeque;

use windtunnel_core::clock::Time;
use windtunnel_core::{Key, Object};

use super::call::Call;
use super::reply::{Reply, ReplyBody};
use super::request::{Method, Via};
use super::server::ApiServer;
use super::store::Stored;

/// What came of one request to change something.
#[derive(Debug, Clone)]
pub struct WriteOutcome {
    /// When.
    pub at: Time,
    /// User name of who asked.
    pub user: String,
    /// Through which door.
    pub via: Via,
    /// `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: &'static str,
    /// Kind of the object, such as `ConfigMap`.
    pub kind: String,
    /// Which object; after a `generateName`, with the name that was made.
    pub key: Key,
    /// `status`, ... or empty.
    pub subresource: String,
    /// HTTP status code of the answer.
    pub code: u16,
    /// The refusal's message; empty for success.
    pub message: String,
    /// The object before; `None` if it was not there.
    pub before: Option<Object>,
    /// The object after; `None` if it is gone, or the write was refused.
    pub after: Option<Object>,
}

/// The last outcomes.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteLog {
    outcomes: VecDeque<WriteOutcome>,
    limit: usize,
    /// The only door whose writes are kept, if only one's are.
    only: Option<Via>,
}

impl WriteLog {
    pub(crate) fn keep(&mut self, limit: usize, only: Option<Via>) {
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
        self.log.keep(limit, None);
    }

    /// The same for writes of clients alone: direct calls then cost nothing more.
    pub fn keep_client_log(&mut self, limit: usize) {
        self.log.keep(limit, Some(Via::Client));
    }

    /// The outcomes of writes since the last call, refusals as well, oldest first.
    pub fn take_log(&mut self) -> Vec<WriteOutcome> {
        self.log.take()
    }
}

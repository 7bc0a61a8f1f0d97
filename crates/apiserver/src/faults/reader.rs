//! The clients that faults select.

use std::sync::Arc;

use windtunnel_core::requests::faults::RequestAttributes;

use crate::call::RequestInfo;
use crate::kinds::Kind;
use crate::request::Request;
use crate::store::TableId;

/// A client of the server: a user with a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Client {
    /// The user.
    pub(crate) user: String,
    /// The `User-Agent`.
    pub(crate) agent: String,
    /// The program of the user's machine; empty for other clients.
    pub(crate) hosted: String,
}

impl Client {
    /// The client that sends a request.
    pub(crate) fn of(request: &Request<'_>) -> Self {
        Self {
            user: request.user.user.clone(),
            agent: request.user_agent.clone().into_owned(),
            hosted: request.user.program().to_owned(),
        }
    }

    /// The name of the program: its user agent up to the slash.
    pub(crate) fn program(&self) -> &str {
        self.agent.split('/').next().unwrap_or_default()
    }
}

/// A client that reads objects of a kind.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    pub(crate) client: Arc<Client>,
    pub(crate) kind: Arc<Kind>,
    /// `watch`, `list` or `get`.
    pub(crate) verb: &'static str,
    /// The namespace; empty for all.
    pub(crate) namespace: String,
    /// The name; empty for all.
    pub(crate) name: String,
}

impl Reader {
    /// The client that sends a request for objects of a kind.
    pub(crate) fn of(info: &RequestInfo<'_>, verb: &'static str) -> Self {
        Self {
            client: Arc::new(Client::of(info.request)),
            kind: Arc::clone(&info.kind),
            verb,
            namespace: info.path.namespace.clone().into_owned(),
            name: info.path.name.clone().into_owned(),
        }
    }

    pub(crate) fn table(&self) -> TableId {
        self.kind.table
    }

    pub(super) fn attributes(&self) -> RequestAttributes<'_> {
        RequestAttributes {
            verb: self.verb,
            kind: &self.kind.resource.kind,
            name: &self.name,
            subresource: "",
            agent: &self.client.agent,
            user: &self.client.user,
            program: &self.client.hosted,
        }
    }
}

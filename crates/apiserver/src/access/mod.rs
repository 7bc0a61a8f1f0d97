//! Who asks, and whether they may: authentication, impersonation, RBAC, reviews and the tokens of ServiceAccounts.
//!
//! A request comes with an [`Identity`]: that of the process that holds the server, or the one that
//! [`ApiServer::authenticate`] finds in the headers of an HTTP request. [`ApiServer::handle`] then lets it act as another
//! user, where it asks for that ([`Impersonate`]) and may, and checks it against the roles and bindings in the store before the verb
//! begins. `policy` holds these as an index that reads what was written since it was last asked, and remembers what it
//! found for a user until a role or a binding changes.

mod aggregation;
mod attributes;
mod authenticate;
mod authorize;
mod binding;
mod bootstrap;
mod escalation;
mod impersonate;
mod node;
mod policy;
mod reviews;
mod rule;
mod token;
mod token_request;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::rng::Stream;
use windtunnel_core::{Identity, Resource};

pub(crate) use attributes::Attributes;
#[cfg(feature = "https")]
pub(crate) use authenticate::bearer_token;
pub use impersonate::Impersonate;
pub(crate) use policy::{Subject, Tables};

/// What tokens may be bound to, beside pods and nodes.
const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

/// Who decides what users may do (`--authorization-mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuthorizationMode {
    /// Roles and their bindings, and for kubelets what is theirs (`Node,RBAC`); whoever has none may do nothing.
    #[default]
    NodeRbac,
    /// Roles and their bindings alone, of which kubelets have none (`RBAC`).
    Rbac,
    /// Everybody may do everything.
    AlwaysAllow,
}

/// What the server knows of its users.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    mode: AuthorizationMode,
    pub(crate) policy: policy::Policy,
    /// Bearer tokens that stand for a user.
    tokens: BTreeMap<String, Identity>,
    issuer: Arc<token::Issuer>,
    /// Ids of tokens, and of the requests for them.
    token_ids: Stream,
}

impl Access {
    pub(crate) fn new(mode: AuthorizationMode, tables: Tables, key: Stream, token_ids: Stream) -> Self {
        Self {
            mode,
            policy: policy::Policy::new(tables),
            tokens: BTreeMap::new(),
            issuer: Arc::new(token::Issuer::new(key)),
            token_ids,
        }
    }

    /// Who decides.
    pub(crate) fn mode(&self) -> AuthorizationMode {
        self.mode
    }

    /// The keys by which others verify tokens (`/openid/v1/jwks`).
    pub(crate) fn key_set(&self) -> Value {
        self.issuer.key_set()
    }

    /// What others need to know of the issuer (`/.well-known/openid-configuration`).
    pub(crate) fn configuration(&self) -> Value {
        self.issuer.configuration()
    }
}

//! Access control: authentication, impersonation, RBAC, reviews and ServiceAccount tokens.
//!
//! Each request has an [`Identity`]. A program that embeds the server passes it; for an HTTP request
//! `ApiServer::authenticate` derives it from the headers. `ApiServer::handle` then replaces it by the
//! impersonated user, if the request has `Impersonate-*` headers and the client may use them. Before the verb runs, it
//! checks the identity against the stored roles and bindings.
//!
//! `policy` indexes roles and bindings. The index reads only the changes since its last update, and caches the rules
//! of a user until a role or a binding changes.
//!
//! `usage/` counts the rules that users need, for `windtunnel rbac`.

mod attributes;
mod authenticate;
mod authorize;
mod impersonate;
mod node;
pub(super) mod rbac;
mod reviews;
pub(super) mod tokens;
mod usage;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::rng::Stream;
use windtunnel_core::{Identity, Resource};

pub(crate) use crate::access::rbac::policy::Tables;
pub(crate) use attributes::{Attributes, Subject};
#[cfg(feature = "https")]
pub(crate) use authenticate::bearer_token;
pub use usage::{RequestCount, RuleUse, UserAccess};

/// Secrets, to which tokens may be bound as well as to pods and nodes.
const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

/// The authorizers that decide what users may do (`--authorization-mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuthorizationMode {
    /// RBAC, and for kubelets the node authorizer (`Node,RBAC`). A user without a binding may do nothing.
    #[default]
    NodeRbac,
    /// RBAC alone (`RBAC`). Kubelets may do nothing, because no binding names them.
    Rbac,
    /// Every user may do everything. A request over HTTP without a user is rejected with 401.
    AlwaysAllow,
}

/// The authorization mode, the RBAC index and the tokens of the server.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    mode: AuthorizationMode,
    pub(crate) policy: rbac::policy::Policy,
    /// The requests of users.
    pub(crate) usage: usage::Counts,
    /// Static bearer tokens and their users.
    tokens: BTreeMap<String, Identity>,
    issuer: Arc<tokens::token::Issuer>,
    /// Draws the ids of tokens and of `TokenRequest` objects.
    token_ids: Stream,
}

impl Access {
    pub(crate) fn new(mode: AuthorizationMode, tables: Tables, key: Stream, token_ids: Stream) -> Self {
        Self {
            mode,
            policy: rbac::policy::Policy::new(tables),
            usage: usage::Counts::default(),
            tokens: BTreeMap::new(),
            issuer: Arc::new(tokens::token::Issuer::new(key)),
            token_ids,
        }
    }

    pub(crate) fn mode(&self) -> AuthorizationMode {
        self.mode
    }

    /// The public keys that verify tokens (`/openid/v1/jwks`).
    pub(crate) fn key_set(&self) -> Value {
        self.issuer.key_set()
    }

    /// The OpenID discovery document of the issuer (`/.well-known/openid-configuration`).
    pub(crate) fn configuration(&self) -> Value {
        self.issuer.configuration()
    }
}

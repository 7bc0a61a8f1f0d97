//! API servers for experiments with one kind: one with the newer definition, one with the older.

mod cause;
mod discovery;
mod side;

use windtunnel_apiserver::{ApiServer, AuthorizationMode};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
use windtunnel_core::{Rejection, Write};

use crate::release::Definition;

pub(crate) use cause::{Cause, causes};
pub(crate) use discovery::Discovery;
pub(crate) use side::{Side, WriteRejection, bare};

/// The namespace of witnesses of namespaced kinds.
pub(crate) const NAMESPACE: &str = "default";

/// Empty servers of the two minors, to clone.
#[derive(Debug, Clone)]
pub(crate) struct Servers {
    newer: ApiServer,
    older: ApiServer,
    now: Time,
}

impl Servers {
    /// Servers of the newer release's minor and of the minor that judges, with or without the backport of ratcheting
    /// status writes.
    pub(crate) fn new(newer: u32, older: u32, backports: bool, now: Time) -> Self {
        let build = |minor: u32| {
            ApiServer::builder()
                .kubernetes(minor)
                .managed_fields(false)
                .history(16)
                .status_ratcheting_backports(backports)
                .authorization_mode(AuthorizationMode::AlwaysAllow)
                .build(now)
        };
        Self { newer: build(newer), older: build(older), now }
    }

    /// The versions that both servers serve.
    pub(crate) fn discoveries(&self) -> (Discovery, Discovery) {
        (Discovery::of(self.newer.clone(), self.now), Discovery::of(self.older.clone(), self.now))
    }

    /// A server of the newer release with a definition.
    pub(crate) fn newer_with(&self, definition: &Definition, now: Time) -> Result<Side, Rejection> {
        Side::install(self.newer.clone(), definition, now)
    }

    /// A server of the older release with a definition.
    pub(crate) fn older_with(&self, definition: &Definition, now: Time) -> Result<Side, Rejection> {
        Side::install(self.older.clone(), definition, now)
    }
}

/// The write that creates a definition.
pub(crate) fn creation(definition: &Definition) -> Write {
    Write::create(&CUSTOM_RESOURCE_DEFINITIONS, definition.object().clone())
}

//! How a server is made.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::requests::admission::AdmissionPlugin;
use windtunnel_core::rng::Streams;
use windtunnel_core::{Identity, Resource, Write, resources};

use super::access::{self, Access, AuthorizationMode};
use super::admission::Admission;
use super::crd::DefinitionPace;
use super::draws::Draws;
use super::expiry::Expiry;
use super::hooks::{Caller, Hooks};
use super::kinds::builtin;
use super::kinds::catalog::Catalog;
use super::kinds::strategy::service::ServiceNetwork;
use super::paths::Paths;
use super::request::Request;
use super::server::{ApiServer, OwnTables, Parts};
use super::storage::Saved;
use super::store::Store;

/// Namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Settings of a server to be built.
#[derive(Debug, Clone)]
pub struct Builder {
    minor: u32,
    seed: u64,
    history: usize,
    backports: bool,
    managed_fields: bool,
    hooks: Caller,
    saved: Option<Saved>,
    git_version: Option<String>,
    authorization: AuthorizationMode,
    pace: DefinitionPace,
    pub(crate) service_accounts: bool,
    pub(crate) plugins: Vec<Box<dyn AdmissionPlugin>>,
    event_ttl: SignedDuration,
    service_network: ServiceNetwork,
    answers: BTreeMap<String, String>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            minor: 36,
            seed: 0,
            history: 2_000,
            backports: false,
            managed_fields: true,
            hooks: Caller::default(),
            saved: None,
            git_version: None,
            authorization: AuthorizationMode::default(),
            pace: DefinitionPace::default(),
            service_accounts: false,
            plugins: Vec::new(),
            event_ttl: SignedDuration::from_hours(1),
            service_network: ServiceNetwork::default(),
            answers: BTreeMap::new(),
        }
    }
}

impl Builder {
    /// Serves as Kubernetes 1.`minor`.
    #[must_use]
    pub fn kubernetes(self, minor: u32) -> Self {
        Self { minor, ..self }
    }

    /// What `/version` says in full, such as `v1.31.4`; must be a semantic version, for clients read it. By default it is
    /// made of the minor.
    #[must_use]
    pub fn git_version(self, version: impl Into<String>) -> Self {
        Self { git_version: Some(version.into()), ..self }
    }

    /// Draws uids and generated names from streams of this seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Remembers this many events of each kind for watches, and as many of all kinds together. What was written before
    /// those is kept as text, which takes a tenth of the memory and some microseconds more to read.
    #[must_use]
    pub fn history(self, events: usize) -> Self {
        Self { history: events, ..self }
    }

    /// Whether 1.31 and 1.32 ratchet status writes, as in distributions that carry the later fix.
    #[must_use]
    pub fn status_ratcheting_backports(self, backports: bool) -> Self {
        Self { backports, ..self }
    }

    /// Whether `metadata.managedFields` is kept, as every real server does and server-side apply needs. Without, writes
    /// cost less.
    #[must_use]
    pub fn managed_fields(self, managed_fields: bool) -> Self {
        Self { managed_fields, ..self }
    }

    /// Calls admission and conversion webhooks by these. Without, no webhook is reached.
    #[must_use]
    pub fn hooks(self, hooks: impl Hooks + 'static) -> Self {
        Self { hooks: Caller::new(Arc::new(hooks)), ..self }
    }

    /// Begins with what a storage held, and keeps its own changes for [`Shared::stored`](super::service::Shared::stored).
    #[must_use]
    pub fn saved(self, saved: Saved) -> Self {
        Self { saved: Some(saved), ..self }
    }

    /// How long Events stay after they were written last (`--event-ttl`); an hour unless told otherwise.
    #[must_use]
    pub fn event_ttl(self, event_ttl: SignedDuration) -> Self {
        Self { event_ttl, ..self }
    }

    /// The addresses of services (`--service-cluster-ip-range`); by default 10.0.0.0/24.
    #[must_use]
    pub fn service_network(self, service_network: ServiceNetwork) -> Self {
        Self { service_network, ..self }
    }

    /// How long it takes until what a definition says is in force; no time unless told otherwise.
    #[must_use]
    pub fn definition_pace(self, pace: DefinitionPace) -> Self {
        Self { pace, ..self }
    }

    /// Answers `GET path` with this JSON: what stands behind a real cluster's API server, or beside it.
    #[must_use]
    pub fn document(mut self, path: impl Into<String>, json: impl Into<String>) -> Self {
        self.answers.insert(path.into(), json.into());
        self
    }

    /// Who decides what users may do; RBAC unless told otherwise.
    #[must_use]
    pub fn authorization_mode(self, authorization: AuthorizationMode) -> Self {
        Self { authorization, ..self }
    }

    /// Makes the server, with the roles, bindings, namespaces and the Service of its own that every cluster has, created at
    /// `now`.
    pub fn build(self, now: Time) -> ApiServer {
        let mut store = Store::new(self.history);
        let mut catalog = Catalog::new(self.minor);
        for kind in builtin::all(|| store.add_table()) {
            catalog.add_builtin(kind);
        }
        let table = |resource: &Resource| {
            catalog.find(&resource.group, &resource.version, &resource.plural).map_or(0, |kind| kind.table)
        };
        let starts = self.saved.as_ref().map_or(0, |saved| saved.starts);
        let tables = access::Tables {
            roles: table(&resources::ROLES),
            bindings: table(&resources::ROLE_BINDINGS),
            cluster_roles: table(&resources::CLUSTER_ROLES),
            cluster_bindings: table(&resources::CLUSTER_ROLE_BINDINGS),
        };
        let streams = Streams::new(self.seed);
        // Tokens from before a restart stay valid.
        let key = streams.stream("apiserver/service-account-key");
        let ids = match starts {
            0 => streams.stream("apiserver/token-id"),
            starts => streams.stream(&format!("apiserver/token-id/{starts}")),
        };
        let mut server = ApiServer::of(Parts {
            tables: OwnTables {
                definitions: table(&resources::CUSTOM_RESOURCE_DEFINITIONS),
                namespaces: table(&resources::NAMESPACES),
                events: table(&resources::EVENTS),
            },
            access: Access::new(self.authorization, tables, key, ids),
            store,
            catalog,
            minor: self.minor,
            backports: self.backports,
            managed_fields: self.managed_fields,
            pace: self.pace,
            expiry: Expiry::after(self.event_ttl),
            draws: Draws::new(self.seed, starts),
            admission: Admission::new(self.service_accounts, self.plugins),
            hooks: self.hooks,
            network: self.service_network,
            paths: Paths::new(self.git_version, self.answers),
        });
        if let Some(saved) = self.saved {
            server.restore(saved);
            server.events_restored(now);
            server.store.keep_changes();
        }
        server.bootstrap_control_plane(now);
        server.bootstrap_access(now);
        let admin = Identity::admin();
        for name in NAMESPACES {
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            let write = Write::create(&resources::NAMESPACES, namespace);
            server.handle(&Request::from_write(&write, &admin), now);
        }
        server.create_system_priority_classes(now);
        server
    }
}

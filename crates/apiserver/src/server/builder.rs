//! The settings of a server, and how it is built.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::requests::admission::AdmissionPlugin;
use windtunnel_core::requests::aggregated::{Aggregated, AggregatedServer};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Resource, resources};

use crate::access::{self, Access, AuthorizationMode};
use crate::admission::known::AdmissionPlugins;
use crate::admission::{self, Admission};
use crate::kinds::builtin;
use crate::kinds::catalog::Catalog;
use crate::kinds::strategy::service::ServiceNetwork;
use crate::outbound::hooks::{Caller, Hooks};
use crate::paths::Paths;
use crate::server::definitions::delays::DefinitionPace;
use crate::server::draws::Draws;
use crate::server::expiry::Expiry;
use crate::server::{ApiServer, OwnTables, Parts};
use crate::storage::Saved;
use crate::store::Store;

/// The settings of a new server.
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
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
    service_accounts: bool,
    quota_controller: bool,
    own_plugins: AdmissionPlugins,
    plugins: Vec<Box<dyn AdmissionPlugin>>,
    event_ttl: SignedDuration,
    service_network: ServiceNetwork,
    documents: BTreeMap<String, String>,
    aggregated: Aggregated,
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
            quota_controller: false,
            own_plugins: AdmissionPlugins::default(),
            plugins: Vec::new(),
            event_ttl: SignedDuration::from_hours(1),
            service_network: ServiceNetwork::default(),
            documents: BTreeMap::new(),
            aggregated: Aggregated::default(),
        }
    }
}

impl Builder {
    /// Serves as Kubernetes 1.`minor`.
    #[must_use]
    pub fn kubernetes(self, minor: u32) -> Self {
        Self { minor, ..self }
    }

    /// The minor version that the server will have.
    pub fn kubernetes_minor(&self) -> u32 {
        self.minor
    }

    /// The `gitVersion` of `/version`, such as `v1.31.4`. It must be a semantic version, because clients parse it. By default
    /// it is derived from the minor.
    #[must_use]
    pub fn git_version(self, version: impl Into<String>) -> Self {
        Self { git_version: Some(version.into()), ..self }
    }

    /// The seed of all random values, such as uids and generated names.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The number of events in the history of each kind, and in the history of all kinds. Objects whose last write is no
    /// longer in the history of all kinds are stored as text, which takes a tenth of the memory and some microseconds more
    /// to read.
    #[must_use]
    pub fn history(self, events: usize) -> Self {
        Self { history: events, ..self }
    }

    /// Whether 1.31 and 1.32 ratchet status writes, as distributions with a backport of the later fix do.
    #[must_use]
    pub fn status_ratcheting_backports(self, backports: bool) -> Self {
        Self { backports, ..self }
    }

    /// Whether the server tracks `metadata.managedFields`, as every real server does. Server-side apply needs it; writes are
    /// faster without it.
    #[must_use]
    pub fn managed_fields(self, managed_fields: bool) -> Self {
        Self { managed_fields, ..self }
    }

    /// Calls admission and conversion webhooks through `hooks`. By default every webhook call fails.
    #[must_use]
    pub fn hooks(self, hooks: impl Hooks + 'static) -> Self {
        Self { hooks: Caller::new(Arc::new(hooks)), ..self }
    }

    /// Starts with the contents of a storage, and tracks changes for [`Shared::stored`](crate::service::Shared::stored).
    #[must_use]
    pub fn saved(self, saved: Saved) -> Self {
        Self { saved: Some(saved), ..self }
    }

    /// How long Events are kept after their last write (`--event-ttl`); an hour by default.
    #[must_use]
    pub fn event_ttl(self, event_ttl: SignedDuration) -> Self {
        Self { event_ttl, ..self }
    }

    /// The range of service addresses (`--service-cluster-ip-range`); 10.0.0.0/24 by default.
    #[must_use]
    pub fn service_network(self, service_network: ServiceNetwork) -> Self {
        Self { service_network, ..self }
    }

    /// How long it takes until a written definition takes effect; no time by default.
    #[must_use]
    pub fn definition_pace(self, pace: DefinitionPace) -> Self {
        Self { pace, ..self }
    }

    /// Answers `GET path` with this JSON, for paths that a real cluster serves with aggregated API servers or other components.
    #[must_use]
    pub fn document(mut self, path: impl Into<String>, json: impl Into<String>) -> Self {
        self.documents.insert(path.into(), json.into());
        self
    }

    /// Also serves the kinds of an aggregated API server.
    #[must_use]
    pub fn aggregated(self, server: impl AggregatedServer + 'static) -> Self {
        Self { aggregated: Aggregated(Some(Arc::new(server))), ..self }
    }

    /// The authorization mode; RBAC by default.
    #[must_use]
    pub fn authorization_mode(self, authorization: AuthorizationMode) -> Self {
        Self { authorization, ..self }
    }

    /// Enables the admission plugin `ServiceAccount`: each pod needs an existing ServiceAccount and gets its token. Off
    /// by default, because a controller must then create the ServiceAccount `default` of each namespace.
    #[must_use]
    pub fn service_account_admission(mut self, service_accounts: bool) -> Self {
        self.service_accounts = service_accounts;
        self
    }

    /// Whether a controller outside the server sets the limits in the status of each ResourceQuota, as in a real cluster. By
    /// default the server does that itself, so that quotas apply without a controller.
    #[must_use]
    pub fn quota_controller(self, quota_controller: bool) -> Self {
        Self { quota_controller, ..self }
    }

    /// Which of Kubernetes' own admission plug-ins the server has. By default those that are on in its minor, without
    /// `ServiceAccount`.
    #[must_use]
    pub fn own_admission_plugins(self, plugins: AdmissionPlugins) -> Self {
        Self { own_plugins: plugins, ..self }
    }

    /// Adds an admission plug-in. Plug-ins run in the order in which they are added.
    #[must_use]
    pub fn admission_plugin(mut self, plugin: impl AdmissionPlugin + 'static) -> Self {
        self.plugins.push(Box::new(plugin));
        self
    }

    /// Builds the server, and creates at `now` the objects that every cluster has: roles, bindings, namespaces, priority classes
    /// and the Service of the API server.
    pub fn build(self, now: Time) -> ApiServer {
        let mut store = Store::new(self.history);
        let mut catalog = Catalog::new(self.minor);
        for kind in builtin::all(|| store.add_table()) {
            catalog.add_builtin(kind);
        }
        for kind in self.aggregated.0.iter().flat_map(|server| server.kinds()) {
            let shown = kind.shows.as_ref();
            let shown = shown.and_then(|shows| catalog.find(&shows.group, &shows.version, &shows.plural));
            let table = shown.map(|shown| shown.table);
            catalog.add_builtin(builtin::aggregated(kind, table.unwrap_or_else(|| store.add_table())));
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
        // The key does not depend on the number of starts, so that tokens stay valid after a restart.
        let key = streams.stream("apiserver/service-account-key");
        let ids = match starts {
            0 => streams.stream("apiserver/token-id"),
            starts => streams.stream(&format!("apiserver/token-id/{starts}")),
        };
        let own_plugins =
            if self.service_accounts { self.own_plugins } else { self.own_plugins.without("ServiceAccount") };
        let mut server = ApiServer::from_parts(Parts {
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
            admission: Admission::new(admission::builtin::stages(
                self.plugins,
                own_plugins.settings(),
                |name| own_plugins.has(name, self.minor),
            ))
            .with_quota_controller(self.quota_controller),
            hooks: self.hooks,
            network: self.service_network,
            paths: Paths::new(self.git_version, self.documents),
            aggregated: self.aggregated,
        });
        if let Some(saved) = self.saved {
            server.restore(saved, now);
            server.store.track_changes();
        }
        server.bootstrap_control_plane(now);
        let ApiServer { access, store, draws, profile, .. } = &mut server;
        access.create_defaults(store, profile.minor, || draws.uid(), now);
        server.create_own_namespaces(now);
        server.create_system_priority_classes(now);
        server
    }
}

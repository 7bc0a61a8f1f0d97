//! The objects that a kube-apiserver creates itself (`pkg/controlplane`): the Service and the endpoints with which pods
//! reach it, ConfigMaps for other servers, priority levels with FlowSchemas, and APIServices.
//!
//! They have reserved revisions and their own stream of uids, so that they do not change the revisions and uids of objects
//! that clients create.

mod addresses;
mod dangling;
mod flow;
pub(crate) mod namespaces;
mod services;

pub(super) use self::addresses::ServiceAddresses;
pub(super) use self::dangling::FlowSchemaConditions;
pub(super) use self::namespaces::OwnNamespaces;

use std::borrow::Cow;
use std::net::Ipv4Addr;

use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::resources::{CONFIG_MAPS, ENDPOINT_SLICES, ENDPOINTS, SERVICES};
use windtunnel_core::{Identity, Resource, Write};

use crate::admission::builtin::PRIORITY_CLASSES;
use crate::discovery;
use crate::kinds::strategy::service::ServiceNetwork;
use crate::kinds::validation;
use crate::metadata;
use crate::request::Request;
use crate::server::ApiServer;
use crate::server::change::Change;

/// The last revision that is reserved for the server's own objects.
const OWN_REVISIONS: u64 = 200;
/// The name of the server as a client and as a manager of fields.
pub(crate) const OWN_NAME: &str = "kube-apiserver";
/// The name of the Service and of its endpoints.
const NAME: &str = "kubernetes";
/// The name of the port.
const PORT: &str = "https";
/// The first minor that tracks the use of legacy tokens (`LegacyServiceAccountTokenTracking`).
const TOKEN_TRACKING_SINCE: u32 = 27;
/// The field manager of flow schemas and priority levels.
const FLOW_MANAGER: &str = "api-priority-and-fairness-config-producer-v1";

/// The address and port at which pods reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// The address. It must not be a loopback address, which endpoints cannot have.
    pub address: Ipv4Addr,
    /// The port.
    pub port: u16,
}

impl Default for Endpoint {
    /// The address of a simulated cluster's first node, and the port of OpenShift's kube-apiservers.
    fn default() -> Self {
        Self { address: Ipv4Addr::new(10, 0, 0, 10), port: 6443 }
    }
}

impl ApiServer {
    /// Creates the priority classes that every cluster has.
    pub(crate) fn create_system_priority_classes(&mut self, now: Time) {
        let admin = Identity::admin();
        for class in validation::system_priority_classes() {
            let write = Write::create(&PRIORITY_CLASSES, class);
            self.handle(&own_request(&write, &admin), now);
        }
    }

    /// Creates the missing objects.
    pub(crate) fn bootstrap_control_plane(&mut self, now: Time) {
        for (resource, object) in endpoint_objects(Endpoint::default(), self.allocations.network()) {
            self.create_if_missing(&resource, object, now);
        }
        if self.profile.minor >= TOKEN_TRACKING_SINCE {
            self.create_if_missing(&CONFIG_MAPS, token_tracking(now), now);
        }
        for (resource, object) in flow::objects(now) {
            self.create_as(FLOW_MANAGER, &resource, object, now);
        }
        let (resource, object) = services::service_range(self.allocations.network(), now);
        self.create_if_missing(&resource, object, now);
        for group in discovery::groups(&self.catalog) {
            for version in &group.versions {
                if let Some((resource, object)) = services::api_service(&group.name, version, now) {
                    self.create_if_missing(&resource, object, now);
                }
            }
        }
        self.store.advance_to(OWN_REVISIONS);
    }

    /// Updates the Service and the endpoints to the address and port at which the server listens.
    pub fn advertise(&mut self, endpoint: Endpoint, now: Time) {
        for (resource, object) in endpoint_objects(endpoint, self.allocations.network()) {
            let fields = ["spec", "subsets", "endpoints", "ports"];
            self.update_fields(&resource, &object, &fields, now);
        }
    }

    /// Publishes the certificate authorities of clients, as PEM, for extension API servers.
    pub fn publish_client_authorities(&mut self, pem: &str, now: Time) {
        let object = config_map("extension-apiserver-authentication", &json!({ "client-ca-file": pem }));
        if !self.update_fields(&CONFIG_MAPS, &object, &["data"], now) {
            self.create_if_missing(&CONFIG_MAPS, object, now);
        }
    }

    /// Creates the APIServices of the versions of custom resources in a group, and removes those of versions that no longer
    /// exist. `versions` are the versions that may have changed.
    pub(crate) fn follow_versions<'v>(
        &mut self,
        group: &str,
        versions: impl IntoIterator<Item = &'v str>,
        now: Time,
    ) {
        for version in versions {
            let name = format!("{version}.{group}");
            if discovery::kinds(&self.catalog, group, version).any(|kind| kind.custom.is_some()) {
                let (resource, object) = services::of_custom(group, version, now);
                self.create_if_missing(&resource, object, now);
            } else if discovery::kinds(&self.catalog, group, version).next().is_none() {
                self.remove_own(&services::API_SERVICES, &name, now);
            }
        }
    }

    /// Removes an object that the server itself created, if it exists.
    fn remove_own(&mut self, resource: &Resource, name: &str, now: Time) {
        let found = self.catalog.find(&resource.group, &resource.version, &resource.plural).cloned();
        let Some(kind) = found else { return };
        if self.store.get(kind.table, "", name).is_some() {
            self.remove_object(&kind, &kind.key("", name), now);
        }
    }

    /// Creates an object unless it exists.
    fn create_if_missing(&mut self, resource: &Resource, object: Value, now: Time) {
        self.create_as(OWN_NAME, resource, object, now);
    }

    /// Creates an object as this field manager unless it exists.
    fn create_as(&mut self, manager: &str, resource: &Resource, mut object: Value, now: Time) {
        let Some(kind) = self.catalog.find(&resource.group, &resource.version, &resource.plural).cloned()
        else {
            return;
        };
        let key = kind.key(metadata::text(&object, "namespace"), metadata::text(&object, "name"));
        if self.store.get(kind.table, &key.namespace, &key.name).is_some() {
            return;
        }
        object["apiVersion"] = json!(resource.api_version());
        object["kind"] = json!(resource.kind);
        let owners = self.owners_of_own(&kind, &object, manager, now);
        object["metadata"]["uid"] = json!(self.draws.own_uid());
        object["metadata"]["creationTimestamp"] = json!(rfc3339(now));
        self.store.put(kind.table, &key, kind.epoch(), object, owners);
        self.follow(&Change { kind: &kind, key: &key, old: None, now });
    }

    /// Copies fields of `wanted` into the existing object; returns false if it does not exist.
    fn update_fields(&mut self, resource: &Resource, wanted: &Value, fields: &[&str], now: Time) -> bool {
        let Some(kind) = self.catalog.find(&resource.group, &resource.version, &resource.plural).cloned()
        else {
            return false;
        };
        let key = kind.key(metadata::text(wanted, "namespace"), metadata::text(wanted, "name"));
        let Some(entry) = self.store.get(kind.table, &key.namespace, &key.name) else { return false };
        let old = entry.served();
        let mut object = (*old).clone();
        for field in fields.iter().filter(|field| wanted.get(**field).is_some()) {
            object[*field] = wanted[*field].clone();
        }
        if object != *old {
            self.store.rewrite(kind.table, &key, kind.epoch(), object);
            self.follow(&Change { kind: &kind, key: &key, old: Some(&old), now });
        }
        true
    }
}

/// A request of the server to itself.
pub(crate) fn own_request<'a>(write: &'a Write, who: &'a Identity) -> Request<'a> {
    Request { user_agent: Cow::Borrowed(OWN_NAME), ..Request::from_write(write, who) }
}

/// The Service, its Endpoints and its EndpointSlice.
fn endpoint_objects(endpoint: Endpoint, network: ServiceNetwork) -> [(Resource, Value); 3] {
    let Endpoint { address, port } = endpoint;
    let metadata = |labels: Value| json!({ "name": NAME, "namespace": "default", "labels": labels });
    let cluster_ip = network.first_address();
    let ports = json!([{ "name": PORT, "port": port, "protocol": "TCP" }]);
    let service = json!({
        "metadata": metadata(json!({ "component": "apiserver", "provider": "kubernetes" })),
        "spec": {
            "clusterIP": cluster_ip,
            "clusterIPs": [cluster_ip],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{ "name": PORT, "port": 443, "protocol": "TCP", "targetPort": port }],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": { "loadBalancer": {} },
    });
    let endpoints = json!({
        "metadata": metadata(json!({ "endpointslice.kubernetes.io/skip-mirror": "true" })),
        "subsets": [{ "addresses": [{ "ip": address }], "ports": ports }],
    });
    let mut slice = json!({
        "metadata": metadata(json!({ "kubernetes.io/service-name": NAME })),
        "addressType": "IPv4",
        "endpoints": [{ "addresses": [address], "conditions": { "ready": true } }],
        "ports": ports,
    });
    slice["metadata"]["generation"] = json!(1);
    [(SERVICES, service), (ENDPOINTS, endpoints), (ENDPOINT_SLICES, slice)]
}

/// The ConfigMap with the date since which the server tracks the use of legacy tokens.
fn token_tracking(now: Time) -> Value {
    let mut since = rfc3339(now);
    since.truncate("2024-01-01".len());
    config_map("kube-apiserver-legacy-service-account-token-tracking", &json!({ "since": since }))
}

fn config_map(name: &str, data: &Value) -> Value {
    json!({ "metadata": { "name": name, "namespace": "kube-system" }, "data": data })
}

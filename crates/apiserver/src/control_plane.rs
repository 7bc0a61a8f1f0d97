//! Objects that a kube-apiserver keeps for itself (`pkg/controlplane`): the Service and the endpoints by which pods reach
//! it, and ConfigMaps that tell other servers whom it trusts.
//!
//! They are there before any client comes, at revisions and with uids of their own: what clients write is numbered as if
//! they were not.

use std::net::Ipv4Addr;

use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::resources::{CONFIG_MAPS, ENDPOINT_SLICES, ENDPOINTS, SERVICES};

use super::kinds::strategy::service::ServiceNetwork;
use super::metadata;
use super::server::ApiServer;
use super::store::Owned;

/// The revision up to which the server writes objects of its own.
const OWN_REVISIONS: u64 = 100;
/// The name of the Service and of its endpoints.
const NAME: &str = "kubernetes";
/// The name of the port.
const PORT: &str = "https";
/// Since this minor the use of legacy tokens is tracked (`LegacyServiceAccountTokenTracking`).
const TOKEN_TRACKING_SINCE: u32 = 27;

/// Where pods reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// The address; never one of the loopback, which endpoints cannot have.
    pub address: Ipv4Addr,
    /// The port.
    pub port: u16,
}

impl Default for Endpoint {
    /// The first machine of a simulated cluster, and the port of OpenShift's kube-apiservers.
    fn default() -> Self {
        Self { address: Ipv4Addr::new(10, 0, 0, 10), port: 6443 }
    }
}

impl ApiServer {
    /// Creates those of the objects that are missing.
    pub(crate) fn bootstrap_control_plane(&mut self, now: Time) {
        for (resource, object) in endpoint_objects(Endpoint::default(), self.allocations.network()) {
            self.keep(&resource, object, now);
        }
        if self.profile.minor >= TOKEN_TRACKING_SINCE {
            self.keep(&CONFIG_MAPS, token_tracking(now), now);
        }
        self.store.jump(OWN_REVISIONS);
    }

    /// Has Service and endpoints say that the server is reached there.
    pub fn advertise(&mut self, endpoint: Endpoint, now: Time) {
        for (resource, object) in endpoint_objects(endpoint, self.allocations.network()) {
            let fields = ["spec", "subsets", "endpoints", "ports"];
            self.change(&resource, &object, &fields, now);
        }
    }

    /// Publishes who signs the certificates of clients, as PEM, for servers that ask this one who their clients are.
    pub fn publish_client_authorities(&mut self, pem: &str, now: Time) {
        let object = config_map("extension-apiserver-authentication", &json!({ "client-ca-file": pem }));
        if !self.change(&CONFIG_MAPS, &object, &["data"], now) {
            self.keep(&CONFIG_MAPS, object, now);
        }
    }

    /// Creates an object, unless it is there.
    fn keep(&mut self, resource: &Resource, mut object: Value, now: Time) {
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
        object["metadata"]["uid"] = json!(self.draws.own_uid());
        object["metadata"]["creationTimestamp"] = json!(rfc3339(now));
        self.store.put(kind.table, &key, kind.epoch(), object, Owned::default());
        self.written(&kind, &key, None, now);
    }

    /// Takes fields of an object over into the one that is there; false if there is none.
    fn change(&mut self, resource: &Resource, wanted: &Value, fields: &[&str], now: Time) -> bool {
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
            self.written(&kind, &key, Some(&old), now);
        }
        true
    }
}

/// The Service and its endpoints, in both of their forms.
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

/// The ConfigMap that says since when the use of legacy tokens is tracked.
fn token_tracking(now: Time) -> Value {
    let mut since = rfc3339(now);
    since.truncate("2024-01-01".len());
    config_map("kube-apiserver-legacy-service-account-token-tracking", &json!({ "since": since }))
}

fn config_map(name: &str, data: &Value) -> Value {
    json!({ "metadata": { "name": name, "namespace": "kube-system" }, "data": data })
}

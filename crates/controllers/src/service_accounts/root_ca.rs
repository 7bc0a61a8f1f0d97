//! The publisher of the CA certificate by which pods verify the API server.

use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{CONFIG_MAPS, NAMESPACES};
use windtunnel_core::{Identity, Key, View, Write};

use super::{is_active, notice};
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, Step};

/// The name of the ConfigMap.
const NAME: &str = "kube-root-ca.crt";
/// The only key of the ConfigMap.
const KEY: &str = "ca.crt";
/// The description in its annotation.
const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such \
    as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/// The root CA publisher of kube-controller-manager. It maintains the certificate in the ConfigMap
/// `kube-root-ca.crt` of each namespace.
#[derive(Debug, Clone)]
pub struct RootCaPublisher {
    certificate: String,
    queue: WorkQueue,
    started: bool,
}

impl RootCaPublisher {
    /// Creates a publisher of `certificate` (PEM) of the CA that signed the API server's certificate.
    pub fn new(certificate: impl Into<String>) -> Self {
        Self { certificate: certificate.into(), queue: WorkQueue::default(), started: false }
    }
}

impl Reconcile for RootCaPublisher {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, namespace: &Key, view: &View, _now: Time) -> Vec<Write> {
        if !is_active(namespace, view) {
            return Vec::new();
        }
        let data = json!({ KEY: self.certificate });
        let annotations = json!({ "kubernetes.io/description": DESCRIPTION });
        match view.get(&CONFIG_MAPS, &namespace.name, NAME) {
            None => {
                let metadata =
                    json!({ "namespace": namespace.name, "name": NAME, "annotations": annotations });
                vec![Write::create(&CONFIG_MAPS, json!({ "metadata": metadata, "data": data }))]
            }
            Some(map) if map["data"] == data => Vec::new(),
            Some(map) => {
                let mut map = map.to_value();
                map["data"] = data;
                vec![Write::update(&CONFIG_MAPS, map)]
            }
        }
    }
}

impl Actor for RootCaPublisher {
    fn name(&self) -> &'static str {
        "root-ca-cert-publisher"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "root-ca-cert-publisher")
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(NAMESPACES), Interest::Kind(CONFIG_MAPS)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        let first = !std::mem::replace(&mut self.started, true);
        notice(&mut self.queue, first, input, &CONFIG_MAPS, NAME);
        self.reconcile(input)
    }
}

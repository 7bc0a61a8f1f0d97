//! Foreign objects in the cluster: a Ready node, and a DaemonSet that puts a pod on every node, like kind's
//! kube-proxy.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::cli::environment::pause;
use crate::cli::serve::{client, run};

/// The name of the node.
pub(crate) const NODE: &str = "foreign-control-plane";
/// The name of the DaemonSet.
const DAEMON_SET: &str = "kube-proxy";
/// The interval of the renewals of the node's Lease.
const RENEWED_EVERY: Duration = Duration::from_secs(5);

/// Keeps the foreign node alive, as its kubelet would.
pub(super) struct Heartbeat {
    /// Dropped to end it.
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    /// Renews the Lease of the node until this is dropped.
    pub(super) fn start(kubeconfig: String) -> Self {
        let (end, ended) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            while ended.recv_timeout(RENEWED_EVERY) == Err(RecvTimeoutError::Timeout) {
                run(renew(&kubeconfig));
            }
        });
        Self { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        drop(self.end.take());
        // The effects of a failed renewal have already failed the test.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Installs node and DaemonSet, and waits until the real controllers have put a pod on the node.
pub(super) async fn install(kubeconfig: &str) {
    let (client, create) = (client(kubeconfig).await, PostParams::default());
    let nodes: Api<Node> = Api::all(client.clone());
    let mut created = nodes.create(&create, &from(node())).await.unwrap();
    created.status = from::<Node>(node()).status;
    // The controller manager may have changed it meanwhile.
    created.metadata.resource_version = None;
    nodes.replace_status(NODE, &create, &created).await.unwrap();
    renew(kubeconfig).await;
    let sets: Api<DaemonSet> = Api::namespaced(client.clone(), "kube-system");
    sets.create(&create, &from(daemon_set())).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(client, "kube-system");
    for _ in 0..600 {
        let bound = ListParams::default().fields(&format!("spec.nodeName={NODE}"));
        if !pods.list(&bound).await.unwrap().items.is_empty() {
            return;
        }
        pause(100);
    }
    panic!("no pod of {DAEMON_SET} is bound to {NODE}");
}

async fn renew(kubeconfig: &str) {
    let leases: Api<Lease> = Api::namespaced(client(kubeconfig).await, "kube-node-lease");
    let now = windtunnel_core::clock::rfc3339_micro(windtunnel_core::clock::Clock::now(
        &windtunnel_core::clock::WallClock,
    ));
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": NODE },
        "spec": { "holderIdentity": NODE, "leaseDurationSeconds": 40, "renewTime": now },
    });
    let by = PatchParams::apply("kubelet").force();
    leases.patch(NODE, &by, &Patch::Apply(&lease)).await.unwrap();
}

fn node() -> Value {
    let amounts = json!({ "cpu": "8", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110" });
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NODE,
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": NODE,
                "kubernetes.io/os": "linux",
                "node-role.kubernetes.io/control-plane": "",
                "node-role.kubernetes.io/master": "",
            },
        },
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "KubeletReady",
                "message": "kubelet is posting ready status",
            }],
        },
    })
}

fn daemon_set() -> Value {
    let labels = json!({ "k8s-app": DAEMON_SET });
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": { "name": DAEMON_SET, "namespace": "kube-system" },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "containers": [{ "name": DAEMON_SET, "image": "registry.k8s.io/kube-proxy:v1.36.0" }],
                    "hostNetwork": true,
                    "tolerations": [{ "operator": "Exists" }],
                },
            },
        },
    })
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

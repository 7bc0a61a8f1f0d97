//! Static pods of the control plane, and their rollouts: the operator installs a new revision node by node.
//!
//! Real pods also have containers that synchronize certificates and run probes. They are omitted here.

#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::Effect;
use windtunnel_controllers::machine::StaticPod;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::{NAMESPACES, PODS};
use windtunnel_core::{Object, View, Write, condition};

use crate::control_plane::masters;
use crate::release::Release;

/// The revision in a new cluster.
const INSTALLED: u32 = 6;
/// After this time a manifest without a running pod is written again.
const RETRY: SignedDuration = SignedDuration::from_mins(1);
/// The label of pods with their revision.
const REVISION: &str = "revision";

/// A control-plane component that an operator runs as static pods.
#[derive(Debug)]
pub(super) struct Operand {
    operator: &'static str,
    /// The namespace of its pods.
    pub(super) namespace: &'static str,
    /// The name of its pods before the node's name.
    name: &'static str,
    /// The container, and the name of its image in a payload.
    container: &'static str,
    image: &'static str,
    labels: [(&'static str, &'static str); 2],
    grace_seconds: u32,
}

const OPERANDS: [Operand; 4] = [
    Operand {
        operator: "etcd",
        namespace: "openshift-etcd",
        name: "etcd",
        container: "etcd",
        image: "etcd",
        labels: [("app", "etcd"), ("etcd", "true")],
        grace_seconds: 30,
    },
    Operand {
        operator: "kube-apiserver",
        namespace: "openshift-kube-apiserver",
        name: "kube-apiserver",
        container: "kube-apiserver",
        image: "hyperkube",
        labels: [("app", "openshift-kube-apiserver"), ("apiserver", "true")],
        grace_seconds: 135,
    },
    Operand {
        operator: "kube-controller-manager",
        namespace: "openshift-kube-controller-manager",
        name: "kube-controller-manager",
        container: "kube-controller-manager",
        image: "hyperkube",
        labels: [("app", "kube-controller-manager"), ("kube-controller-manager", "true")],
        grace_seconds: 30,
    },
    Operand {
        operator: "kube-scheduler",
        namespace: "openshift-kube-scheduler",
        name: "openshift-kube-scheduler",
        container: "kube-scheduler",
        image: "hyperkube",
        labels: [("app", "openshift-kube-scheduler"), ("scheduler", "true")],
        grace_seconds: 30,
    },
];

/// The static pods of each control-plane node of an installed cluster of this release.
pub fn installed_static_pods(release: &Release) -> Vec<StaticPod> {
    operands(release).map(|operand| operand.pod(release, INSTALLED)).collect()
}

/// The writes that create the namespaces of those pods.
pub fn operand_namespaces(release: &Release) -> impl Iterator<Item = Write> {
    operands(release).map(Operand::namespace)
}

/// The images of those pods.
pub fn static_pod_images(release: &Release) -> impl Iterator<Item = String> {
    operands(release).map(|operand| release.image_of(operand.image))
}

fn operands(release: &Release) -> impl Iterator<Item = &'static Operand> {
    OPERANDS.iter().filter(|operand| release.operator(operand.operator).is_some())
}

/// The state of a rollout, and its next step.
#[derive(Debug, Default)]
pub(super) struct Rollout {
    /// Whether each node has a ready pod of the release.
    pub(super) is_through: bool,
    pub(super) effect: Option<Effect>,
    pub(super) recheck_at: Option<Time>,
}

impl Operand {
    /// The operand of the operator with this ClusterOperator.
    pub(super) fn of(operator: &str) -> Option<&'static Self> {
        OPERANDS.iter().find(|operand| operand.operator == operator)
    }

    /// The write that creates its namespace.
    pub(super) fn namespace(&self) -> Write {
        let labels =
            json!({ "openshift.io/run-level": "0", "pod-security.kubernetes.io/enforce": "privileged" });
        let metadata = json!({ "name": self.namespace, "labels": labels });
        Write::create(&NAMESPACES, json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata }))
    }

    /// Its pod of a release.
    fn pod(&self, release: &Release, revision: u32) -> StaticPod {
        let mut labels: Value = self.labels.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect();
        labels[REVISION] = json!(revision.to_string());
        let container = json!({ "name": self.container, "image": release.image_of(self.image) });
        StaticPod {
            manifest: json!({
                "apiVersion": PODS.api_version(),
                "kind": PODS.kind,
                "metadata": { "namespace": self.namespace, "name": self.name, "labels": labels },
                "spec": {
                    "containers": [container],
                    "hostNetwork": true,
                    "priority": 2_000_001_000,
                    "priorityClassName": "system-node-critical",
                    "terminationGracePeriodSeconds": self.grace_seconds,
                    "tolerations": [{ "operator": "Exists" }],
                },
            })
            .into(),
        }
    }

    /// Continues a rollout that started at `start` and takes at least `takes`. Each node gets its pod when
    /// the pod of the previous node is ready, and not before its share of the time has passed.
    pub(super) fn roll_out(
        &self,
        release: &Release,
        (start, takes): (Time, SignedDuration),
        view: &View,
        now: Time,
    ) -> Rollout {
        let nodes = masters(view);
        let revision = self.next_revision(release, &nodes, view);
        let parts = i32::try_from(nodes.len()).unwrap_or(i32::MAX).saturating_add(1);
        for (part, node) in (1..).zip(&nodes) {
            let pod = self.pod_on(node, view);
            let is_there = pod.is_some_and(|pod| pod.label(REVISION) == Some(&revision.to_string()));
            if is_there && pod.is_some_and(|pod| condition::is_true(pod, "Ready")) {
                continue;
            }
            let turn = after(start, takes / parts * part);
            if is_there {
                return Rollout::default();
            }
            if turn > now {
                return Rollout { recheck_at: Some(turn), ..Rollout::default() };
            }
            let pod = self.pod(release, revision);
            // The installer is a pod too, so it needs a ready node.
            let effect = condition::is_true(node, "Ready")
                .then(|| Effect::WriteStaticPod { node: node.name().to_owned(), pod });
            return Rollout { effect, recheck_at: Some(after(now, RETRY)), ..Rollout::default() };
        }
        Rollout { is_through: true, ..Rollout::default() }
    }

    fn pod_on<'v>(&self, node: &Object, view: &'v View) -> Option<&'v Object> {
        view.get(&PODS, self.namespace, &format!("{}-{}", self.name, node.name()))
    }

    /// Why containers of its pods on these nodes fail (the static pod state controller of library-go).
    pub(super) fn failures(&self, nodes: &[&Object], view: &View) -> Vec<String> {
        let pods = nodes.iter().filter_map(|node| self.pod_on(node, view));
        pods.flat_map(|pod| {
            pod.list("/status/containerStatuses").iter().filter_map(|status| failure(pod, status))
        })
        .collect()
    }

    /// The revision for a release: the last one if it has that release, or else a new one.
    fn next_revision(&self, release: &Release, nodes: &[&Object], view: &View) -> u32 {
        let pods = nodes.iter().filter_map(|node| self.pod_on(node, view));
        let revision = |pod: &Object| pod.label(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0);
        let Some(last) = pods.max_by_key(|pod| revision(pod)) else { return 1 };
        let is_of_release = last.text("/spec/containers/0/image") == release.image_of(self.image);
        if is_of_release { revision(last) } else { revision(last) + 1 }
    }
}

/// Why a container fails: it waits, or it ended with an error.
fn failure(pod: &Object, status: &Value) -> Option<String> {
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let about = |state: &Value, verb: &str| {
        let (pod, container) = (pod.name(), text(status, "name"));
        let (reason, message) = (text(state, "reason"), text(state, "message"));
        Some(format!("pod/{pod} container {container:?} is {verb}: {reason}: {message}"))
    };
    let (waiting, ended) = (&status["state"]["waiting"], &status["state"]["terminated"]);
    if waiting.is_object()
        && !matches!(waiting["reason"].as_str(), Some("PodInitializing" | "ContainerCreating"))
    {
        about(waiting, "waiting")
    } else if ended["exitCode"].as_i64().is_some_and(|code| code != 0) {
        about(ended, "terminated")
    } else {
        None
    }
}

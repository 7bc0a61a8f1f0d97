//! The controllers that keep volumes and claims in use from being removed. The API server gives each new one a finalizer,
//! which these controllers remove from deleted ones that are no longer in use.

use std::collections::BTreeSet;

use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS};
use windtunnel_core::{ChangeKind, Identity, Key, Object, Resource, View, Write, pod, text_of};

use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, Step};

/// The objects that a controller protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protected {
    /// Claims that scheduled pods use.
    Claims,
    /// Volumes that are bound to claims.
    Volumes,
}

impl Protected {
    fn resource(self) -> Resource {
        match self {
            Self::Claims => PERSISTENT_VOLUME_CLAIMS,
            Self::Volumes => PERSISTENT_VOLUMES,
        }
    }

    fn finalizer(self) -> &'static str {
        match self {
            Self::Claims => "kubernetes.io/pvc-protection",
            Self::Volumes => "kubernetes.io/pv-protection",
        }
    }

    fn is_in_use(self, object: &Object, view: &View) -> bool {
        match self {
            Self::Claims => view.list_in(&PODS, object.namespace()).any(|pod| uses_claim(pod, object.name())),
            Self::Volumes => object.text("/status/phase") == "Bound",
        }
    }
}

/// The persistentvolumeclaim-protection-controller or the persistentvolume-protection-controller of
/// kube-controller-manager.
#[derive(Debug, Clone)]
pub struct VolumeProtectionController {
    protected: Protected,
    queue: WorkQueue,
    started: bool,
    /// Deleted objects that were still in use.
    in_use: BTreeSet<Key>,
}

impl VolumeProtectionController {
    /// Creates the controller that protects PersistentVolumeClaims.
    pub fn of_claims() -> Self {
        Self::new(Protected::Claims)
    }

    /// Creates the controller that protects PersistentVolumes.
    pub fn of_volumes() -> Self {
        Self::new(Protected::Volumes)
    }

    fn new(protected: Protected) -> Self {
        Self { protected, queue: WorkQueue::default(), started: false, in_use: BTreeSet::new() }
    }

    fn notice(&mut self, input: &Input<'_>) {
        let resource = self.protected.resource();
        if !std::mem::replace(&mut self.started, true) {
            for object in input.view.list(&resource) {
                self.queue.add(resource.key_of(object));
            }
        }
        for change in input.changes {
            if change.key.is_kind(&resource) {
                self.queue.add(change.key.clone());
            } else if change.kind != ChangeKind::Added {
                // A pod that ended may have been the last one.
                let namespace = &change.key.namespace;
                for key in self.in_use.iter().filter(|key| key.namespace == *namespace) {
                    self.queue.add(key.clone());
                }
            }
        }
        self.queue.process_answers(input.answers, input.now);
    }
}

/// Whether a pod keeps a claim from being removed (`podUsesPVCForDeletion`): it has been scheduled, and names the claim.
/// A claim of an ephemeral volume may go together with a pod that the kubelet has ended.
fn uses_claim(pod: &Object, claim: &str) -> bool {
    let is_over = pod.is_terminating() && pod.number("/metadata/deletionGracePeriodSeconds") == Some(0);
    !pod::node_name(pod).is_empty()
        && pod.list("/spec/volumes").iter().any(|volume| {
            let ephemeral = || format!("{}-{}", pod.name(), text_of(volume, "name"));
            volume["persistentVolumeClaim"]["claimName"] == *claim
                || (!is_over && volume["ephemeral"].is_object() && ephemeral() == claim)
        })
}

impl Reconcile for VolumeProtectionController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, _: Time) -> Vec<Write> {
        self.in_use.remove(key);
        let Some(object) = view.get_key(key) else { return Vec::new() };
        let finalizers = object.list("/metadata/finalizers");
        let has_finalizer = finalizers.iter().any(|finalizer| finalizer == self.protected.finalizer());
        let changed = match (object.is_terminating(), has_finalizer) {
            (true, true) if self.protected.is_in_use(object, view) => {
                self.in_use.insert(key.clone());
                return Vec::new();
            }
            (true, true) => {
                finalizers.iter().filter(|other| **other != self.protected.finalizer()).cloned().collect()
            }
            (false, false) => [finalizers, &[json!(self.protected.finalizer())]].concat(),
            _ => return Vec::new(),
        };
        let mut object = object.to_value();
        object["metadata"]["finalizers"] = json!(changed);
        vec![Write::update(&self.protected.resource(), object)]
    }
}

impl Actor for VolumeProtectionController {
    fn name(&self) -> &'static str {
        match self.protected {
            Protected::Claims => "persistentvolumeclaim-protection-controller",
            Protected::Volumes => "persistentvolume-protection-controller",
        }
    }

    fn identity(&self) -> Identity {
        let account = match self.protected {
            Protected::Claims => "pvc-protection-controller",
            Protected::Volumes => "pv-protection-controller",
        };
        Identity::service_account("kube-system", account)
    }

    fn interests(&self) -> Vec<Interest> {
        match self.protected {
            Protected::Claims => vec![Interest::Kind(PERSISTENT_VOLUME_CLAIMS), Interest::Kind(PODS)],
            Protected::Volumes => vec![Interest::Kind(PERSISTENT_VOLUMES)],
        }
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        self.reconcile(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rig;

    fn put_claim(rig: &mut Rig, name: &str) {
        let spec =
            json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } });
        rig.put(
            &PERSISTENT_VOLUME_CLAIMS,
            json!({ "metadata": { "namespace": "ns", "name": name }, "spec": spec }),
        );
    }

    fn put_pod(rig: &mut Rig, name: &str, node: &str, volume: &serde_json::Value) {
        let container = json!({ "name": "c", "image": "i" });
        let spec = json!({ "nodeName": node, "containers": [container], "volumes": [volume] });
        rig.put(&PODS, json!({ "metadata": { "namespace": "ns", "name": name }, "spec": spec }));
    }

    fn claims(rig: &Rig) -> Vec<String> {
        rig.view.list(&PERSISTENT_VOLUME_CLAIMS).map(|claim| claim.name().to_owned()).collect()
    }

    #[test]
    fn a_deleted_claim_stays_until_its_last_pod_is_gone() {
        let mut rig = Rig::new();
        rig.seat(|| Box::new(VolumeProtectionController::of_claims()));
        for claim in ["named", "pod-scratch", "unscheduled", "unused"] {
            put_claim(&mut rig, claim);
        }
        let named = |claim: &str| json!({ "name": "data", "persistentVolumeClaim": { "claimName": claim } });
        put_pod(&mut rig, "user", "w0", &named("named"));
        put_pod(&mut rig, "waiting", "", &named("unscheduled"));
        put_pod(
            &mut rig,
            "pod",
            "w0",
            &json!({ "name": "scratch", "ephemeral": { "volumeClaimTemplate": { "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } } } }),
        );
        rig.run(1);
        for claim in ["named", "pod-scratch", "unscheduled", "unused"] {
            rig.write(&Write::delete(&PERSISTENT_VOLUME_CLAIMS, "ns", claim));
        }
        rig.run(1);
        assert_eq!(claims(&rig), ["named", "pod-scratch"]);
        for pod in ["user", "pod"] {
            rig.write(&Write::delete_now(&PODS, "ns", pod));
        }
        rig.run(1);
        assert_eq!(claims(&rig), [""; 0]);
    }

    #[test]
    fn a_deleted_volume_stays_while_it_is_bound() {
        let mut rig = Rig::new();
        rig.seat(|| Box::new(VolumeProtectionController::of_volumes()));
        let spec = json!({ "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" }, "hostPath": { "path": "/d" } });
        for (name, phase) in [("bound", "Bound"), ("released", "Released")] {
            rig.put(
                &PERSISTENT_VOLUMES,
                json!({ "metadata": { "name": name }, "spec": spec, "status": { "phase": phase } }),
            );
        }
        rig.run(1);
        for name in ["bound", "released"] {
            rig.write(&Write::delete(&PERSISTENT_VOLUMES, "", name));
        }
        rig.run(1);
        let names = |rig: &Rig| -> Vec<String> {
            rig.view.list(&PERSISTENT_VOLUMES).map(|volume| volume.name().to_owned()).collect()
        };
        assert_eq!(names(&rig), ["bound"]);
        let released = json!({ "status": { "phase": "Released" } });
        rig.write(&Write::merge_patch_status(&PERSISTENT_VOLUMES, "", "bound", released));
        rig.run(1);
        assert_eq!(names(&rig), [""; 0]);
    }
}

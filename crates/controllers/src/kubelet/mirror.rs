//! Static pods, which a kubelet runs from manifests on its machine, and the mirror pods that represent them
//! in the API.
//!
//! The manifest determines what runs. If a mirror pod is deleted, the containers keep running and the kubelet
//! creates another mirror with the same status. A changed manifest ends the old pod and starts a new one.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::pod::MIRROR;
use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::{DeleteOptions, Key, Object, View, Write, text};

use crate::machine::StaticPod;

/// Annotations of mirror pods: the hash of the manifest, the time of its detection, and its source.
const HASH: &str = "kubernetes.io/config.hash";
const SEEN: &str = "kubernetes.io/config.seen";
const SOURCE: &str = "kubernetes.io/config.source";

/// The static pods of a kubelet, by the keys of their mirror pods.
#[derive(Debug, Clone, Default)]
pub(super) struct StaticPods {
    by_mirror: BTreeMap<Key, Running>,
}

/// A static pod.
#[derive(Debug, Clone)]
struct Running {
    pod: StaticPod,
    hash: String,
    /// The status of its last mirror pod, if that was deleted.
    last_status: Option<Value>,
}

/// The runtime's id of a pod: its uid in the API, or the manifest hash of a static pod.
pub(super) fn runtime_id(pod: &Object) -> &str {
    pod.annotation(HASH).unwrap_or_else(|| pod.uid())
}

impl StaticPods {
    /// Adds or replaces a manifest and returns the key of its mirror pod.
    pub(super) fn put(&mut self, pod: &StaticPod, node: &str) -> Key {
        let metadata = &pod.manifest["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let key = PODS.key(text("namespace"), &format!("{}-{node}", text("name")));
        let digest = Sha256::digest(format!("{node} {}", pod.manifest));
        let hash = text::hex(&digest[..16]);
        if self.by_mirror.get(&key).is_none_or(|running| running.hash != hash) {
            self.by_mirror.insert(key.clone(), Running { pod: pod.clone(), hash, last_status: None });
        }
        key
    }

    /// The keys of all mirror pods.
    pub(super) fn mirrors(&self) -> impl Iterator<Item = &Key> {
        self.by_mirror.keys()
    }

    /// Whether a key is that of a mirror pod of this kubelet.
    pub(super) fn has(&self, mirror: &Key) -> bool {
        self.by_mirror.contains_key(mirror)
    }

    /// Handles the deletion of a pod from the API. Returns whether it was the current mirror of a static pod,
    /// which keeps running; then the next mirror gets the same status.
    pub(super) fn survives_deletion(&mut self, gone: &Object) -> bool {
        let key = PODS.key_of(gone);
        let Some(running) = self.by_mirror.get_mut(&key) else { return false };
        let is_mirrored = gone.annotation(MIRROR) == Some(&running.hash);
        if is_mirrored && !gone["status"]["startTime"].is_null() {
            running.last_status = Some(gone["status"].clone());
        }
        is_mirrored
    }

    /// Whether a mirror pod is deleted and only waits for the finalizers of others.
    pub(super) fn is_waited_for(&self, key: &Key, view: &View) -> bool {
        let is_over = |mirror: &Object| {
            mirror.is_terminating() && mirror.number("/metadata/deletionGracePeriodSeconds") == Some(0)
        };
        self.has(key) && view.get_key(key).is_some_and(is_over)
    }

    /// The write that makes the mirror pod represent the running static pod; `None` if it does, or if it is
    /// not a mirror.
    pub(super) fn correction(&self, key: &Key, node: &str, view: &View, now: Time) -> Option<Write> {
        let running = self.by_mirror.get(key)?;
        let Some(mirror) = view.get_key(key) else {
            // Without its Node object, a kubelet cannot create mirror pods.
            let node = view.get(&NODES, "", node)?;
            return Some(Write::create(&PODS, running.mirror(key, node, now)));
        };
        if mirror.is_terminating() || mirror.annotation(MIRROR) != Some(&running.hash) {
            let options = DeleteOptions {
                grace_period_seconds: Some(0),
                uid: Some(mirror.uid().to_owned()),
                ..DeleteOptions::default()
            };
            return Some(Write::delete_with(&PODS, mirror.namespace(), mirror.name(), options));
        }
        let status = running.last_status.as_ref().filter(|_| mirror["status"]["startTime"].is_null())?;
        let patch = json!({ "metadata": { "uid": mirror.uid() }, "status": status });
        Some(Write::merge_patch_status(&PODS, mirror.namespace(), mirror.name(), patch))
    }
}

impl Running {
    /// The mirror pod to create, with the node as its owner.
    fn mirror(&self, key: &Key, node: &Object, now: Time) -> Value {
        let mut mirror = (*self.pod.manifest).clone();
        mirror["metadata"]["name"] = json!(key.name);
        for (annotation, text) in
            [(HASH, &*self.hash), (MIRROR, &self.hash), (SEEN, &rfc3339(now)), (SOURCE, "file")]
        {
            mirror["metadata"]["annotations"][annotation] = json!(text);
        }
        mirror["metadata"]["ownerReferences"] = json!([{
            "apiVersion": NODES.api_version(),
            "kind": NODES.kind,
            "name": node.name(),
            "uid": node.uid(),
            "controller": true,
        }]);
        mirror["spec"]["nodeName"] = json!(node.name());
        mirror
    }
}

//! Pods that a kubelet runs from files on its machine, and the pods by which it shows them in the API (`mirror pods`).
//!
//! What runs is what the file says. Who deletes the mirror ends nothing: the kubelet makes another one that tells the same.
//! Another file ends the pod of the one before it, and what it says is started anew.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::pod::MIRROR;
use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::text;
use windtunnel_core::{DeleteOptions, Key, Object, View, Write};

use crate::machine::StaticPod;

/// Annotations of a mirror: what the file said and when that was seen, and where it came from.
const HASH: &str = "kubernetes.io/config.hash";
const SEEN: &str = "kubernetes.io/config.seen";
const SOURCE: &str = "kubernetes.io/config.source";

/// The pods that one kubelet runs from files, by their mirrors.
#[derive(Debug, Clone, Default)]
pub(super) struct StaticPods {
    by_mirror: BTreeMap<Key, Running>,
}

/// One of them.
#[derive(Debug, Clone)]
struct Running {
    pod: StaticPod,
    hash: String,
    /// What its last mirror told, when somebody deleted that.
    told: Option<Value>,
}

/// By what the runtime knows a pod: the UID that it has in the API, or what its file says.
pub(super) fn runs_as(pod: &Object) -> &str {
    pod.annotation(HASH).unwrap_or_else(|| pod.uid())
}

impl StaticPods {
    /// Takes a file in, perhaps in place of another; gives the key of its mirror.
    pub(super) fn put(&mut self, pod: &StaticPod, node: &str) -> Key {
        let metadata = &pod.manifest["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let key = PODS.key(text("namespace"), &format!("{}-{node}", text("name")));
        let digest = Sha256::digest(format!("{node} {}", pod.manifest));
        let hash = text::hex(&digest[..16]);
        if self.by_mirror.get(&key).is_none_or(|running| running.hash != hash) {
            self.by_mirror.insert(key.clone(), Running { pod: pod.clone(), hash, told: None });
        }
        key
    }

    /// The mirrors that there shall be.
    pub(super) fn mirrors(&self) -> impl Iterator<Item = &Key> {
        self.by_mirror.keys()
    }

    /// Whether there shall be this mirror.
    pub(super) fn has(&self, mirror: &Key) -> bool {
        self.by_mirror.contains_key(mirror)
    }

    /// A pod is gone from the API. Whether what it mirrored runs on: then the next mirror tells the same.
    pub(super) fn runs_on(&mut self, gone: &Object) -> bool {
        let key = PODS.key(gone.namespace(), gone.name());
        let Some(running) = self.by_mirror.get_mut(&key) else { return false };
        let is_mirrored = gone.annotation(MIRROR) == Some(&running.hash);
        if is_mirrored && !gone["status"]["startTime"].is_null() {
            running.told = Some(gone["status"].clone());
        }
        is_mirrored
    }

    /// Whether a mirror was deleted and has only to wait for others, who have finalizers on it.
    pub(super) fn is_waited_for(&self, key: &Key, view: &View) -> bool {
        let is_over = |mirror: &Object| {
            mirror.is_terminating() && mirror.number("/metadata/deletionGracePeriodSeconds") == Some(0)
        };
        self.has(key) && view.get_key(key).is_some_and(is_over)
    }

    /// What has to be written before a mirror is the pod that runs; `None`: it is, or it is none of ours.
    pub(super) fn correct(&self, key: &Key, node: &str, view: &View, now: Time) -> Option<Write> {
        let running = self.by_mirror.get(key)?;
        let Some(mirror) = view.get_key(key) else {
            // A machine that is no node shows nothing.
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
        let told = running.told.as_ref().filter(|_| mirror["status"]["startTime"].is_null())?;
        let patch = json!({ "metadata": { "uid": mirror.uid() }, "status": told });
        Some(Write::merge_patch_status(&PODS, mirror.namespace(), mirror.name(), patch))
    }
}

impl Running {
    /// The mirror as it is created, which the node owns.
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

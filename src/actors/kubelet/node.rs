//! What a kubelet tells of its node after the machine was started: another boot, another system, and a while later that
//! pods may run there.

use serde_json::{Value, json};

use super::worker::draw;
use crate::actors::recorder::{Notice, Recorder, Subject};
use crate::base::clock::{Time, rfc3339};
use crate::base::rng::Streams;
use crate::model::condition;
use crate::model::machine::Boot;
use crate::model::world::World;
use crate::model::{Object, Write, resources::NODES};

/// How long after its start a kubelet says that the node is ready, in milliseconds: until the network is configured.
const READY_MILLIS: (u64, u64) = (14_000, 18_000);

/// Conditions that a running kubelet knows to be well: type, reason and message.
const WELL: [(&str, &str, &str); 3] = [
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
];

/// What a kubelet says while the network of its node is not configured.
const NOT_READY: &str = "[container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady \
    message:Network plugin returns error: No CNI configuration file in /etc/kubernetes/cni/net.d/. Has your network \
    provider started?]";

/// A machine that was started, as its kubelet tells of it.
#[derive(Debug)]
pub(super) struct Started {
    boot: Boot,
    ready_at: Option<Time>,
    events: Recorder,
}

impl Started {
    /// Nothing told yet of this boot of `node`.
    pub(super) fn new(node: &str, boot: Boot) -> Self {
        let involved = json!({ "kind": "Node", "name": node, "uid": node });
        let source = json!({ "component": "kubelet", "host": node });
        let subject = Subject { involved, namespace: "default".to_owned(), source };
        Self { boot, ready_at: None, events: Recorder::of(subject) }
    }

    /// What to write now, and when to look again.
    pub(super) fn look(
        &mut self,
        node: &Object,
        world: &World,
        streams: Streams,
        now: Time,
    ) -> (Vec<Write>, Option<Time>) {
        let told = node.text("/status/nodeInfo/bootID") == self.boot.id;
        let ready_at = *self.ready_at.get_or_insert_with(|| {
            now + draw(&mut streams.stream(&format!("kubelet/ready/{}", self.boot.id)), READY_MILLIS)
        });
        let ready = ready_at <= now;
        if told && (!ready || condition::is_true(node, "Ready")) {
            return (Vec::new(), (!ready).then_some(ready_at));
        }
        let mut notices = Vec::new();
        let name = node.name();
        if !told {
            let id = &self.boot.id;
            notices.push(Notice::normal("Starting", "Starting kubelet."));
            notices
                .push(Notice::warning("Rebooted", format!("Node {name} has been rebooted, boot id: {id}")));
        }
        notices.push(if ready {
            Notice::normal("NodeReady", format!("Node {name} status is now: NodeReady"))
        } else {
            Notice::normal("NodeNotReady", format!("Node {name} status is now: NodeNotReady"))
        });
        let status =
            json!({ "conditions": conditions(node, ready, now), "nodeInfo": self.node_info(node, world) });
        let mut writes = vec![Write::merge_patch_status(&NODES, "", name, json!({ "status": status }))];
        writes.extend(notices.into_iter().filter_map(|notice| self.events.tell(notice, now)));
        (writes, (!ready).then_some(ready_at))
    }

    /// What the machine was booted with.
    fn node_info(&self, node: &Object, world: &World) -> Value {
        let mut info = node["status"]["nodeInfo"].clone();
        info["bootID"] = json!(self.boot.id);
        if let Some(release) = world.release_of_os(&self.boot.os_image) {
            info["kubeletVersion"] = json!(release.kubelet_version());
            info["osImage"] = json!(release.os_name());
            info["containerRuntimeVersion"] = json!(release.container_runtime_version());
        }
        info
    }
}

/// The conditions of a node on which pods may run since `since`.
pub(crate) fn ready_conditions(since: Time) -> Vec<Value> {
    conditions(&Object::new(Value::Null), true, since)
}

/// The conditions of the node: those that others write stay.
fn conditions(node: &Object, ready: bool, now: Time) -> Vec<Value> {
    let mut list = node.list("/status/conditions").to_vec();
    for (kind, reason, message) in WELL {
        put(&mut list, kind, "False", reason, message, now);
    }
    if ready {
        put(&mut list, "Ready", "True", "KubeletReady", "kubelet is posting ready status", now);
    } else {
        put(&mut list, "Ready", "False", "KubeletNotReady", NOT_READY, now);
    }
    list
}

fn put(list: &mut Vec<Value>, kind: &str, status: &str, reason: &str, message: &str, now: Time) {
    let mut told = json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastHeartbeatTime": rfc3339(now), "lastTransitionTime": rfc3339(now),
    });
    match list.iter_mut().find(|old| old["type"] == kind) {
        Some(old) => {
            if old["status"] == status {
                told["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = told;
        }
        None => list.push(told),
    }
}

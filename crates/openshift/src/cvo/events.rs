//! What the operator tells people as Events.

use jiff::SignedDuration;
use serde_json::json;
pub(super) use windtunnel_controllers::recorder::Notice;
use windtunnel_controllers::recorder::{Recorder, Subject};
use windtunnel_core::View;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::{CONFIG_MAPS, LEASES};

use super::behaviour::Behaviour;
use super::lease::NAMESPACE;
use super::outbox::{Outbox, Purpose};

/// The memory of what was told about ClusterVersion.
#[derive(Debug, Clone)]
pub(super) struct Events(Recorder);

impl Default for Events {
    fn default() -> Self {
        Self(recorder(json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": "ClusterVersion",
            "name": "version",
            "namespace": NAMESPACE,
        })))
    }
}

impl Events {
    /// Tells these notices.
    pub(super) fn tell(&mut self, notices: Vec<Notice>, now: Time, out: &mut Outbox) {
        for notice in notices {
            if let Some(write) = self.0.tell(notice, now) {
                out.push(Purpose::Event, write);
            }
        }
    }
}

fn recorder(involved: serde_json::Value) -> Recorder {
    Recorder::of(Subject {
        involved,
        namespace: NAMESPACE.to_owned(),
        source: json!({ "component": NAMESPACE }),
    })
}

/// Tells that `holder` got the Lease, and the ConfigMap beside it. A process does so once, so there is nothing to count.
pub(super) fn tell_of_leadership(
    holder: &str,
    behaviour: Behaviour,
    view: &View,
    now: Time,
    out: &mut Outbox,
) {
    let map = behaviour.locks_config_map.then_some((CONFIG_MAPS, "v1", "ConfigMap"));
    let locks = map.into_iter().chain([(LEASES, "coordination.k8s.io/v1", "Lease")]);
    for (place, (resource, api_version, kind)) in (1..).zip(locks) {
        let mut involved =
            json!({ "apiVersion": api_version, "kind": kind, "name": "version", "namespace": NAMESPACE });
        if let Some(lock) = view.get(&resource, NAMESPACE, "version") {
            involved["uid"] = json!(lock.uid());
            involved["resourceVersion"] = json!(lock.resource_version());
        }
        let notice = Notice::normal("LeaderElection", format!("{holder} became leader"));
        // Both are called like the ClusterVersion, of which as much is told at this very moment, and Events are named by it.
        let apart = SignedDuration::from_micros(place);
        if let Some(write) = recorder(involved).tell(notice, after(now, apart)) {
            out.push(Purpose::Event, write);
        }
    }
}

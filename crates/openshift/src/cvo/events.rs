//! Events that the operator publishes.

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

/// The object of Events about the ClusterVersion in the log.
const INVOLVED: &str = "Event(v1.ObjectReference{Kind:\"ClusterVersion\", Namespace:\"openshift-cluster-version\", Name:\"version\", UID:\"\", APIVersion:\"config.openshift.io/v1\", ResourceVersion:\"\", FieldPath:\"\"})";

/// The recorder of Events about the ClusterVersion.
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
    /// Publishes these notices as Events.
    pub(super) fn publish(&mut self, notices: Vec<Notice>, now: Time, out: &mut Outbox) {
        for notice in notices {
            out.info(now, "event.go:377", format_args!("{INVOLVED}: {notice}"));
            if let Some(write) = self.0.record(notice, now) {
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

/// Publishes that `holder` acquired its locks. This happens once per process, so nothing
/// is aggregated.
pub(super) fn publish_leader_election(
    holder: &str,
    behaviour: Behaviour,
    view: &View,
    now: Time,
    out: &mut Outbox,
) {
    let map = behaviour.locks.has_config_map().then_some((CONFIG_MAPS, "v1", "ConfigMap"));
    let lease = behaviour.locks.has_lease().then_some((LEASES, "coordination.k8s.io/v1", "Lease"));
    let locks = map.into_iter().chain(lease);
    for (place, (resource, api_version, kind)) in (1..).zip(locks) {
        let mut involved =
            json!({ "apiVersion": api_version, "kind": kind, "name": "version", "namespace": NAMESPACE });
        if let Some(lock) = view.get(&resource, NAMESPACE, "version") {
            involved["uid"] = json!(lock.uid());
            involved["resourceVersion"] = json!(lock.resource_version());
        }
        let notice = Notice::normal("LeaderElection", format!("{holder} became leader"));
        // The ClusterVersion has the same name and gets an Event at the same time. Event names contain object
        // name and time, so shift the time to keep them unique.
        let apart = SignedDuration::from_micros(place);
        if let Some(write) = recorder(involved).record(notice, after(now, apart)) {
            out.push(Purpose::Event, write);
        }
    }
}

//! What the operator tells people as Events.

use serde_json::json;

use super::lease::NAMESPACE;
use super::outbox::{Outbox, Purpose};
pub(super) use crate::actors::recorder::Notice;
use crate::actors::recorder::{Recorder, Subject};
use crate::base::clock::Time;
use crate::model::Object;

/// The memory of what was told about ClusterVersion.
#[derive(Debug)]
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

/// Tells that `holder` got the Lease. A process does so once, so there is nothing to count.
pub(super) fn tell_of_leadership(holder: &str, lease: Option<&Object>, now: Time, out: &mut Outbox) {
    let mut involved = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "name": "version",
        "namespace": NAMESPACE,
    });
    if let Some(lease) = lease {
        involved["uid"] = json!(lease.uid());
        involved["resourceVersion"] = json!(lease.resource_version());
    }
    let notice = Notice::normal("LeaderElection", format!("{holder} became leader"));
    if let Some(write) = recorder(involved).tell(notice, now) {
        out.push(Purpose::Event, write);
    }
}

//! The holders of Leases, and the writes that only a holder may make.

use std::collections::{BTreeMap, BTreeSet};

use windtunnel_core::clock::Time;
use windtunnel_core::resources::{LEASES, PODS};
use windtunnel_core::text::short_duration;
use windtunnel_core::{Key, Object};

use super::rule::{ObjectFinding, ProcessEvent, Rule, RuleFinding, Scene, is_of_component};
use crate::engine::stray_write;
use crate::plan::Leadership;
use crate::record::{Event, Record, WriteEvent};

/// The namespace of the heartbeats of nodes, which elect no leader.
const HEARTBEATS: &str = "kube-node-lease";

const ID: &str = "leader";

/// The rule about handovers.
#[derive(Default)]
pub(super) struct Handovers {
    /// When each Lease was last written, and by which client.
    written: BTreeMap<Key, (Time, String)>,
    /// The pod that was removed last, and when: a kubelet may remove a pod and kill its processes in one turn.
    removed: Option<(Time, Object)>,
}

impl Handovers {
    /// Returns the valid Lease that a program in a pod holds.
    fn held_by<'v>(&self, program: &str, pod: &Object, scene: &Scene<'v>) -> Option<&'v Object> {
        let own = self.written.iter().filter(|(_, (_, by))| by == program);
        own.filter_map(|(key, (written, _))| Some((scene.view.get_key(key)?, *written)))
            .find(|(lease, written)| {
                // The identity of a candidate begins with its host name.
                let is_own = [pod.name(), pod.text("/spec/nodeName")]
                    .iter()
                    .any(|host| !host.is_empty() && holder(lease).starts_with(host));
                let lasts = lease.number("/spec/leaseDurationSeconds").unwrap_or(0);
                is_own && scene.at.duration_since(*written).as_secs() < lasts
            })
            .map(|(lease, _)| lease)
    }
}

impl Rule for Handovers {
    fn id(&self) -> String {
        ID.to_owned()
    }

    fn before(&mut self, scene: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        if write.key.is_kind(&PODS) && write.removes() {
            self.removed = write.before.clone().map(|pod| (scene.at, pod));
        }
        if !is_election(write) {
            return None;
        }
        let last = self.written.insert(write.key.clone(), (scene.at, write.by.clone())).map(|(at, _)| at);
        let (before, after) = (write.before.as_ref()?, write.after.as_ref()?);
        let (old, new) = (holder(before), holder(after));
        if old.is_empty() || new.is_empty() || old == new || !is_of_component(write) {
            return None;
        }
        // Candidates watch when a Lease changes, and wait from then on (`observedTime` of client-go).
        let unchanged = scene.at.duration_since(last?);
        let lasts = before.number("/spec/leaseDurationSeconds")?;
        (unchanged.as_secs() + 1 < lasts).then(|| {
            let ago = short_duration(unchanged);
            ObjectFinding::by(
                write,
                format!("passes from {old} to {new}, but {old} renewed it {ago} ago for {lasts}s"),
            )
        })
    }

    fn process(&mut self, scene: &Scene<'_>, event: &ProcessEvent<'_>) -> Option<ObjectFinding> {
        if event.started || !scene.calm.is_calm(scene.at) {
            return None;
        }
        let removed = self.removed.iter().filter(|(at, _)| *at == scene.at).map(|(_, pod)| pod);
        let mut pods = scene.view.list(&PODS).chain(removed);
        let pod = pods.find(|pod| pod.name() == event.pod && pod.is_terminating())?;
        let lease = self.held_by(event.program, pod, scene)?;
        let how = format!("{} in pod {} is terminated and does not release it", event.program, event.pod);
        Some(ObjectFinding::new(format!("Lease/{}/{}", lease.namespace(), lease.name()), how))
    }
}

/// Whether a write changes a Lease by which a leader is elected.
fn is_election(write: &WriteEvent) -> bool {
    write.key.is_kind(&LEASES) && write.key.namespace != HEARTBEATS && write.code < 400
}

fn holder(lease: &Object) -> &str {
    lease.text("/spec/holderIdentity")
}

/// Returns the first write for each Lease that one of its candidates made without holding it.
pub(super) fn stray_writes(record: &Record) -> Vec<RuleFinding> {
    let leases: BTreeSet<&Key> = record
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Write(write) if is_election(write) => Some(&write.key),
            _ => None,
        })
        .collect();
    leases.into_iter().filter_map(|key| stray_write_for(record, key)).collect()
}

fn stray_write_for(record: &Record, lease: &Key) -> Option<RuleFinding> {
    let name = format!("{}/{}", lease.namespace, lease.name);
    let (entry, how) = stray_write(record, &Leadership::of(&name).ok()?)?;
    let at = record.entries.get(entry)?.at;
    Some(RuleFinding { rule: ID.to_owned(), entry, at, object: format!("Lease/{name}"), how })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::resources::CONFIG_MAPS;

    use crate::oracles::testing::Story;
    use crate::record::ADMINISTRATOR;

    use super::*;

    fn lease(holder: &str) -> Value {
        let spec = json!({ "holderIdentity": holder, "leaseDurationSeconds": 100 });
        json!({ "metadata": { "namespace": "n", "name": "l" }, "spec": spec })
    }

    fn map() -> Value {
        json!({ "metadata": { "namespace": "n", "name": "m" } })
    }

    fn story() -> Story {
        Story::new().write(-50, "one", &LEASES, lease("first"))
    }

    #[test]
    fn a_lease_passes_on_after_it_has_expired() {
        assert!(story().write(50, "two", &LEASES, lease("second")).findings(ID).is_empty());
        assert!(
            story()
                .write(1, "one", &LEASES, lease(""))
                .write(2, "two", &LEASES, lease("second"))
                .findings(ID)
                .is_empty()
        );
        assert_eq!(
            story().write(40, "two", &LEASES, lease("second")).findings(ID),
            ["Lease/n/l: passes from first to second, but first renewed it 1m30s ago for 100s"]
        );
    }

    #[test]
    fn only_the_holder_writes() {
        let taken =
            || story().status(1, "one", &CONFIG_MAPS, map()).write(9, ADMINISTRATOR, &LEASES, lease("other"));
        assert!(
            taken().status(140, "one", &CONFIG_MAPS, map()).findings(ID).is_empty(),
            "it may not have noticed"
        );
        assert_eq!(
            taken().status(150, "one", &CONFIG_MAPS, map()).findings(ID),
            [
                "Lease/n/l: one made a write that only the holder may make, after 2m30s: update of ConfigMap/n/m; \
              administrator took Lease n/l after 9s and holds it"
            ]
        );
    }

    #[test]
    fn a_terminated_holder_releases_the_lease() {
        let pod = json!({ "metadata": { "namespace": "n", "name": "p", "deletionTimestamp": "2024-01-01T00:00:00Z" } });
        let taken =
            || Story::new().write(1, "one", &LEASES, lease("p_1")).write(2, "kubelet", &PODS, pod.clone());
        assert_eq!(
            taken().process(30, "one", "p", false).findings(ID),
            ["Lease/n/l: one in pod p is terminated and does not release it"]
        );
        let removed = taken().delete(30, "kubelet", &PODS, &pod);
        assert_eq!(removed.process(30, "one", "p", false).findings(ID).len(), 1, "it is killed and removed");
        let released = taken().write(20, "one", &LEASES, lease(""));
        assert!(released.process(30, "one", "p", false).findings(ID).is_empty());
        assert!(taken().process(130, "one", "p", false).findings(ID).is_empty(), "it has expired");
    }
}

//! Tests of acquiring, renewing, losing and releasing leadership.

use serde_json::json;
use windtunnel_core::resources::{CONFIG_MAPS, LEASES};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Change, ChangeKind, Object, Operation};

use super::*;

fn at(seconds: i64) -> Time {
    Time::from_second(1_700_000_000 + seconds).unwrap()
}

/// A candidate, and a cluster that stores its writes unless `refuses` is set.
struct Trial {
    election: Election,
    view: View,
    refuses: bool,
}

impl Trial {
    fn new(holder: &str, locks: Locks, view: View, second: i64) -> Self {
        let pauses = Streams::new(1).stream(holder);
        let candidate = Candidate { holder: holder.to_owned(), locks, pauses };
        Self { election: Election::new(candidate, &view, at(second)), view, refuses: false }
    }

    /// Runs until this second. Returns the seconds of its writes.
    fn run_until(&mut self, second: i64) -> Vec<i64> {
        let (mut wrote, mut out) = (Vec::new(), Outbox::default());
        while let Some(now) = self.election.wake_at().filter(|now| *now <= at(second)) {
            if self.election.is_lost(now) {
                break;
            }
            self.election.run(&self.view, now, &mut out);
            for write in out.take() {
                out.answered();
                wrote.push(now.duration_since(at(0)).as_secs());
                let granted = !self.refuses && self.store(&write.operation);
                self.election.answered(granted, !out.awaits(Purpose::Lease), now);
            }
        }
        wrote
    }

    fn store(&mut self, operation: &Operation) -> bool {
        let (Operation::Create(object) | Operation::Update(object)) = operation else { return false };
        let resource = if object["kind"] == "Lease" { LEASES } else { CONFIG_MAPS };
        let object = Object::new(object.clone());
        let key = resource.key(NAMESPACE, "version");
        self.view.apply(&Change { kind: ChangeKind::Modified, key, object, old: None });
        true
    }

    fn lease(&self) -> Value {
        self.view.get(&LEASES, NAMESPACE, "version").map_or(Value::Null, |lease| lease["spec"].clone())
    }
}

#[test]
fn a_leader_that_cannot_renew_gives_up_before_its_lease_expires() {
    let mut leader = Trial::new("a", Locks::Lease, View::default(), 0);
    assert_eq!(leader.run_until(60), [0, 26, 52]);
    leader.refuses = true;
    assert_eq!(leader.run_until(1_000), [78, 104, 130, 156, 182], "the last try is before second 185");
    assert!(!leader.election.is_lost(at(184)) && leader.election.is_lost(at(185)));
}

#[test]
fn a_single_node_cluster_has_longer_durations() {
    let mut view = View::default();
    let object = Object::new(json!({
        "metadata": { "name": "cluster" },
        "status": { "controlPlaneTopology": "SingleReplica" },
    }));
    let key = INFRASTRUCTURES.key("", "cluster");
    view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
    let mut leader = Trial::new("a", Locks::Lease, view, 0);
    assert_eq!(leader.run_until(60), [0, 60]);
    assert_eq!(leader.lease()["leaseDurationSeconds"], 270);
    leader.refuses = true;
    leader.run_until(1_000);
    assert!(!leader.election.is_lost(at(359)) && leader.election.is_lost(at(360)), "60 + 60 + 240");
}

#[test]
fn an_abandoned_lease_expires_relative_to_when_the_candidate_saw_it() {
    let mut old = Trial::new("a", Locks::Lease, View::default(), 0);
    old.run_until(100);
    // The leader renewed last at second 78. The candidate measures from second 110 instead.
    let mut new = Trial::new("b", Locks::Lease, old.view, 110);
    let wrote = new.run_until(2_000);
    let first = wrote[0];
    assert!((110 + 137..110 + 137 + 58).contains(&first), "{first}");
    let lease = new.lease();
    assert_eq!((&lease["holderIdentity"], &lease["leaseTransitions"]), (&json!("b"), &json!(1)));
}

#[test]
fn a_released_lease_can_be_acquired_at_once() {
    let mut old = Trial::new("a", Locks::Lease, View::default(), 0);
    old.run_until(30);
    let mut out = Outbox::default();
    old.election.release(&old.view, at(40), &mut out);
    for write in out.take() {
        old.store(&write.operation);
    }
    let lease = old.lease();
    assert_eq!((&lease["holderIdentity"], &lease["leaseDurationSeconds"]), (&json!(""), &json!(1)));
    assert_eq!(lease["acquireTime"], lease["renewTime"]);
    assert_eq!(Trial::new("b", Locks::Lease, old.view, 50).run_until(50), [50]);
}

#[test]
fn releases_up_to_4_10_lock_only_the_config_map_and_later_ones_take_over_from_it() {
    let mut old = Trial::new("a", Locks::ConfigMap, View::default(), 0);
    assert_eq!(old.run_until(30), [0, 26]);
    assert_eq!(old.lease(), Value::Null);
    // While it leads, an operator that locks both objects waits: there is no Lease to disagree.
    let mut new = Trial::new("b", Locks::Both, old.view.clone(), 30);
    assert_eq!(new.run_until(60), [0; 0]);
    let mut out = Outbox::default();
    old.election.release(&old.view, at(40), &mut out);
    for write in out.take() {
        old.store(&write.operation);
    }
    let mut new = Trial::new("b", Locks::Both, old.view, 50);
    assert_eq!(new.run_until(50), [50, 50], "the ConfigMap and the Lease");
    assert_eq!(new.lease()["holderIdentity"], "b");
    // An operator of 4.10 does not see the Lease.
    let mut again = Trial::new("c", Locks::ConfigMap, new.view, 60);
    assert!(again.run_until(60 + 137).is_empty());
    assert_eq!(again.run_until(1_000)[0].cmp(&(60 + 137)), std::cmp::Ordering::Greater);
    assert_eq!(again.lease()["holderIdentity"], "b");
}

#[test]
fn releases_up_to_4_14_lock_a_config_map_too() {
    let mut leader = Trial::new("a", Locks::Both, View::default(), 0);
    assert_eq!(leader.run_until(30), [0, 0, 26, 26]);
    let map = leader.view.get(&CONFIG_MAPS, NAMESPACE, "version").unwrap();
    let record = map["metadata"]["annotations"]["control-plane.alpha.kubernetes.io/leader"].as_str().unwrap();
    let expected = json!({
        "holderIdentity": "a", "leaseDurationSeconds": 137, "leaderTransitions": 0,
        "acquireTime": "2023-11-14T22:13:20Z", "renewTime": "2023-11-14T22:13:46Z",
    });
    assert_eq!(serde_json::from_str::<Value>(record).unwrap(), expected);
    // If the two locks disagree, the leader is unknown.
    let mut view = leader.view;
    let mut lease = view.get(&LEASES, NAMESPACE, "version").unwrap().to_value();
    lease["spec"]["holderIdentity"] = json!("");
    let key = LEASES.key(NAMESPACE, "version");
    view.apply(&Change { kind: ChangeKind::Modified, key, object: Object::new(lease), old: None });
    assert_eq!(Trial::new("b", Locks::Both, view.clone(), 30).run_until(160), Vec::<i64>::new());
    assert_eq!(Trial::new("b", Locks::Lease, view, 30).run_until(30), [30]);
}

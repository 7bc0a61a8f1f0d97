//! Heartbeats of the kubelet: its Lease, `Ready` after `Unknown`, and Events about cordons.

use jiff::SignedDuration;
use windtunnel_core::resources::LEASES;

use super::*;
use crate::machine::Boot;

/// A node with its kubelet, optionally with a Lease.
fn rig(node_leases: bool) -> Rig {
    let mut rig = Rig::new();
    rig.put(&NODES, json!({ "metadata": { "name": "w" } }));
    let environment =
        Arc::new(Standalone { lease_stretch: node_leases.then_some(1), ..Standalone::default() });
    rig.seat(move || Box::new(Kubelet::new("w", Arc::clone(&environment) as _, &Streams::new(1))));
    rig
}

fn lease(rig: &Rig) -> Option<&Object> {
    rig.view.get(&LEASES, "kube-node-lease", "w")
}

#[test]
fn the_node_owns_its_lease_and_the_kubelet_renews_it_every_ten_seconds() {
    let mut rig = rig(true);
    rig.run(1);
    let made = lease(&rig).unwrap().clone();
    let owner = json!([{ "apiVersion": "v1", "kind": "Node", "name": "w", "uid": "uid-of-w" }]);
    assert_eq!(made["metadata"]["ownerReferences"], owner);
    let spec = json!({ "holderIdentity": "w", "leaseDurationSeconds": 40, "renewTime": "2024-01-01T00:00:00.000000Z" });
    assert_eq!(made["spec"], spec);
    rig.run(9);
    assert_eq!(lease(&rig).unwrap().text("/spec/renewTime"), "2024-01-01T00:00:10.000000Z");
    rig.run(590);
    assert_eq!(rig.writes, 61, "one at the start and one every ten seconds");
}

#[test]
fn renews_on_schedule_after_the_clock_is_set_back() {
    let mut rig = rig(true);
    rig.run(25);
    let renewed = rig.writes;
    // The renewal that is due in five seconds stays due in five seconds.
    rig.set_clock(-SignedDuration::from_mins(10));
    rig.run(60);
    assert_eq!(rig.writes - renewed, 6);
    assert_eq!(lease(&rig).unwrap().text("/spec/renewTime"), "2023-12-31T23:51:20.000000Z");
}

#[test]
fn a_restarted_kubelet_renews_its_lease_at_once() {
    let mut rig = rig(true);
    rig.run(1);
    rig.crash_after_writes = Some(2);
    rig.run(10);
    // The first process renewed the Lease right before its crash, the second one right after its start.
    assert_eq!(
        (rig.writes, lease(&rig).unwrap().text("/spec/renewTime")),
        (3, "2024-01-01T00:00:10.000000Z")
    );
}

#[test]
fn a_kubelet_corrects_ready_unknown() {
    let mut rig = rig(true);
    rig.run(1);
    let unknown = json!({ "status": { "conditions": [{ "type": "Ready", "status": "Unknown" }] } });
    rig.write(&Write::merge_patch_status(&NODES, "", "w", unknown));
    rig.run(1);
    let node = rig.view.get(&NODES, "", "w").unwrap();
    let ready = condition::find_in_status(node, "Ready").unwrap();
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("True"), &json!("KubeletReady")));
    assert_eq!(condition::find_in_status(node, "DiskPressure").unwrap()["status"], "False");
    let writes = rig.writes;
    rig.run(7);
    assert_eq!(rig.writes, writes, "one write is enough");
}

#[test]
fn writes_no_lease_without_a_lease_stretch() {
    let mut rig = rig(false);
    rig.run(600);
    assert!(lease(&rig).is_none() && rig.writes == 0);
}

#[test]
fn writes_no_lease_after_its_node_is_deleted() {
    let mut rig = rig(true);
    rig.run(1);
    rig.write(&Write::delete(&NODES, "", "w"));
    rig.write(&Write::delete(&LEASES, "kube-node-lease", "w"));
    rig.run(60);
    assert!(lease(&rig).is_none());
}

#[test]
fn records_cordons_as_events_and_repeats_them_after_a_boot() {
    let cordon_events = |rig: &Rig| {
        let mut events: Vec<&Object> =
            rig.view.list(&EVENTS).filter(|event| event.text("/reason").ends_with("Schedulable")).collect();
        events.sort_by_key(|event| event.text("/firstTimestamp"));
        let text =
            |event: &&Object| format!("{} {}", event.text("/source/component"), event.text("/message"));
        events.iter().map(text).collect::<Vec<_>>()
    };
    let cordon = |is: bool| Write::merge_patch(&NODES, "", "w", json!({ "spec": { "unschedulable": is } }));
    let mut rig = rig(false);
    rig.run(10);
    assert_eq!(cordon_events(&rig), [""; 0]);
    for is in [true, false] {
        rig.write(&cordon(is));
        rig.run(10);
    }
    let status = |what: &str| format!("kubelet Node w status is now: {what}");
    assert_eq!(cordon_events(&rig), [status("NodeNotSchedulable"), status("NodeSchedulable")]);

    let mut rig = Rig::new();
    rig.put(&NODES, json!({ "metadata": { "name": "w" }, "spec": { "unschedulable": true } }));
    let boot = Boot { id: "boot".to_owned(), os_image: String::new(), at: rig.now };
    let environment = Arc::new(Standalone::default());
    rig.seat(move || {
        Box::new(Kubelet::booted("w", boot.clone(), Arc::clone(&environment) as _, &Streams::new(1)))
    });
    rig.run(60);
    assert_eq!(cordon_events(&rig), [status("NodeNotSchedulable")]);
}

//! Nodes in, insights on pools and health insights out.

use super::*;

#[test]
fn a_pool_counts_added_moved_and_deleted_nodes() {
    let mut bench = Bench::new();
    assert_eq!(bench.pool_text("worker"), "Completed 100%: 2 Total, 2 Available");
    bench.nodes.set_target(Some("4.18.7"), false);
    bench.round("01");
    assert_eq!(bench.pool_text("worker"), "Pending 0%: 2 Total, 2 Available, 2 Outdated");
    bench.config("new", &config("4.18.7"));
    bench.node("w0", &node("new"));
    assert_eq!(bench.round("02"), "w0 Completed 4.18.7");
    assert_eq!(bench.pool_text("worker"), "Progressing 50%: 2 Total, 2 Available, 1 Outdated");
    let mut moved = node("old");
    moved["metadata"]["labels"] = json!({"infra": ""});
    bench.pool("infra", &pool("infra", "infra"));
    bench.node("w1", &moved);
    bench.round("03");
    assert_eq!(bench.pool_text("worker"), "Completed 100%: 1 Total, 1 Available");
    assert_eq!(bench.pool_text("infra"), "Pending 0%: 1 Total, 1 Available, 1 Outdated");
    bench.nodes.node(of(Event::Delete(("w1".to_owned(), json!({}))), Node::read));
    bench.round("04");
    assert_eq!(bench.pool_text("infra"), "Completed 100%: ");
    bench.nodes.pool(of(Event::Delete(("infra".to_owned(), json!({}))), Pool::read));
    bench.round("05");
    assert!(!bench.data.contains_key("usc.ni.mcp-infra"));
}

#[test]
fn a_changed_node_reassesses_only_that_node() {
    let mut bench = Bench::with_pending_update();
    let mut cordoned = node("old");
    cordoned["spec"]["unschedulable"] = json!(true);
    bench.node("w0", &cordoned);
    assert_eq!((bench.nodes.stale.len(), bench.nodes.all_stale), (1, false));
    bench.round("02");
    let mut degraded = pool("worker", "worker");
    degraded["status"] = json!({"conditions": [{"type": "Degraded", "status": "True", "message": "m"}]});
    bench.pool("worker", &degraded);
    let Nodes { stale, stale_pools, all_stale, .. } = &bench.nodes;
    assert_eq!((stale.len(), stale_pools.len(), *all_stale), (0, 1, false));
}

#[test]
fn health_insights_appear_in_time_and_expire_after_a_while() {
    let mut bench = Bench::with_pending_update();
    let mut away = node("old");
    away["status"]["conditions"][0] = json!({"type": "Ready", "status": "False", "lastTransitionTime": "2024-01-01T02:00:00Z", "message": "m"});
    bench.node("w0", &away);
    bench.round("02");
    assert_eq!(bench.health_uids(), [""; 0]);
    assert_eq!(bench.nodes.reassess_at().unwrap().to_string(), "2024-01-01T02:05:00Z");
    bench.round("03");
    assert_eq!(bench.health_uids(), ["Warning Node w0 is not ready"]);
    bench.node("w0", &node("old"));
    bench.round("04");
    assert_eq!(bench.health_uids(), ["Warning Node w0 is not ready"], "its cause may come back");
    assert_eq!(bench.informer.next_expiry().unwrap().to_string(), "2024-01-01T04:01:00Z");
    bench.round("05");
    assert_eq!(bench.health_uids(), [""; 0]);
    let mut paused = pool("worker", "worker");
    paused["spec"]["paused"] = json!(true);
    bench.pool("worker", &paused);
    bench.round("06");
    assert_eq!(bench.health_uids(), ["Warning Outdated nodes in a paused pool 'worker' will not be updated"]);
}

#[test]
fn health_insights_are_removed_with_their_node() {
    let mut bench = Bench::with_pending_update();
    let mut degraded = node("old");
    degraded["metadata"]["annotations"][format!("{PREFIX}state")] = json!("Degraded");
    bench.node("w0", &degraded);
    bench.round("02");
    assert_eq!(bench.health_uids(), ["Error Node w0 is degraded"]);
    bench.nodes.node(of(Event::Delete(("w0".to_owned(), json!({}))), Node::read));
    assert_eq!(bench.round("02"), "-w0");
    assert_eq!(bench.health_uids(), [""; 0]);
}

/// A node whose daemon failed.
fn degraded_node() -> Value {
    let mut degraded = node("old");
    degraded["metadata"]["annotations"][format!("{PREFIX}state")] = json!("Degraded");
    degraded
}

#[test]
fn expiring_health_insights_are_removed_with_their_node() {
    let mut bench = Bench::with_pending_update();
    bench.node("w0", &degraded_node());
    bench.node("w1", &degraded_node());
    bench.round("02");
    bench.node("w0", &node("old"));
    bench.node("w1", &node("old"));
    bench.round("02");
    assert_eq!(
        bench.health_uids(),
        ["Error Node w0 is degraded", "Error Node w1 is degraded"],
        "for a while"
    );
    bench.nodes.node(of(Event::Delete(("w0".to_owned(), json!({}))), Node::read));
    bench.round("02");
    assert_eq!(bench.health_uids(), ["Error Node w1 is degraded"]);
    for event in [Event::Init, Event::InitApply(("w2".to_owned(), node("old"))), Event::InitDone] {
        bench.nodes.node(of(event, Node::read));
    }
    bench.round("02");
    assert_eq!(bench.health_uids(), [""; 0], "a list without it");
}

#[test]
fn adopted_health_insights_on_missing_nodes_are_removed() {
    let mut old = Bench::with_pending_update();
    old.node("w0", &degraded_node());
    old.round("02");
    let mut bench =
        Bench { data: old.data, informer: Informer::new("ni"), nodes: old.nodes, room: usize::MAX };
    bench.nodes.node(of(Event::Delete(("w0".to_owned(), json!({}))), Node::read));
    bench.nodes.all_stale = true;
    bench.round("02");
    assert_eq!(bench.health_uids(), [""; 0]);
}

#[test]
fn a_recreated_node_does_not_inherit_a_reboot() {
    let mut bench = Bench::with_pending_update();
    bench.config("new", &config("4.18.7"));
    let mut rebooting = node("old");
    for (name, text) in [("desiredConfig", "new"), ("state", "Working"), ("post-config-action", "Rebooting")]
    {
        rebooting["metadata"]["annotations"][format!("{PREFIX}{name}")] = json!(text);
    }
    bench.node("w0", &rebooting);
    bench.round("02");
    for event in [Event::Init, Event::InitDone] {
        bench.nodes.node(of(event, Node::read));
    }
    bench.round("03");
    bench.node("w0", &rebooting);
    bench.round("04");
    assert_eq!(bench.health_uids(), [""; 0]);
    bench.round("05");
    assert_eq!(bench.health_uids(), ["Warning Node w0 does not come back from its reboot"]);
}

#[test]
fn a_node_whose_reboot_failed_is_not_missing() {
    let mut bench = Bench::with_pending_update();
    bench.config("new", &config("4.18.7"));
    let mut refused = node("old");
    for (name, text) in [("desiredConfig", "new"), ("state", "Degraded"), ("post-config-action", "Rebooting")]
    {
        refused["metadata"]["annotations"][format!("{PREFIX}{name}")] = json!(text);
    }
    bench.node("w0", &refused);
    for hour in ["02", "03", "04"] {
        bench.round(hour);
    }
    assert_eq!(bench.health_uids(), ["Error Node w0 is degraded"]);
}

#[test]
fn an_unavailable_node_is_reported_with_all_of_its_problems() {
    let mut bench = Bench::with_pending_update();
    let mut away = node("old");
    let condition = |kind: &str, status: &str, since: &str| json!({"type": kind, "status": status, "lastTransitionTime": since, "message": "it \u{1f}is"});
    away["status"]["conditions"] = json!([
        condition("Ready", "False", "2024-01-01T01:59:00Z"),
        condition("DiskPressure", "True", "2024-01-01T01:58:59Z")
    ]);
    away["spec"]["unschedulable"] = json!(true);
    bench.node("w0", &away);
    bench.round("02");
    assert_eq!(
        bench.health_uids(),
        ["Warning Node w0 is not ready | Node w0 has disk pressure | Node is marked unschedulable"]
    );
    let health = bench.data.values().find(|text| text.contains("type: Health")).unwrap();
    let health: Value = yaml::from_str(health).unwrap();
    assert_eq!(health["health"]["startedAt"], "2024-01-01T01:58:59Z");
    assert_eq!(
        health["health"]["impact"]["description"],
        "Node has a Ready!=True condition with Reason \"Not ready\" and message \"it \\x1fis\" | Node has a \
         DiskPressure!=False condition with Reason \"Disk pressure\" and message \"it \\x1fis\" | Node is marked \
         unschedulable"
    );
}

#[test]
fn an_endless_drain_becomes_an_error() {
    let mut bench = Bench::with_pending_update();
    bench.config("new", &config("4.18.7"));
    let mut draining = node("old");
    let annotations = [
        ("desiredConfig", "new"),
        ("state", "Working"),
        ("desiredDrain", "drain-new"),
        ("lastAppliedDrain", "uncordon-old"),
    ];
    for (name, text) in annotations {
        draining["metadata"]["annotations"][format!("{PREFIX}{name}")] = json!(text);
    }
    draining["spec"] = json!({"unschedulable": true, "taints": [
        {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": "2024-01-01T01:55:00Z"},
    ]});
    bench.node("w0", &draining);
    bench.round("02");
    assert_eq!(bench.health_uids(), [""; 0]);
    assert_eq!(bench.nodes.reassess_at().unwrap().to_string(), "2024-01-01T02:05:01Z");
    bench.round("03");
    assert_eq!(bench.health_uids(), ["Error Node w0 drains for too long"]);
}

#[test]
fn a_node_updating_to_an_obsolete_machine_config_is_unavailable() {
    let mut bench = Bench::with_pending_update();
    bench.config("new", &config("4.18.7"));
    let mut away = node("old");
    for (name, text) in [("desiredConfig", "new"), ("state", "Working")] {
        away["metadata"]["annotations"][format!("{PREFIX}{name}")] = json!(text);
    }
    let since = "2024-01-01T01:50:00Z";
    away["status"]["conditions"] = json!([{"type": "Ready", "status": "False", "lastTransitionTime": since}]);
    bench.node("w0", &away);
    let mut retargeted = pool("worker", "worker");
    retargeted["spec"]["configuration"] = json!({"name": "new"});
    bench.pool("worker", &retargeted);
    bench.round("02");
    assert_eq!(bench.health_uids(), [""; 0], "it reboots");
    retargeted["spec"]["configuration"] = json!({"name": "newer"});
    bench.pool("worker", &retargeted);
    bench.round("02");
    assert_eq!(bench.health_uids(), ["Warning Node w0 is not ready"]);
}

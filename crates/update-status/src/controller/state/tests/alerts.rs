//! Alerts: which belong to the update, how much space they take, and that each one is reported.

use super::*;
use crate::controller::state::config_map::ROOM;

/// A worker with MachineConfig `rendered`, whose daemon is working if `desired` differs.
fn worker(desired: &str) -> Node {
    let state = if desired == "rendered" { "Done" } else { "Working" };
    Node::read(&json!({"metadata": {
        "name": "w0", "labels": {"worker": ""},
        "annotations": {
            "machineconfiguration.openshift.io/currentConfig": "rendered",
            "machineconfiguration.openshift.io/desiredConfig": desired,
            "machineconfiguration.openshift.io/state": state,
        },
    }}))
}

/// Lists one object of each kind: a worker pool with MachineConfig `next`, a node, and the node's
/// MachineConfig of this release.
fn put_workers(bench: &mut Bench, config_release: &str) {
    let spec = json!({"nodeSelector": {"matchLabels": {"worker": ""}}, "configuration": {"name": "next"}});
    let pool = json!({"metadata": {"name": "worker"}, "spec": spec});
    listed("w0", Some(worker("rendered"))).for_each(|event| bench.state.node(event));
    listed("worker", Some(Pool::read(&pool))).for_each(|event| bench.state.pool(event));
    listed("rendered", Some(Some(config_release.to_owned())))
        .for_each(|event| bench.state.machine_config(event));
}

/// A ClusterVersion whose own update is completed.
fn done() -> Value {
    let mut done = object("");
    done["status"]["conditions"] = json!([{"type": "Progressing", "status": "False"}, {"type": "Failing", "status": "True", "reason": "R"}]);
    done["status"]["history"][0]["state"] = json!("Completed");
    done
}

#[test]
fn insights_on_an_update_stay_until_the_last_worker_is_updated() {
    let mut bench = Bench::new(Some(done()), None, Some(&[]));
    put_workers(&mut bench, "4.14.0");
    bench.state.alerts(vec![firing("KubePodCrashLooping", T2), firing("Earlier", "2024-01-01T00:00:00Z")]);
    bench.round(T2);
    let summaries = |bench: &Bench| -> Vec<Value> {
        let health = bench.health().into_iter().filter(|(_, insight)| insight["type"] == "Health");
        let mut found: Vec<String> = health
            .map(|(_, insight)| insight["health"]["impact"]["summary"].as_str().unwrap().to_owned())
            .collect();
        found.sort();
        found.into_iter().map(Value::from).collect()
    };
    let failing = "Cluster Version version is failing to proceed with the update (R)";
    assert_eq!(summaries(&bench), ["Alert is firing: KubePodCrashLooping", failing]);
    bench.state.machine_config(changed("rendered", Some("4.14.1".to_owned())));
    bench.round("2024-01-01T03:00:00Z");
    bench.round("2024-01-01T03:01:00Z");
    assert_eq!(summaries(&bench), [""; 0], "the cluster is not updating");
}

#[test]
fn alerts_are_not_reported_for_a_rollout_within_the_same_release() {
    let mut bench = Bench::new(Some(done()), None, Some(&[]));
    put_workers(&mut bench, "4.14.1");
    bench.state.machine_config(changed("next", Some("4.14.1".to_owned())));
    bench.state.node(changed("w0", worker("next")));
    bench.state.alerts(vec![firing("KubePod", T2)]);
    bench.round(T2);
    let has_alert =
        |bench: &Bench| bench.data.as_ref().unwrap().values().any(|text| text.contains("KubePod"));
    assert!(!has_alert(&bench), "it is of the cluster's release");
    bench.state.machine_config(changed("rendered", Some("4.14.0".to_owned())));
    bench.round("2024-01-01T03:00:00Z");
    assert!(has_alert(&bench));
}

#[test]
fn without_a_history_alerts_count_since_the_progressing_transition() {
    let conditions = json!([{"type": "Progressing", "status": "True", "lastTransitionTime": T1}]);
    let object = json!({"metadata": {"name": "version"}, "status": {"conditions": conditions}});
    let mut bench = Bench::new(Some(object), None, Some(&[]));
    bench.state.alerts(vec![firing("A", T1), firing("B", T2)]);
    bench.round(T2);
    let all = serde_json::to_string(&bench.health()).unwrap();
    assert!(all.contains("Alert is firing: B") && !all.contains("Alert is firing: A"), "{all}");
}

#[test]
fn pools_and_nodes_get_half_of_the_space_however_many_alerts_fire() {
    let mut bench = Bench::new(Some(object("10%")), None, Some(&[]));
    let alerts = (0..700).map(|number| {
        let mut alert = firing(&format!("A{number:03}"), T2);
        alert.alert.annotations.insert("description".to_owned(), "x".repeat(4000));
        alert
    });
    bench.state.alerts(alerts.collect());
    put_workers(&mut bench, "4.14.1");
    bench.round(T2);
    let data = bench.data.as_ref().unwrap();
    for key in ["usc.cpi.cv-version", "usc.ni.mcp-worker", "usc.ni.node-w0"] {
        assert!(data.contains_key(key), "no {key} among {}", data.len());
    }
    let size = |bench: &Bench| bench.data.as_ref().unwrap().values().map(String::len).sum::<usize>();
    assert!((ROOM - 10_000..=ROOM).contains(&size(&bench)), "{}", size(&bench));
    bench.binary = ROOM / 2;
    bench.show();
    bench.round(T2);
    assert!((ROOM / 2 - 10_000..=ROOM / 2).contains(&size(&bench)), "{}", size(&bench));
    bench.binary = 0;
    bench.show();
    bench.round(T2);
    assert!(size(&bench) > ROOM - 10_000, "there is room again: {}", size(&bench));
}

#[test]
fn reports_alerts_with_equal_labels_separately() {
    let mut bench = Bench::new(Some(object("10%")), None, Some(&[]));
    bench.state.alerts(vec![firing("A", T2), firing("A", T2), firing("B", T2)]);
    bench.round(T2);
    assert_eq!(bench.health().len(), 3);
    bench.state.alerts(vec![firing("A", T2), firing("B", T2)]);
    assert_eq!(bench.round("2024-01-01T02:00:30Z"), "", "one leaves after a while");
    assert!(bench.state.due().is_some());
    bench.round("2024-01-01T02:01:30Z");
    assert_eq!(bench.health().len(), 2);
}

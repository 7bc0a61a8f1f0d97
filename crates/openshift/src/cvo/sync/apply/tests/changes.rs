//! Tests of changes during and between passes.

use super::*;

/// A cluster during a pass that fails for a ClusterOperator. If `notified`, the operator is healthy by now.
fn updating(notified: bool) -> Cluster {
    let tasks = vec![operator("20", "dns"), config_map("20", "a", "a")];
    let mut cluster = Cluster::new(ApplyMode::Updating, tasks);
    cluster.report("dns", "False", &[("operator", "1")]);
    cluster.refuse.insert("a", "Conflict");
    cluster.run(1);
    if notified {
        cluster.healthy("dns");
        cluster.apply.notify(cluster.now);
    }
    cluster
}

#[test]
fn a_clusteroperator_change_during_a_pass_skips_the_wait_after_it() {
    for (notified, passes) in [(false, 1), (true, 2)] {
        let mut cluster = updating(notified);
        // A pass retries the manifest for 23 seconds. The wait after the first failed pass is longer than
        // that.
        cluster.run(24);
        let tries = cluster.log.iter().filter(|line| line.ends_with("create ConfigMap/a")).count();
        assert_eq!(tries, 2 + passes, "{:?}", cluster.log);
    }
}

#[test]
fn changing_force_in_an_installed_cluster_starts_an_update_pass() {
    let mut cluster = Cluster::new(ApplyMode::Reconciling, vec![config_map("20", "a", "a")]);
    cluster.run(1);
    assert_eq!((cluster.apply.mode, cluster.apply.progress.completed), (ApplyMode::Reconciling, 1));
    cluster.apply.set_force(false, cluster.now);
    assert_eq!(cluster.apply.mode, ApplyMode::Reconciling, "that is no change");
    cluster.apply.set_force(true, cluster.now);
    assert_eq!(cluster.apply.mode, ApplyMode::Updating);
    cluster.run(1);
    assert_eq!((cluster.apply.mode, cluster.apply.progress.completed), (ApplyMode::Reconciling, 2));
}

#[test]
fn a_pass_sees_the_generation_at_its_start() {
    let mut cluster = Cluster::new(ApplyMode::Reconciling, vec![config_map("20", "a", "a")]);
    cluster.run(1);
    cluster.apply.latest_generation = 4;
    cluster.run(R / 2);
    assert_eq!(cluster.apply.work.generation, 1);
    cluster.run(R);
    assert_eq!(cluster.apply.work.generation, 4);
}

#[test]
fn waits_after_failures_keep_growing_when_the_work_changes() {
    let mut cluster = Cluster::new(ApplyMode::Updating, vec![operator("20", "dns")]);
    let mut wait = 0;
    for _ in 0..6 {
        cluster.apply.restart(cluster.now);
        cluster.run(0);
        wait = cluster.apply.wake_at().unwrap().duration_since(cluster.now).as_secs();
    }
    assert!(wait >= R, "{wait}");
}

#[test]
fn saved_settings_wait_for_the_next_pass_or_a_clusteroperator_change() {
    let overridden = || {
        let entry =
            json!({ "group": "", "kind": "ConfigMap", "namespace": "ns", "name": "a", "unmanaged": true });
        Overrides::of(&Object::new(json!({ "spec": { "overrides": [entry] } })))
    };
    for notified in [false, true] {
        let mut cluster = Cluster::new(ApplyMode::Reconciling, vec![config_map("20", "a", "a")]);
        cluster.run(1);
        cluster.apply.save_settings(Overrides::default(), None, false);
        cluster.apply.notify(cluster.now);
        cluster.run(1);
        assert_eq!(cluster.apply.progress.completed, 1, "nothing changed");
        cluster.apply.save_settings(overridden(), None, false);
        cluster.run(1);
        assert_eq!((cluster.apply.mode, cluster.apply.progress.completed), (ApplyMode::Reconciling, 1));
        if notified {
            cluster.apply.notify(cluster.now);
            cluster.run(0);
        } else {
            cluster.run(R - 4);
            assert_eq!(cluster.apply.progress.completed, 1);
            cluster.run(2);
        }
        assert_eq!(cluster.apply.progress.completed, 2, "notified: {notified}");
        assert!(!cluster.apply.set_overrides(overridden()));
    }
}

#[test]
fn a_pass_with_saved_settings_is_an_update_again() {
    let mut cluster = Cluster::new(ApplyMode::Reconciling, vec![operator("20", "dns")]);
    cluster.healthy("dns");
    cluster.run(1);
    assert_eq!(cluster.apply.mode, ApplyMode::Reconciling);
    cluster.report("dns", "False", &[("operator", "1")]);
    cluster.apply.save_settings(Overrides::default(), None, true);
    cluster.run(R);
    assert_eq!(cluster.apply.mode, ApplyMode::Updating, "it waits for the version of the operator");
}

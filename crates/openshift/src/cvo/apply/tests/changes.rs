//! What becomes of passes when something changes.

use super::*;

/// An operator that updates, seen in a pass that failed for it and in which this was heard of.
fn updating(notified: bool) -> Cluster {
    let tasks = vec![operator("20", "dns"), config_map("20", "a", "a")];
    let mut cluster = Cluster::new(Mode::Updating, tasks);
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
fn an_operator_that_changes_during_a_pass_ends_the_wait_after_it() {
    for (notified, passes) in [(false, 1), (true, 2)] {
        let mut cluster = updating(notified);
        // The manifest is tried for 23 seconds in each pass; the wait after the first failed one is longer.
        cluster.run(24);
        let tries = cluster.log.iter().filter(|line| line.ends_with("create ConfigMap/a")).count();
        assert_eq!(tries, 2 + passes, "{:?}", cluster.log);
    }
}

#[test]
fn what_changes_in_an_installed_cluster_is_applied_as_an_update() {
    let mut cluster = Cluster::new(Mode::Reconciling, vec![config_map("20", "a", "a")]);
    cluster.run(1);
    assert_eq!((cluster.apply.mode, cluster.apply.progress.completed), (Mode::Reconciling, 1));
    cluster.apply.set_force(false, cluster.now);
    assert_eq!(cluster.apply.mode, Mode::Reconciling, "that is no change");
    cluster.apply.set_force(true, cluster.now);
    assert_eq!(cluster.apply.mode, Mode::Updating);
    cluster.run(1);
    assert_eq!((cluster.apply.mode, cluster.apply.progress.completed), (Mode::Reconciling, 2));
}

#[test]
fn a_pass_sees_the_generation_that_there_is_when_it_begins() {
    let mut cluster = Cluster::new(Mode::Reconciling, vec![config_map("20", "a", "a")]);
    cluster.run(1);
    cluster.apply.latest_generation = 4;
    cluster.run(R / 2);
    assert_eq!(cluster.apply.work.generation, 1);
    cluster.run(R);
    assert_eq!(cluster.apply.work.generation, 4);
}

#[test]
fn waits_go_on_growing_though_the_work_has_changed() {
    let mut cluster = Cluster::new(Mode::Updating, vec![operator("20", "dns")]);
    let mut wait = 0;
    for _ in 0..6 {
        cluster.apply.restart(cluster.now);
        cluster.run(0);
        wait = cluster.apply.wake_at().unwrap().duration_since(cluster.now).as_secs();
    }
    assert!(wait >= R, "{wait}");
}

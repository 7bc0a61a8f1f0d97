//! Unusual but valid runs: no invariant fails in them.

use windtunnel::record::{Event, Record, WriteEvent};
use windtunnel_core::resources::{JOBS, MACHINE_CONFIGS, PODS};

use super::{NONEXISTENT_IMAGE, plan, run};

/// Runs a scenario with the seed 1. Returns its record.
fn passing(text: &str) -> Record {
    super::passing(1, text)
}

/// The writes of a record since the run began, each with its second.
fn writes(record: &Record) -> impl Iterator<Item = (i64, &WriteEvent)> {
    let entries = record.entries.iter().filter(|entry| !record.is_set_up(entry));
    entries.filter_map(|entry| match &entry.event {
        Event::Write(write) => Some((entry.at.duration_since(record.header.epoch).as_secs(), &**write)),
        _ => None,
    })
}

#[test]
fn no_pod_is_evicted_while_no_node_is_ready() {
    let record = passing(
        "cluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 0}}
timeline:
- fault: {node: master-0, is: not-ready}
- advance: 9m
",
    );
    let is_deletion = |write: &WriteEvent| write.key.is_kind(&PODS) && write.verb == "delete";
    let deleted: Vec<&str> = writes(&record)
        .filter(|(_, write)| is_deletion(write))
        .map(|(_, write)| write.key.name.as_str())
        .collect();
    assert!(deleted.is_empty(), "deleted although no other node could run them: {deleted:?}");
}

#[test]
fn a_late_pod_on_a_tainted_node_is_evicted_when_its_own_toleration_ends() {
    passing(
        "cluster: {version: 4.18.3, nodes: {control-plane: 3, workers: 1}}
timeline:
- fault: {node: worker-0, is: not-ready}
- advance: 20m
- apply:
    apiVersion: v1
    kind: Pod
    metadata: {name: late, namespace: default}
    spec:
      nodeName: worker-0
      containers: [{name: web, image: quay.io/example/web:2}]
      tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 200}]
- expect: {object: Pod/default/late, throughout: 195s}
- expect: {object: Pod/default/late, absent: true, within: 1m}
",
    );
}

/// Returns when the MachineConfig of a flipping pool was created and deleted.
fn flips(fault: &str) -> Vec<(i64, String)> {
    let record = passing(&format!(
        "cluster: {{version: 4.18.3, nodes: {{control-plane: 1, workers: 0}}}}
timeline:
- fault: {{pool: master, is: render-flips, times: 1}}
- fault: {fault}
- advance: 9m
- expect: {{object: MachineConfig/99-master-flips, absent: true}}
"
    ));
    let done = writes(&record)
        .filter(|(_, write)| write.key.is_kind(&MACHINE_CONFIGS) && write.by == "administrator");
    done.filter(|(_, write)| write.code < 400).map(|(second, write)| (second, write.verb.clone())).collect()
}

#[test]
fn a_fault_retries_its_own_requests_until_the_api_server_accepts_them() {
    let create = (0, "create".to_owned());
    let delete = |second: i64| (second, "delete".to_owned());
    assert_eq!(flips("{api: all, is: unavailable, after: 50s, for: 20s}"), [create.clone(), delete(70)]);
    let refused = "{api: {verb: delete, kind: MachineConfig}, is: internal-error, after: 10s, for: 3m}";
    assert_eq!(flips(refused), [create, delete(190)]);
}

#[test]
fn a_fault_due_during_an_api_server_outage_begins_and_ends_after_it() {
    let record = passing(
        "cluster: {version: 4.18.3, nodes: {control-plane: 3, workers: 1}}
timeline:
- fault: {node: worker-0, is: not-ready, after: 30s, for: 2m}
- fault: {api: all, is: unavailable, after: 20s, for: 30s}
- fault: {api: {verb: patch, kind: Node, by: administrator}, is: unavailable, after: 2m, for: 3m}
- expect: {object: Node/worker-0, condition: {type: Ready, status: \"False\"}, within: 1m}
- expect: {object: Node/worker-0, condition: {type: Ready, status: \"True\"}, within: 10m}
",
    );
    let accepted = writes(&record).filter(|(_, write)| write.by == "administrator" && write.code < 400);
    assert_eq!(accepted.map(|(second, _)| second).collect::<Vec<_>>(), [50, 300]);
    let announcements = record.entries.iter().filter(|entry| matches!(entry.event, Event::Fault { .. }));
    assert_eq!(announcements.count(), 4 + 2, "a retried fault is announced once");
}

/// Up to 4.18 the operator waits for the deadline of a Job. Later it gives up with the first failed pull and retries at
/// once (`podCompletionCheckFn` and `SyncWorker.Update` of the cluster-version operator).
#[test]
fn a_release_that_cannot_be_pulled_costs_a_job_every_two_minutes_or_a_pod_every_few_seconds() {
    for (version, kind, counts) in [("4.18.3", &JOBS, 5..=5), ("4.20.1", &PODS, 150..=600)] {
        let record = passing(&format!(
            "cluster: {{version: {version}, nodes: {{control-plane: 1, workers: 0}}}}
timeline:
- update: {{image: \"{NONEXISTENT_IMAGE}\", force: true}}
- advance: 10m
"
        ));
        let is_new = |write: &WriteEvent| write.key.is_kind(kind) && write.verb == "create";
        let by_operator = |write: &WriteEvent| write.by == "cluster-version-operator" && is_new(write);
        let count = writes(&record).filter(|(_, write)| by_operator(write)).count();
        assert!(counts.contains(&count), "{version}: {count}");
    }
}

#[test]
fn a_worker_of_a_single_node_cluster_is_updated_without_a_drain() {
    passing(
        "cluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 0}}
releases: {4.18.7: }
timeline:
- join: worker-0
- advance: 20m
- update: {to: 4.18.7}
- expect: {object: ClusterVersion/version, condition: {type: Progressing, status: \"False\", message: Cluster version is 4.18.7}, within: 3h}
- expect: {object: MachineConfigPool/worker, fields: {status.updatedMachineCount: 1}, condition: {type: Updated, status: \"True\"}, within: 1h}
- expect: {node: worker-0, phases: [Pending, Updated, Pending, Updated, Updating, Updated]}
",
    );
}

#[test]
fn a_new_pool_configuration_hides_the_progress_of_nodes_for_a_while() {
    let hidden = "[Updated, Pending, Draining, Updating, Draining, Updating, Pending, Updating";
    passing(&format!(
        "cluster: {{version: 4.18.3, nodes: {{control-plane: 3, workers: 1}}}}
releases: {{4.18.7: }}
timeline:
- update: {{to: 4.18.7}}
- expect: {{node: worker-0, phases: [Updated, Pending, Draining, Updating, Draining, Updating], within: 3h}}
- fault: {{pool: worker, is: render-flips, times: 1}}
- expect: {{node: worker-0, phases: {hidden}], within: 3m}}
- expect: {{object: MachineConfigPool/worker, condition: {{type: Updated, status: \"True\"}}, within: 3h}}
"
    ));
}

#[test]
fn a_degraded_node_of_a_flipping_pool_updates_again() {
    passing(
        "cluster: {version: 4.18.3, nodes: {control-plane: 3, workers: 1}}
releases: {4.18.7: }
timeline:
- fault: {node: worker-0, is: os-update-fails}
- update: {to: 4.18.7}
- expect: {object: MachineConfigPool/worker, condition: {type: NodeDegraded, status: \"True\"}, within: 3h}
- fault: {pool: worker, is: render-flips, times: 2}
- advance: 30m
- expect: {node: worker-0, phase: Updating}
",
    );
}

/// In this update, the administrator grants the drain of a node instead of the drain controller.
#[test]
fn a_reboot_without_a_drain_breaks_the_node_order_invariant() {
    let text = "name: n
cluster: {version: 4.18.3, nodes: {control-plane: 3, workers: 1}}
releases: {4.18.7: }
timeline:
- update: {to: 4.18.7}
- expect: {node: worker-0, phases: [Updated, Pending, Draining, Updating, Draining, Updating], within: 3h}
- apply:
    apiVersion: v1
    kind: Node
    metadata:
      name: worker-0
      annotations:
        machineconfiguration.openshift.io/desiredDrain: uncordon-nothing
        machineconfiguration.openshift.io/lastAppliedDrain: uncordon-nothing
- advance: 10m
";
    let failure = run(&plan("n.yaml", text), 1).1;
    let expected = "Node/worker-0 broke invariant `node-order` at ";
    assert!(failure.starts_with("n.yaml:15:3: advance 10m: ") && failure.contains(expected), "{failure}");
    assert!(
        failure.ends_with(" without a drain") && failure.contains("it reboots into rendered-worker-"),
        "{failure}"
    );
}

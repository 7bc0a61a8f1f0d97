//! Tests of passes over a payload, by the writes that a small cluster receives.

mod changes;
mod health;
mod proxies;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_core::{Change, ChangeKind, Rejection, Resource};

use super::*;
use crate::cvo::payload::testing::{counted, object, operator, payload};

const R: i64 = 180;

/// A cluster that stores writes and rejects those of chosen objects.
struct Cluster {
    apply: ApplyLoop,
    view: View,
    now: Time,
    start: Time,
    /// Name of an object to the reason for which its writes are rejected.
    refuse: BTreeMap<&'static str, &'static str>,
    /// The writes as `<second> <verb> <kind>/<name>`.
    log: Vec<String>,
    version: u64,
}

impl Cluster {
    fn new(mode: ApplyMode, tasks: Vec<Task>) -> Self {
        let now: Time = "2024-01-15T12:00:00Z".parse().unwrap();
        let release = Release::find(&"4.18.1".parse().unwrap()).unwrap();
        let work = Work { release, generation: 1, force: false, verified: true, accepted_risks: None };
        let streams = Streams::new(1);
        let jitter = streams.stream("test");
        let pace = PassPace { interval: SignedDuration::from_secs(R), jitter, orders: streams };
        let apply = ApplyLoop::new(work, mode, payload(tasks), pace, now);
        let (view, refuse) = (View::default(), BTreeMap::new());
        let mut cluster = Self { apply, view, now, start: now, refuse, log: Vec::new(), version: 0 };
        let owner = json!({ "kind": "ClusterVersion", "metadata": { "name": "version", "uid": "cv-uid" } });
        cluster.put(&CLUSTER_VERSIONS, owner);
        cluster
    }

    fn put(&mut self, resource: &Resource, mut object: Value) -> Object {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let object = Object::new(object);
        let key = resource.key(object.namespace(), object.name());
        let change = Change { key, kind: ChangeKind::Modified, object: object.clone(), old: None };
        self.view.apply(&change);
        object
    }

    /// Writes a ClusterOperator that reports these versions.
    fn report(&mut self, name: &str, degraded: &str, versions: &[(&str, &str)]) {
        let conditions = [("Available", "True"), ("Degraded", degraded)];
        let conditions = conditions.iter().filter(|(_, status)| !status.is_empty());
        let conditions: Vec<Value> =
            conditions.map(|(kind, status)| json!({ "type": kind, "status": status })).collect();
        let versions: Vec<Value> =
            versions.iter().map(|(name, version)| json!({ "name": name, "version": version })).collect();
        let object = json!({
            "metadata": { "name": name },
            "status": { "conditions": conditions, "versions": versions },
        });
        self.put(&CLUSTER_OPERATORS, object);
    }

    fn healthy(&mut self, name: &str) {
        self.report(name, "False", &[("operator", "2"), ("operand", "2")]);
    }

    fn answer(&mut self, write: Write) -> Answer {
        let seconds = self.now.duration_since(self.start).as_secs();
        self.log.push(format!("{seconds} {} {}/{}", write.verb(), write.resource.kind, write.name));
        if let Some(reason) = self.refuse.get(write.name.as_str()) {
            let (reason, message) = ((*reason).to_owned(), String::new());
            let rejection = Rejection { code: 422, reason, message, details: Value::Null };
            return Answer { write, outcome: Err(rejection) };
        }
        let object = match write.operation.clone() {
            Operation::Create(object) | Operation::Update(object) => {
                self.put(&write.resource.clone(), object)
            }
            _ => self.view.get_key(&write.key()).cloned().unwrap(),
        };
        Answer { write, outcome: Ok(object) }
    }

    /// Runs the loop for this many seconds.
    fn run(&mut self, seconds: i64) -> &mut Self {
        let end = self.now + SignedDuration::from_secs(seconds);
        let capabilities = Capabilities::at_start(&self.apply.work.release.clone(), "", &json!({}));
        loop {
            let mut out = Outbox::default();
            self.apply.run(&self.view, &capabilities, self.now, &mut out);
            for write in out.take() {
                let answer = self.answer(write);
                self.apply.answered(&answer, self.now, &mut out);
            }
            let Some(next) = self.apply.wake_at() else { continue };
            if next > end {
                self.now = end;
                return self;
            }
            self.now = next.max(self.now);
        }
    }

    fn failure(&self) -> (&str, &str) {
        let failure = self.apply.progress.failure.as_ref();
        failure.map_or(("", ""), |failure| (&failure.reason, &failure.message))
    }
}

fn config_map(run_level: &str, component: &str, name: &str) -> Task {
    annotated(run_level, component, name, &json!({}))
}

fn annotated(run_level: &str, component: &str, name: &str, annotations: &Value) -> Task {
    let metadata = json!({ "name": name, "namespace": "ns", "annotations": annotations });
    object(run_level, component, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }))
}

fn job(run_level: &str, component: &str) -> Task {
    let metadata = json!({ "name": "job", "namespace": "ns" });
    object(run_level, component, json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata }))
}

#[test]
fn creates_the_clusteroperators_of_a_task_node_first_and_waits_for_them_last() {
    let tasks = vec![config_map("50", "dns", "a"), operator("50", "dns"), config_map("70", "b", "b")];
    let mut cluster = Cluster::new(ApplyMode::Updating, tasks);
    cluster.run(5);
    assert_eq!(
        cluster.log,
        ["0 create ClusterOperator/dns", "0 update ClusterOperator/dns", "0 create ConfigMap/a"],
        "its related objects are written at once"
    );
    assert_eq!(cluster.failure(), ("ClusterOperatorNotAvailable", "Cluster operator dns is not available"));
    let created = cluster.view.get(&CLUSTER_OPERATORS, "", "dns").unwrap();
    assert_eq!(
        created["metadata"]["ownerReferences"],
        json!([{ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "name": "version",
                 "uid": "cv-uid", "controller": true }])
    );
    cluster.report("dns", "False", &[("operator", "2"), ("operand", "1")]);
    cluster.apply.notify(cluster.now);
    cluster.run(1);
    assert_eq!(cluster.failure(), ("ClusterOperatorUpdating", "Cluster operator dns is updating versions"));
    cluster.healthy("dns");
    cluster.apply.notify(cluster.now);
    cluster.run(5);
    assert_eq!(cluster.log[3], "6 create ConfigMap/b");
    assert_eq!((cluster.apply.mode, cluster.apply.progress.completed), (ApplyMode::Reconciling, 1));
}

#[test]
fn an_error_stops_its_task_node_and_later_run_levels_but_not_parallel_nodes() {
    let tasks = vec![
        operator("10", "first"),
        config_map("20", "a", "a"),
        operator("20", "b"),
        config_map("20", "c", "c"),
        config_map("30", "d", "d"),
    ];
    let mut cluster = Cluster::new(ApplyMode::Updating, tasks.clone());
    cluster.healthy("first");
    cluster.run(5);
    assert_eq!(
        cluster.log,
        [
            "0 create ConfigMap/a",
            "0 create ClusterOperator/b",
            "0 update ClusterOperator/b",
            "0 create ConfigMap/c"
        ]
    );
    assert_eq!(cluster.failure().0, "ClusterOperatorNotAvailable");
    // While reconciling, no task node waits for another.
    let mut cluster = Cluster::new(ApplyMode::Reconciling, tasks);
    cluster.run(5);
    let created: Vec<&str> =
        cluster.log.iter().filter_map(|line| line.strip_prefix("0 create ConfigMap/")).collect();
    assert_eq!(created.len(), 3, "{:?}", cluster.log);
}

#[test]
fn tries_a_rejected_manifest_three_times_while_other_task_nodes_continue() {
    let mut cluster =
        Cluster::new(ApplyMode::Updating, vec![config_map("20", "a", "a"), config_map("20", "b", "b")]);
    cluster.refuse.insert("a", "Forbidden");
    cluster.run(30);
    assert_eq!(
        cluster.log,
        ["0 create ConfigMap/a", "0 create ConfigMap/b", "10 create ConfigMap/a", "23 create ConfigMap/a",]
    );
    assert_eq!(
        cluster.failure(),
        (
            "UpdatePayloadResourceForbidden",
            "Could not update configmap \"ns/a\" (1 of 2): the server has forbidden updates to this resource"
        )
    );
    let mut installing = Cluster::new(ApplyMode::Initializing, vec![config_map("20", "a", "a")]);
    installing.refuse.insert("a", "Forbidden");
    installing.run(8);
    let seconds: Vec<&str> =
        installing.log.iter().filter_map(|line| line.split_once(' ')).map(|(second, _)| second).collect();
    assert_eq!(seconds, ["0", "1", "3", "7"]);
}

#[test]
fn reports_a_manifest_of_a_kind_that_is_not_served() {
    let metadata = json!({ "name": "x" });
    let gadget =
        object("20", "a", json!({ "apiVersion": "e.com/v1", "kind": "Gadget", "metadata": metadata }));
    let mut cluster = Cluster::new(ApplyMode::Updating, vec![gadget]);
    cluster.run(30);
    let message = "Could not update gadget \"x\" (1 of 1): the server does not recognize this resource, check extension API servers";
    assert_eq!(cluster.failure(), ("UpdatePayloadResourceTypeMissing", message));
    let definition = json!({
        "metadata": { "name": "gadgets.e.com" },
        "spec": { "group": "e.com", "scope": "Cluster", "names": { "kind": "Gadget", "plural": "gadgets" } },
    });
    cluster.put(&windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS, definition);
    cluster.run(2 * R);
    assert_eq!(cluster.failure(), ("", ""));
    assert!(cluster.log.iter().any(|line| line.ends_with("create Gadget/x")), "{:?}", cluster.log);
}

#[test]
fn waits_for_a_job_and_gives_up_at_the_deadline() {
    let tasks =
        vec![config_map("20", "a", "a"), job("20", "a"), config_map("20", "a", "b"), counted("30", "c")];
    let mut cluster = Cluster::new(ApplyMode::Updating, tasks);
    cluster.run(60);
    assert_eq!(cluster.log, ["0 create ConfigMap/a", "0 create Job/job"]);
    assert_eq!(cluster.failure(), ("", ""));
    cluster.run(2 * R - 60);
    let message = "2 incomplete task nodes, beginning with job \"ns/job\" (2 of 4)";
    assert_eq!(cluster.failure(), ("", message));
    assert_eq!(cluster.apply.progress.failure.as_ref().unwrap().summary(), "an error occurred");
    let done = json!({ "metadata": { "name": "job", "namespace": "ns", "ownerReferences": [{ "uid": "cv-uid" }] },
                       "apiVersion": "batch/v1", "kind": "Job", "status": { "succeeded": 1 } });
    cluster.put(&JOBS, done);
    cluster.run(R);
    assert!(cluster.log.last().unwrap().ends_with("create ConfigMap/b"), "{:?}", cluster.log);
    assert_eq!(cluster.apply.progress.completed, 1);
}

#[test]
fn create_only_objects_are_not_updated_and_deletions_happen_only_in_updates() {
    let tasks = || {
        vec![
            annotated("20", "a", "kept", &json!({ "release.openshift.io/create-only": "true" })),
            annotated("20", "a", "gone", &json!({ "release.openshift.io/delete": "true" })),
        ]
    };
    let config_map =
        |name: &str| json!({ "metadata": { "name": name, "namespace": "ns" }, "data": { "a": "b" } });
    let mut cluster = Cluster::new(ApplyMode::Updating, tasks());
    for name in ["kept", "gone"] {
        cluster.put(&windtunnel_core::resources::CONFIG_MAPS, config_map(name));
    }
    cluster.run(10);
    assert_eq!(cluster.log, ["0 delete ConfigMap/gone"]);
    assert_eq!(cluster.apply.deletions(&cluster.view), ["ConfigMap \"ns/gone\""]);
    assert_eq!(cluster.apply.progress.completed, 1, "the pass does not wait for the deletion");
    let mut reconciling = Cluster::new(ApplyMode::Reconciling, tasks());
    reconciling.put(&windtunnel_core::resources::CONFIG_MAPS, config_map("gone"));
    reconciling.run(10);
    assert_eq!(reconciling.log, ["0 create ConfigMap/kept"]);
    let created = reconciling.view.get(&windtunnel_core::resources::CONFIG_MAPS, "ns", "kept").unwrap();
    assert_eq!(created["metadata"]["ownerReferences"][0].get("controller"), None);
}

#[test]
fn lists_objects_that_were_already_terminating_sorted() {
    let removed = |name| annotated("20", "a", name, &json!({ "release.openshift.io/delete": "true" }));
    let mut cluster = Cluster::new(ApplyMode::Updating, vec![removed("z"), removed("a"), removed("gone")]);
    for name in ["z", "a"] {
        let metadata =
            json!({ "name": name, "namespace": "ns", "deletionTimestamp": "2024-01-15T11:59:00Z" });
        cluster.put(&windtunnel_core::resources::CONFIG_MAPS, json!({ "metadata": metadata }));
    }
    cluster.run(10);
    assert_eq!(cluster.log, [""; 0], "both objects are terminating already");
    assert_eq!(cluster.apply.deletions(&cluster.view), ["ConfigMap \"ns/a\"", "ConfigMap \"ns/z\""]);
}

#[test]
fn overridden_objects_are_neither_applied_nor_counted() {
    let overridden = json!({ "spec": { "overrides": [
        { "kind": "ConfigMap", "group": "", "namespace": "ns", "name": "a", "unmanaged": true },
        { "kind": "ClusterOperator", "group": "config.openshift.io", "name": "dns", "unmanaged": true },
        { "kind": "ConfigMap", "group": "", "namespace": "ns", "name": "b", "unmanaged": false },
    ] } });
    let tasks = vec![config_map("20", "a", "a"), config_map("20", "a", "b"), operator("20", "dns")];
    let mut cluster = Cluster::new(ApplyMode::Updating, tasks);
    assert!(cluster.apply.set_overrides(Overrides::of(&Object::new(overridden.clone()))));
    assert!(
        !cluster.apply.set_overrides(Overrides::of(&Object::new(overridden))),
        "the overrides are unchanged"
    );
    cluster.run(10);
    assert_eq!(cluster.log, ["0 create ConfigMap/b"]);
    let Progress { done, total, completed, .. } = cluster.apply.progress;
    assert_eq!((done, total, completed), (1, 3, 1));
    // An object without its override is applied at once.
    cluster.apply.set_overrides(Overrides::default());
    cluster.apply.restart(cluster.now);
    cluster.run(1);
    assert!(cluster.log.contains(&"10 create ConfigMap/a".to_owned()), "{:?}", cluster.log);
}

#[test]
fn reports_a_new_pass_only_when_it_gets_as_far_as_the_failed_one() {
    let tasks = vec![counted("20", "a"), config_map("30", "b", "b")];
    let mut cluster = Cluster::new(ApplyMode::Updating, tasks);
    cluster.refuse.insert("b", "Conflict");
    cluster.run(24);
    assert_eq!((cluster.apply.progress.done, cluster.failure().0), (1, "UpdatePayloadResourceConflict"));
    cluster.apply.restart(cluster.now);
    cluster.run(0);
    assert_eq!((cluster.apply.progress.done, cluster.failure().0), (1, "UpdatePayloadResourceConflict"));
    cluster.run(1);
    assert_eq!((cluster.apply.progress.done, cluster.failure().0), (1, ""));
}

#[test]
fn waits_between_failed_passes_double_up_to_the_interval() {
    let mut cluster = Cluster::new(ApplyMode::Updating, vec![operator("20", "dns")]);
    let mut waits = Vec::new();
    for _ in 0..6 {
        let at = cluster.apply.wake_at().unwrap();
        waits.push(at.duration_since(cluster.now).as_secs());
        cluster.now = at;
        cluster.run(0);
    }
    for (wait, eighths) in waits.iter().skip(1).zip([1, 2, 4, 8, 8]) {
        let least = R * eighths / 8;
        assert!((least..=least * 6 / 5).contains(wait), "{waits:?}: with up to a fifth more");
    }
}

#[test]
fn a_missing_degraded_condition_means_degraded_and_no_conditions_mean_not_available() {
    for (conditions, reason) in [
        (json!([{ "type": "Available", "status": "True" }]), "ClusterOperatorDegraded"),
        (json!([]), "ClusterOperatorNotAvailable"),
    ] {
        let mut cluster = Cluster::new(ApplyMode::Updating, vec![operator("20", "dns")]);
        let status = json!({ "conditions": conditions });
        cluster.put(&CLUSTER_OPERATORS, json!({ "metadata": { "name": "dns" }, "status": status }));
        cluster.run(1);
        assert_eq!(cluster.failure().0, reason);
    }
}

//! Tests of status conflicts, and of the first and last statuses of a process.

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::{CLUSTER_OPERATORS, CONFIG_MAPS};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Change, ChangeKind, Rejection};

use super::*;
use crate::cvo::behaviour::Behaviour;
use crate::cvo::retrieve::verify::Verifier;
use crate::environment::Environment;

fn now() -> Time {
    "2024-01-01T00:00:00Z".parse().unwrap()
}

/// A ClusterVersion with this uid, during an update to the operator's own release.
fn seen(uid: &str, desired: &Value) -> View {
    let mut view = View::default();
    let object = Object::new(json!({
        "metadata": { "name": "version", "uid": uid, "generation": 1 },
        "spec": { "clusterID": "7e0b4f5c-3d2a-4c1b-9a6e-5f8d7c6b5a40", "desiredUpdate": desired },
        "status": { "history": [
            { "state": "Partial", "image": own().image, "version": "4.20.1" },
            { "state": "Completed", "image": "before", "version": "4.20.0" },
        ] },
    }));
    let key = CLUSTER_VERSIONS.key("", "version");
    view.apply(&Change { key, kind: ChangeKind::Added, object, old: None });
    view
}

/// The unanswered status updates.
fn statuses(out: &mut Outbox) -> Vec<Write> {
    writes_for(Purpose::Status, out)
}

fn writes_for(purpose: Purpose, out: &mut Outbox) -> Vec<Write> {
    out.take().into_iter().filter(|_| out.answered() == Some(purpose)).collect()
}

fn conflict(write: Write) -> Answer {
    let (reason, message) = ("Conflict".to_owned(), "the object has been modified".to_owned());
    Answer { write, outcome: Err(Rejection { code: 409, reason, message, details: Value::Null }) }
}

fn own() -> Release {
    Release::find(&"4.20.1".parse().unwrap()).unwrap()
}

/// A process that has not run yet.
fn started() -> (Worker, OperatorContext) {
    let interval = SignedDuration::from_mins(3);
    let site = OperatorContext {
        node: "master-0".to_owned(),
        behaviour: Behaviour::for_release(&own()),
        environment: Arc::new(Environment::default()),
        names: Streams::new(1).stream("names"),
        stored_image: String::new(),
        trust: crate::cvo::Trust::by_facts(),
        verifier: Verifier::new(interval, now()),
    };
    let pace = PassPace { interval, jitter: Streams::new(1).stream("jitter"), orders: Streams::new(1) };
    let mut worker = Worker::new(own(), pace, now());
    worker.queue.trigger(now());
    (worker, site)
}

/// The number of immediate status updates after each of two conflicts, when the object then has this uid.
fn retries(uid: &str) -> [usize; 2] {
    let (mut worker, mut site) = started();
    let mut out = Outbox::default();
    worker.run(&mut site, &seen("first", &Value::Null), &[], now(), &mut out);
    let mut written = statuses(&mut out);
    let view = seen(uid, &Value::Null);
    [0, 1].map(|_| {
        let answer = conflict(written.remove(0));
        written.push(answer.write.clone());
        worker.status_answered(&site, &answer, &view, now(), &mut out);
        let retried = statuses(&mut out);
        let count = retried.len();
        written.splice(0..0, retried);
        count
    })
}

#[test]
fn retries_a_status_update_once_after_a_conflict() {
    assert_eq!(retries("first"), [1, 0]);
    assert_eq!(retries("second"), [0, 0], "the ClusterVersion of this update no longer exists");
}

/// `status message` of Failing in the first three statuses of a process.
fn failing(desired: &Value) -> Vec<String> {
    let ((mut worker, mut site), mut out) = (started(), Outbox::default());
    let view = seen("first", desired);
    let mut lines = Vec::new();
    for _ in 0..3 {
        worker.run(&mut site, &view, &[], now(), &mut out);
        for write in statuses(&mut out) {
            let Operation::Update(object) = &write.operation else { panic!("{write:?} is no update") };
            let found = Condition::from_value(
                condition::find_in_status(&Object::new(object.clone()), "Failing").unwrap(),
            );
            lines.push(format!("{} {}", found.status, found.message));
            let answer = Answer { outcome: Ok(Object::new(object.clone())), write };
            worker.status_answered(&site, &answer, &view, now(), &mut out);
        }
    }
    lines
}

#[test]
fn a_forced_request_for_the_own_release_cancels_the_first_pass() {
    assert_eq!(failing(&json!({ "image": own().image })), ["False ", "False "]);
    let found = failing(&json!({ "image": own().image, "force": true }));
    let canceled = "True Could not update namespace \"openshift-cluster-version\" (1 of ";
    assert!(found[1].starts_with(canceled), "{found:?}");
    assert_eq!((found.len(), &*found[0], &*found[2]), (3, "False ", "False "));
}

#[test]
fn the_first_status_of_a_process_reports_an_invalid_spec() {
    let ((mut worker, mut site), mut out) = (started(), Outbox::default());
    let view = seen("first", &json!({ "version": "4.20.7" }));
    worker.run(&mut site, &view, &[], now(), &mut out);
    let found: Vec<(String, String)> = statuses(&mut out)
        .into_iter()
        .map(|write| {
            let Operation::Update(object) = write.operation else { panic!("no update") };
            let object = Object::new(object);
            let reason =
                |kind| condition::find_in_status(&object, kind).map(|found| found["reason"].to_string());
            (reason("Invalid").unwrap(), reason("Progressing").unwrap())
        })
        .collect();
    let invalid = || "\"InvalidClusterVersion\"".to_owned();
    assert_eq!(found, [(invalid(), invalid())]);
}

/// The reasons of Upgradeable and Invalid in the status that `last` writes. Before it, an operator became not
/// upgradeable and the spec invalid, without a run of the worker.
fn last_reasons(
    version: &str,
    last: fn(&mut Worker, &OperatorContext, &View, &Object, &mut Outbox),
) -> [Option<String>; 2] {
    let ((mut worker, mut site), mut out) = (started(), Outbox::default());
    site.behaviour = Behaviour::for_release(&Release { version: version.parse().unwrap(), ..own() });
    let mut view = seen("first", &json!({ "version": "4.20.1", "image": own().image }));
    for (namespace, name) in [("openshift-config-managed", "admin-gates"), ("openshift-config", "admin-acks")]
    {
        let object = Object::new(json!({ "metadata": { "name": name, "namespace": namespace } }));
        let key = CONFIG_MAPS.key(namespace, name);
        view.apply(&Change { key, kind: ChangeKind::Added, object, old: None });
    }
    worker.run(&mut site, &view, &[], now(), &mut out);
    statuses(&mut out);
    let refusing = json!({ "type": "Upgradeable", "status": "False", "message": "No quorum." });
    for (resource, object) in [
        (
            CLUSTER_OPERATORS,
            json!({ "metadata": { "name": "etcd" }, "status": { "conditions": [refusing] } }),
        ),
        (CLUSTER_VERSIONS, {
            let mut object = view.get(&CLUSTER_VERSIONS, "", "version").unwrap().to_value();
            object["spec"]["desiredUpdate"]["version"] = json!("none");
            object
        }),
    ] {
        let object = Object::new(object);
        let key = resource.key("", object.name());
        view.apply(&Change { key, kind: ChangeKind::Modified, object, old: None });
    }
    let cluster_version = view.get(&CLUSTER_VERSIONS, "", "version").unwrap().clone();
    last(&mut worker, &site, &view, &cluster_version, &mut out);
    let written = statuses(&mut out).pop().map(|write| match write.operation {
        Operation::Update(object) => Object::new(object),
        _ => panic!("no update"),
    });
    ["Upgradeable", "Invalid"].map(|kind| {
        let found = condition::find_in_status(written.as_ref()?, kind)?;
        Some(Condition::from_value(found).reason)
    })
}

#[test]
fn risks_are_evaluated_for_each_status_from_4_23_on_and_the_spec_for_the_last_one() {
    let rejected = |version| {
        last_reasons(version, |worker, site, view, cluster_version, out| {
            let load = LoadResult::blocked(&own(), "because");
            worker.retrieved(Err(load), site, view, cluster_version, now(), out);
        })
    };
    let ended = |version| {
        last_reasons(version, |worker, site, view, _, out| worker.shut_down(site, view, now(), out))
    };
    let risk = || Some("RiskNameNotCompatibleWithReasonProperty".to_owned());
    let invalid = || Some("InvalidClusterVersion".to_owned());
    assert_eq!((rejected("4.20.1"), ended("4.20.1")), ([None, None], [None, invalid()]));
    assert_eq!((rejected("5.0.1"), ended("5.0.1")), ([risk(), None], [risk(), invalid()]));
}

/// `observedGeneration` of the last status after a change of these spec fields from generation 1 to 2.
fn observed_after(fields: &Value) -> i64 {
    let ((mut worker, mut site), mut out) = (started(), Outbox::default());
    let mut view = seen("first", &Value::Null);
    let mut observed = 0;
    for round in 0..4 {
        if round == 2 {
            let mut object = view.get(&CLUSTER_VERSIONS, "", "version").unwrap().to_value();
            object["metadata"]["generation"] = json!(2);
            for (name, value) in fields.as_object().unwrap() {
                object["spec"][name] = value.clone();
            }
            let (key, object) = (CLUSTER_VERSIONS.key("", "version"), Object::new(object));
            view.apply(&Change { key, kind: ChangeKind::Modified, object, old: None });
            worker.queue.trigger(now());
        }
        worker.run(&mut site, &view, &[], now(), &mut out);
        for write in statuses(&mut out) {
            let Operation::Update(object) = &write.operation else { panic!("{write:?} is no update") };
            observed = object["status"]["observedGeneration"].as_i64().unwrap();
            let answer = Answer { outcome: Ok(Object::new(object.clone())), write };
            worker.status_answered(&site, &answer, &view, now(), &mut out);
        }
    }
    observed
}

#[test]
fn observes_the_generation_of_a_spec_change_that_restarts_the_apply_loop() {
    let dns =
        json!({ "kind": "Deployment", "group": "apps", "namespace": "a", "name": "b", "unmanaged": true });
    assert_eq!(observed_after(&json!({ "overrides": [dns] })), 2);
    assert_eq!(observed_after(&json!({ "channel": "another" })), 1, "a channel change starts no new pass");
}

#[test]
fn the_apply_loop_continues_when_the_clusterversion_is_deleted() {
    let ((mut worker, mut site), mut out) = (started(), Outbox::default());
    let mut applied = Vec::new();
    let mut at = now();
    for view in [seen("first", &Value::Null), View::default(), View::default()] {
        worker.run(&mut site, &view, &[], at, &mut out);
        for write in writes_for(Purpose::Apply, &mut out) {
            applied.push(write.name.clone());
            let (Operation::Create(object) | Operation::Update(object)) = write.operation.clone() else {
                panic!("{write:?}")
            };
            let answer = Answer { write, outcome: Ok(Object::new(object)) };
            worker.apply.as_mut().unwrap().answered(&answer, at, &mut out);
        }
        at = worker.wake_at().max(at + SignedDuration::from_secs(1));
    }
    assert_eq!(applied.len(), 3, "{applied:?}");
}

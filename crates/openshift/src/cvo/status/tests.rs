//! Tests of the conditions Progressing and Failing.

use jiff::SignedDuration;
use windtunnel_core::View;
use windtunnel_core::rng::Streams;

use super::*;
use crate::cvo::payload::Payload;
use crate::cvo::sync::apply::{ApplyMode, PassPace, Work};
use crate::cvo::sync::failure::{self, FailingEffect};
use crate::environment::Environment;
use crate::payload::Selection;

const VERSION: &str = "4.16.3";

struct Situation {
    mode: ApplyMode,
    done: u32,
    failures: Vec<Failure>,
    waited: SignedDuration,
}

fn now() -> Time {
    "2024-01-15T12:00:00Z".parse().unwrap()
}

fn of_operator(reason: &str, name: &str) -> Failure {
    let (what, effect) = match reason {
        "ClusterOperatorUpdating" => ("is updating versions", FailingEffect::None),
        "ClusterOperatorDegraded" => ("is degraded", FailingEffect::FailAfterInterval),
        _ => ("is not available", FailingEffect::Fail),
    };
    Failure::of_operator(reason, what, effect, name)
}

fn begin(work: Work, mode: ApplyMode, start: Time) -> ApplyLoop {
    let streams = Streams::new(1);
    let pace =
        PassPace { interval: SignedDuration::from_mins(3), jitter: streams.stream("test"), orders: streams };
    let payload = Payload::load(&work.release, Selection::default());
    ApplyLoop::new(work, mode, payload, pace, start)
}

/// Checks Progressing and Failing as `status reason message`.
fn check(situation: Situation, progressing_expected: &str, failing_expected: &str) {
    check_at(VERSION, situation, progressing_expected, failing_expected);
}

fn check_at(version: &str, situation: Situation, progressing_expected: &str, failing_expected: &str) {
    let release = Release::find(&version.parse().unwrap()).unwrap();
    let behaviour = Behaviour::for_release(&release);
    let work = Work { release, generation: 2, force: false, verified: true, accepted_risks: None };
    let start = now() - situation.waited;
    let mut apply = begin(work, situation.mode, start);
    for operator in situation.failures.iter().flat_map(|failure| &failure.operators) {
        apply.watches.start(operator, start);
    }
    apply.progress.done = situation.done;
    apply.progress.total = 800;
    apply.progress.failure = failure::merge(situation.failures);
    let text = |condition: Condition| {
        let Condition { status, reason, message, .. } = condition;
        [status, reason, message].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(text(progressing(&apply, behaviour, version, false, now())), progressing_expected);
    assert_eq!(text(failing(&apply, behaviour, now())), failing_expected);
}

fn moving(done: u32, failures: Vec<Failure>, waited_minutes: i64) -> Situation {
    Situation { mode: ApplyMode::Updating, done, failures, waited: SignedDuration::from_mins(waited_minutes) }
}

#[test]
fn progress_is_reported_in_whole_percent() {
    check(moving(0, vec![], 0), "True Working towards 4.16.3", "False");
    let waiting = || vec![of_operator("ClusterOperatorUpdating", "etcd")];
    check(
        moving(0, waiting(), 0),
        "True ClusterOperatorUpdating Working towards 4.16.3: waiting on etcd",
        "False",
    );
    check(moving(799, vec![], 0), "True Working towards 4.16.3: 799 of 800 done (99% complete)", "False");
    check(moving(107, vec![], 0), "True Working towards 4.16.3: 107 of 800 done (13% complete)", "False");
}

#[test]
fn updating_operators_are_waited_for_without_failing() {
    let two =
        vec![of_operator("ClusterOperatorUpdating", "etcd"), of_operator("ClusterOperatorUpdating", "dns")];
    check(
        moving(400, two, 5),
        "True ClusterOperatorsUpdating Working towards 4.16.3: 400 of 800 done (50% complete), waiting on dns, etcd",
        "False",
    );
}

#[test]
fn an_operator_that_takes_over_thirty_minutes_sets_failing_to_unknown() {
    let etcd = vec![of_operator("ClusterOperatorUpdating", "etcd")];
    check(
        moving(80, etcd, 31),
        "True ClusterOperatorUpdating Working towards 4.16.3: 80 of 800 done (10% complete), waiting on etcd over 30 minutes which is longer than expected",
        "Unknown SlowClusterOperator waiting on etcd over 30 minutes which is longer than expected",
    );
    let machine_config = vec![of_operator("ClusterOperatorUpdating", "machine-config")];
    check(
        moving(80, machine_config, 60),
        "True ClusterOperatorUpdating Working towards 4.16.3: 80 of 800 done (10% complete), waiting on machine-config",
        "False",
    );
}

#[test]
fn a_degraded_operator_sets_failing_after_forty_minutes() {
    let degraded = || vec![of_operator("ClusterOperatorDegraded", "etcd")];
    check(
        moving(80, degraded(), 39),
        "True ClusterOperatorDegraded Working towards 4.16.3: 80 of 800 done (10% complete), waiting up to 40 minutes on etcd",
        "False",
    );
    check(
        moving(80, degraded(), 41),
        "True ClusterOperatorDegraded Unable to apply 4.16.3: wait has exceeded 40 minutes for these operators: etcd",
        "True ClusterOperatorDegraded Cluster operator etcd is degraded",
    );
}

#[test]
fn an_unavailable_operator_sets_failing_at_once() {
    check(
        moving(80, vec![of_operator("ClusterOperatorNotAvailable", "etcd")], 0),
        "True ClusterOperatorNotAvailable Unable to apply 4.16.3: the cluster operator etcd is not available",
        "True ClusterOperatorNotAvailable Cluster operator etcd is not available",
    );
}

#[test]
fn failing_omits_operators_that_only_update() {
    let mixed = vec![
        of_operator("ClusterOperatorNotAvailable", "etcd"),
        of_operator("ClusterOperatorUpdating", "dns"),
    ];
    check(
        moving(80, mixed, 0),
        "True MultipleErrors Unable to apply 4.16.3: an unknown error has occurred: MultipleErrors",
        "True ClusterOperatorNotAvailable Cluster operator etcd is not available",
    );
}

#[test]
fn while_reconciling_a_degraded_operator_sets_failing_at_once() {
    let situation = Situation {
        mode: ApplyMode::Reconciling,
        done: 800,
        failures: vec![of_operator("ClusterOperatorDegraded", "etcd")],
        waited: SignedDuration::ZERO,
    };
    check(
        situation,
        "False ClusterOperatorDegraded Error while reconciling 4.16.3: the cluster operator etcd is degraded",
        "True ClusterOperatorDegraded Cluster operator etcd is degraded",
    );
}

#[test]
fn before_4_16_a_slow_operator_does_not_set_failing() {
    check_at(
        "4.15.2",
        moving(80, vec![of_operator("ClusterOperatorUpdating", "etcd")], 100),
        "True ClusterOperatorUpdating Working towards 4.15.2: 80 of 800 done (10% complete), waiting on etcd",
        "False",
    );
}

#[test]
fn slow_operators_are_listed_with_their_limits() {
    let names = ["machine-config", "dns", "network"];
    let failures: Vec<Failure> =
        names.iter().map(|name| of_operator("ClusterOperatorUpdating", name)).collect();
    let check_slow = |waited, waiting: &str, failing: &str| {
        let towards = "True ClusterOperatorsUpdating Working towards 4.16.3: 80 of 800 done (10% complete), ";
        check(moving(80, failures.clone(), waited), &format!("{towards}{waiting}"), failing);
    };
    check_slow(30, "waiting on dns, machine-config, network", "False");
    for (waited, slow) in [(90, ""), (91, " and machine-config over 90 minutes")] {
        let slow = format!("waiting on dns, network over 30 minutes{slow} which is longer than expected");
        check_slow(waited, &slow, &format!("Unknown SlowClusterOperator {slow}"));
    }
}

#[test]
fn a_degraded_operator_among_others_sets_failing_at_once() {
    let mixed =
        vec![of_operator("ClusterOperatorDegraded", "etcd"), of_operator("ClusterOperatorUpdating", "dns")];
    check(
        moving(80, mixed, 1),
        "True MultipleErrors Unable to apply 4.16.3: an unknown error has occurred: MultipleErrors",
        "True ClusterOperatorDegraded Cluster operator etcd is degraded",
    );
}

#[test]
fn failing_lists_several_failures_without_harmless_ones() {
    let three = vec![
        of_operator("ClusterOperatorDegraded", "etcd"),
        of_operator("ClusterOperatorUpdating", "dns"),
        of_operator("ClusterOperatorNotAvailable", "network"),
    ];
    check(
        moving(80, three, 0),
        "True MultipleErrors Unable to apply 4.16.3: an unknown error has occurred: MultipleErrors",
        "True MultipleErrors Multiple errors are preventing progress:\n* Cluster operator etcd is degraded\n* Cluster operator network is not available",
    );
}

#[test]
fn while_reconciling_an_updating_operator_sets_failing_at_once() {
    let situation = Situation {
        mode: ApplyMode::Reconciling,
        done: 800,
        failures: vec![of_operator("ClusterOperatorUpdating", "etcd")],
        waited: SignedDuration::ZERO,
    };
    check(
        situation,
        "False ClusterOperatorUpdating Error while reconciling 4.16.3: etcd has an unknown error: ClusterOperatorUpdating",
        "True ClusterOperatorUpdating Cluster operator etcd is updating versions",
    );
}

/// The ClusterVersion after the first status of the operator of 4.16.3.
fn first_status(invalid: &[String]) -> Value {
    let release = Release::find(&VERSION.parse().unwrap()).unwrap();
    let load = LoadResult::loaded(&release, &release);
    status_after_work(&release, &json!([]), &load, invalid)
}

/// The ClusterVersion after a status of this release's operator, which works on its own payload.
fn status_after_work(release: &Release, history: &Value, load: &LoadResult, invalid: &[String]) -> Value {
    let object = json!({
        "metadata": { "name": "version", "generation": 7 },
        "spec": {},
        "status": { "conditions": [{ "type": "ImplicitlyEnabled", "status": "False" }], "history": history },
    });
    let work =
        Work { release: release.clone(), generation: 5, force: false, verified: false, accepted_risks: None };
    let object = Object::new(object);
    // The update check must match the spec, or the status keeps the stored updates.
    let mut updates = Updates::new(SignedDuration::from_mins(3));
    updates.run(&Environment::default(), &View::default(), &[], &object, release, now());
    let report = Report {
        apply: &begin(work, ApplyMode::Updating, now()),
        own_image: &release.image,
        load,
        capabilities: &Capabilities::at_start(release, "", &object),
        behaviour: Behaviour::for_release(release),
        updates: &updates,
        upgradeable: &Upgradeable::default(),
        previews: false,
        invalid,
    };
    updated_object(&object, &report, now()).unwrap()
}

#[test]
fn a_rejected_target_clears_the_accepted_risks_of_the_current_release() {
    let release = Release::find(&VERSION.parse().unwrap()).unwrap();
    let risks = |version: &str, load: &LoadResult| {
        let release = Release { version: version.parse().unwrap(), ..release.clone() };
        let head = json!({ "state": "Completed", "version": version, "image": release.image, "acceptedRisks": "forced" });
        let object = status_after_work(&release, &json!([head]), load, &[]);
        object["status"]["history"][0]["acceptedRisks"].clone()
    };
    let rejected = LoadResult::blocked(&release, "because");
    assert_eq!(risks("4.23.1", &rejected), Value::Null);
    assert_eq!(risks("4.12.1", &rejected), Value::Null);
    assert_eq!(risks("4.11.1", &rejected), "forced", "4.11 records no risks");
    assert_eq!(risks("4.12.1", &LoadResult::Untried), "forced");
}

#[test]
fn conditions_are_in_the_operators_order_and_the_generation_is_that_of_the_work() {
    let kinds = |object: &Value| -> Vec<String> {
        let list = object["status"]["conditions"].as_array().unwrap();
        list.iter().map(|condition| condition["type"].as_str().unwrap().to_owned()).collect()
    };
    let order = [
        "RetrievedUpdates",
        "ImplicitlyEnabledCapabilities",
        "ReleaseAccepted",
        "Available",
        "Failing",
        "Progressing",
    ];
    let fresh = first_status(&[]);
    assert_eq!(kinds(&fresh), order, "and no type of former releases");
    assert_eq!(fresh["status"]["observedGeneration"], 5);
    assert_eq!(fresh["status"]["history"][0]["state"], "Partial");
    let invalid = first_status(&["spec.a: wrong".to_owned(), "spec.b: wrong".to_owned()]);
    assert_eq!(kinds(&invalid)[..3], ["RetrievedUpdates", "Invalid", "ImplicitlyEnabledCapabilities"]);
    let message = condition::find_in_status(&invalid, "Invalid").unwrap()["message"].clone();
    assert_eq!(message, "The cluster version is invalid:\n* spec.a: wrong\n* spec.b: wrong\n");
    let progressing = Condition::from_value(condition::find_in_status(&invalid, "Progressing").unwrap());
    assert_eq!((progressing.status.as_str(), progressing.reason.as_str()), ("True", "InvalidClusterVersion"));
    assert_eq!(progressing.message, "Reconciling 4.16.3: the cluster version is invalid");
}

#[test]
fn progressing_reports_an_invalid_spec_before_waits_but_after_failures() {
    let release = Release::find(&VERSION.parse().unwrap()).unwrap();
    let progressing_text = |mode, reason: &str| {
        let work = Work {
            release: release.clone(),
            generation: 2,
            force: false,
            verified: true,
            accepted_risks: None,
        };
        let mut apply = begin(work, mode, now());
        apply.watches.start("etcd", now());
        apply.progress.failure = (!reason.is_empty()).then(|| of_operator(reason, "etcd"));
        let Condition { status, reason, message, .. } =
            progressing(&apply, Behaviour::for_release(&release), VERSION, true, now());
        format!("{status} {reason} {message}")
    };
    let invalid = "True InvalidClusterVersion Reconciling 4.16.3: the cluster version is invalid";
    for reason in ["", "ClusterOperatorUpdating", "ClusterOperatorDegraded"] {
        assert_eq!(progressing_text(ApplyMode::Updating, reason), invalid, "{reason} is no failure yet");
    }
    let summary = "the cluster operator etcd is not available";
    assert_eq!(
        progressing_text(ApplyMode::Updating, "ClusterOperatorNotAvailable"),
        format!("True ClusterOperatorNotAvailable Unable to apply 4.16.3: {summary}")
    );
    assert_eq!(
        progressing_text(ApplyMode::Reconciling, ""),
        "False InvalidClusterVersion Stopped at 4.16.3: the cluster version is invalid"
    );
    assert_eq!(
        progressing_text(ApplyMode::Reconciling, "ClusterOperatorDegraded"),
        "False ClusterOperatorDegraded Error while reconciling 4.16.3: the cluster operator etcd is degraded"
    );
}

#[test]
fn without_a_start_time_a_degraded_operator_is_overdue_and_a_slow_one_is_not() {
    let release = Release::find(&VERSION.parse().unwrap()).unwrap();
    let behaviour = Behaviour::for_release(&release);
    let work = Work { release, generation: 2, force: false, verified: true, accepted_risks: None };
    let mut apply = begin(work, ApplyMode::Updating, now());
    let mut status = |reason: &str| {
        apply.progress.failure = Some(of_operator(reason, "etcd"));
        failing(&apply, behaviour, now()).status
    };
    assert_eq!(
        (status("ClusterOperatorDegraded"), status("ClusterOperatorUpdating")),
        ("True".into(), "False".into())
    );
}

#[test]
fn available_stays_true_during_later_failures() {
    let release = Release::find(&VERSION.parse().unwrap()).unwrap();
    let available = |done: Value| {
        let mut object =
            json!({ "metadata": { "name": "version" }, "spec": {}, "status": { "conditions": [done] } });
        let work = Work {
            release: release.clone(),
            generation: 5,
            force: false,
            verified: false,
            accepted_risks: None,
        };
        let mut apply = begin(work, ApplyMode::Updating, now());
        apply.progress.failure = Some(of_operator("ClusterOperatorNotAvailable", "etcd"));
        let mut conditions = take_list(&mut object["status"], "conditions");
        let (load, upgradeable, updates) =
            (LoadResult::Untried, Upgradeable::default(), Updates::new(SignedDuration::from_mins(3)));
        let report = Report {
            apply: &apply,
            own_image: &release.image,
            load: &load,
            capabilities: &Capabilities::at_start(&release, "", &json!({})),
            behaviour: Behaviour::for_release(&release),
            updates: &updates,
            upgradeable: &upgradeable,
            previews: false,
            invalid: &[],
        };
        set_conditions(&mut conditions, &report, None, VERSION, now());
        assert_eq!(
            conditions.last().unwrap()["type"],
            "RetrievedUpdates",
            "there was no request for updates yet"
        );
        let found = Condition::from_value(condition::find(&conditions, "Available").unwrap());
        format!("{} {}", found.status, found.message)
    };
    let before = json!({ "type": "Available", "status": "True", "message": "Done applying 4.16.1" });
    assert_eq!(available(before), "True Done applying 4.16.1");
    let dropped = json!({ "type": "Available", "status": "False" });
    assert_eq!(available(dropped), "False ", "until a pass is completed");
}

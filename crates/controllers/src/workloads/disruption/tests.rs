//! Budgets for pods with several kinds of owners.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windtunnel_core::clock::rfc3339;
use windtunnel_core::resources::{DEPLOYMENTS, EVENTS, POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS};
use windtunnel_core::{Object, Write, condition};

use super::DisruptionController;
use crate::testing::{Rig, check_recovery};

/// A Deployment with four replicas, its ReplicaSet, and pods that are ready or not.
fn prepare(rig: &mut Rig, pods: &[(&str, bool)]) {
    rig.seat(|| Box::new(DisruptionController::new()));
    let deployment = json!({ "metadata": { "namespace": "ns", "name": "web" }, "spec": { "replicas": 4 } });
    let deployment = rig.put(&DEPLOYMENTS, deployment);
    let owned = owner("Deployment", &deployment);
    let set = json!({
        "metadata": { "namespace": "ns", "name": "web-1", "ownerReferences": [owned] }, "spec": { "replicas": 3 }
    });
    let set = rig.put(&REPLICA_SETS, set);
    for (name, ready) in pods {
        let references = json!([owner("ReplicaSet", &set)]);
        rig.put(&PODS, pod(name, *ready, &references));
    }
}

fn owner(kind: &str, object: &Object) -> Value {
    json!({ "kind": kind, "name": object.name(), "uid": object.uid(), "controller": true })
}

fn pod(name: &str, ready: bool, owners: &Value) -> Value {
    let status = if ready { "True" } else { "False" };
    json!({
        "metadata": { "namespace": "ns", "name": name, "labels": { "app": "web" }, "ownerReferences": owners },
        "status": { "conditions": [{ "type": "Ready", "status": status }] },
    })
}

fn put_budget(rig: &mut Rig, field: &str, value: &Value) {
    let spec = json!({ "selector": { "matchLabels": { "app": "web" } }, field: value });
    rig.put(&POD_DISRUPTION_BUDGETS, json!({ "metadata": { "namespace": "ns", "name": "b" }, "spec": spec }));
    rig.run(1);
}

fn budget_of(rig: &Rig) -> &Object {
    rig.view.get(&POD_DISRUPTION_BUDGETS, "ns", "b").unwrap()
}

/// Checks `expectedPods desiredHealthy currentHealthy disruptionsAllowed`, and the reason of the condition.
#[track_caller]
fn check(rig: &Rig, counts: [i64; 4], reason: &str) {
    let budget = budget_of(rig);
    let fields = ["expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed"];
    let found = fields.map(|field| budget.number(&format!("/status/{field}")).unwrap());
    assert_eq!(found, counts);
    assert_eq!(condition::find_in_status(budget, "DisruptionAllowed").unwrap()["reason"], reason);
    assert_eq!(budget.number("/status/observedGeneration"), Some(budget.generation()));
}

const THREE: [(&str, bool); 3] = [("a", true), ("b", true), ("c", false)];

#[test]
fn an_absolute_min_available_refers_to_the_existing_pods() {
    let mut rig = Rig::new();
    prepare(&mut rig, &THREE);
    put_budget(&mut rig, "minAvailable", &json!(1));
    check(&rig, [3, 1, 2, 1], "SufficientPods");
}

#[test]
fn percentages_and_max_unavailable_refer_to_the_scale_of_the_owners() {
    for (field, value, counts, reason) in [
        ("minAvailable", json!("30%"), [4, 2, 2, 0], "InsufficientPods"),
        ("maxUnavailable", json!(3), [4, 1, 2, 1], "SufficientPods"),
        ("maxUnavailable", json!("51%"), [4, 1, 2, 1], "SufficientPods"),
        ("maxUnavailable", json!(9), [4, 0, 2, 2], "SufficientPods"),
    ] {
        let mut rig = Rig::new();
        prepare(&mut rig, &THREE);
        put_budget(&mut rig, field, &value);
        check(&rig, counts, reason);
    }
}

#[test]
fn follows_changes_of_pods_and_scale() {
    let mut rig = Rig::new();
    prepare(&mut rig, &THREE);
    put_budget(&mut rig, "maxUnavailable", &json!(2));
    check(&rig, [4, 2, 2, 0], "InsufficientPods");
    let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
    rig.write(&Write::merge_patch_status(&PODS, "ns", "c", ready));
    rig.run(1);
    check(&rig, [4, 2, 3, 1], "SufficientPods");
    rig.write(&Write::merge_patch(&DEPLOYMENTS, "ns", "web", json!({ "spec": { "replicas": 5 } })));
    rig.run(1);
    check(&rig, [5, 3, 3, 0], "InsufficientPods");
    rig.write(&Write::delete(&PODS, "ns", "a"));
    rig.run(1);
    check(&rig, [5, 3, 2, 0], "InsufficientPods");
}

#[test]
fn allows_no_disruptions_without_pods() {
    let mut rig = Rig::new();
    prepare(&mut rig, &[]);
    put_budget(&mut rig, "minAvailable", &json!(0));
    check(&rig, [0, 0, 0, 0], "InsufficientPods");
}

#[test]
fn an_evicted_pod_counts_as_unhealthy_for_at_most_two_minutes() {
    let mut rig = Rig::new();
    prepare(&mut rig, &[("a", true), ("b", true)]);
    put_budget(&mut rig, "minAvailable", &json!(1));
    let evicted =
        json!({ "status": { "disruptedPods": { "a": rfc3339(rig.now), "gone": rfc3339(rig.now) } } });
    rig.write(&Write::merge_patch_status(&POD_DISRUPTION_BUDGETS, "ns", "b", evicted));
    rig.run(100);
    check(&rig, [2, 1, 1, 0], "InsufficientPods");
    assert_eq!(budget_of(&rig)["status"]["disruptedPods"].as_object().unwrap().len(), 1);
    rig.run(30);
    check(&rig, [2, 1, 2, 1], "SufficientPods");
    assert!(budget_of(&rig)["status"]["disruptedPods"].is_null());
}

#[test]
fn allows_no_disruptions_if_the_scale_is_unknown() {
    let mut rig = Rig::new();
    prepare(&mut rig, &THREE);
    let unknown_owner = json!([{ "kind": "Widget", "name": "w", "uid": "u", "controller": true }]);
    rig.put(&PODS, pod("d", true, &unknown_owner));
    put_budget(&mut rig, "maxUnavailable", &json!(3));
    let condition = condition::find_in_status(budget_of(&rig), "DisruptionAllowed").unwrap().clone();
    assert_eq!(condition["reason"], "SyncFailed");
    assert_eq!(condition["message"], "found no controllers for pod \"d\"");
    assert_eq!(budget_of(&rig).number("/status/disruptionsAllowed"), Some(0));
}

#[test]
fn recovers_after_a_crash_at_each_write() {
    let story = |rig: &mut Rig| {
        prepare(rig, &THREE);
        put_budget(rig, "maxUnavailable", &json!(2));
        rig.write(&Write::delete(&PODS, "ns", "a"));
        rig.run(60);
    };
    check_recovery(story, |rig| budget_of(rig)["status"]["disruptionsAllowed"].to_string());
}

/// The reasons of the Events about an object.
fn reasons<'r>(rig: &'r Rig, name: &str) -> Vec<&'r str> {
    let about = rig.view.list(&EVENTS).filter(|event| event.text("/involvedObject/name") == name);
    let reasons: BTreeSet<&str> = about.map(|event| event.text("/reason")).collect();
    reasons.into_iter().collect()
}

#[test]
fn events_report_budgets_without_pods_and_pods_without_controllers() {
    let mut rig = Rig::new();
    rig.seat(|| Box::new(DisruptionController::new()));
    put_budget(&mut rig, "minAvailable", &json!("50%"));
    assert_eq!(reasons(&rig, "b"), ["NoPods"]);
    rig.put(&PODS, pod("alone", true, &json!([])));
    rig.run(1);
    assert_eq!(reasons(&rig, "b"), ["NoPods", "UnmanagedPods"]);
    let of = |reason: &str| rig.view.list(&EVENTS).find(|event| event["reason"] == reason).unwrap();
    assert!(of("UnmanagedPods").text("/message").starts_with(
        "Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string{app: web,},\
         MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged. "
    ));
    assert_eq!(of("NoPods").text("/source/component"), "controllermanager");
    let lost = json!([{ "kind": "ReplicaSet", "name": "gone", "uid": "u", "controller": true }]);
    rig.put(&PODS, pod("lost", true, &lost));
    rig.run(1);
    assert!(reasons(&rig, "b").contains(&"CalculateExpectedPodCountFailed"));
}

#[test]
fn events_report_pods_of_two_budgets_and_evicted_pods_that_stay() {
    let mut rig = Rig::new();
    prepare(&mut rig, &THREE);
    put_budget(&mut rig, "minAvailable", &json!(1));
    let evicted = json!({ "status": { "disruptedPods": { "a": rfc3339(rig.now) } } });
    rig.write(&Write::merge_patch_status(&POD_DISRUPTION_BUDGETS, "ns", "b", evicted));
    rig.run(130);
    assert_eq!(reasons(&rig, "a"), ["NotDeleted"]);
    let other = json!({ "selector": { "matchLabels": { "app": "web" } }, "minAvailable": 1 });
    rig.put(
        &POD_DISRUPTION_BUDGETS,
        json!({ "metadata": { "namespace": "ns", "name": "c" }, "spec": other }),
    );
    rig.write(&Write::delete(&PODS, "ns", "b"));
    rig.run(1);
    assert_eq!(reasons(&rig, "b"), ["MultiplePodDisruptionBudgets"]);
}

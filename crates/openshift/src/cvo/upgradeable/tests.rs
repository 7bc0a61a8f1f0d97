//! Tests of the condition Upgradeable and of its precondition.

use serde_json::json;
use windtunnel_core::Resource;
use windtunnel_core::resources::{CLUSTER_OPERATORS, CONFIG_MAPS};

use super::*;
use crate::release::Release;

fn behaviour(version: &str) -> Behaviour {
    let mut release = Release::find(&"4.22.0".parse().unwrap()).unwrap();
    release.version = version.parse().unwrap();
    Behaviour::for_release(&release)
}

fn at(seconds: i64) -> Time {
    Time::from_second(1_700_000_000 + seconds).unwrap()
}

fn put(view: &mut View, resource: &Resource, namespace: &str, name: &str, rest: Value) {
    let mut value = rest;
    value["metadata"] = json!({ "namespace": namespace, "name": name });
    let key = resource.key(namespace, name);
    view.apply(&Change { key, kind: ChangeKind::Added, object: Object::new(value), old: None });
}

fn operator(view: &mut View, name: &str, status: &str, message: &str) {
    let condition = json!({ "type": "Upgradeable", "status": status, "reason": "Old", "message": message });
    put(view, &CLUSTER_OPERATORS, "", name, json!({ "status": { "conditions": [condition] } }));
}

/// A cluster with these admin gates and acknowledgements.
fn cluster(gates: &Value, acks: &Value) -> View {
    let mut view = View::default();
    put(&mut view, &CONFIG_MAPS, "openshift-config-managed", "admin-gates", json!({ "data": gates }));
    put(&mut view, &CONFIG_MAPS, "openshift-config", "admin-acks", json!({ "data": acks }));
    view
}

fn cluster_version(version: &str, overrides: bool, progressing: &str) -> Object {
    Object::new(json!({
        "spec": { "overrides": [{ "kind": "Deployment", "unmanaged": overrides }] },
        "status": {
            "history": [{ "state": "Completed", "version": version }],
            "conditions": [{ "type": "Progressing", "status": progressing }],
        },
    }))
}

/// `type status reason message` of each condition after one check.
fn check_once(object: &Object, view: &View) -> Vec<String> {
    let version = completed_version(object);
    let mut upgradeable = Upgradeable::default();
    upgradeable.run_checks(behaviour(version), object, &[], view, at(0));
    let mut list = vec![json!({ "type": "UpgradeableGone" }), json!({ "type": "Available" })];
    upgradeable.write_conditions(&mut list, at(0));
    assert_eq!(list.remove(0)["type"], "Available", "obsolete conditions are removed");
    let line = |c: Condition| format!("{} {} {} {}", c.kind, c.status, c.reason, c.message);
    list.iter().map(|entry| line(Condition::from_value(entry))).collect()
}

#[test]
fn without_reasons_there_is_no_upgradeable_condition() {
    let mut view = cluster(&json!({ "ack-4.13-other": "Read this." }), &json!({}));
    operator(&mut view, "etcd", "True", "");
    assert_eq!(check_once(&cluster_version("4.14.1", false, "True"), &view), [""; 0]);
}

#[test]
fn a_single_failed_check_is_reported_as_upgradeable() {
    let mut view = cluster(&json!({}), &json!({}));
    operator(&mut view, "etcd", "False", "No quorum.");
    assert_eq!(
        check_once(&cluster_version("4.14.1", false, "False"), &view),
        [
            "Upgradeable False Old Cluster operator etcd should not be upgraded between minor versions: No quorum."
        ]
    );
    operator(&mut view, "dns", "False", "No names.");
    assert_eq!(
        check_once(&cluster_version("4.14.1", false, "False"), &view),
        [
            "Upgradeable False ClusterOperatorsNotUpgradeable Multiple cluster operators should not be upgraded between minor versions:\n* Cluster operator dns should not be upgraded between minor versions: Old: No names.\n* Cluster operator etcd should not be upgraded between minor versions: Old: No quorum."
        ]
    );
}

#[test]
fn several_failed_checks_have_separate_conditions_sorted_by_type() {
    let view = cluster(&json!({ "ack-4.14-api": "APIs go." }), &json!({ "ack-4.14-api": "false" }));
    let overrides = "Disabling ownership via cluster version overrides prevents upgrades. Please remove overrides before continuing.";
    assert_eq!(
        check_once(&cluster_version("4.14.1", true, "True"), &view),
        [
            format!(
                "Upgradeable False MultipleReasons Cluster should not be upgraded between minor versions for multiple reasons: ClusterVersionOverridesSet,AdminAckRequired\n* {overrides}\n* APIs go."
            ),
            "UpgradeableAdminAckRequired False AdminAckRequired APIs go.".to_owned(),
            format!("UpgradeableClusterVersionOverrides False ClusterVersionOverridesSet {overrides}"),
        ]
    );
}

#[test]
fn gates_need_the_answer_true_and_a_valid_form() {
    let acked = cluster(&json!({ "ack-4.14-api": "APIs go." }), &json!({ "ack-4.14-api": "true" }));
    assert_eq!(check_once(&cluster_version("4.14.1", false, "False"), &acked), [""; 0]);
    let invalid = json!({ "ack-4.14-b": "B.", "ack-4.14-a": "A.", "ack-4.14-e": "", "ack-4.14--x": "X." });
    assert_eq!(
        check_once(&cluster_version("4.14.1", false, "False"), &cluster(&invalid, &json!({}))),
        [
            "Upgradeable False MultipleReasons A. B. admin-gates configmap gate ack-4.14-e must contain a non-empty value. admin-gates configmap gate name ack-4.14--x has invalid format; must comply with \"^ack-[4-5][.]([0-9]{1,})-[^-]\"."
        ]
    );
    assert_eq!(
        check_once(&cluster_version("4.14.1", false, "False"), &View::default()),
        ["Upgradeable False UnableToAccessAdminGatesConfigMap admin-gates configmap not found."]
    );
}

#[test]
fn from_4_19_an_update_in_progress_counts_and_its_separate_condition_is_true() {
    let mut view = cluster(&json!({}), &json!({}));
    let updating = "An update is already in progress and the details are in the Progressing condition";
    assert_eq!(
        check_once(&cluster_version("4.19.1", false, "True"), &view),
        [format!("Upgradeable False UpdateInProgress {updating}")]
    );
    operator(&mut view, "etcd", "False", "No quorum.");
    let lines = check_once(&cluster_version("4.19.1", false, "True"), &view);
    assert_eq!(lines[2], format!("UpgradeableUpgradeInProgress True UpdateInProgress {updating}"));
}

#[test]
fn from_4_23_only_upgradeable_is_set_from_the_risks() {
    let mut view = cluster(&json!({}), &json!({}));
    let updating = "An update is already in progress and the details are in the Progressing condition.";
    let object = cluster_version("5.0.1", false, "True");
    assert_eq!(check_once(&object, &view), [format!("Upgradeable False ClusterVersionUpdating {updating}")]);
    operator(&mut view, "etcd", "False", "No quorum.");
    assert_eq!(
        check_once(&object, &view),
        [format!(
            "Upgradeable False MultipleReasons Cluster should not be upgraded between minor or major versions for multiple reasons:\n* {updating}\n* No quorum."
        )]
    );
    let settled = cluster_version("5.0.1", false, "False");
    assert_eq!(
        check_once(&settled, &view),
        ["Upgradeable False RiskNameNotCompatibleWithReasonProperty No quorum."]
    );
    assert_eq!(
        check_once(&settled, &View::default()),
        [
            "Upgradeable False AdminAckUnknown Failed to retrieve ConfigMap admin-gates from namespace openshift-config-managed: configmap \"admin-gates\" not found"
        ]
    );
}

#[test]
fn from_4_23_gates_match_their_major_and_have_another_name_form() {
    let gates = json!({ "ack-4.0-old": "Not this.", "ack-5.0-new": "Read this.", "x": "" });
    let view = cluster(&gates, &json!({}));
    let found =
        risks::upgradeable_risks(behaviour("5.0.1"), &cluster_version("5.0.1", false, "False"), &[], &view);
    let found: Vec<String> = found.iter().map(|risk| format!("{}: {}", risk.name, risk.message)).collect();
    assert_eq!(
        found,
        [
            "AdminAck-ack-5.0-new: Read this.",
            "AdminAck-x: admin-gates configmap gate \"x\" is invalid: admin-gates configmap gate name x has invalid format; must comply with \"^ack-([4-5][.][0-9]{1,})-[^-]\""
        ]
    );
}

#[test]
fn each_risk_has_a_documentation_url() {
    let mut view = cluster(&json!({}), &json!({}));
    operator(&mut view, "etcd", "False", "No quorum.");
    let mut object = cluster_version("5.0.1", true, "True").to_value();
    object["status"]["desired"] = json!({ "version": "5.1.2" });
    let deleted = ["Deployment \"a/b\"".to_owned()];
    let found = risks::upgradeable_risks(behaviour("5.0.1"), &Object::new(object), &deleted, &view);
    let found: Vec<String> = found.iter().map(|risk| format!("{} {}", risk.name, risk.url)).collect();
    let place = "https://docs.redhat.com/en/documentation/openshift_container_platform";
    let page = "html/updating_clusters/understanding-openshift-updates-1";
    let conditions = "understanding_clusteroperator_conditiontypes_understanding-openshift-updates";
    assert_eq!(
        found,
        [
            format!("ClusterVersionUpdating {place}/5.1/{page}#{conditions}"),
            format!(
                "ClusterVersionOverrides {place}/5.1/html/config_apis/clusterversion-config-openshift-io-v1#spec-8"
            ),
            format!(
                "ResourceDeletionInProgress {place}/5.0/{page}#update-manifest-application_how-updates-work"
            ),
            format!("ClusterOperatorUpgradeable-etcd {place}/5.0/{page}#{conditions}"),
        ]
    );
}

#[test]
fn missing_acknowledgements_are_a_risk_in_order_with_the_others() {
    let mut view = View::default();
    put(&mut view, &CONFIG_MAPS, "openshift-config-managed", "admin-gates", json!({}));
    operator(&mut view, "etcd", "False", "No quorum.");
    let found =
        risks::upgradeable_risks(behaviour("5.0.1"), &cluster_version("5.0.1", false, "True"), &[], &view);
    let names: Vec<&str> = found.iter().map(|risk| risk.name.as_str()).collect();
    assert_eq!(names, ["ClusterVersionUpdating", "AdminAckUnknown", "ClusterOperatorUpgradeable-etcd"]);
    let message = "Failed to retrieve ConfigMap admin-acks from namespace openshift-config: configmap \"admin-acks\" not found";
    assert_eq!(found[1].message, message);
}

#[test]
fn detects_changes_of_a_clusteroperators_upgradeable_false() {
    let operator = |status: &str, message: &str| {
        let condition = json!({ "type": "Upgradeable", "status": status, "message": message });
        Object::new(json!({ "metadata": { "name": "etcd" }, "status": { "conditions": [condition] } }))
    };
    let check = |old: Option<Object>, object: Object, kind: ChangeKind, expected: bool| {
        let key = CLUSTER_OPERATORS.key("", "etcd");
        assert_eq!(has_changed(&Change { key, kind, object, old }), expected);
    };
    let (fine, refuses) = (|| operator("True", "Fine."), || operator("False", "No quorum."));
    check(None, refuses(), ChangeKind::Added, true);
    check(None, fine(), ChangeKind::Added, false);
    check(Some(fine()), refuses(), ChangeKind::Modified, true);
    check(Some(refuses()), refuses(), ChangeKind::Modified, false);
    check(Some(refuses()), operator("False", "No disk."), ChangeKind::Modified, true);
    check(Some(fine()), operator("True", "Better."), ChangeKind::Modified, false);
    check(Some(refuses()), fine(), ChangeKind::Modified, true);
    check(Some(refuses()), refuses(), ChangeKind::Deleted, true);
}

/// Returns whether the checks at `after` notice an operator that was not upgradeable in between. `accepted`
/// is the reason of ReleaseAccepted=False.
fn notices(after: i64, accepted: &str, gates_changed: bool) -> bool {
    let mut value = cluster_version("4.14.1", false, "False").to_value();
    value["status"]["conditions"] = json!([{
        "type": "ReleaseAccepted", "status": "False", "reason": accepted, "lastTransitionTime": "2023-11-14T22:13:00Z",
    }]);
    let (object, mut view) = (Object::new(value), cluster(&json!({}), &json!({})));
    let mut upgradeable = Upgradeable::default();
    upgradeable.run_checks(behaviour("4.14.1"), &object, &[], &view, at(0));
    operator(&mut view, "etcd", "False", "No quorum.");
    if gates_changed {
        upgradeable.outdated();
    }
    upgradeable.run_checks(behaviour("4.14.1"), &object, &[], &view, at(after));
    !upgradeable.conditions.is_empty()
}

#[test]
fn checks_run_every_two_minutes_and_sooner_after_a_rejected_payload() {
    assert!(!notices(119, "RetrievePayload", false));
    assert!(notices(120, "RetrievePayload", false));
    assert!(!notices(14, "PreconditionChecks", false));
    assert!(notices(15, "PreconditionChecks", false));
    assert!(notices(1, "RetrievePayload", true), "changed acknowledgements trigger a check at once");
}

/// Judges an update of a cluster at `desired` with last completed release `completed` and this Upgradeable
/// reason.
fn judge(completed: &str, desired: &str, target: &str, reason: &str) -> String {
    let progressing = if completed == desired { "False" } else { "True" };
    let overrides = json!([{ "kind": "Deployment", "unmanaged": reason.contains("Overrides") }]);
    let object = Object::new(json!({ "spec": { "overrides": overrides }, "status": {
        "history": [{ "state": "Partial", "version": desired }, { "state": "Completed", "version": completed }],
        "conditions": [
            { "type": "Progressing", "status": progressing },
            { "type": "Upgradeable", "status": "False", "reason": reason, "message": "No." },
        ],
    } }));
    let [desired, target] = [desired, target].map(|version| version.parse().unwrap());
    let error = precondition::judge(behaviour(completed), &object, &desired, &target);
    error.map_or_else(String::new, |o| {
        format!("{}{}: {}", if o.blocks { "" } else { "(warning) " }, o.reason, o.message)
    })
}

#[test]
fn rejects_another_minor_and_accepts_a_patch() {
    assert_eq!(judge("4.20.1", "4.20.1", "4.21.0", "Old"), "Old: No.");
    assert_eq!(judge("4.20.1", "4.20.1", "4.20.2", "Old"), "");
    assert_eq!(judge("4.22.1", "4.22.1", "5.0.0", "Old"), "Old: No.");
}

#[test]
fn overrides_reject_patches_up_to_4_21() {
    assert_eq!(
        judge("4.21.1", "4.21.1", "4.21.2", "ClusterVersionOverridesSet"),
        "ClusterVersionOverridesSet: No."
    );
}

#[test]
fn overrides_cause_a_warning_for_patches_and_rollbacks_from_4_22_on() {
    let warning = |version: &str, target| {
        format!(
            "(warning) ClusterVersionOverridesSet: Retarget from {version} to {target} is not blocked by ClusterVersionOverridesSet. But the cluster-version operator is not managing these resources; they are currently the responsibility of the agent that set the overrides: Disabling ownership via cluster version overrides prevents upgrades between minor or major versions. Please remove overrides before requesting a minor or major version update."
        )
    };
    let check = |version, target, reason| {
        assert_eq!(judge(version, version, target, reason), warning(version, target));
    };
    check("4.22.1", "4.22.2", "ClusterVersionOverridesSet");
    check("4.22.1", "4.21.9", "ClusterVersionOverridesSet");
    check("5.0.1", "5.0.2", "ClusterVersionOverrides");
    assert_eq!(
        judge("4.22.1", "4.22.1", "5.0.0", "ClusterVersionOverridesSet"),
        "ClusterVersionOverridesSet: No."
    );
}

#[test]
fn a_new_patch_target_during_a_minor_update_is_rejected_before_4_18_and_a_warning_from_4_19() {
    assert_eq!(judge("4.17.1", "4.18.1", "4.18.2", "Old"), "Old: No.");
    assert_eq!(judge("4.18.1", "4.19.1", "4.19.2", "Old"), "");
    assert_eq!(
        judge("4.19.1", "4.20.1", "4.20.2", "Old"),
        "(warning) MinorVersionClusterUpdateInProgress: Retarget to 4.20.2 while a minor version update from 4.19.1 to 4.20.1 is in progress"
    );
}

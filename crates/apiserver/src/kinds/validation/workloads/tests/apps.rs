//! Tests of the kinds of the group `apps`, and of ReplicationControllers.

use serde_json::{Value, json};

use super::template;
use crate::kinds::validation::examples::{errors, rejects, rejects_updates};
use crate::kinds::validation::workloads::apps::{daemon_set, deployment, revision, stateful_set};
use crate::kinds::validation::workloads::controller;
use crate::kinds::validation::{status_writes, workloads::warnings};

const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
    and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
    validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn workload(more: &Value) -> Value {
    let mut object = json!({
        "metadata": { "name": "x" },
        "spec": { "replicas": 1, "selector": { "matchLabels": { "a": "b" } }, "template": template("Always") },
    });
    json_patch::merge(&mut object["spec"], more);
    object
}

#[test]
fn selectors_match_the_labels_of_the_template() {
    let valid = workload(&json!({}));
    let bad_value = format!(
        "spec.selector.matchLabels: Invalid value: \"b c\": {LABEL_VALUE}; spec.selector: Invalid value: \
                 {{\"matchLabels\":{{\"a\":\"b c\"}}}}: invalid label selector"
    );
    rejects(
        deployment::replica_set,
        &valid,
        &[
            (
                json!({ "spec": { "selector": null } }),
                "spec.selector: Required value; spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does \
             not match template `labels`",
            ),
            (
                json!({ "spec": { "selector": { "matchLabels": null } } }),
                "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
            ),
            (
                json!({ "spec": { "selector": { "matchLabels": { "a": "c" } } } }),
                "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
            ),
            (json!({ "spec": { "selector": { "matchLabels": { "a": "b c" } } } }), &bad_value),
            (
                json!({ "spec": { "template": { "spec": { "restartPolicy": "Never", "activeDeadlineSeconds": 1 } } } }),
                "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"; \
             spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
            ),
        ],
    );
    rejects_updates(
        deployment::replica_set,
        &valid,
        &[(
            json!({ "spec": { "selector": { "matchLabels": { "a": null, "c": "d" } }, "template": { "metadata": { "labels": { "c": "d" } } } } }),
            "spec.selector: Invalid value: {\"matchLabels\":{\"c\":\"d\"}}: field is immutable",
        )],
    );
}

#[test]
fn deployments_have_a_strategy() {
    let strategy =
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": "25%" } });
    let valid = workload(&json!({ "strategy": strategy }));
    let rolling = |patch: Value| json!({ "spec": { "strategy": { "rollingUpdate": patch } } });
    rejects(
        deployment::deployment,
        &valid,
        &[
            (
                json!({ "spec": { "strategy": { "type": "X", "rollingUpdate": null } } }),
                "spec.strategy: Unsupported value: {\"Type\":\"X\",\"RollingUpdate\":null}: supported values: \"Recreate\", \
             \"RollingUpdate\"",
            ),
            (
                json!({ "spec": { "strategy": { "type": "Recreate" } } }),
                "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
            ),
            (
                rolling(json!({ "maxSurge": 0, "maxUnavailable": "0%" })),
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0",
            ),
            (
                rolling(json!({ "maxUnavailable": "101%" })),
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%",
            ),
            (
                rolling(json!({ "maxSurge": -1 })),
                "spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0",
            ),
            (
                json!({ "spec": { "minReadySeconds": 5, "progressDeadlineSeconds": 5 } }),
                "spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds",
            ),
        ],
    );
}

#[test]
fn daemon_sets_make_pods_unavailable_or_add_pods() {
    let strategy =
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 1 } });
    let valid = workload(&json!({ "updateStrategy": strategy }));
    let rolling = |patch: Value| json!({ "spec": { "updateStrategy": { "rollingUpdate": patch } } });
    rejects(
        daemon_set::daemon_set,
        &valid,
        &[
            (
                rolling(json!({ "maxSurge": 1 })),
                "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
            ),
            (
                rolling(json!({ "maxUnavailable": 0 })),
                "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
            ),
            (
                json!({ "spec": { "updateStrategy": { "type": "X", "rollingUpdate": null } } }),
                "spec.updateStrategy: Unsupported value: {\"Type\":\"X\",\"RollingUpdate\":null}: supported values: \
             \"RollingUpdate\", \"OnDelete\"",
            ),
            (
                json!({ "spec": { "selector": null } }),
                "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
            ),
        ],
    );
}

fn stateful() -> Value {
    workload(&json!({
        "podManagementPolicy": "OrderedReady", "serviceName": "s",
        "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "partition": 0 } },
    }))
}

#[test]
fn stateful_sets_validate_claims_services_and_ordinals() {
    rejects(
        stateful_set::stateful_set,
        &stateful(),
        &[
            (
                json!({ "spec": { "ordinals": { "start": -1 } } }),
                "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0",
            ),
            (
                json!({ "spec": { "podManagementPolicy": "X" } }),
                "spec.podManagementPolicy: Invalid value: \"X\": must be 'OrderedReady' or 'Parallel'",
            ),
            (
                json!({ "spec": { "updateStrategy": { "type": "OnDelete" } } }),
                "spec.updateStrategy.rollingUpdate: Invalid value: {\"Partition\":0,\"MaxUnavailable\":null}: only allowed for \
             updateStrategy 'RollingUpdate'",
            ),
            (
                json!({ "spec": { "updateStrategy": { "rollingUpdate": { "partition": -1 } } } }),
                "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0",
            ),
            (
                json!({ "spec": { "persistentVolumeClaimRetentionPolicy": { "whenDeleted": "X", "whenScaled": "Delete" } } }),
                "spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: \"X\": supported values: \"Retain\", \
             \"Delete\"",
            ),
            (json!({ "spec": { "revisionHistoryLimit": -1 } }), ""),
            (json!({ "spec": { "serviceName": "" } }), ""),
        ],
    );
    let with_claim = json!({ "spec": { "serviceName": "A_", "volumeClaimTemplates": [{ "metadata": { "name": "v" }, "spec": {} }] } });
    let mut object = stateful();
    json_patch::merge(&mut object, &with_claim);
    let found = |minor| errors(stateful_set::stateful_set, &object, None, minor);
    assert!(
        found(36).contains("spec.volumeClaimTemplates[0].spec.accessModes: Required value"),
        "{}",
        found(36)
    );
    assert!(found(33).starts_with("spec.serviceName: Invalid value: \"A_\""));
    assert_eq!(found(32), "");
}

#[test]
fn updates_of_stateful_sets_change_only_some_fields() {
    rejects_updates(
        stateful_set::stateful_set,
        &stateful(),
        &[
            (json!({ "spec": { "replicas": 3, "ordinals": { "start": 1 }, "minReadySeconds": 5 } }), ""),
            (
                json!({ "spec": { "serviceName": "t" } }),
                "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
             'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are \
             forbidden",
            ),
        ],
    );
    let mut found = Vec::new();
    let object = json!({ "spec": { "revisionHistoryLimit": -1 } });
    warnings::stateful_set(&object, None, 36, &mut found);
    assert_eq!(found.len(), 1);
}

#[test]
fn counts_in_a_status_fit_together() {
    let status = |more: Value| json!({ "status": more });
    for (validator, found, wanted) in [
        (
            status_writes::stateful_set as crate::kinds::validation::Validator,
            json!({ "replicas": 3, "readyReplicas": 1, "availableReplicas": 2, "collisionCount": 2 }),
            "status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas",
        ),
        (
            status_writes::replica_set,
            json!({ "replicas": 3, "readyReplicas": 1, "availableReplicas": 2, "collisionCount": 2 }),
            "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
        ),
        (
            status_writes::deployment,
            json!({ "replicas": 1, "updatedReplicas": 2, "collisionCount": 1 }),
            "status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas; status.collisionCount: \
             Invalid value: 1: cannot be decremented",
        ),
        (
            status_writes::daemon_set,
            json!({ "collisionCount": 2, "numberReady": -1 }),
            "status.numberReady: Invalid value: -1: must be greater than or equal to 0",
        ),
    ] {
        let old = status(json!({ "collisionCount": 2 }));
        assert_eq!(errors(validator, &status(found.clone()), Some(&old), 36), wanted, "{found}");
    }
}

#[test]
fn revisions_have_an_object() {
    rejects(
        revision::revision,
        &json!({ "data": { "x": 1 }, "revision": 1 }),
        &[
            (json!({ "data": null }), "data: Required value: data is mandatory"),
            (json!({ "data": "x" }), "data: Required value: data must be a valid JSON object"),
            (json!({ "revision": -1 }), "revision: Invalid value: -1: must be greater than or equal to 0"),
        ],
    );
    assert_eq!(errors(revision::revision, &json!({ "data": "x" }), None, 30), "");
}

#[test]
fn replication_controllers_select_the_pods_of_their_template() {
    let mut valid = workload(&json!({}));
    valid["spec"]["selector"] = json!({ "a": "b" });
    rejects(
        controller::replication_controller,
        &valid,
        &[
            (json!({ "spec": { "selector": null } }), "spec.selector: Required value"),
            (
                json!({ "spec": { "selector": { "a": "c" } } }),
                "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
            ),
            (json!({ "spec": { "template": null } }), "spec.template: Required value"),
            (
                json!({ "spec": { "template": { "spec": { "restartPolicy": "Never" } } } }),
                "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"",
            ),
        ],
    );
}

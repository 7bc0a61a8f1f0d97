//! Tests of objects as Go would read and write them.

use serde_json::json;

use super::*;

fn decoded(group: &str, kind: &str, mut object: Value) -> (Value, Result<Vec<String>, String>) {
    let result = decode_as(group, "v1", kind, &mut object);
    (object, result)
}

#[test]
fn errors_name_the_go_type_that_a_value_must_have() {
    let prefix = "json: cannot unmarshal ";
    for (group, kind, object, why) in [
        (
            "",
            "ConfigMap",
            json!({ "data": { "k": 1 } }),
            "number into Go struct field ConfigMap.data of type string",
        ),
        (
            "apps",
            "Deployment",
            json!({ "spec": { "replicas": 1.5 } }),
            "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        ("", "Node", json!({ "spec": [] }), "array into Go struct field Node.spec of type v1.NodeSpec"),
        (
            "",
            "Pod",
            json!({ "spec": { "containers": [{ "name": 1 }] } }),
            "number into Go struct field Container.spec.containers.name of type string",
        ),
        (
            "",
            "Pod",
            json!({ "spec": { "containers": ["x"] } }),
            "string into Go struct field PodSpec.spec.containers of type v1.Container",
        ),
        (
            "",
            "Pod",
            json!({ "spec": { "restartPolicy": 1 } }),
            "number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
        ),
        (
            "",
            "PersistentVolume",
            json!({ "spec": { "hostPath": true } }),
            "bool into Go struct field PersistentVolumeSpec.spec.PersistentVolumeSource.hostPath of type \
             v1.HostPathVolumeSource",
        ),
        (
            "",
            "PersistentVolume",
            json!({ "spec": { "accessModes": {} } }),
            "object into Go struct field PersistentVolumeSpec.spec.accessModes of type []v1.PersistentVolumeAccessMode",
        ),
        (
            "",
            "ConfigMap",
            json!({ "metadata": { "ownerReferences": {} } }),
            "object into Go struct field ObjectMeta.metadata.ownerReferences of type []v1.OwnerReference",
        ),
        (
            "",
            "Secret",
            json!({ "data": [] }),
            "array into Go struct field Secret.data of type map[string][]uint8",
        ),
        (
            "apps",
            "Deployment",
            json!({ "spec": { "strategy": { "rollingUpdate": { "maxSurge": true } } } }),
            "bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
        ),
    ] {
        assert_eq!(decoded(group, kind, object).1, Err(format!("{prefix}{why}")));
    }
}

#[test]
fn claim_templates_have_a_type_and_empty_policies_stay() {
    let claim = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "v" } });
    let object = json!({ "spec": { "volumeClaimTemplates": [claim], "selector": {} } });
    let (object, unknown) = decoded("apps", "StatefulSet", object);
    assert_eq!(unknown, Ok(Vec::new()));
    assert_eq!(object["spec"]["selector"], json!({}));
    let object = json!({ "spec": { "timeZone": "" } });
    assert_eq!(decoded("batch", "CronJob", object).0["spec"]["timeZone"], "");
}

#[test]
fn times_quantities_and_base64_have_messages_of_their_own() {
    let layout = "2006-01-02T15:04:05Z07:00";
    for (group, kind, object, why) in [
        (
            "",
            "Pod",
            json!({ "status": { "startTime": "yesterday" } }),
            format!("parsing time \"yesterday\" as \"{layout}\": cannot parse \"yesterday\" as \"2006\""),
        ),
        (
            "",
            "Pod",
            json!({ "status": { "startTime": "2024-13-01T00:00:00Z" } }),
            "parsing time \"2024-13-01T00:00:00Z\": month out of range".to_owned(),
        ),
        ("", "Secret", json!({ "data": { "k": "not base64" } }), "illegal base64 data at input byte 3".to_owned()),
        ("", "Secret", json!({ "data": { "k": "YWJjZA" } }), "illegal base64 data at input byte 4".to_owned()),
        (
            "",
            "Node",
            json!({ "status": { "capacity": { "cpu": "two" } } }),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".to_owned(),
        ),
        (
            "coordination.k8s.io",
            "Lease",
            json!({ "spec": { "renewTime": "2024-01-01T00:00:10.5Z" } }),
            "parsing time \"2024-01-01T00:00:10.5Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \".5Z\" \
             as \".000000\""
                .to_owned(),
        ),
    ] {
        assert_eq!(decoded(group, kind, object).1, Err(why));
    }
}

#[test]
fn unknown_fields_are_removed_and_reported_by_path() {
    let pod = json!({ "spec": { "containers": [{ "name": "c", "Image": "i", "env": [{ "name": "a", "x": 1 }] }] }, "y": 1 });
    let (pod, unknown) = decoded("", "Pod", pod);
    assert_eq!(unknown.unwrap(), ["spec.containers[0].Image", "spec.containers[0].env[0].x", "y"]);
    assert_eq!(pod["spec"]["containers"][0]["env"][0], json!({ "name": "a" }));
}

#[test]
fn zero_values_are_omitted_or_added_like_in_go() {
    for (group, kind, given, expected) in [
        (
            "",
            "Pod",
            json!({ "spec": { "hostNetwork": false, "priority": 0, "nodeName": "", "containers": [{ "name": "c" }] } }),
            json!({ "metadata": {}, "status": {}, "spec": { "priority": 0, "containers": [{ "name": "c", "resources": {} }] } }),
        ),
        (
            "",
            "Pod",
            json!({ "spec": null, "status": { "conditions": [{ "type": "Ready", "status": "True" }] } }),
            json!({ "metadata": {}, "spec": { "containers": null }, "status": { "conditions": [{
                "type": "Ready", "status": "True", "lastProbeTime": null, "lastTransitionTime": null }] } }),
        ),
        (
            "policy",
            "PodDisruptionBudget",
            json!({ "spec": { "minAvailable": 0 } }),
            json!({ "metadata": {}, "spec": { "minAvailable": 0 }, "status": { "currentHealthy": 0, "desiredHealthy": 0,
                "disruptionsAllowed": 0, "expectedPods": 0 } }),
        ),
        (
            "coordination.k8s.io",
            "Lease",
            json!({ "spec": { "holderIdentity": "", "leaseTransitions": 0 } }),
            json!({ "metadata": {}, "spec": { "holderIdentity": "", "leaseTransitions": 0 } }),
        ),
        ("", "ConfigMap", json!({ "data": { "a": null } }), json!({ "metadata": {}, "data": { "a": "" } })),
    ] {
        let (object, result) = decoded(group, kind, given);
        assert_eq!(result, Ok(Vec::new()));
        assert_eq!(object, expected);
    }
}

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
fn a_type_with_a_decoder_of_its_own_ends_the_decoding() {
    for metadata in [
        json!({ "a": 1, "deletionTimestamp": "x", "generation": "y" }),
        json!({ "deletionGracePeriodSeconds": "y", "deletionTimestamp": "x" }),
    ] {
        let why = decoded("", "ConfigMap", json!({ "metadata": metadata })).1.unwrap_err();
        assert!(why.starts_with("parsing time \"x\""), "{why}");
    }
}

#[test]
fn base64_gets_its_canonical_form() {
    for (given, canonical) in [("YW\nJj", "YWJj"), ("YR==", "YQ=="), ("YWL=", "YWI="), ("", "")] {
        let (secret, result) = decoded("", "Secret", json!({ "data": { "k": given } }));
        assert_eq!((&secret["data"]["k"], result), (&json!(canonical), Ok(Vec::new())));
    }
}

#[test]
fn the_zero_time_is_null() {
    let condition = json!({ "type": "Ready", "status": "True", "lastProbeTime": "0001-01-01T00:00:00Z" });
    let (pod, _) = decoded("", "Pod", json!({ "status": { "conditions": [condition] } }));
    assert_eq!(pod["status"]["conditions"][0].get("lastProbeTime"), Some(&Value::Null));
    let lease = json!({ "spec": { "renewTime": "0001-01-01T00:00:00.000000Z" } });
    assert_eq!(decoded("coordination.k8s.io", "Lease", lease).0["spec"], json!({ "renewTime": null }));
}

/// The object that the converter of maps results in.
fn converted(group: &str, kind: &str, mut object: Value) -> Result<Value, String> {
    read_as((group, "v1", kind), &mut object, Source::Map, None, 36).map(|_| object)
}

#[test]
fn the_converter_takes_whole_numbers_with_a_point_and_cuts_large_ones() {
    for (given, taken) in [
        (json!(2.0), json!(2)),
        (json!(i64::MAX), json!(-1)),
        (json!(4_294_967_297_i64), json!(1)),
        (json!(1e300), json!(0)),
    ] {
        let object = converted("apps", "Deployment", json!({ "spec": { "replicas": given } })).unwrap();
        assert_eq!(object["spec"]["replicas"], taken, "{given}");
    }
    let service = converted("", "Service", json!({ "spec": { "ports": [{ "targetPort": 80.0 }] } })).unwrap();
    assert_eq!(service["spec"]["ports"][0]["targetPort"], json!(80));
}

#[test]
fn the_converter_has_messages_without_a_path() {
    for (group, kind, object, why) in [
        ("", "ConfigMap", json!({ "data": { "k": 1 } }), "cannot convert int64 to string"),
        ("", "ConfigMap", json!({ "data": { "k": 1.5 } }), "unrecognized type: string"),
        ("", "ConfigMap", json!({ "data": "x" }), "cannot restore map from string"),
        ("", "ConfigMap", json!({ "metadata": [] }), "cannot restore struct from: slice"),
        ("", "ConfigMap", json!({ "immutable": "x" }), "unrecognized type: bool"),
        ("apps", "Deployment", json!({ "spec": { "replicas": 1.5 } }), "cannot convert float64 to int32"),
        ("apps", "Deployment", json!({ "spec": { "replicas": true } }), "unrecognized type: int32"),
        ("", "Pod", json!({ "spec": { "containers": {} } }), "cannot restore slice from map"),
        ("", "Pod", json!({ "spec": { "restartPolicy": 1 } }), "cannot convert int64 to v1.RestartPolicy"),
        (
            "",
            "Secret",
            json!({ "data": { "k": "not base64" } }),
            "error decoding from json: illegal base64 data at input byte 3",
        ),
        (
            "",
            "Pod",
            json!({ "metadata": { "creationTimestamp": 5 } }),
            "json: cannot unmarshal number into Go value of type string",
        ),
    ] {
        assert_eq!(converted(group, kind, object).unwrap_err(), why);
    }
}

#[test]
fn the_converter_reports_the_first_field_of_a_struct() {
    let object = json!({ "data": { "k": 1 }, "metadata": { "generation": 1.5, "name": [] } });
    assert_eq!(converted("", "ConfigMap", object).unwrap_err(), "unrecognized type: string");
    let object = json!({ "data": { "k": 1 }, "metadata": { "generation": 1.5 } });
    assert_eq!(converted("", "ConfigMap", object).unwrap_err(), "cannot convert float64 to int64");
}

#[test]
fn the_decoder_reports_lists_and_maps_without_elements() {
    for (object, is_reported) in [
        (json!({ "spec": { "podSelector": { "matchLabels": {} } } }), true),
        (json!({ "spec": { "ingress": [] } }), true),
        (json!({ "spec": { "podSelector": {} }, "metadata": { "labels": {} } }), true),
        (json!({ "spec": { "podSelector": {} } }), false),
    ] {
        let kind = ("networking.k8s.io", "v1", "NetworkPolicy");
        let found = read_as(kind, &mut object.clone(), Source::Json, None, 36).unwrap();
        assert_eq!(!found.empties.is_empty(), is_reported, "{object}");
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

//! Tests of the rules of storage kinds: an object and the errors that it has.

use serde_json::{Value, json};

use super::{attachment, claim, class, csi, volume};
use crate::kinds::validation::{Errors, Validator};
use crate::profile::Profile;

fn errors_in(minor: u32, validator: Validator, object: &Value, old: Option<&Value>) -> String {
    let profile = Profile::of(minor, false);
    let mut errors = Errors::new(&profile);
    validator(object, old, &mut errors);
    errors.into_found().iter().map(|error| error.text(&profile)).collect::<Vec<_>>().join("; ")
}

fn errors(validator: Validator, object: &Value, old: Option<&Value>) -> String {
    errors_in(36, validator, object, old)
}

fn with(mut spec: Value, more: &Value) -> Value {
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({ "metadata": { "name": "x" }, "spec": spec })
}

fn pv(more: &Value) -> Value {
    let spec = json!({
        "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"], "hostPath": { "path": "/d", "type": "" },
    });
    with(spec, more)
}

fn pvc(more: &Value) -> Value {
    let spec = json!({
        "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } },
        "volumeMode": "Filesystem",
    });
    with(spec, more)
}

#[test]
fn volumes_have_one_complete_source() {
    for (more, expected) in [
        (json!({}), ""),
        (json!({ "hostPath": null }), "spec: Required value: must specify a volume type"),
        (
            json!({ "nfs": { "server": "s", "path": "/p" } }),
            "spec.nfs: Forbidden: may not specify more than 1 volume type",
        ),
        (
            json!({ "hostPath": null, "nfs": { "server": "s", "path": "p" } }),
            "spec.nfs.path: Invalid value: \"p\": must be an absolute path",
        ),
        (
            json!({ "hostPath": null, "csi": { "driver": "", "volumeHandle": "v" } }),
            "spec.csi.driver: Required value",
        ),
        (
            json!({ "hostPath": null, "local": { "path": "/x" } }),
            "spec.nodeAffinity: Required value: Local volume requires node affinity",
        ),
        (
            json!({ "hostPath": null, "awsElasticBlockStore": { "volumeID": "v", "partition": 256 } }),
            "spec.awsElasticBlockStore.partition: Invalid value: 256: must be between 1 and 255, inclusive",
        ),
        (
            json!({ "accessModes": ["ReadWriteOncePod", "ReadOnlyMany"] }),
            "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
        ),
        (
            json!({ "capacity": { "storage": "-1" } }),
            "spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity; spec.capacity[storage]: Invalid \
             value: \"-1\": must be greater than zero",
        ),
        (
            json!({ "nodeAffinity": { "required": { "nodeSelectorTerms": [] } } }),
            "spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term",
        ),
    ] {
        assert_eq!(errors(volume::volume, &pv(&more), None), expected, "{more}");
    }
}

#[test]
fn the_source_of_a_volume_is_immutable() {
    let new = pv(&json!({ "hostPath": { "path": "/z", "type": "" } }));
    let why =
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation";
    let found = errors(volume::volume, &new, Some(&pv(&json!({}))));
    let hunk = "@@ -2,7 +2,7 @@\n  \"GCEPersistentDisk\": null,\n  \"AWSElasticBlockStore\": null,\n  \"HostPath\": {\n-  \
                \"Path\": \"/d\",\n+  \"Path\": \"/z\",\n   \"Type\": \"\"\n  },\n  \"Glusterfs\": null,\n";
    assert_eq!(found, format!("{why}\n{hunk}"));
    assert_eq!(errors_in(33, volume::volume, &new, Some(&pv(&json!({})))), why);
    let csi = |more: &Value| {
        let mut source = json!({ "driver": "d", "volumeHandle": "v" });
        if !more.is_null() {
            source["controllerExpandSecretRef"] = more.clone();
        }
        pv(&json!({ "hostPath": null, "csi": source }))
    };
    let secret = csi(&json!({ "name": "n", "namespace": "m" }));
    assert_eq!(errors(volume::volume, &secret, Some(&csi(&Value::Null))), "");
}

#[test]
fn claims_request_storage_and_one_data_source() {
    let source = json!({ "kind": "PersistentVolumeClaim", "name": "p" });
    let other = json!({ "kind": "PersistentVolumeClaim", "name": "q" });
    for (more, expected) in [
        (json!({}), ""),
        (json!({ "resources": {} }), "spec.resources[storage]: Required value"),
        (
            json!({ "resources": { "requests": { "storage": "0" } } }),
            "spec.resources[storage]: Invalid value: \"0\": must be greater than zero",
        ),
        (json!({ "dataSource": source, "dataSourceRef": source }), ""),
        (
            json!({ "dataSource": source, "dataSourceRef": other }),
            "spec: Invalid value: {}: must match dataSourceRef",
        ),
        (
            json!({ "dataSource": { "kind": "X", "name": "p" } }),
            "spec.dataSource: Invalid value: \"X\": must be 'PersistentVolumeClaim' when referencing the default apiGroup",
        ),
    ] {
        assert_eq!(errors(claim::claim, &pvc(&more), None), expected, "{more}");
    }
}

#[test]
fn a_claim_is_immutable_until_it_is_bound() {
    let bound = |mut claim: Value| {
        claim["status"] = json!({ "phase": "Bound", "capacity": { "storage": "1Gi" } });
        claim
    };
    let storage = |amount: &str| pvc(&json!({ "resources": { "requests": { "storage": amount } } }));
    let fixed = "spec: Forbidden: spec is immutable after creation except resources.requests and \
                 volumeAttributesClassName for bound claims\n@@ -6,7 +6,7 @@\n";
    assert!(errors(claim::claim, &storage("2Gi"), Some(&storage("1Gi"))).starts_with(fixed));
    assert_eq!(errors(claim::claim, &bound(storage("2Gi")), Some(&bound(storage("1Gi")))), "");
    let shrunk = "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity";
    assert_eq!(errors(claim::claim, &bound(storage("1Gi")), Some(&bound(storage("3Gi")))), shrunk);
    assert_eq!(errors(claim::claim, &bound(storage("2Gi")), Some(&bound(storage("3Gi")))), "");
    for more in [json!({ "volumeName": "v" }), json!({ "storageClassName": "s" })] {
        assert_eq!(errors(claim::claim, &pvc(&more), Some(&pvc(&json!({})))), "", "{more}");
        assert_ne!(errors(claim::claim, &pvc(&json!({})), Some(&pvc(&more))), "", "{more}");
    }
}

#[test]
fn the_status_of_a_claim_has_amounts_and_known_states() {
    for (status, expected) in [
        (json!({ "capacity": { "storage": "1Gi" } }), ""),
        (
            json!({ "capacity": { "storage": "-1" } }),
            "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
        ),
        (
            json!({ "allocatedResources": { "cpu": "1" } }),
            r#"status.allocatedResources: Unsupported value: "cpu": supported values: "storage""#,
        ),
    ] {
        assert_eq!(errors(claim::status, &json!({ "status": status }), None), expected, "{status}");
    }
}

#[test]
fn classes_are_immutable() {
    let class = |more: &Value| {
        let mut class = json!({ "provisioner": "p", "volumeBindingMode": "Immediate" });
        class["parameters"] = more.clone();
        class
    };
    let (new, old) = (class(&json!({ "a": "b" })), class(&Value::Null));
    let found = errors(class::storage, &new, Some(&old));
    assert_eq!(found, "parameters: Invalid value: {\"a\":\"b\"}: field is immutable");
    let found = errors_in(35, class::storage, &new, Some(&old));
    assert_eq!(found, "parameters: Forbidden: updates to parameters are forbidden.");
    let attributes = json!({ "driverName": "d" });
    let expected = "parameters: Required value: must contain at least one key/value pair";
    assert_eq!(errors(class::attributes, &attributes, None), expected);
}

#[test]
fn drivers_get_tokens_for_different_audiences() {
    for (spec, expected) in [
        (json!({ "attachRequired": true }), ""),
        (
            json!({ "tokenRequests": [{ "audience": "a" }, { "audience": "a" }] }),
            "spec.tokenRequests[1].audience: Duplicate value: \"a\"",
        ),
        (
            json!({ "tokenRequests": [{ "audience": "a", "expirationSeconds": 5 }] }),
            "spec.tokenRequests[0].expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes",
        ),
    ] {
        assert_eq!(errors(csi::driver, &json!({ "spec": spec }), None), expected, "{spec}");
    }
    let node = |id: &str| json!({ "spec": { "drivers": [{ "name": "d", "nodeID": id }] } });
    let expected = "spec.drivers: Invalid value: \
                    {\"Name\":\"d\",\"NodeID\":\"b\",\"TopologyKeys\":null,\"Allocatable\":null}: field is immutable";
    assert_eq!(errors(csi::node, &node("b"), Some(&node("a"))), expected);
}

#[test]
fn an_attachment_has_one_source_and_stays() {
    let attachment =
        |source: Value| json!({ "spec": { "attacher": "a", "nodeName": "n", "source": source } });
    let volume = attachment(json!({ "persistentVolumeName": "v" }));
    assert_eq!(errors(attachment::attachment, &volume, Some(&volume)), "");
    let expected =
        "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    assert_eq!(errors(attachment::attachment, &attachment(json!({})), None), expected);
    let other = attachment(json!({ "persistentVolumeName": "w" }));
    let expected = "spec: Invalid value: {\"Attacher\":\"a\",\"Source\":{\"PersistentVolumeName\":\"w\",\
                    \"InlineVolumeSpec\":null},\"NodeName\":\"n\"}: field is immutable";
    assert_eq!(errors(attachment::attachment, &other, Some(&volume)), expected);
}

//! Rules of volumes.

use serde_json::json;

use super::{assert_container_errors, assert_errors};

#[test]
fn volumes_have_one_source_and_distinct_names() {
    assert_errors(vec![
        (
            json!({ "volumes": [{ "name": "v" }] }),
            &["volumes[0]: Required value: must specify a volume type"],
        ),
        (
            json!({ "volumes": [{ "name": "v", "emptyDir": {}, "downwardAPI": {}, "cephfs": {} }] }),
            &[
                "volumes[0].downwarAPI: Forbidden: may not specify more than 1 volume type",
                "volumes[0].cephFS: Forbidden: may not specify more than 1 volume type",
            ],
        ),
        (
            json!({ "volumes": [{ "name": "v", "emptyDir": {} }, { "name": "v", "nfs": { "server": "s" } }] }),
            &[
                "volumes[1].name: Duplicate value: \"v\"",
                "volumes[1].nfs.path: Required value",
                "volumes[1].nfs.path: Invalid value: \"\": must be an absolute path",
            ],
        ),
        (
            json!({ "volumes": [{ "name": "v", "hostPath": { "path": "/a/../b", "type": "X" } }] }),
            &[
                "volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
                "volumes[0].hostPath.type: Unsupported value: \"X\": supported values: \"\", \"BlockDevice\", \
                 \"CharDevice\", \"Directory\", \"DirectoryOrCreate\", \"File\", \"FileOrCreate\", \"Socket\"",
            ],
        ),
        (
            json!({ "volumes": [{ "name": "v", "iscsi": { "targetPortal": "t", "iqn": "iqn.x", "lun": 300 } }] }),
            &[
                "volumes[0].iscsi.iqn: Invalid value: \"iqn.x\": must be valid format",
                "volumes[0].iscsi.lun: Invalid value: 300: must be between 0 and 255, inclusive",
            ],
        ),
        (
            json!({ "volumes": [{ "name": "v", "csi": { "driver": "A_" } }] }),
            &[
                "volumes[0].csi.driver: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case \
               alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
               'example.com', regex used for validation is \
               '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            ],
        ),
    ]);
}

#[test]
fn files_have_keys_and_relative_paths() {
    assert_errors(vec![
        (
            json!({ "volumes": [{ "name": "v", "secret": { "secretName": "s", "items": [
                { "key": "k", "path": "..a" }, { "path": "/x", "mode": 1000 },
            ] } }] }),
            &[
                "volumes[0].secret.items[0].path: Invalid value: \"..a\": must not start with '..'",
                "volumes[0].secret.items[1].key: Required value",
                "volumes[0].secret.items[1].path: Invalid value: \"/x\": must be a relative path",
                "volumes[0].secret.items[1].mode: Invalid value: 1000: must be a number between 0 and 0777 (octal), \
                 both inclusive",
            ],
        ),
        (
            json!({ "serviceAccountName": "s", "volumes": [{ "name": "v", "projected": { "sources": [
                { "secret": { "name": "s", "items": [{ "key": "a", "path": "p" }] } },
                { "configMap": { "name": "c", "items": [{ "key": "a", "path": "p" }] } },
                { "serviceAccountToken": { "path": "t", "expirationSeconds": 10 } },
            ] } }] }),
            &[
                "volumes[0].projected: Invalid value: \"c\": conflicting duplicate paths",
                "volumes[0].projected.sources[2].serviceAccountToken.expirationSeconds: Invalid value: 10: may not \
                 specify a duration less than 10 minutes",
            ],
        ),
    ]);
}

#[test]
fn ephemeral_volumes_have_valid_claims() {
    let claim = |spec| json!({ "volumes": [{ "name": "v", "ephemeral": { "volumeClaimTemplate": { "spec": spec } } }] });
    assert_errors(vec![
        (
            claim(
                json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } }),
            ),
            &[],
        ),
        (
            claim(json!({ "resources": {} })),
            &[
                "volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is \
                 required",
                "volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
            ],
        ),
    ]);
}

#[test]
fn mounts_find_valid_volumes() {
    assert_errors(vec![(
        json!({
            "volumes": [{ "name": "v", "secret": {} }],
            "containers": [{ "volumeMounts": [{ "name": "v", "mountPath": "/a", "subPath": "../x" }] }],
        }),
        &[
            "volumes[0].secret.secretName: Required value",
            "containers[0].volumeMounts[0].name: Not found: \"v\"",
            "containers[0].volumeMounts.subPath: Invalid value: \"../x\": must not contain '..'",
        ],
    )]);
    assert_container_errors(vec![(
        json!({ "volumeDevices": [{ "name": "x", "devicePath": "/a/.." }] }),
        &[
            "volumeDevices[0].name: Not found: \"x\"",
            "volumeDevices[0].devicePath: Invalid value: \"/a/..\": can not contain backsteps ('..')",
        ],
    )]);
}

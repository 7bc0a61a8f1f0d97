//! Warnings about pods.

use serde_json::{Value, json};

use super::pod_with;
use crate::kinds::validation::Path;
use crate::kinds::validation::pods::warnings;

fn warnings_about(spec: &Value) -> Vec<String> {
    let mut out = Vec::new();
    warnings::pod(&pod_with(spec), &mut out);
    out
}

#[test]
fn accepted_pods_cause_warnings() {
    for (spec, expected) in [
        (json!({}), ""),
        (
            json!({ "nodeSelector": { "beta.kubernetes.io/os": "linux" } }),
            "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead",
        ),
        (
            json!({ "containers": [{ "env": [{ "name": "A", "value": "1" }, { "name": "A", "value": "2" }] }] }),
            "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply",
        ),
        (
            json!({ "containers": [{ "env": [{ "name": "A", "value": "1" }, { "name": "A", "value": "$(A)2" }] }] }),
            "",
        ),
        (
            json!({ "containers": [{ "ports": [
                { "containerPort": 80, "protocol": "TCP" }, { "containerPort": 80, "protocol": "TCP" },
            ] }] }),
            "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
        ),
        (
            json!({ "containers": [{ "ports": [{ "containerPort": 80, "protocol": "TCP", "hostIP": "::1" }] }] }),
            "spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP \
             HostIP:::1}",
        ),
        (
            json!({ "containers": [{ "resources": { "limits": { "memory": "1500m" } } }] }),
            "spec.containers[0].resources.limits[memory]: fractional byte value \"1500m\" is invalid, must be an \
             integer",
        ),
        (
            json!({ "volumes": [{ "name": "v", "secret": { "secretName": "s", "items": [
                { "key": "a", "path": "d" }, { "key": "b", "path": "d/e" },
            ] } }] }),
            "volume \"v\" (Secret \"s\"): overlapping paths: \"d/e\" with \"d\"",
        ),
        (
            json!({ "imagePullSecrets": [{ "name": "a" }, { "name": "a" }] }),
            "spec.imagePullSecrets[1].name: duplicate name \"a\"",
        ),
        (
            json!({ "hostAliases": [{ "ip": "2001:DB8::1" }] }),
            "spec.hostAliases[0].ip: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical format \
             (\"2001:db8::1\")",
        ),
        (
            json!({ "terminationGracePeriodSeconds": -1 }),
            "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
        ),
    ] {
        assert_eq!(warnings_about(&spec).join("\n"), expected, "{spec}");
    }
}

#[test]
fn templates_have_their_path_in_warnings() {
    let template = pod_with(&json!({ "volumes": [{ "name": "v", "gitRepo": { "repository": "r" } }] }));
    let spec = Path::Root.child("spec");
    let mut out = Vec::new();
    warnings::template(&template, spec.child("template"), &mut out);
    assert_eq!(
        out,
        ["spec.template.spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"]
    );
}

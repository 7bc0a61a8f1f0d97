//! Rules of containers.

use serde_json::json;

use super::{assert_container_errors, assert_errors, errors_on};

#[test]
fn ports_have_numbers_names_and_protocols() {
    assert_container_errors(vec![
        (json!({ "ports": [{ "protocol": "TCP" }] }), &["ports[0].containerPort: Required value"]),
        (
            json!({ "ports": [{ "containerPort": 80, "hostPort": 70000, "protocol": "TCP" }] }),
            &["ports[0].hostPort: Invalid value: 70000: must be between 1 and 65535, inclusive"],
        ),
        (
            json!({ "ports": [
                { "containerPort": 80, "name": "a", "protocol": "TCP" },
                { "containerPort": 81, "name": "a", "protocol": "X" },
            ] }),
            &[
                "ports[1].name: Duplicate value: \"a\"",
                "ports[1].protocol: Unsupported value: \"X\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
            ],
        ),
        (
            json!({ "ports": [
                { "containerPort": 80, "hostPort": 80, "protocol": "TCP" },
                { "containerPort": 80, "hostPort": 80, "protocol": "TCP" },
            ] }),
            &["ports[1].hostPort: Duplicate value: \"TCP//80\""],
        ),
    ]);
}

#[test]
fn variables_have_one_source() {
    let field = json!({ "apiVersion": "v1", "fieldPath": "metadata.name" });
    assert_container_errors(vec![
        (json!({ "env": [{ "name": "A", "valueFrom": { "fieldRef": field } }] }), &[]),
        (
            json!({ "env": [{ "name": "A=", "valueFrom": { "fieldRef": field, "secretKeyRef": { "name": "s" } } }] }),
            &[
                "env[0].name: Invalid value: \"A=\": a valid environment variable name must consist only of printable \
                 ASCII characters other than '='",
                "env[0].valueFrom.secretKeyRef.key: Required value",
                "env[0].valueFrom: Invalid value: \"\": may not have more than one field specified at a time",
            ],
        ),
        (
            json!({ "env": [{ "name": "A", "valueFrom": { "fieldRef": { "apiVersion": "v1", "fieldPath": "spec.x" } } }] }),
            &[
                "env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.x\": error converting fieldPath: field label \
               not supported: spec.x",
            ],
        ),
        (
            json!({ "env": [{ "name": "A", "valueFrom": { "resourceFieldRef": {
                "resource": "limits.memory", "divisor": "3",
            } } }] }),
            &[
                "env[0].valueFrom.resourceFieldRef.divisor: Invalid value: \"limits.memory\": only divisor's values 1, \
               1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource",
            ],
        ),
        (
            json!({ "envFrom": [{}] }),
            &["envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`"],
        ),
    ]);
}

#[test]
fn probes_and_hooks_have_one_handler() {
    assert_container_errors(vec![
        (
            json!({ "livenessProbe": { "successThreshold": 1, "exec": {}, "grpc": { "port": 1 } } }),
            &[
                "livenessProbe.exec.command: Required value",
                "livenessProbe.grpc: Forbidden: may not specify more than 1 handler type",
            ],
        ),
        (
            json!({ "readinessProbe": { "tcpSocket": {}, "terminationGracePeriodSeconds": 5 } }),
            &[
                "readinessProbe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes",
            ],
        ),
        (
            json!({ "lifecycle": { "preStop": { "sleep": { "seconds": 31 } }, "postStart": {} } }),
            &[
                "lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than \
                 terminationGracePeriodSeconds (30)",
                "lifecycle.postStart: Required value: must specify a handler type",
            ],
        ),
    ]);
    let pause = json!({ "containers": [{ "lifecycle": { "preStop": { "sleep": { "seconds": 0 } } } }] });
    assert_eq!(errors_on(33, &pause), [""; 0]);
    assert_eq!(errors_on(32, &pause).len(), 1);
}

#[test]
fn resources_fit_their_limits() {
    assert_container_errors(vec![
        (
            json!({ "resources": { "limits": { "cpu": "1" }, "requests": { "cpu": "2", "a.b/c": "1" } } }),
            &[
                "resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
                "resources.limits: Required value: Limit must be set for non overcommitable resources",
            ],
        ),
        (
            json!({ "resources": { "limits": { "hugepages-2Mi": "3Mi" }, "requests": { "hugepages-2Mi": "3Mi" } } }),
            &[
                "resources.limits[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer multiple of \
                 hugepages-2Mi",
                "resources.requests[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer multiple of \
                 hugepages-2Mi",
                "resources: Forbidden: HugePages require cpu or memory",
            ],
        ),
        (
            json!({ "resources": { "limits": { "pods": "1" } } }),
            &["resources.limits[pods]: Invalid value: \"pods\": must be a standard resource for containers"],
        ),
        (
            json!({ "resources": { "claims": [{ "name": "x" }, { "name": "x" }] } }),
            &[
                "resources.claims[0]: Not found: \"x\": must be one of the names in pod.spec.resourceClaims which is empty",
                "resources.claims[1]: Duplicate value: \"x\"",
                "resources.claims[1]: Not found: \"x\": must be one of the names in pod.spec.resourceClaims which is empty",
            ],
        ),
        (
            json!({ "resizePolicy": [{ "resourceName": "storage", "restartPolicy": "NotRequired" }] }),
            &["resizePolicy: Unsupported value: \"storage\": supported values: \"cpu\", \"memory\""],
        ),
    ]);
    assert_errors(vec![(
        json!({
            "resources": { "requests": { "cpu": "1" }, "limits": { "memory": "1Gi", "cpu": "1" } },
            "containers": [{ "resources": { "requests": { "cpu": "2" }, "limits": { "cpu": "2" } } }],
        }),
        &[
            "resources.requests[cpu]: Invalid value: \"1\": must be greater than or equal to aggregate container \
             requests of 2",
            "resources.containers[0][cpu].limits: Invalid value: \"2\": must be less than or equal to pod limits of 1",
        ],
    )]);
}

#[test]
fn init_and_ephemeral_containers_have_rules_of_their_own() {
    assert_errors(vec![
        (
            json!({ "initContainers": [{ "name": "c", "lifecycle": {} }] }),
            &[
                "initContainers[0].name: Duplicate value: \"c\"",
                "initContainers[0].lifecycle: Forbidden: may not be set for init containers without \
                 restartPolicy=Always",
            ],
        ),
        (
            json!({ "initContainers": [{ "name": "s", "restartPolicy": "Always", "startupProbe": {
                "successThreshold": 1, "tcpSocket": { "port": 1 },
            } }] }),
            &[],
        ),
        (
            json!({ "ephemeralContainers": [{ "name": "e", "targetContainerName": "x", "resources": { "limits": {} } }] }),
            &[
                "ephemeralContainers[0].targetContainerName: Not found: \"x\"",
                "ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container",
                "ephemeralContainers: Forbidden: cannot be set on create",
            ],
        ),
    ]);
}

#[test]
fn restart_policies_of_containers_depend_on_the_minor() {
    let spec = json!({ "containers": [{ "restartPolicy": "Never", "restartPolicyRules": [
        { "action": "RestartAllContainers", "exitCodes": { "operator": "In", "values": [1] } },
    ] }] });
    assert_eq!(errors_on(36, &spec), [""; 0]);
    assert_eq!(
        errors_on(35, &spec),
        [
            "spec.containers[0].restartPolicyRules[0].action: Unsupported value: \"RestartAllContainers\": supported \
          values: \"Restart\""
        ]
    );
    assert_eq!(
        errors_on(34, &spec),
        ["spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers"]
    );
}

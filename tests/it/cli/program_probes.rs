//! Programs of this machine whose kubelet probes them, and whose volumes change.

use super::environment::TestEnvironment;
use super::programs::has_python;
use crate::skipped::skipped;

/// A server whose health is the content of a file.
const SERVER: &str = include_str!("../../programs/server.py");

/// Two servers on the same port of their pods, with the health of a ConfigMap.
const SCENARIO: &str = r"
name: The kubelet probes a program
cluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 1}}
programs:
- container: default/web/main
  command: [python3, ./server.py, '{port:health}', /etc/windtunnel-test/health]
timeline:
- apply: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: health}, data: {health: ok}}
- apply:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {namespace: default, name: web}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          volumes: [{name: health, configMap: {name: health}}]
          containers:
          - name: main
            image: quay.io/me/web:1
            ports: [{name: health, containerPort: 8081}]
            volumeMounts: [{name: health, mountPath: /etc/windtunnel-test}]
            readinessProbe: {httpGet: {path: /readyz, port: health}, periodSeconds: 5}
            livenessProbe: {exec: {command: [grep, -v, dead, /etc/windtunnel-test/health]}, periodSeconds: 5}
- expect: {object: Deployment/default/web, fields: {status.availableReplicas: 2}, within: 2m}
- patch: {object: ConfigMap/default/health, merge: {data: {health: bad}}}
- expect: {object: Deployment/default/web, fields: {status.unavailableReplicas: 2}, within: 3m}
- patch: {object: ConfigMap/default/health, merge: {data: {health: ok}}}
- expect: {object: Deployment/default/web, fields: {status.availableReplicas: 2}, within: 3m}
- patch: {object: ConfigMap/default/health, merge: {data: {health: dead}}}
- advance: 3m
";

#[test]
fn a_program_is_probed_and_sees_new_files_in_its_volumes() {
    if !has_python() {
        return skipped("python3");
    }
    let environment = TestEnvironment::with(&[("a.yaml", SCENARIO), ("server.py", SERVER)]);
    let output =
        environment.run(&["run", "a.yaml", "--allow-programs", "--record", "r.jsonl", "--check-determinism"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    let record = environment.read("r.jsonl");
    for text in [
        "Readiness probe failed: HTTP probe failed with statuscode: 503",
        "Container main failed liveness probe, will be restarted",
    ] {
        assert!(record.contains(text), "{text}");
    }
}

#[test]
fn a_port_on_which_nothing_listens_is_a_failed_probe() {
    let scenario = "
name: n
cluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 1}}
programs: [{container: default/p/main, command: [sleep, '1000'] }]
timeline:
- apply:
    apiVersion: v1
    kind: Pod
    metadata: {namespace: default, name: p}
    spec: {containers: [{name: main, image: 'quay.io/me/web:1', readinessProbe: {tcpSocket: {port: 1}}}]}
- expect: {object: Pod/default/p, fields: {status.phase: Running}, within: 1m}
- expect: {object: Pod/default/p, condition: {type: Ready, status: 'False'}, throughout: 1m}
";
    let environment = TestEnvironment::with(&[("a.yaml", scenario)]);
    let output = environment.run(&["run", "a.yaml", "--allow-programs", "--record", "r.jsonl"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    let record = environment.read("r.jsonl");
    assert!(record.contains(":1: connect: connection refused"), "{}", output.stdout);
}

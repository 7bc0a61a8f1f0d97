//! Programs of this machine in a served cluster.

use super::{Served, TestEnvironment};
use crate::cli::programs::has_python;
#[cfg(target_os = "linux")]
use crate::cli::programs::processes_with;
use crate::skipped::skipped;

const COPIER: &str = include_str!("../../../programs/copier.py");

/// A controller beside the cluster, and a pod whose program ends by SIGTERM.
const SCENARIO: &str = r#"name: programs take part
cluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 1}}
programs:
- {name: copier, command: [python3, ./copier.py], as: system:admin}
- container: default/p/main
  command: [sh, -c, "echo hello from $NODE; trap 'exit 0' TERM; sleep 1000 & wait"]
timeline:
- advance: 1m
- apply: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: one}}
- expect: {object: ConfigMap/default/copy-of-one, within: 20m}
- apply:
    apiVersion: v1
    kind: Pod
    metadata: {namespace: default, name: p}
    spec:
      terminationGracePeriodSeconds: 1200
      containers:
      - name: main
        image: quay.io/me/web:1
        env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
- expect: {log: {pod: default/p, contains: hello from worker-0}, within: 20m}
- delete: Pod/default/p
- expect: {object: Pod/default/p, absent: true, within: 15m}
"#;

#[test]
fn programs_of_a_scenario_run_in_the_time_of_the_clients() {
    if !has_python() {
        return skipped("python3");
    }
    let environment = TestEnvironment::with(&[("s.yaml", SCENARIO), ("copier.py", COPIER)]);
    let arguments = ["--scenario", "s.yaml", "--allow-programs", "--timeline", "--exit", "--speed", "20x"];
    let (status, _, printed) = Served::start(&environment, &arguments).end();
    assert_eq!(status.code(), Some(0), "{printed}");
    assert!(printed.contains("\nPASS  programs take part\n"), "{printed}");
}

#[test]
#[cfg(target_os = "linux")]
fn no_program_outlives_its_served_cluster() {
    let environment = TestEnvironment::new();
    let program = format!("sleep {}", std::process::id() + 2_000_000);
    for (signal, code) in [("-TERM", Some(0)), ("-INT", Some(0)), ("-KILL", None)] {
        let served = Served::start(&environment, &["--version", "4.18.3", "--program", &program]);
        // The command line of the server contains the text, too.
        assert_eq!(processes_with(&program), 2);
        served.signal(signal);
        let (status, _, printed) = served.end();
        assert_eq!(status.code(), code, "{printed}");
        crate::cli::programs::eventually("the program ends", || processes_with(&program) == 0);
    }
}

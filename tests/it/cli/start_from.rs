//! `windtunnel run --start-from`: runs that start with the cluster of a dump.

use super::environment::TestEnvironment;

/// A file or a folder of `tests/dumps`.
fn dumps(name: &str) -> String {
    format!("{}/tests/dumps/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_dumped_cluster_updates_with_its_failures() {
    let environment = TestEnvironment::new();
    let (dump, scenario) = (dumps("paused-workers"), dumps("update.yaml"));
    let output = environment.run(&[
        "run",
        &scenario,
        "--start-from",
        &dump,
        "--record",
        "r.jsonl",
        "--check-determinism",
        "--quiet",
    ]);
    assert_eq!(output.code, Some(0), "{output}");
    insta::assert_snapshot!(output.stderr.replace(&dump, "DUMP"), @"
    start-from: 9 files: 9 read (12 objects), 0 without objects, 0 not understood, 0 not collected
    start-from: release 4.16.9, from the last completed update
    start-from: conditional updates: the releases exist, but are not recommended; their risks are not taken
    start-from: node crane-worker-b is not-ready, until the scenario heals it
    start-from: operator dns is degraded, until the scenario heals it
    start-from: pool worker is paused
    start-from: not taken: pool infra; its nodes join pool worker
    start-from: nodes: 3 of the control plane, 2 workers
    start-from: not taken: certificates, alerts, and all objects not listed here; the platform's own workloads are simulated
    ");
    let status = environment.run(&["status", "r.jsonl", "--at", "30m"]).stdout;
    assert!(status.contains("Target Version:  4.16.12 (from 4.16.9)\n"), "{status}");
    assert!(status.contains("\ncrane-master-2   Outdated     Pending   4.16.9 "), "{status}");
    assert!(status.contains("\ncrane-worker-b   Unavailable   Paused   4.16.9    ?     Not ready | Node is marked unschedulable\n"), "{status}");
    let record = environment.read("r.jsonl");
    assert!(
        record.contains("sha256:3333333333333333333333333333333333333333333333333333333333333333"),
        "the dump's image"
    );
    assert!(record.contains("\"clusterID\":\"3b1f8b5a-90c7-4a0a-8f29-6a4dbb1f2c10\""));
    assert!(record.contains("\"version\":\"4.15.20\""), "the history of before");
    // The record of the run can be a start as well. The paused pool has not finished the update.
    let second = environment.run(&["run", &scenario, "--start-from", "r.jsonl", "--quiet"]);
    assert_eq!(second.code, Some(1), "{second}");
    assert!(second.stderr.contains("start-from: the unfinished update to 4.16.12 starts again"), "{second}");
}

#[test]
fn an_unfinished_update_starts_again() {
    let version = "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\n\
                   spec: {channel: stable-4.15}\nstatus:\n  desired: {version: 4.15.3}\n  history:\n\
                   \x20 - {state: Partial, version: 4.15.3, image: i, verified: true, startedTime: '2025-01-02T00:00:00Z'}\n\
                   \x20 - {state: Completed, version: 4.14.9, image: i, verified: true, startedTime: '2025-01-01T00:00:00Z', completionTime: '2025-01-01T01:00:00Z'}\n";
    let scenario = "name: n\ncluster: {version: 4.11.1, nodes: {control-plane: 1, workers: 0}}\ntimeline:\n- expect:\n    \
                    object: ClusterVersion/version\n    condition: {type: Progressing, status: 'False', message: Cluster version is 4.15.3}\n    within: 3h\n";
    let environment = TestEnvironment::with(&[("v.yaml", version), ("s.yaml", scenario)]);
    let output = environment.run(&["run", "s.yaml", "--start-from", "v.yaml", "--quiet"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stderr.contains("start-from: the unfinished update to 4.15.3 starts again"), "{output}");
}

#[test]
fn an_older_release_has_the_facts_of_the_nearest_minor() {
    let scenario = "name: n\ncluster: {version: 4.11.1}\ntimeline: [{advance: 1m}]\n";
    for (version, notice) in [
        (
            "4.8.0-0.nightly-2021-07-31-065602",
            "start-from: 4.8.0-0.nightly-2021-07-31-065602 is older than the releases that windtunnel knows: it has the facts of the \
             nearest minor, 4.10\n",
        ),
        ("4.18.0-0.ci-2024-10-01-011141", ""),
        ("4.19.0-okd-scos.3", ""),
    ] {
        let text = format!(
            "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {{name: version}}\nstatus:\n  desired: {{version: {version}}}\n\
             \x20 history: [{{state: Completed, version: {version}, image: i, verified: true, startedTime: '2025-01-01T00:00:00Z', \
             completionTime: '2025-01-01T01:00:00Z'}}]\n"
        );
        let environment = TestEnvironment::with(&[("s.yaml", scenario), ("v.yaml", &text)]);
        let output = environment.run(&["run", "s.yaml", "--start-from", "v.yaml", "--quiet"]);
        assert_eq!(output.code, Some(0), "{output}");
        assert!(output.stderr.contains(notice) && !output.stderr.contains("did you mean"), "{output}");
        assert!(output.stderr.contains(&format!("start-from: release {version}, ")), "{output}");
    }
}

#[test]
fn a_dump_without_a_supported_cluster_is_reported() {
    let version = |history: &str| {
        format!(
            "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {{name: version}}\nstatus: {{history: [{history}]}}\n"
        )
    };
    let environment = TestEnvironment::with(&[
        ("s.yaml", "name: n\ncluster: {version: 4.11.1}\ntimeline: [{advance: 1m}]\n"),
        ("node.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"),
        ("installing.yaml", &version("{state: Partial, version: 4.16.1}")),
        ("unknown.yaml", &version("{state: Completed, version: latest}")),
    ]);
    let check = |from: &str, expected: &str| {
        let output = environment.run(&["run", "s.yaml", "--start-from", from]);
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains(expected), "{output}");
    };
    check("node.yaml", "error: node.yaml: expected ClusterVersion `version`, found none");
    check(
        "installing.yaml",
        "error: installing.yaml: expected a completed update in its history, found none",
    );
    check("unknown.yaml", "error: unknown.yaml: expected a version such as 4.14.8, found `latest`");
    check("nowhere", "error: nowhere: ");
    let installed = |expected: &str| {
        let output = environment.run(&["run", "s.yaml", "--start-from", "dump"]);
        assert!(output.code == Some(1) && output.stdout.contains(expected), "{output}");
    };
    let rejected = "the cluster could not be installed: the API server rejected the request to";
    environment.write("dump/v.yaml", version("{state: Completed, version: 4.16.1}"));
    installed(&format!("dump/v.yaml: {rejected} patch clusterversions.config.openshift.io/version: "));
    let whole = "{state: Completed, version: 4.16.1, image: i, verified: true, startedTime: '2025-01-01T00:00:00Z', \
                 completionTime: '2025-01-01T01:00:00Z'}";
    environment.write("dump/v.yaml", version(whole));
    environment.write("dump/node.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: Crane Worker}\n");
    installed(&format!("dump/node.yaml: {rejected} create nodes/Crane Worker: "));
    environment.write("dump/v.yaml", version("{state: Partial, version: 4.16.1}"));
    check("dump", "error: dump/v.yaml: expected a completed update in its history, found none");
}

#[test]
fn a_dumped_cluster_has_the_programs_of_the_command_line_and_of_the_scenario() {
    let scenario = "name: s\ncluster: {version: 4.16.9}\nprograms:\n- {name: own, command: [touch, own]}\ntimeline:\n- advance: 1m\n";
    let environment = TestEnvironment::with(&[("s.yaml", scenario)]);
    let dump = dumps("paused-workers");
    let run = ["run", "s.yaml", "--start-from", &dump, "--allow-programs", "--program", "touch given"];
    let output = environment.run(&run);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stdout.contains("programs: waited "), "{output}");
    let files = environment.files();
    for name in ["own", "given"] {
        assert!(files.iter().any(|file| file == name), "{name} in {files:?}\n{output}");
    }
}

/// A scenario that updates the cluster of a dump, and expects that it arrives.
fn update_to(version: &str) -> String {
    format!(
        "name: it arrives\ncluster: {{version: 4.16.9}}\nreleases: {{{version}: }}\ntimeline:\n- update: {{to: {version}}}\n\
         - expect:\n    object: ClusterVersion/version\n    condition: {{type: Progressing, status: \"False\", message: Cluster \
         version is {version}}}\n    within: 4h\n"
    )
}

#[test]
fn a_run_does_not_pass_without_objects_of_the_platform_that_hold_the_update_up() {
    let environment = TestEnvironment::new();
    let budget = "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: osd, namespace: openshift-storage}\n\
                  status: {currentHealthy: 1, desiredHealthy: 1, disruptionsAllowed: 0, expectedPods: 1}\n";
    let version = "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\nstatus:\n  history:\n  - \
                   {state: Completed, version: 4.16.9, image: i, verified: true, startedTime: '2025-01-01T00:00:00Z', completionTime: \
                   '2025-01-01T01:00:00Z'}\n";
    environment.write("dump.yaml", format!("{version}{budget}"));
    environment.write("patch.yaml", update_to("4.16.12"));
    let run = ["run", "patch.yaml", "--start-from", "dump.yaml", "--quiet"];
    let output = environment.run(&[&run[..], &["--record", "r.jsonl"]].concat());
    assert_eq!(output.code, Some(1), "{output}");
    let cluster_time = regex::Regex::new(r"0:5\d:\d\d").unwrap();
    insta::assert_snapshot!(cluster_time.replace_all(&output.stdout, "0:5X:XX"), @"
    FAIL  it arrives (tool)  (0:5X:XX of cluster time; with omissions)
          patch.yaml with seed 1
          not decided: the run left out PodDisruptionBudget openshift-storage/osd that can hold the update up. All steps passed without:
            PodDisruptionBudget openshift-storage/osd (dump.yaml): the budget allows no eviction (1 of 1 pods are healthy, and it wants 1), so that drains wait
          to pass without them: --ignore PodDisruptionBudget
          seed 1, record $HASH, $TIME

    1 scenario: 0 passed, 1 failed; 0:5X:XX of cluster time in $TIME ($N times as fast)
    ");
    let ignored = ["--ignore", "poddisruptionbudget", "--junit", "r.xml"];
    let output = environment.run(&[&run[..], &ignored].concat());
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stdout.contains("; with omissions)"), "{output}");
    let junit = environment.read("r.xml");
    assert!(
        junit.contains(r#"name="left-out" value="PodDisruptionBudget openshift-storage/osd ("#),
        "{junit}"
    );
    let status = environment.run(&["status", "r.jsonl"]);
    assert!(
        status.stderr.contains("with omissions: the run left out PodDisruptionBudget openshift-storage/osd"),
        "{status}"
    );
}

#[test]
fn a_run_meets_the_objects_of_users() {
    let environment = TestEnvironment::new();
    environment.write("patch.yaml", update_to("4.16.12"));
    let output = environment.run(&["run", "patch.yaml", "--start-from", &dumps("held-up.yaml"), "--quiet"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(output.stdout.contains(r#"failed calling webhook "guard.shop.example.com""#), "{output}");
    assert!(!output.stdout.contains("with omissions"), "{output}");
}

#[test]
fn a_run_stops_at_the_gate_of_a_dump_and_at_operators_of_users() {
    let environment = TestEnvironment::new();
    environment.write("minor.yaml", update_to("4.17.3"));
    let output = environment.run(&["run", "minor.yaml", "--start-from", &dumps("held-up.yaml"), "--quiet"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(output.stdout.contains("Cranes need a new rope before 4.17."), "{output}");
    assert!(output.stderr.contains("operator operator-lifecycle-manager is not-upgradeable"), "{output}");
    assert!(output.stderr.contains("pool edge, which is paused"), "{output}");
}

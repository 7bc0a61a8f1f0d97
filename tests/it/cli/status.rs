//! `windtunnel status` for dumps and clusters.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::environment::{TestEnvironment, check};

const CLUSTER_VERSION: &str = "apiVersion: config.openshift.io/v1
kind: ClusterVersion
metadata: {name: version, uid: u1, resourceVersion: '7'}
status:
  desired: {version: 4.16.2}
  history:
  - {state: Partial, version: 4.16.2, image: b, startedTime: '2024-01-01T00:00:00Z'}
  - {state: Partial, version: 4.16.1, image: a, startedTime: '2023-01-01T00:00:00Z'}
  conditions:
  - {type: Progressing, status: 'True', lastTransitionTime: '2024-01-01T00:00:00Z'}
  - {type: Failing, status: 'False', lastTransitionTime: '2024-01-01T00:00:00Z'}
";
const OPERATORS: &str = "apiVersion: config.openshift.io/v1
kind: ClusterOperatorList
items:
- metadata: {name: dns, annotations: {include.release.openshift.io/self-managed-high-availability: 'true'}}
  status:
    versions: [{name: operator, version: 4.16.1}]
    conditions:
    - {type: Available, status: 'True', lastTransitionTime: '2024-01-01T00:40:00Z'}
    - {type: Progressing, status: 'True', lastTransitionTime: '2024-01-01T00:30:00Z'}
    - {type: Degraded, status: 'True', reason: Sad, message: 'line 1

        line 2', lastTransitionTime: '2024-01-01T00:10:00Z'}
";
const POOLS: &str = "apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: master}
spec: {paused: true, configuration: {name: new}, nodeSelector: {matchLabels: {role: master}}}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec: {nodeSelector: {matchLabels: {role: worker}}}
";
const NODE: &str = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "machine-0", "labels": {"role": "master"},
  "annotations": {"machineconfiguration.openshift.io/state": "Done", "machineconfiguration.openshift.io/currentConfig": "old",
    "machineconfiguration.openshift.io/desiredConfig": "old"}},
  "status": {"conditions": [{"type": "Ready", "status": "Unknown", "message": "no \"word\"", "lastTransitionTime": "2024-01-01T00:20:00Z"}]}}"#;
const CONFIG: &str = "apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: old, annotations: {machineconfiguration.openshift.io/release-image-version: 4.16.1}}
";
const ALERTS: &str = r#"{"status": "success", "data": {"alerts": [{"labels": {"alertname": "A", "namespace": "n", "severity": "critical"},
  "annotations": {"summary": "It burns."}, "state": "firing", "activeAt": "2024-01-01T00:05:00.5Z"}]}}"#;

/// The files of a cluster, under arbitrary names.
const PLAIN: [(&str, &str); 6] = [
    ("dump/a.yaml", CLUSTER_VERSION),
    ("dump/b.yaml", OPERATORS),
    ("dump/c/pools.yml", POOLS),
    ("dump/c/node.json", NODE),
    ("dump/c/config.yaml", CONFIG),
    ("dump/alerts.json", ALERTS),
];

/// The same files as `oc adm must-gather` writes them, with others that would not even parse.
const MUST_GATHER: [(&str, &str); 8] = [
    ("cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml", CLUSTER_VERSION),
    ("cluster-scoped-resources/config.openshift.io/clusteroperators.yaml", OPERATORS),
    ("cluster-scoped-resources/machineconfiguration.openshift.io/machineconfigpools/all.yaml", POOLS),
    ("cluster-scoped-resources/core/nodes/machine-0.yaml", NODE),
    ("cluster-scoped-resources/machineconfiguration.openshift.io/machineconfigs/old.yaml", CONFIG),
    ("monitoring/prometheus/alerts.json", ALERTS),
    ("namespaces/a/pods/p/logs/current.yaml", "%"),
    ("etcd_info/health.json", "not JSON"),
];

fn plain() -> TestEnvironment {
    TestEnvironment::with(&PLAIN)
}

#[test]
fn a_folder_of_yaml_and_json_is_a_cluster() {
    insta::assert_snapshot!(plain().run(&["status", "--from", "dump"]), @"
        exit 0
        = Control Plane =
        Assessment:      Progressing
        Target Version:  4.16.2 (from incomplete 4.16.1)
        Updating:        dns
        Completion:      0% (0 operators updated, 1 updating, 0 waiting)
        Duration:        40m (Est. Time Remaining: 24m)
        Operator Health: 0 Healthy, 1 Available but degraded

        Control Plane Nodes
        NAME        ASSESSMENT    PHASE    VERSION   EST   MESSAGE
        machine-0   Unavailable   Paused   4.16.1    ?     Not ready

        = Update Health =
        SINCE    LEVEL      IMPACT             MESSAGE
        34m59s   Critical   Unknown            Alert is firing: It burns.
        20m      Warning    Update Speed       Node machine-0 is not ready
        30m      Warning    API Availability   Cluster Operator dns is degraded (Sad)
        40m      Warning    None               Previous update to 4.16.1 never completed, last complete update was unknown
        -        Warning    Update Stalled     Outdated nodes in a paused pool 'master' will not be updated

        Run with --details=health for additional description and links to related online documentation
        ");
}

#[test]
fn health_in_detail_has_references_and_descriptions() {
    insta::assert_snapshot!(plain().run(&["status", "--from", "dump", "--details", "health"]), @r#"
        exit 0
        = Control Plane =
        Assessment:      Progressing
        Target Version:  4.16.2 (from incomplete 4.16.1)
        Updating:        dns
        Completion:      0% (0 operators updated, 1 updating, 0 waiting)
        Duration:        40m (Est. Time Remaining: 24m)
        Operator Health: 0 Healthy, 1 Available but degraded

        Control Plane Nodes
        NAME        ASSESSMENT    PHASE    VERSION   EST   MESSAGE
        machine-0   Unavailable   Paused   4.16.1    ?     Not ready

        = Update Health =
        Message: Alert is firing: It burns.
          Since:       34m59s
          Level:       Critical
          Impact:      Unknown
          Reference:   <alert does not have a runbook_url annotation>
          Resources:
            alerts.config.openshift.io: n/A
          Description: Alert started firing during the update. The alert has no description.

        Message: Node machine-0 is not ready
          Since:       20m
          Level:       Warning
          Impact:      Update Speed
          Reference:   https://docs.openshift.com/container-platform/latest/post_installation_configuration/machine-configuration-tasks.html#understanding-the-machine-config-operator
          Resources:
            nodes: machine-0
          Description: Node has a Ready!=True condition with Reason "Not ready" and message "no \"word\""

        Message: Cluster Operator dns is degraded (Sad)
          Since:       30m
          Level:       Warning
          Impact:      API Availability
          Reference:   https://github.com/openshift/runbooks/blob/master/alerts/cluster-monitoring-operator/ClusterOperatorDegraded.md
          Resources:
            clusteroperators.config.openshift.io: dns
          Description: line 1
                       , line 2

        Message: Previous update to 4.16.1 never completed, last complete update was unknown
          Since:       40m
          Level:       Warning
          Impact:      None
          Reference:   https://docs.openshift.com/container-platform/latest/updating/troubleshooting_updates/gathering-data-cluster-update.html#gathering-clusterversion-history-cli_troubleshooting_updates
          Resources:
            clusterversions.config.openshift.io: version
          Description: Current update to 4.16.2 was initiated while the previous update to version 4.16.1 was still in progress

        Message: Outdated nodes in a paused pool 'master' will not be updated
          Since:       -
          Level:       Warning
          Impact:      Update Stalled
          Reference:   https://docs.openshift.com/container-platform/latest/support/troubleshooting/troubleshooting-operator-issues.html#troubleshooting-disabling-autoreboot-mco_troubleshooting-operator-issues
          Resources:
            machineconfigpools.machineconfiguration.openshift.io: master
          Description: Pool is paused, which stops all changes to the nodes in the pool, including updates. The nodes will not be updated until the pool is unpaused by the administrator.
        "#);
}

#[test]
fn a_must_gather_and_its_archives_have_the_status_of_plain_files() {
    let expected = plain().run(&["status", "--from", "dump", "--details", "all"]);
    let environment = TestEnvironment::new();
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, text) in MUST_GATHER {
        let name = format!("must-gather.local.1/quay-io-a-b-sha256-c/{name}");
        environment.write(&name, text);
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, format!("./{name}"), text.as_bytes()).unwrap();
    }
    environment.write("dump.tar.gz", archive.into_inner().unwrap().finish().unwrap());
    for (name, text) in PLAIN {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        environment.write(&format!("packed/{name}.gz"), packed.finish().unwrap());
    }
    assert_eq!(expected.code, Some(0), "{expected}");
    for from in ["must-gather.local.1", "dump.tar.gz", "packed"] {
        let output = environment.run(&["status", "--from", from, "--details", "all"]);
        assert_eq!(output.to_string(), expected.to_string(), "{from}");
    }
}

/// The start of every file that macOS adds.
const APPLE_DOUBLE: &[u8] = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        \xff";

#[cfg(unix)]
#[test]
fn files_of_macos_and_dangling_links_are_skipped_with_a_notice() {
    let environment = plain();
    let expected = environment.run(&["status", "--from", "dump"]);
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let files = PLAIN.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes()));
    let added = PLAIN.iter().filter_map(|(name, _)| name.rsplit_once('/'));
    let added = added.map(|(folder, name)| (format!("{folder}/._{name}"), APPLE_DOUBLE));
    for (name, bytes) in files.chain(added) {
        environment.write(&name, bytes);
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, &name, bytes).unwrap();
    }
    environment.write("dump.tgz", archive.into_inner().unwrap().finish().unwrap());
    std::os::unix::fs::symlink("gone.yaml", environment.work().join("dump/link.yaml")).unwrap();
    let check = |from: &str, notices: &str| {
        let output = environment.run(&["status", "--from", from]);
        assert_eq!((output.code, &output.stdout), (expected.code, &expected.stdout), "{output}");
        assert!(output.stderr.starts_with(notices), "{output}");
    };
    let more = PLAIN.len() - 1;
    let added =
        format!("skipped files that macOS added, which contain no objects: dump/._a.yaml and {more} more\n");
    check("dump.tgz", &format!("dump.tgz: {added}"));
    let added = added.replace("dump/._", "._");
    check(
        "dump",
        &format!("dump: {added}dump: skipped links to missing files or out of the folder: link.yaml\n"),
    );
    // A link that the user names is required; its own name is no better one.
    let output = environment.run(&["status", "--from", "dump/link.yaml"]);
    assert_eq!(output.stderr, "error: dump/link.yaml: No such file or directory (os error 2)\n", "{output}");
}

#[test]
fn a_dump_is_read_once_and_names_what_could_not_be_collected() {
    let environment = plain();
    let errors = r#"["poddisruptionbudgets.policy is forbidden"]"#;
    environment.write("dump/cluster-resources/pod-disruption-budgets-errors.json", errors);
    environment.write("dump/._version.yaml", "x");
    let output = environment.run(&["status", "--from", "dump"]);
    assert_eq!(output.code, Some(0), "{output}");
    let count = |part: &str| output.stderr.lines().filter(|line| line.contains(part)).count();
    assert_eq!(count("skipped files that macOS added"), 1, "{output}");
    assert_eq!(count("not collected: "), 1, "{output}");
    assert!(output.stderr.contains(": poddisruptionbudgets.policy is forbidden ("), "{output}");
}

#[test]
fn as_of_selects_the_moment_and_missing_alerts_are_reported() {
    let environment = TestEnvironment::with(&PLAIN[..5]);
    let output = environment.run(&["status", "--from", "dump", "--as-of", "2024-01-01T00:12:00Z"]);
    assert!(output.stdout.contains("\nDuration:        12m "), "{output}");
    assert!(output.stdout.ends_with("SINCE   LEVEL     IMPACT           MESSAGE\n12m     Warning   None             Previous update to 4.16.1 never completed, last complete update was unknown\n-       Warning   Update Stalled   Outdated nodes in a paused pool 'master' will not be updated\n\nRun with --details=health for additional description and links to related online documentation\n"), "{output}");
    assert_eq!(
        output.stderr,
        "Unable to fetch alerts, ignoring alerts in 'Update Health':  no alerts in dump\n"
    );
    let wrong = environment.run(&["status", "--from", "dump", "--as-of", "noon"]);
    assert_eq!(
        wrong.to_string(),
        "exit 2\n--- stderr\nerror: --as-of: expected a time such as `2024-05-01T12:00:00Z`, found `noon`\n"
    );
}

#[test]
fn errors_and_crashes_of_oc_are_reported() {
    let from = |files: &[(&str, &str)]| check(files, &["status", "--from", "dump"]);
    insta::assert_snapshot!(from(&PLAIN[1..]), @"
        exit 1
        --- stderr
        error: no cluster version information available - you must be connected to an OpenShift version 4 server to fetch the current version
        ");
    insta::assert_snapshot!(from(&PLAIN[..1]), @"
        exit 1
        --- stderr
        error: no cluster operator information available - you must be connected to an OpenShift version 4 server
        ");
    let silent = CLUSTER_VERSION.replace("Progressing", "Idle");
    insta::assert_snapshot!(from(&[("dump/v.yaml", &silent), PLAIN[1]]), @"
        exit 1
        --- stderr
        error: no current Progressing info, see `oc describe clusterversion` for more details.
        ");
    insta::assert_snapshot!(from(&[PLAIN[0], PLAIN[1], PLAIN[3]]), @"
        exit 2
        --- stderr
        error: there are nodes but no MachineConfigPool `master`, without which `oc adm upgrade status` crashes
        ");
}

#[test]
fn an_invalid_dump_is_reported() {
    let from = |files: &[(&str, &str)]| check(files, &["status", "--from", "dump"]);
    insta::assert_snapshot!(from(&[]), @"
        exit 2
        --- stderr
        error: dump: No such file or directory (os error 2)
        ");
    insta::assert_snapshot!(from(&[("dump/a.txt", ""), ("dump/b.json", "{}")]), @"
        exit 2
        --- stderr
        error: dump: expected objects of a cluster (ClusterVersion, ClusterOperator, MachineConfigPool, MachineConfig, Node, Deployment), found none in 1 YAML and JSON files
        ");
    insta::assert_snapshot!(from(&[("dump/a.yaml", "kind: [\n"), ("dump/b.json", "{\"kind\": \"Node\",}")]), @"
        exit 2
        --- stderr
        error: dump/a.yaml:1:7: unclosed bracket '['
        error: dump/b.json:1:17: expected JSON: trailing comma
        ");
    let other = CLUSTER_VERSION.replace("uid: u1", "uid: u2");
    insta::assert_snapshot!(from(&[PLAIN[0], ("dump/x/a.yaml", &other)]), @"
        exit 2
        --- stderr
        error: dump/x/a.yaml: clusterversions.config.openshift.io/version belongs to another cluster than that in dump/a.yaml; expected the files of one cluster
        ");
    insta::assert_snapshot!(check(&[("d.tar.gz", "no archive")], &["status", "--from", "d.tar.gz"]), @"
        exit 2
        --- stderr
        error: d.tar.gz: invalid gzip header
        ");
}

#[cfg(all(feature = "live", feature = "serve"))]
#[test]
fn status_reads_a_served_cluster_like_oc() {
    let environment =
        TestEnvironment::with(&[("no-context", "apiVersion: v1\nkind: Config\ncurrent-context: x\n")]);
    let _served = super::serve::Served::start(
        &environment,
        &["--version", "4.18.3", "--speed", "60x", "--kubeconfig", "config"],
    );
    let status = || environment.run(&["status", "--kubeconfig", "config"]);
    assert_eq!(status().to_string(), "exit 0\nThe cluster is not updating.\n");
    environment.run(&["adm", "upgrade", "--kubeconfig", "config", "--to", "4.18.4"]);
    let mut updating = status();
    for _ in 0..200 {
        if updating.stdout.lines().count() > 1 {
            break;
        }
        updating = status();
    }
    let rest = &updating.stdout;
    assert!(rest.starts_with("= Control Plane =\nAssessment:      Progressing\n"), "{updating}");
    assert!(rest.contains("\nTarget Version:  4.18.4 (from 4.18.3)\n"), "{updating}");
    assert!(rest.contains("\nWorker Pool Nodes: worker\n"), "{updating}");
    assert!(rest.contains("\n= Update Health =\n"), "{updating}");
    let adm = environment.run(&["adm", "upgrade", "status", "--details", "operators", "--kubeconfig=config"]);
    assert!(adm.stdout.contains("\nTarget Version:  4.18.4 (from 4.18.3)\n"), "{adm}");
    let wrong = environment.run(&["adm", "upgrade", "status", "--details=some", "--kubeconfig=config"]);
    assert_eq!(
        wrong.to_string(),
        "exit 1\n--- stderr\nerror: invalid value for --details: some (must be one of none, all, nodes, health, operators)\n"
    );
    let other = environment.run(&["status", "--kubeconfig", "config", "--context", "other"]);
    assert_eq!(other.code, Some(1), "{other}");
    assert!(environment.run(&["status", "--kubeconfig", "no-context"]).stderr.starts_with("error: "));
    let _bare = super::serve::Served::start(&environment, &["--bare", "--kubeconfig", "bare"]);
    assert_eq!(
        environment.run(&["status", "--kubeconfig", "bare"]).to_string(),
        "exit 1\n--- stderr\nerror: no cluster version information available - you must be connected to an OpenShift version 4 server to fetch the current version\n"
    );
}

const SCENARIO: &str = "name: status files
cluster: {version: 4.14.1}
releases: {4.14.8: }
timeline:
- expect: {status: {matches: resting.txt}}
- update: {to: 4.14.8}
- expect: {status: {contains: ['Target Version:  4.14.8', '/(?m)^Completion: +0%/'], details: operators}, within: 20m}
- expect: {status: {matches: kept/updating.txt, details: all}}
";
#[cfg(feature = "gherkin")]
const FEATURE: &str = "Feature: status files
  Scenario: by its status
    Given a 4.14.1 cluster
    And release 4.14.8 exists
    Then the status is as in \"resting.txt\"
    When I update to 4.14.8
    Then within 20 minutes the status contains \"Target Version:  4.14.8\"
    And the status with details \"all\" is as in \"kept/updating.txt\"
";

/// Runs a scenario or a feature with snapshots that are missing, written, equal and different in turn.
fn check_snapshots(command: &str, file: &str, text: &str) {
    let environment = TestEnvironment::with(&[(file, text)]);
    let missing = environment.run(&[command, file]);
    assert_eq!(missing.code, Some(2), "{missing}");
    assert!(
        missing.stderr.contains("resting.txt: No such file or directory (os error 2); `--update` writes it"),
        "{missing}"
    );
    let written = environment.run(&[command, "--update-snapshots", file]);
    assert_eq!(written.code, Some(0), "{written}");
    assert_eq!(environment.read("suite/resting.txt"), "The cluster is not updating.\n");
    let kept = environment.read("suite/kept/updating.txt");
    assert!(kept.contains("\n= Update Health =\n") && kept.contains("?     \n"), "{kept}");
    // Editors remove blanks at line ends.
    environment.write("suite/kept/updating.txt", kept.replace("?     \n", "?\n"));
    assert_eq!(environment.run(&[command, file]).code, Some(0));
    environment
        .write("suite/kept/updating.txt", kept.replace("worker        Pending", "worker        Completed"));
    let differs = environment.run(&[command, file]);
    assert_eq!(differs.code, Some(1), "{differs}");
    let lines: Vec<&str> = differs.stdout.lines().map(str::trim_start).collect();
    let start = lines.iter().position(|line| *line == "--- suite/kept/updating.txt").unwrap();
    assert!(
        lines[start - 1]
            .ends_with("the status differs from suite/kept/updating.txt (`--update` rewrites the file):")
    );
    assert_eq!(lines[start + 1], "+++ the status");
    assert!(
        lines[start..]
            .contains(&"-worker        Completed      0% (0/3)     3 Available, 0 Progressing, 0 Draining")
    );
    assert!(
        lines[start..]
            .contains(&"+worker        Pending      0% (0/3)     3 Available, 0 Progressing, 0 Draining")
    );
}

#[test]
fn a_scenario_is_compared_with_its_status_files() {
    check_snapshots("run", "suite/s.yaml", SCENARIO);
}

#[cfg(feature = "gherkin")]
#[test]
fn a_feature_is_compared_with_its_status_files() {
    check_snapshots("test", "suite/f.feature", FEATURE);
}

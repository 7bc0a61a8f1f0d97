//! Records a live cluster, replays the record in a served cluster, and drafts a scenario from it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use regex::Regex;
use serde_json::json;
use windtunnel_core::clock::{Clock as _, WallClock};

use super::environment::TestEnvironment;
#[cfg(unix)]
use super::places::SmallDisk;
use super::serve::{Served, client, run};
#[cfg(unix)]
use crate::skipped::skipped;

/// A windtunnel process that prints its progress line by line, killed if a test fails.
struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Running {
    fn start(environment: &TestEnvironment, arguments: &[&str]) -> Self {
        let mut child =
            environment.command(arguments).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().map(Result::unwrap).unwrap_or_default()
    }

    fn end(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let rest = self.lines.by_ref().map(Result::unwrap).collect::<Vec<_>>().join("\n");
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn create(environment: &TestEnvironment, config: &str, path: &str, object: &serde_json::Value) {
    let config = environment.read(config);
    run(async {
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request.body(object.to_string().into_bytes()).unwrap();
        client(&config).await.request::<serde_json::Value>(request).await.unwrap();
    });
}

/// Waits until the cluster of a kubeconfig has been updating and reports that it no longer is.
fn updated(environment: &TestEnvironment, config: &str) {
    for expected in ["= Control Plane =", "The cluster is not updating."] {
        let is = || environment.run(&["status", "--kubeconfig", config]).stdout.contains(expected);
        let seen = (0..600).any(|_| {
            let is = is();
            if !is {
                crate::cli::environment::pause(100);
            }
            is
        });
        assert!(seen, "{expected}");
    }
}

#[test]
fn an_update_can_be_recorded_replayed_drafted_and_run() {
    let environment = TestEnvironment::new();
    let cluster =
        Served::start(&environment, &["--version", "4.18.3", "--speed", "600x", "--kubeconfig", "sim"]);
    let mut recording =
        Running::start(&environment, &["record", "--kubeconfig", "sim", "-o", "r.jsonl", "--all"]);
    assert!(recording.line().starts_with("recording: "));
    let original = json!({ "kind": "Secret", "data": { "pin": "UElOLTY0Nw==" } }).to_string();
    let annotations = json!({ "kapp.k14s.io/original": original, "note": "k is hunter2-hunter2" });
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "annotations": annotations },
        "stringData": { "k": "hunter2-hunter2", "pin": "PIN-647" } });
    create(&environment, "sim", "/api/v1/namespaces/default/secrets", &secret);
    let output = environment.run(&["adm", "upgrade", "--kubeconfig", "sim", "--to", "4.18.4"]);
    assert_eq!(output.code, Some(0), "{output}");
    updated(&environment, "sim");
    let (code, output) = recording.end();
    assert!(code == Some(0) && output.starts_with("recorded: "), "{output}");
    drop(cluster);
    let record = environment.read("r.jsonl");
    for value in ["hunter2", "aHVudGVyMi1odW50ZXIy", "PIN-647", "UElOLTY0Nw"] {
        assert!(!record.contains(value), "{value}");
    }
    assert!(record.contains("\"name\":\"s\"") && record.contains("UkVEQUNURUQ="), "its trace");
    let header: serde_json::Value = serde_json::from_str(record.lines().next().unwrap()).unwrap();
    let epoch = jiff::Timestamp::from_millisecond(header["epoch"].as_i64().unwrap()).unwrap();
    assert!(WallClock.now().duration_since(epoch).as_hours() > 24, "{epoch} is not by the cluster's clock");
    assert_eq!(environment.run(&["status", "r.jsonl"]).to_string(), "exit 0\nThe cluster is not updating.\n");
    assert_eq!(environment.run(&["report", "r.jsonl", "--html", "r.html"]).code, Some(0));

    let arguments = ["replay", "r.jsonl", "--speed", "100000x", "--port", "0", "--kubeconfig", "replayed"];
    let mut replaying = Running::start(&environment, &arguments);
    assert!(replaying.line().starts_with("serving https://"));
    assert!(replaying.line().starts_with("replayed "));
    let version = |config: &str| environment.run(&["adm", "upgrade", "--kubeconfig", config]).stdout;
    assert!(version("replayed").starts_with("Cluster version is 4.18.4\n"), "{}", version("replayed"));
    assert_eq!(replaying.end().0, Some(0));

    assert_eq!(environment.run(&["scenario-from", "r.jsonl", "-o", "s.yaml"]).code, Some(0));
    assert!(environment.read("s.yaml").contains("- update: {to: 4.18.4}\n"));
    assert_eq!(environment.run(&["lint", "s.yaml"]).to_string(), "exit 0\n1 file: 0 errors, 0 warnings\n");
    let output = environment.run(&["run", "s.yaml", "--quiet"]);
    assert_eq!(output.code, Some(0), "{output}");
}

#[cfg(unix)]
#[test]
fn a_record_on_a_full_disk_has_complete_lines() {
    let environment = TestEnvironment::new();
    let disk = environment.work().join("disk");
    let Some(_disk) = SmallDisk::mount(&disk) else { return skipped("right to mount a disk") };
    std::fs::write(disk.join("ballast"), vec![1; 2_500_000]).unwrap();
    let _served = Served::start(&environment, &["--bare", "--kubeconfig", "sim"]);
    let mut recording =
        Running::start(&environment, &["record", "--kubeconfig", "sim", "-o", "disk/r.jsonl"]);
    assert!(recording.line().starts_with("recording: "));
    for number in 0..60 {
        let map =
            json!({ "metadata": { "name": format!("m{number}") }, "data": { "k": "x".repeat(20_000) } });
        create(&environment, "sim", "/api/v1/namespaces/default/configmaps", &map);
    }
    // The full disk ends it.
    assert_eq!(recording.child.wait().unwrap().code(), Some(2));
    let record = environment.read("disk/r.jsonl");
    assert!(record.ends_with('\n') && record.lines().count() > 5, "{} lines", record.lines().count());
    let report = environment.run(&["report", "disk/r.jsonl"]);
    assert_eq!((report.code, report.stderr.as_str()), (Some(0), ""), "{report}");
}

/// A run with every kind of event that a draft mentions.
const EVENTFUL: &str = "name: eventful
cluster: {version: 4.18.1, feature-set: TechPreviewNoUpgrade}
releases: {4.18.5: {}}
timeline:
- advance: 5m
- fault: {operator: dns, is: degraded, reason: DNSDegraded, message: DNS default is degraded}
- apply: {apiVersion: machineconfiguration.openshift.io/v1, kind: MachineConfigPool, metadata: {name: worker}, spec: {paused: true}}
- update: {to: 4.18.5}
- advance: 2h
- heal: {operator: dns}
- expect:
    object: ClusterVersion/version
    condition: {type: Progressing, status: 'False', message: Cluster version is 4.18.5}
    within: 2h
";

/// A run with what no draft takes.
const OMITTED: &str = "name: more
cluster:
  version: 4.18.1
  nodes: {workers: 3, pools: {gpu: {count: 1, paused: true, max-unavailable: 50%}}}
  objects:
  - {apiVersion: v1, kind: Secret, metadata: {name: token, namespace: default}, stringData: {a: b}}
  - {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}
  - apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingWebhookConfiguration
    metadata: {name: checks}
    webhooks:
    - {name: a.example.com, admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Ignore, clientConfig: {url: 'https://example.com/a'}, rules: []}
  - {apiVersion: machineconfiguration.openshift.io/v1, kind: MachineConfigPool, metadata: {name: infra}, spec: {
      nodeSelector: {matchLabels: {node-role.kubernetes.io/infra: ''}}}}
timeline:
- apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: default}}
- fault: {api: {verb: update, kind: Node}, is: internal-error, times: 1}
- advance: 5m
- delete: ConfigMap/default/settings
- apply: {apiVersion: v1, kind: Node, metadata: {name: worker-0, labels: {example.com/rack: a}}}
- advance: 1m
";

#[test]
fn a_draft_lists_what_it_leaves_out() {
    let environment = TestEnvironment::with(&[("s.yaml", OMITTED)]);
    assert_eq!(environment.run(&["run", "s.yaml", "--record", "r.jsonl", "--quiet"]).code, Some(0));
    let output = environment.run(&["scenario-from", "r.jsonl", "-o", "d.yaml"]);
    let draft = environment.read("d.yaml");
    assert!(output.stderr.contains("left out: Secrets (1: default/token): "), "{output}");
    for kept in [
        "workers: 3, pools: {gpu: {count: 1, paused: true, max-unavailable: \"50%\"}}",
        "kind: PodDisruptionBudget, metadata: {name: web, namespace: default}",
        "kind: MachineConfigPool, metadata: {name: infra}",
        "kind: ValidatingWebhookConfiguration",
        "- apply: {apiVersion: v1, kind: ConfigMap",
        "- delete: ConfigMap/default/settings\n",
        "- patch: {object: Node/worker-0, merge: {metadata: {labels: {example.com/rack: a}}}}\n",
    ] {
        assert!(draft.contains(kept), "{kept}\n{draft}");
    }
    assert_eq!(environment.run(&["run", "d.yaml", "--quiet", "--lenient"]).code, Some(0), "{draft}");
    let comments: Vec<&str> = draft.lines().skip(2).take_while(|line| line.starts_with('#')).collect();
    assert_eq!(
        comments,
        [
            "# The record has more, which this draft leaves out:",
            "# - Secrets (1: default/token): a record has no values of Secrets: create them under `objects`",
            "# - faults and other steps (1: the API server answers internal-error to update Node once): objects show the effects of such steps and not the steps: add them",
        ]
    );
}

#[test]
fn a_draft_passes_and_its_own_draft_is_the_same() {
    let environment = TestEnvironment::with(&[("s.yaml", EVENTFUL)]);
    assert_eq!(environment.run(&["run", "s.yaml", "--record", "r.jsonl", "--quiet"]).code, Some(0));
    // The durations are those of the simulation, which other tests check.
    let draft = environment.run(&["scenario-from", "r.jsonl"]).to_string();
    let draft = Regex::new(r"(?m)^- advance: \d.*\n").unwrap().replace_all(&draft, "");
    let draft = Regex::new(r"within: .*").unwrap().replace_all(&draft, "within: SPAN").into_owned();
    insta::assert_snapshot!(draft, @r#"
    exit 0
    # Drafted from a record: requests and failures became steps, reports of the cluster became expectations.
    # Time limits are generous and causes are guesses: a failure is a fault of the object that reported it. Edit it.
    name: "eventful, drafted"
    cluster:
      version: 4.18.1
      nodes: {control-plane: 3, workers: 3}
      feature-set: TechPreviewNoUpgrade
      channel: "stable-4.18"
    releases:
      4.18.5:
    timeline:
    - fault: {operator: "dns", is: "degraded", reason: "DNSDegraded", message: "DNS default is degraded"}
    - apply:
        apiVersion: machineconfiguration.openshift.io/v1
        kind: MachineConfigPool
        metadata: {name: worker}
        spec: {paused: true}
    - update: {to: 4.18.5}
    - expect:
        object: ClusterVersion/version
        conditions:
        - {type: "Failing", status: "True", reason: "ClusterOperatorDegraded"}
        within: SPAN
    - expect:
        object: ClusterVersion/version
        conditions:
        - {type: "Failing", status: "False"}
        within: SPAN
    - expect:
        object: ClusterVersion/version
        conditions:
        - {type: "Failing", status: "True", reason: "ClusterOperatorDegraded"}
        within: SPAN
    - heal: {operator: "dns"}
    - expect:
        object: ClusterVersion/version
        conditions:
        - {type: "Failing", status: "False"}
        within: SPAN
    - expect:
        object: ClusterVersion/version
        conditions:
        - {type: "Progressing", status: "False", message: "Cluster version is 4.18.5"}
        within: SPAN
    "#);
    environment.run(&["scenario-from", "r.jsonl", "-o", "d.yaml"]);
    assert_eq!(environment.run(&["lint", "d.yaml"]).code, Some(0));
    let output = environment.run(&["run", "d.yaml", "--record", "r2.jsonl", "--quiet"]);
    assert_eq!(output.code, Some(0), "{output}");
    environment.run(&["scenario-from", "r2.jsonl", "-o", "d2.yaml"]);
    let second = environment.read("d2.yaml").replace("eventful, drafted, drafted", "eventful, drafted");
    assert_eq!(second, environment.read("d.yaml"));
}

#[test]
fn a_replay_stops_at_the_requested_moment() {
    let environment = TestEnvironment::with(&[("s.yaml", EVENTFUL)]);
    assert_eq!(environment.run(&["run", "s.yaml", "--record", "r.jsonl", "--quiet"]).code, Some(0));
    let arguments = [
        "replay",
        "r.jsonl",
        "--speed",
        "100000x",
        "--until",
        "30m",
        "--port",
        "0",
        "--kubeconfig",
        "config",
    ];
    let mut replaying = Running::start(&environment, &arguments);
    assert!(replaying.line().starts_with("serving ") && replaying.line().starts_with("replayed "));
    // The clock of the replay stands still then, and every command uses it as the current time.
    let live = ["status", "--kubeconfig", "config", "--details", "all"];
    let recorded = environment.run(&["status", "r.jsonl", "--at", "30m", "--details", "all"]);
    assert_eq!(environment.run(&live).to_string(), recorded.to_string());
    let insights = |from: &[&str]| environment.run(&[&["status", "-o", "yaml"], from].concat()).to_string();
    assert_eq!(insights(&["--kubeconfig", "config"]), insights(&["r.jsonl", "--at", "30m"]));
    assert_eq!(replaying.end().0, Some(0));
}

#[test]
fn unusable_clusters_and_records_are_reported() {
    let config = "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n\
                  contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n";
    let environment = TestEnvironment::with(&[("config", config), ("bad.jsonl", "{}\n")]);
    let check = |arguments: &[&str], expected: &str| {
        let output = environment.run(arguments);
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains(expected), "{output}");
    };
    check(
        &["record", "--kubeconfig", "config", "-o", "r"],
        "error: cannot discover the kinds of the cluster: ",
    );
    check(&["record", "--kubeconfig", "nowhere", "-o", "r"], "nowhere");
    check(
        &["record", "--kubeconfig", "config", "-o", "r", "--for", "soon"],
        "error: --for: expected a time such as `2h`, found `soon`",
    );
    check(&["replay", "bad.jsonl"], "error: bad.jsonl:1: expected the header of a record");
    check(&["scenario-from", "bad.jsonl"], "error: bad.jsonl:1: expected the header of a record");
    let empty = "{\"windtunnel\":\"0\",\"scenario\":\"n\",\"ids\":[],\"seed\":1,\"epoch\":0}\n";
    environment.write("empty.jsonl", empty);
    check(
        &["scenario-from", "empty.jsonl"],
        "error: empty.jsonl: expected ClusterVersion `version` at the start of the record, found none",
    );
    check(&["replay", "empty.jsonl", "--until", "x"], "error: --until: expected a time since the start");
}

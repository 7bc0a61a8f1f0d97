//! Secrets of simulated clusters: no output has their values, wherever a scenario or a dump has them.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::environment::{Output, TestEnvironment};

/// A value that is in Secrets, and beside them.
const VALUE: &str = "hunter2-hunter2-hunter2";
/// Other values of Secrets: of data, of a patch, of a rejected request, and of a step that does not run.
const OTHERS: [&str; 4] =
    ["swordfish-of-data", "swordfish-of-patch", "swordfish-of-rejection", "swordfish-of-later-step"];
/// A value of several lines.
const KEY: [&str; 2] = ["MIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM", "h3Jc8vbQmM2nWqk0z5rB1TqLw7dXo4yUeR9s"];
/// A value that is too short to be searched in texts, in the form that objects have.
const SHORT: (&str, &str) = ("pin 75", "cGluIDc1");

/// The places of values in a cluster.
const PLACES: &str = r#"
- apply:
    apiVersion: v1
    kind: Secret
    metadata: {name: own, namespace: default}
    stringData:
      password: hunter2-hunter2-hunter2
      pin: pin 75
      tls.key: |
        -----BEGIN PRIVATE KEY-----
        MIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM
        h3Jc8vbQmM2nWqk0z5rB1TqLw7dXo4yUeR9s
        -----END PRIVATE KEY-----
- apply:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: copy, namespace: default, annotations: {example.com/note: was hunter2-hunter2-hunter2}}
    data:
      hunter2-hunter2-hunter2: a name
      basic: dXNlcjpodW50ZXIyLWh1bnRlcjItaHVudGVyMg==
      lines: "see MIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM and h3Jc8vbQmM2nWqk0z5rB1TqLw7dXo4yUeR9s"
- apply:
    apiVersion: v1
    kind: Pod
    metadata: {name: pod, namespace: default}
    spec:
      containers:
      - name: c
        image: quay.io/x/y:1
        args: [--password=hunter2-hunter2-hunter2]
        env: [{name: PASSWORD, value: hunter2-hunter2-hunter2}]
- patch: {object: Secret/default/own, merge: {stringData: {other: swordfish-of-patch}}}
- patch: {object: ConfigMap/default/copy, merge: {data: {copy: see swordfish-of-patch and swordfish-of-data}}}
- try:
    apply: {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: missing}, stringData: {a: swordfish-of-rejection}}
    refused: {contains: not found}
- run: {command: "oc get secret own -n default -o jsonpath={.data.password}", prints: aHVudGVyMi1odW50ZXIyLWh1bnRlcjI=}
- keep: {as: password}
- run: oc get secrets -n default -o yaml
- run: oc get configmaps -n default -o json
- run: oc get pod pod -n default -o yaml
- expect: {object: Pod/default/pod, fields: {"spec.containers[0].args[0]": --password=hunter2-hunter2-hunter2}}
- expect: {object: Secret/default/own, fields: {data.password: $(kept password)}}
- advance: 2m
"#;

/// The steps after which a run fails, and the values in the reasons.
const FAILING: &str = r"
- expect: {object: ConfigMap/default/copy, fields: {data.copy: is hunter2-hunter2-hunter2}}
- expect: {object: ConfigMap/default/copy, fields: {data.copy: is swordfish-of-later-step}}
- apply: {apiVersion: v1, kind: Secret, metadata: {name: later, namespace: default}, stringData: {a: swordfish-of-later-step}}
";

fn scenario(more: &str) -> String {
    format!(
        "name: has hunter2-hunter2-hunter2\ncluster:\n  version: 4.14.1\n  nodes: {{control-plane: 1, workers: 0}}\n  objects:\n  \
         - {{apiVersion: v1, kind: Secret, metadata: {{name: first, namespace: default}}, data: {{a: {}}}}}\ntimeline:{PLACES}{more}",
        STANDARD.encode(OTHERS[0])
    )
}

/// The texts that no output has: values, their lines, and base64 of them, also of a part.
fn forms() -> Vec<String> {
    let values: Vec<&str> = [VALUE].into_iter().chain(OTHERS).chain(KEY).collect();
    let encoded = values.iter().map(|value| STANDARD.encode(value));
    let part = STANDARD.encode(format!("user:{VALUE}"));
    let key = STANDARD.encode(format!("-----BEGIN PRIVATE KEY-----\n{}", KEY.join("\n")));
    let parts = [part[12..30].to_owned(), key[60..90].to_owned(), SHORT.0.to_owned(), SHORT.1.to_owned()];
    let forms = values.iter().map(|value| (*value).to_owned()).chain(encoded);
    forms.map(|form| form.trim_end_matches('=').to_owned()).chain(parts).collect()
}

/// The output of a command, and the files that it wrote. The data of a page are unpacked.
fn texts(environment: &TestEnvironment, output: &Output, sources: &[&str]) -> Vec<(String, String)> {
    let files =
        environment.files().into_iter().filter(|name| !sources.iter().any(|source| name.starts_with(source)));
    let files = files.map(|name| {
        let text = environment.read(&name);
        let packed = text
            .split("<script type=\"text/plain\">")
            .skip(1)
            .filter_map(|rest| rest.split_once("</script>"));
        let unpacked: String = packed.map(|(data, _)| unpack(data)).collect();
        (name, text.clone() + &unpacked)
    });
    let printed = [("stdout", &output.stdout), ("stderr", &output.stderr)];
    printed.map(|(name, text)| (name.to_owned(), text.clone())).into_iter().chain(files).collect()
}

fn unpack(data: &str) -> String {
    let bytes = STANDARD.decode(data.trim()).unwrap();
    let mut text = String::new();
    flate2::read::DeflateDecoder::new(&*bytes).read_to_string(&mut text).unwrap();
    text
}

/// Runs a command with these files and checks its exit code. No output of it has a value.
fn check_clean(files: &[(&str, &str)], arguments: &[&str], code: i32) {
    let environment = TestEnvironment::with(files);
    let output = environment.run(arguments);
    assert_eq!(output.code, Some(code), "{arguments:?}\n{output}");
    let sources: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    for (place, text) in texts(&environment, &output, &sources) {
        for form in forms() {
            assert!(!text.contains(&form), "{arguments:?}: {place} has {form}:\n{text}");
        }
    }
}

/// All reports of `run` and `test`.
const REPORTS: [&str; 16] = [
    "--record",
    "r.jsonl",
    "--junit",
    "j.xml",
    "--junit-per",
    "step",
    "--junit-upgrade",
    "u.xml",
    "--cucumber-json",
    "c.json",
    "--test-results",
    "t.yaml",
    "--github-summary=g.md",
    "--html",
    "p.html",
    "--verbose",
];

#[test]
fn no_report_of_a_run_has_a_value() {
    let (passing, failing) = (scenario(""), scenario(FAILING));
    for (text, code) in [(&passing, 0), (&failing, 1)] {
        let files = [("s.yaml", text.as_str())];
        check_clean(&files, &[&["run", "s.yaml"], &REPORTS[..]].concat(), code);
        check_clean(&files, &["run", "s.yaml", "--format", "json", "--junit", "j.xml"], code);
        check_clean(&files, &["run", "s.yaml", "--until", "3m"], code);
        check_clean(&files, &["run", "s.yaml", "s.yaml", "--seeds", "1..2"], code);
    }
    #[cfg(all(feature = "live", feature = "serve"))]
    check_clean(
        &[("s.yaml", &failing)],
        &[&["run", "s.yaml", "--backend", "served", "--debug"], &REPORTS[..]].concat(),
        1,
    );
}

#[test]
fn no_check_of_a_run_prints_a_value() {
    let (passing, failing) = (scenario(""), scenario(FAILING));
    let passing = [("s.yaml", passing.as_str())];
    check_clean(
        &passing,
        &["run", "s.yaml", "--check-determinism", "--check-restarts", "--check-restored"],
        0,
    );
    #[cfg(feature = "serve")]
    check_clean(
        &[("s.yaml", &failing), ("config", "")],
        &[
            "serve",
            "--scenario",
            "s.yaml",
            "--timeline",
            "--exit",
            "--speed",
            "600x",
            "--port",
            "0",
            "--kubeconfig",
            "config",
        ],
        1,
    );
    check_clean(&passing, &["sweep", "s.yaml"], 1);
    let failing = [("s.yaml", failing.as_str())];
    check_clean(&failing, &["sweep", "s.yaml", "--json", "--svg", "p.svg"], 1);
    check_clean(&failing, &["mutate", "s.yaml", "--list"], 1);
    check_clean(&passing, &["mutate", "s.yaml", "--mutants", "2", "--strict"], 1);
    check_clean(&passing, &["mutate", "s.yaml", "--mutants", "1", "--strict", "--json"], 1);
    check_clean(&failing, &["explore", "s.yaml", "--runs", "1", "--html", "e.html"], 1);
}

#[test]
fn a_rejected_object_of_a_cluster_shows_no_value() {
    let text = scenario("").replace("  - {apiVersion: v1, kind: Secret", "  - {apiVersion: v1, kind: ConfigMap, metadata: {name: 'Not hunter2-hunter2-hunter2', namespace: default}}\n  - {apiVersion: v1, kind: Secret");
    check_clean(&[("s.yaml", &text)], &["run", "s.yaml", "--junit", "j.xml"], 1);
}

#[cfg(feature = "gherkin")]
#[test]
fn no_report_of_a_feature_has_a_value() {
    let feature = format!(
        "Feature: Secrets\n  Scenario: A Secret is copied\n    Given a 4.14.1 cluster with 1 control-plane node and 0 workers\n    \
         When I apply this object:\n      \"\"\"\n      apiVersion: v1\n      kind: Secret\n      metadata: {{name: own, namespace: default}}\n      \
         stringData: {{password: {VALUE}, other: {}, pin: {}}}\n      \"\"\"\n    And I apply this object:\n      \"\"\"\n      apiVersion: v1\n      \
         kind: ConfigMap\n      metadata: {{name: copy, namespace: default}}\n      data: {{copy: is {VALUE}}}\n      \"\"\"\n    And I run the :get client \
         command with:\n      | resource      | secrets  |\n      | resource_name | own      |\n      | n             | default  |\n      | o             | yaml     |\n    \
         Then the step should succeed\n    And the output should contain:\n      | {} |\n    \
         And ConfigMap/default/copy field \"data.copy\" is \"not {VALUE}\"\n    And ConfigMap/default/copy field \"data.copy\" is \"{VALUE}\"\n",
        OTHERS[0],
        SHORT.0,
        STANDARD.encode(VALUE)
    );
    let files = [("f.feature", feature.as_str())];
    check_clean(&files, &[&["test", "f.feature"], &REPORTS[..]].concat(), 1);
    check_clean(&files, &["test", "f.feature", "--format", "json", "--quiet"], 1);
    check_clean(&files, &["test", "f.feature", "--until", "1m"], 1);
}

#[test]
fn show_secrets_shows_the_values_everywhere() {
    let environment = TestEnvironment::with(&[("s.yaml", &scenario(FAILING))]);
    let output = environment.run(&[&["run", "s.yaml", "--show-secrets"], &REPORTS[..]].concat());
    assert_eq!(output.code, Some(1), "{output}");
    let has_value = |name: &str, text: &str| {
        assert!(text.contains(VALUE) && !text.contains("REDACTED"), "{name}:\n{text}");
    };
    for (name, text) in texts(&environment, &output, &["s.yaml"]) {
        if ["stdout", "r.jsonl", "j.xml", "c.json", "p.html"].contains(&&*name) {
            has_value(&name, &text);
        }
    }
    assert!(environment.read("r.jsonl").contains(&STANDARD.encode(VALUE)));
    #[cfg(all(feature = "live", feature = "serve"))]
    {
        let arguments = ["run", "s.yaml", "--show-secrets", "--backend", "served"];
        has_value("served", &environment.run(&arguments).stdout);
        let output = environment.run(&["run", "s.yaml", "--show-secrets", "--backend", "kind"]);
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains("--show-secrets requires `--backend in-process`"), "{output}");
    }
}

#[test]
fn reports_of_a_record_with_values_have_none() {
    // The recorded output of a command is text, in which short values are not searched.
    let text = scenario(FAILING).replace("      pin: pin 75\n", "");
    let environment = TestEnvironment::with(&[("s.yaml", &text)]);
    let output = environment.run(&["run", "s.yaml", "--show-secrets", "--quiet", "--record", "r.jsonl"]);
    assert_eq!(output.code, Some(1), "{output}");
    let record = environment.read("r.jsonl");
    assert!(record.contains(VALUE));
    let files = [("r.jsonl", record.as_str())];
    check_clean(&files, &["report", "r.jsonl", "--html", "p.html", "--verbose"], 1);
    check_clean(&files, &["logs", "r.jsonl"], 0);
    check_clean(&files, &["logs", "r.jsonl", "cluster-version-operator"], 0);
    check_clean(&files, &["status", "r.jsonl", "--details", "all"], 0);
    check_clean(&files, &["scenario-from", "r.jsonl"], 0);
    check_clean(&files, &["must-gather", "r.jsonl", "--output", "dump"], 0);
    check_clean(&files, &["check", "r.jsonl"], 0);
}

/// A cluster in files whose objects have the value of its Secret.
const DUMP: &str = r#"
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: own, namespace: default, uid: s, resourceVersion: "1"}
  data: {password: aHVudGVyMi1odW50ZXIyLWh1bnRlcjI=}
- apiVersion: config.openshift.io/v1
  kind: ClusterVersion
  metadata: {name: version, uid: v, resourceVersion: "2", generation: 1, creationTimestamp: "2024-01-01T00:00:00Z"}
  spec: {channel: stable-4.14, clusterID: 01234567-0123-0123-0123-0123456789ab}
  status:
    desired: {version: 4.14.2, image: "quay.io/openshift-release-dev/ocp-release@sha256:1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
    observedGeneration: 1
    versionHash: x
    availableUpdates: null
    history:
    - {state: Partial, version: 4.14.2, image: "quay.io/openshift-release-dev/ocp-release@sha256:1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", startedTime: "2024-01-01T01:00:00Z", completionTime: null, verified: true}
    - {state: Completed, version: 4.14.1, image: "quay.io/openshift-release-dev/ocp-release@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", startedTime: "2024-01-01T00:00:00Z", completionTime: "2024-01-01T01:00:00Z", verified: false}
    conditions:
    - {type: Available, status: "True", message: Done, lastTransitionTime: "2024-01-01T01:00:00Z"}
    - {type: Failing, status: "True", reason: Broken, message: the password hunter2-hunter2-hunter2 is rejected, lastTransitionTime: "2024-01-01T01:00:00Z"}
    - {type: Progressing, status: "True", message: "Working towards 4.14.2", lastTransitionTime: "2024-01-01T01:00:00Z"}
- apiVersion: config.openshift.io/v1
  kind: ClusterOperator
  metadata: {name: etcd, uid: o, resourceVersion: "3"}
  status:
    versions: [{name: operator, version: 4.14.1}]
    conditions:
    - {type: Available, status: "False", reason: Broken, message: --password=hunter2-hunter2-hunter2, lastTransitionTime: "2024-01-01T01:00:00Z"}
    - {type: Degraded, status: "True", reason: Broken, message: aHVudGVyMi1odW50ZXIyLWh1bnRlcjI=, lastTransitionTime: "2024-01-01T01:00:00Z"}
    - {type: Progressing, status: "False", lastTransitionTime: "2024-01-01T01:00:00Z"}
- apiVersion: machineconfiguration.openshift.io/v1
  kind: MachineConfigPool
  metadata: {name: master, uid: p, resourceVersion: "5"}
  spec:
    nodeSelector: {matchLabels: {node-role.kubernetes.io/master: ""}}
    configuration: {name: rendered-master-1}
  status: {configuration: {name: rendered-master-1}, machineCount: 1}
- apiVersion: machineconfiguration.openshift.io/v1
  kind: MachineConfig
  metadata: {name: rendered-master-1, uid: c, resourceVersion: "6", annotations: {machineconfiguration.openshift.io/release-image-version: 4.14.1}}
- apiVersion: v1
  kind: Node
  metadata:
    name: n
    uid: n
    resourceVersion: "4"
    labels: {example.com/label: hunter2-hunter2-hunter2, node-role.kubernetes.io/master: ""}
    annotations:
      machineconfiguration.openshift.io/currentConfig: rendered-master-1
      machineconfiguration.openshift.io/desiredConfig: rendered-master-1
      machineconfiguration.openshift.io/reason: hunter2-hunter2-hunter2
      machineconfiguration.openshift.io/state: Done
"#;

#[test]
fn no_output_about_a_dump_has_a_value_of_its_secrets() {
    let run = "name: s\ncluster: {version: 4.14.1}\ntimeline:\n- run: oc get nodes -o yaml\n- run: oc get clusteroperator etcd -o yaml\n";
    let files = [("dump.yaml", DUMP), ("s.yaml", run)];
    check_clean(&files, &["dump", "dump.yaml", "--files"], 0);
    check_clean(&files, &["status", "--from", "dump.yaml", "--details", "all"], 0);
    check_clean(&files, &["status", "--from", "dump.yaml", "--output", "yaml"], 0);
    check_clean(&files, &[&["run", "s.yaml", "--start-from", "dump.yaml"], &REPORTS[..]].concat(), 0);
}

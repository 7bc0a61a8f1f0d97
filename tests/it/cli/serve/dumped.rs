//! Serves clusters from files.

use std::fs;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use super::{Served, TestEnvironment};
use crate::recordings::{entries, generated_clusters, shared_or_skip};

/// A Deployment that every live cluster has and `oc` reads, but that some recorded clusters lack.
const OPERATOR: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: machine-config-operator, namespace: openshift-machine-config-operator}
spec:
  selector: {matchLabels: {k8s-app: machine-config-operator}}
  template:
    metadata: {labels: {k8s-app: machine-config-operator}}
    spec: {containers: [{name: machine-config-operator, image: quay.io/openshift/mco@sha256:0}]}
";

fn copy(cluster: &Path, environment: &TestEnvironment) {
    for entry in fs::read_dir(cluster).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.contains('.') {
            environment.write(&format!("dump/{name}"), fs::read(entry.path()).unwrap());
        }
    }
    if !cluster.join("mco-deployment.yaml").exists() {
        environment.write("dump/mco-deployment.yaml", OPERATOR);
    }
    if !cluster.join("alerts.json").exists() {
        environment.write("dump/alerts.json", r#"{"status": "success", "data": {"alerts": []}}"#);
    }
}

/// Errors of a live cluster for objects that every cluster has, but that files can lack.
const MISSING: [&str; 2] =
    ["no cluster version information available", "machineconfigs.machineconfiguration.openshift.io"];

/// Checks that the status of a served dump equals that of its files, byte for byte. Generated clusters are
/// not always sorted by name, but lists of an API server are; then only the order of sections may differ.
fn check(cluster: &Path, is_made: bool) {
    let environment = TestEnvironment::new();
    copy(cluster, &environment);
    let served = Served::start(&environment, &["--from", "dump", "--kubeconfig", "config"]);
    for details in if is_made { &["all"][..] } else { &["none", "all"] } {
        let more = ["--details", details, "--as-of", "2024-05-01T12:00:00Z"];
        let live = environment.run(&[&["status", "--kubeconfig", "config"], &more[..]].concat());
        let of_files = environment.run(&[&["status", "--from", "dump"], &more[..]].concat());
        let (live, of_files) = (live.to_string(), of_files.to_string());
        if is_made && live.starts_with("exit 1\n") {
            assert!(MISSING.iter().any(|missing| live.contains(missing)), "{}: {live}", cluster.display());
        } else if is_made {
            assert_eq!(sorted(&live), sorted(&of_files), "{}", cluster.display());
        } else {
            assert_eq!(live, of_files, "{}", cluster.display());
            assert!(live.starts_with("exit 0\n"), "{}: {live}", cluster.display());
        }
    }
    served.signal("-TERM");
    let (status, _, err) = served.end();
    assert_eq!(status.code(), Some(0));
    assert!(!err.contains("not stored"), "{}: {err}", cluster.display());
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_served_dump_has_the_status_of_its_files() {
    // Each takes a second, so only some are used.
    for cluster in generated_clusters().iter().step_by(5) {
        check(cluster, true);
    }
}

#[test]
fn a_served_dump_of_a_real_cluster_has_the_status_of_its_files() {
    let Some(folder) = shared_or_skip("golden/upgrade-status") else { return };
    for cluster in entries(&folder) {
        check(&cluster, false);
    }
}

const CONFIG: &str = "apiVersion: config.openshift.io/v1";

fn kubectl(environment: &TestEnvironment, arguments: &str) -> Option<String> {
    let [program] = crate::real::programs(["kubectl"])?;
    let mut command = Command::new(program);
    command.args(arguments.split(' ')).env("KUBECONFIG", environment.work().join("config"));
    let output = command.env("HOME", environment.work()).output().ok()?;
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// A small cluster in a must-gather: one CRD, one kind without a CRD, one broken object, and one that no
/// server would accept today.
fn must_gather() -> [(&'static str, String); 8] {
    [
        (
            "mg/x/cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml",
            format!(
                "{CONFIG}\nkind: ClusterVersion\nmetadata: {{name: version, uid: u1, resourceVersion: '123456789', \
                 generation: 7, creationTimestamp: '2024-01-01T00:00:00Z'}}\nspec: {{clusterID: c}}\n\
                 status: {{desired: {{version: 4.16.2, image: i}}, observedGeneration: 7, versionHash: h, availableUpdates: null, \
                 conditions: [{{type: Progressing, status: 'False', lastTransitionTime: '2024-01-01T00:00:00Z'}}]}}\n"
            ),
        ),
        (
            "mg/x/cluster-scoped-resources/apiextensions.k8s.io/customresourcedefinitions/things.example.io.yaml",
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
             metadata: {name: things.example.io, uid: d1, resourceVersion: '5', creationTimestamp: '2024-01-01T00:00:00Z'}\n\
             spec: {group: example.io, scope: Namespaced, names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}, \
             versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: \
             {spec: {type: object, properties: {size: {type: integer, maximum: 3}}}}}}}]}\n\
             status: {acceptedNames: {kind: Thing, plural: things}, storedVersions: [v1], \
             conditions: [{type: Established, status: 'True'}, {type: NamesAccepted, status: 'True'}]}\n"
                .to_owned(),
        ),
        (
            "mg/x/namespaces/implicit/example.io/things.yaml",
            "apiVersion: example.io/v1\nkind: ThingList\nitems:\n- metadata: {name: big, namespace: implicit}\n  spec: {size: 9}\n\
             - metadata: {name: extra, namespace: implicit}\n  spec: {size: 1, color: red}\n"
                .to_owned(),
        ),
        (
            "mg/x/namespaces/n/n.yaml",
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: n, uid: n1, resourceVersion: '9'}\n".to_owned(),
        ),
        (
            "mg/x/namespaces/n/core/pods.yaml",
            "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: p, namespace: n, uid: p1, resourceVersion: '8', \
             managedFields: [{manager: m, operation: Update, apiVersion: v1, time: '2024-01-01T00:00:00Z', fieldsType: FieldsV1, \
             fieldsV1: {'f:spec': {}}}]}\n  spec: {containers: [{name: c, image: i}]}\n  status: {phase: Running, podIP: 10.0.0.1}\n\
             - metadata: {name: broken, namespace: n}\n  spec: {containers: 5}\n"
                .to_owned(),
        ),
        (
            "mg/x/namespaces/n/build.openshift.io/builds.yaml",
            "apiVersion: build.openshift.io/v1\nkind: BuildList\nitems:\n- metadata: {name: b1, namespace: n}\n\
             - metadata: {name: b2, namespace: n}\n"
                .to_owned(),
        ),
        ("mg/x/namespaces/n/apps/deployments.yaml", "kind: [\n".to_owned()),
        ("mg/x/namespaces/n/pods/p/logs/current.log", "%".to_owned()),
    ]
}

/// The messages of the server about the dump, after it has ended.
fn notices(environment: &TestEnvironment, from: &str) -> String {
    let served = Served::start(environment, &["--from", from, "--kubeconfig", "config"]);
    served.signal("-TERM");
    served.end().2
}

#[test]
fn objects_that_are_not_served_are_reported() {
    let environment = TestEnvironment::new();
    for (name, text) in must_gather() {
        environment.write(name, text);
    }
    insta::assert_snapshot!(notices(&environment, "mg"), @r#"
    not read: mg/x/namespaces/n/apps/deployments.yaml:1:7: unclosed bracket '['
    not stored: v1 Pod: Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field PodSpec.spec.containers of type []v1.Container (broken in x/namespaces/n/core/pods.yaml)
    stored without fields unknown to its schema: example.io/v1 Thing: spec.color (extra in x/namespaces/implicit/example.io/things.yaml)
    stored, but rejected if written today: example.io/v1 Thing: Thing.example.io NAME is invalid: spec.size: Invalid value: 9: spec.size in body should be less than or equal to 3 (big in x/namespaces/implicit/example.io/things.yaml)
    stored with any fields, since no definition of their kind is known: build.openshift.io/v1 Build (2)
    created missing namespaces: implicit
    8 files: 6 read (9 objects), 1 without objects, 1 not understood, 0 not collected
    serving 8 of 9 objects of mg
    the clock stands still at 2024-01-01T00:00:00Z, when the dump was made; clients that use their own clock, such as `oc adm upgrade status`, show durations up to now: use `windtunnel adm upgrade status`
    "#);
    let archive = environment.work().join("mg.tar.gz");
    let mut builder =
        tar::Builder::new(GzEncoder::new(fs::File::create(archive).unwrap(), Compression::fast()));
    builder.append_dir_all("mg", environment.work().join("mg")).unwrap();
    builder.into_inner().unwrap().finish().unwrap();
    let served = Served::start(&environment, &["--from", "mg.tar.gz", "--kubeconfig", "config"]);
    let Some(version) = kubectl(&environment, "get clusterversion version -o json --show-managed-fields")
    else {
        return;
    };
    let version: Value = serde_json::from_str(&version).unwrap();
    let metadata = &version["metadata"];
    assert_eq!(
        (metadata["uid"].as_str(), metadata["resourceVersion"].as_str()),
        (Some("u1"), Some("123456789"))
    );
    assert_eq!(
        (metadata["generation"].as_i64(), version["status"]["versionHash"].as_str()),
        (Some(7), Some("h"))
    );
    let pod = kubectl(&environment, "get pod p -n n -o json --show-managed-fields").unwrap();
    let pod: Value = serde_json::from_str(&pod).unwrap();
    assert_eq!(pod["status"]["podIP"], "10.0.0.1");
    assert_eq!(pod["metadata"]["managedFields"][0]["manager"], "m");
    assert_eq!(
        kubectl(&environment, "get things -n implicit -o name").unwrap(),
        "thing.example.io/big\nthing.example.io/extra\n"
    );
    let kubernetes: Value = serde_json::from_str(&kubectl(&environment, "version -o json").unwrap()).unwrap();
    assert_eq!(kubernetes["serverVersion"]["minor"], "29", "what 4.16 has");
    kubectl(&environment, "label pod p -n n a=b").unwrap();
    kubectl(&environment, "get clusteroperators,machineconfigpools,routes -A").unwrap();
    drop(served);
}

#[test]
fn any_moment_of_a_record_can_be_served() {
    let scenario = "name: n\ncluster: {version: 4.14.1, nodes: {control-plane: 1, workers: 0}}\nreleases: {4.14.8: {}}\n\
                    timeline:\n- advance: 5m\n- update: {to: 4.14.8}\n- advance: 3h\n";
    let environment = TestEnvironment::with(&[("s.yaml", scenario)]);
    assert_eq!(environment.run(&["run", "s.yaml", "--record", "r.jsonl", "--quiet"]).code, Some(0));
    for at in ["4m", "40m", "3h"] {
        let served =
            Served::start(&environment, &["--from", "r.jsonl", "--at", at, "--kubeconfig", "config"]);
        let of_files = environment.run(&["status", "r.jsonl", "--at", at, "--details", "all"]);
        let minutes = if at == "3h" {
            "11:00"
        } else if at == "4m" {
            "08:04"
        } else {
            "08:40"
        };
        let as_of = format!("2024-01-15T{minutes}:00Z");
        let live =
            environment.run(&["status", "--kubeconfig", "config", "--as-of", &as_of, "--details", "all"]);
        assert_eq!(live.to_string(), of_files.to_string(), "{at}");
        let arguments = "logs -n openshift-cluster-version deploy/cluster-version-operator";
        if let Some(log) = kubectl(&environment, arguments) {
            assert!(log.contains("] Started syncing cluster version "), "{log}");
            assert_eq!(log.contains("] ClusterVersionOperator 4.14.8\n"), at != "4m", "{log}");
        }
        drop(served);
    }
}

#[test]
fn an_invalid_dump_is_reported() {
    let environment = TestEnvironment::with(&[
        ("empty/a.yaml", "a: 1\n"),
        ("bad.yaml", "kind: [\n"),
        ("one.yaml", OPERATOR),
    ]);
    let check = |arguments: &[&str], expected: &str| {
        let output = environment.run(&[&["serve", "--port", "0"], arguments].concat());
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(output.stderr.contains(expected), "{output}");
    };
    check(
        &["--from", "empty"],
        "error: empty: expected objects of a cluster, found none in 1 YAML and JSON files",
    );
    check(&["--from", "bad.yaml"], "error: bad.yaml:");
    check(&["--from", "nowhere"], "error: nowhere: ");
    check(&["--from", "one.yaml", "--at", "5m"], "error: --at: expected a record, but one.yaml is not one");
    check(&["--from", "one.yaml", "--version", "4.18.3"], "cannot be used with");
    check(&["--at", "5m"], "--from <PATH>");
}

//! `windtunnel dump`: counts every file of a dump.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::environment::{Output, TestEnvironment};
#[cfg(feature = "serve")]
use super::serve::Served;
use crate::recordings::{ours, shared_or_skip};

fn dump(path: &Path, arguments: &[&str]) -> Output {
    TestEnvironment::new().run(&[&["dump", path.to_str().unwrap()], arguments].concat())
}

/// Lists a packed dump, by its name.
fn packed(name: &str, arguments: &[&str]) -> Output {
    let environment = TestEnvironment::new();
    environment.write(name, fs::read(ours(&format!("dumps/packed/{name}"))).unwrap());
    environment.run(&[&["dump", name], arguments].concat())
}

#[test]
fn archives_in_archives_are_read() {
    insta::assert_snapshot!(packed("insights.tar.xz", &["--files"]), @"
    exit 0
    read       config/alerts.json                                            0 objects, alerts
    read       config/clusteroperator/dns.json                               1 object
    read       config/configmaps/openshift-config/openshift-install/invoker  1 object, a key of a ConfigMap
    read       config/configmaps/openshift-config/openshift-install/version  0 objects, a key of a ConfigMap
    read       config/node/a.json                                            1 object
    read       config/version.json                                           1 object
    no object  insights-operator/gathers.json                                a report of Insights
    not collected: clusterconfig/pdbs: forbidden (insights-operator/gathers.json)
    7 files: 6 read (4 objects), 1 without objects, 0 not understood, 0 not collected
    ");
    insta::assert_snapshot!(packed("nested.zip", &[]), @r#"
    exit 0
    1  ClusterOperator  config.openshift.io/v1
    1  ClusterVersion   config.openshift.io/v1
    1  ConfigMap        v1
    4  Node             v1
    not understood: broken.yaml: 1:7: unclosed bracket '['
    not understood: mg/damaged.tar.gz: incomplete deflate stream
    not understood: mg/old.json.bz2: compressed with bzip2; expected tar, gzip, xz or zip
    not collected: clusterconfig/pdbs: forbidden (mg/insights-data/archive.bin:insights-operator/gathers.json)
    not collected: multi-networkpolicy: the server doesn't have a resource type "multi-networkpolicy" (mg/network_logs/multi-networkpolicy)
    15 files: 9 read (7 objects, 1 state replaced by newer or fuller ones), 2 without objects, 3 not understood, 1 not collected
    "#);
    insta::assert_snapshot!(packed("nested.zip", &["--only", "not-understood"]), @r#"
    exit 0
    not understood  broken.yaml        1:7: unclosed bracket '['
    not understood  mg/damaged.tar.gz  incomplete deflate stream
    not understood  mg/old.json.bz2    compressed with bzip2; expected tar, gzip, xz or zip
    not collected: clusterconfig/pdbs: forbidden (mg/insights-data/archive.bin:insights-operator/gathers.json)
    not collected: multi-networkpolicy: the server doesn't have a resource type "multi-networkpolicy" (mg/network_logs/multi-networkpolicy)
    15 files: 9 read (7 objects, 1 state replaced by newer or fuller ones), 2 without objects, 3 not understood, 1 not collected
    "#);
}

#[test]
fn an_archive_without_its_end_is_read_up_to_there() {
    let node = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}"#;
    let mut archive = tar::Builder::new(Vec::new());
    for (name, text) in [("a.json", node.to_owned()), ("b.json", node.repeat(99))] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    let environment = TestEnvironment::new();
    environment.write("cut.tar", &archive.into_inner().unwrap()[..3000]);
    insta::assert_snapshot!(environment.run(&["dump", "cut.tar"]), @"
    exit 0
    1  Node  v1
    not understood: cut.tar: unexpected EOF during skip; the files before that are read
    not understood: b.json: expected 6237 bytes, found 1464
    no alerts
    3 files: 1 read (1 object), 0 without objects, 2 not understood, 0 not collected
    ");
}

#[test]
fn archives_have_a_largest_depth() {
    let output = packed("deep.json.gz", &[]);
    assert_eq!(output.code, Some(2), "{output}");
    let expected = "not understood: deep.json.gz: expected at most 8 compressions and archives in each other";
    assert!(output.stdout.contains(expected), "{output}");
}

#[test]
fn a_dump_of_which_nothing_is_stored_is_an_error() {
    let environment = TestEnvironment::with(&[
        ("empty/a.txt", "text"),
        ("empty/b.json", "{\"a\": 1}"),
        ("unserved/a.yaml", "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: a}\n"),
    ]);
    insta::assert_snapshot!(environment.run(&["dump", "empty"]), @"
    exit 2
    no alerts
    2 files: 0 read (0 objects), 2 without objects, 0 not understood, 0 not collected
    --- stderr
    error: empty: expected objects of a cluster, found none in 2 files: 0 read (0 objects), 2 without objects, 0 not understood, 0 not collected
    ");
    #[cfg(feature = "serve")]
    insta::assert_snapshot!(environment.run(&["serve", "--from", "unserved", "--port", "0", "--kubernetes", "1.30"]), @"
    exit 2
    --- stderr
    not stored: policy/v1beta1 PodSecurityPolicy: the server could not find the requested resource (a in a.yaml)
    1 file: 1 read (1 object), 0 without objects, 0 not understood, 0 not collected
    error: unserved: expected objects that an API server stores, found 1, and can store none; the lines above have the reasons (1 file: 1 read (1 object), 0 without objects, 0 not understood, 0 not collected)
    ");
}

#[cfg(feature = "serve")]
#[test]
fn a_removed_version_is_converted() {
    let environment = TestEnvironment::with(&[(
        "dump/budgets.json",
        r#"[{"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "a", "namespace": "n"},
             "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}]"#,
    )]);
    let served =
        Served::start(&environment, &["--from", "dump", "--kubernetes", "1.30", "--kubeconfig", "config"]);
    served.signal("-TERM");
    insta::assert_snapshot!(served.end().2, @"
    stored in the version that replaced theirs: policy/v1beta1 PodDisruptionBudget as policy/v1 (1)
    created missing namespaces: n
    1 file: 1 read (1 object), 0 without objects, 0 not understood, 0 not collected
    serving 1 of 1 objects of dump
    ");
}

/// A dump in `../shared/dumps`, with the numbers of its files by class, and of its objects, copies and replaced states.
struct Numbers {
    path: &'static str,
    classes: [usize; 4],
    objects: [usize; 3],
}

const SHARED: [Numbers; 6] = [
    Numbers { path: "insights-archive-4.18.tar.gz", classes: [108, 71, 0, 0], objects: [106, 0, 0] },
    Numbers { path: "mixed", classes: [2, 0, 0, 0], objects: [2, 0, 0] },
    Numbers { path: "must-gather-4.11-custom-pool.tar.gz", classes: [53, 9, 0, 0], objects: [34, 0, 0] },
    Numbers { path: "must-gather-4.18-gcp.tar.gz", classes: [3014, 107, 1, 1], objects: [11_789, 519, 0] },
    Numbers { path: "must-gather-4.8-aws.tar.gz", classes: [2108, 21, 0, 0], objects: [7249, 307, 2] },
    Numbers { path: "support-bundle-k8s-1.33.tar.gz", classes: [198, 15, 0, 1], objects: [335, 0, 0] },
];

#[test]
fn every_file_of_real_dumps_is_counted() {
    for Numbers { path, classes, objects } in SHARED {
        let Some(found) = shared_or_skip(&format!("dumps/{path}")) else { return };
        let output = dump(&found, &["-o", "json"]);
        let listing: Value = serde_json::from_str(&output.stdout).unwrap();
        let files = listing["files"].as_array().unwrap();
        let count = |class: &str| files.iter().filter(|file| file["class"] == class).count();
        let found = ["read", "no object", "not understood", "not collected"].map(count);
        assert_eq!(found, classes, "{path}: {output}");
        assert_eq!(files.len(), classes.iter().sum::<usize>(), "{path}");
        let number = |field: &str| usize::try_from(listing[field].as_u64().unwrap()).unwrap();
        assert_eq!(["objects", "copies", "replaced"].map(number), objects, "{path}");
        let in_files: u64 = files.iter().map(|file| file["objects"].as_u64().unwrap()).sum();
        assert_eq!(in_files, objects.iter().sum::<usize>() as u64, "{path}");
    }
}

#[test]
fn kinds_that_could_not_be_collected_are_named() {
    let Some(bundle) = shared_or_skip("dumps/support-bundle-k8s-1.33.tar.gz") else { return };
    let output = dump(&bundle, &[]).stdout;
    assert!(output.contains("\nnot collected: poddisruptionbudgets in 9 namespaces: "), "{output}");
}

/// The objects of real dumps are all stored, or named.
#[cfg(feature = "serve")]
#[test]
fn objects_of_real_dumps_are_stored_or_named() {
    for Numbers { path, objects: [objects, ..], .. } in SHARED {
        let Some(found) = shared_or_skip(&format!("dumps/{path}")) else { return };
        let environment = TestEnvironment::new();
        let from = ["--from", found.to_str().unwrap(), "--kubeconfig", "config"];
        let served = Served::start(&environment, &from);
        served.signal("-TERM");
        let (_, _, err) = served.end();
        assert!(err.contains(&format!("serving {objects} of {objects} objects of ")), "{path}: {err}");
    }
}

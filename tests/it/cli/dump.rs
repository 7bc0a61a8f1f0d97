//! `windtunnel dump`: counts every file of a dump.

use serde_json::Value;

use super::environment::{Output, TestEnvironment};
use crate::recordings::{ours, shared_or_skip};

fn dump(path: &str, arguments: &[&str]) -> Output {
    TestEnvironment::new().run(&[&["dump", path], arguments].concat())
}

fn packed(name: &str, arguments: &[&str]) -> Output {
    dump(ours(&format!("dumps/packed/{name}")).to_str().unwrap(), arguments)
}

#[test]
fn archives_in_archives_are_read() {
    insta::assert_snapshot!(packed("insights.tar.xz", &["--files"]), @"");
    insta::assert_snapshot!(packed("nested.zip", &[]), @"");
    insta::assert_snapshot!(packed("nested.zip", &["--files"]), @"");
}

#[test]
fn archives_have_a_largest_depth() {
    let output = packed("deep.json.gz", &[]).to_string();
    assert!(output.starts_with("exit 2\n"), "{output}");
    assert!(output.contains("expected at most 8 compressions and archives in each other"), "{output}");
}

#[test]
fn a_dump_without_objects_is_an_error() {
    let environment = TestEnvironment::with(&[
        ("empty/a.txt", "text"),
        ("empty/b.json", "{\"a\": 1}"),
        ("unserved/a.yaml", "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: a}\n"),
    ]);
    insta::assert_snapshot!(environment.run(&["dump", "empty"]), @"");
    insta::assert_snapshot!(environment.run(&["serve", "--from", "unserved", "--port", "0", "--kubernetes", "1.30"]), @"");
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
        let output = dump(found.to_str().unwrap(), &["-o", "json"]);
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
    let output = dump(bundle.to_str().unwrap(), &[]).stdout;
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
        let served = super::serve::Served::start(&environment, &from);
        served.signal("-TERM");
        let (_, _, err) = served.end();
        assert!(err.contains(&format!("serving {objects} of {objects} objects of ")), "{path}: {err}");
    }
}

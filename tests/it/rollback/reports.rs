//! Reports: tables and data, exit codes, baselines, objects of clusters, payloads and releases.

use serde_json::Value;

use super::{lamps, two_releases};
use crate::cli::environment::TestEnvironment;

const BOTH: [&str; 5] = ["rollback-check", "--from", "4.16", "--to", "4.15"];

#[test]
fn a_table_ranks_the_traps_and_the_level_decides_about_failure() {
    let environment = two_releases();
    let output = environment.run(&BOTH);
    let expected = "Rollback from 4.16 to 4.15, judged by Kubernetes 1.28\n\
        HARM   KIND  PATH         ONLY IN 4.16        WRITTEN BY  SAVED FROM\n\
        edits  Lamp  spec.colour  enum values \"blue\"  users       1.30\n\
        lost   Lamp  spec.name    a new field         users       -\n\
        1 definition compared: definition 0, status 0, edits 1, lost 1, again 0, note 0; unproved 0; reworded 0\n";
    assert_eq!((output.code, output.stdout.as_str()), (Some(1), expected));
    let output = environment.run(&[&BOTH[..], &["--level", "status"]].concat());
    assert_eq!(output.code, Some(0), "{output}");
}

#[test]
fn all_minors_get_a_column() {
    let output = two_releases().run(&[&BOTH[..], &["--kubernetes", "all", "--level", "edits"]].concat());
    let row = output.stdout.lines().find(|line| line.starts_with("edits")).unwrap_or_default();
    let cells: Vec<&str> = row.split("  ").filter(|cell| !cell.is_empty()).map(str::trim).collect();
    let columns = ["edits"; 5].into_iter().chain(["again"; 7]);
    assert_eq!(cells[cells.len() - 12..], columns.collect::<Vec<_>>(), "{output}");
}

#[test]
fn a_baseline_lets_known_traps_pass() {
    let environment = two_releases();
    let json = environment.run(&[&BOTH[..], &["--format", "json"]].concat());
    let report: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(report["reports"][0]["traps"][0]["witness"]["object"]["spec"]["colour"], "blue");
    environment.write("baseline.json", &json.stdout);
    let again = [&BOTH[..], &["--baseline", "baseline.json"]].concat();
    let output = environment.run(&again);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stdout.contains("in the baseline 2"), "{output}");
    environment.write("4.16/lamps.yaml", lamps("red, blue, green", "              name: {type: string}\n"));
    let output = environment.run(&again);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(output.stdout.contains("enum values \"blue\", \"green\""), "{output}");
}

#[test]
fn the_way_forward_is_checked_as_well() {
    let environment = two_releases();
    environment.write("4.16/lamps.yaml", lamps("blue", ""));
    let output = environment.run(&[&BOTH[..], &["--both"]].concat());
    assert_eq!(output.code, Some(1), "{output}");
    for line in [
        "Rollback from 4.16 to 4.15, judged by Kubernetes 1.28",
        "Update from 4.15 to 4.16, judged by Kubernetes 1.29",
    ] {
        assert!(output.stdout.contains(line), "{line} is not in {output}");
    }
    assert!(output.stdout.contains("enum values \"red\""), "{output}");
}

#[test]
fn the_objects_of_a_cluster_come_first() {
    let environment = two_releases();
    let lamp =
        "apiVersion: example.com/v1\nkind: Lamp\nmetadata: {name: hall}\nspec: {colour: red, name: a}\n";
    environment.write("cluster/hall.yaml", lamp);
    let output = environment.run(&[&BOTH[..], &["--objects", "cluster"]].concat());
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert!(lines[2].starts_with("lost   Lamp  spec.name"), "{output}");
    assert!(lines.contains(&"in the cluster: Lamp spec.name: hall"), "{output}");
}

#[test]
fn known_releases_and_series_need_no_other_files() {
    let environment = two_releases();
    let output =
        environment.run(&["rollback-check", "--from", "4.14.1", "--to", "4.13", "--level", "status"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(output.stdout.contains("status.capabilities.enabledCapabilities[]"), "{output}");
    let output = environment.run(&["rollback-check", "--series", ".", "--format", "markdown"]);
    assert!(output.stdout.contains("| 4.16 | 4.15 | 1.28 | 0 | 0 | 1 | 1 | 0 | 0 | 0 | 0 |"), "{output}");
}

#[test]
fn a_payload_is_read_for_a_feature_set() {
    let annotated = |text: &str, set: &str| {
        let annotations = format!(
            "metadata: {{name: lamps.example.com, annotations: {{include.release.openshift.io/self-managed-high-availability: \"true\", release.openshift.io/feature-set: {set}}}}}"
        );
        text.replace("metadata: {name: lamps.example.com}", &annotations)
    };
    let environment = TestEnvironment::new();
    for (version, default) in [("4.15.1", "red"), ("4.16.1", "red")] {
        let metadata = format!("{{\"kind\": \"cincinnati-metadata-v0\", \"version\": \"{version}\"}}");
        environment.write(&format!("{version}/release-metadata"), metadata);
        let image = format!(
            "{{\"kind\": \"ImageStream\", \"apiVersion\": \"image.openshift.io/v1\", \"metadata\": {{\"name\": \"{version}\"}}}}"
        );
        environment.write(&format!("{version}/image-references"), image);
        environment
            .write(&format!("{version}/0000_20_lamps_01.yaml"), annotated(&lamps(default, ""), "Default"));
        let preview = if version == "4.16.1" { "red, blue" } else { "red" };
        environment.write(
            &format!("{version}/0000_20_lamps_02.yaml"),
            annotated(&lamps(preview, ""), "TechPreviewNoUpgrade"),
        );
    }
    let check = |more: &[&'static str]| {
        let arguments = ["rollback-check", "--from", "4.16.1", "--to", "4.15.1"];
        environment.run(&[&arguments[..], more].concat())
    };
    let (plain, preview) = (check(&[]), check(&["--feature-set", "TechPreviewNoUpgrade"]));
    assert_eq!((plain.code, preview.code), (Some(0), Some(1)), "{plain}{preview}");
}

#[test]
fn emitted_scenarios_fail_as_long_as_the_trap_is_there() {
    let environment = two_releases();
    let output = environment.run(&[&BOTH[..], &["--emit", "traps"]].concat());
    assert!(output.stderr.contains("traps: 2 scenarios written"), "{output}");
    let lint = environment.run(&["lint", "traps"]);
    assert_eq!(lint.code, Some(0), "{lint}");
    let run = environment.run(&["run", "traps", "--quiet"]);
    assert_eq!(run.code, Some(1), "{run}");
    for expected in [
        "Lamp.example.com \"witness\" is invalid: spec.colour: Unsupported value: \"blue\": supported values: \"red\"",
        "expect Lamp/witness spec.name is `a`: seen: spec.name is ``",
    ] {
        assert!(run.stdout.contains(expected), "{expected} is not in {run}");
    }
    passes_without_the_traps(&environment);
}

/// Definitions of lamps with a status: the newer one has another mode and other fields.
fn lamps_with_status(modes: &str, spec: &str, status: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: lamps.example.com}}\nspec:\n  \
         group: example.com\n  scope: Cluster\n  names: {{plural: lamps, singular: lamp, kind: Lamp, listKind: LampList}}\n  \
         versions:\n  - name: v1\n    served: true\n    storage: true\n    subresources: {{status: {{}}}}\n    \
         schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec: {{type: object, \
         properties: {{level: {{type: integer}}{spec}}}}}\n          status: {{type: object, properties: {{\
         mode: {{type: string, enum: [{modes}]}}, lit: {{type: boolean}}{status}}}}}\n"
    )
}

#[test]
fn traps_in_a_status_and_lost_values_without_text_have_scenarios() {
    let newer = lamps_with_status(
        "\"on\", \"off\"",
        ", note: {type: string, enum: [\"\"]}",
        ", since: {type: string}",
    );
    let older = lamps_with_status("\"on\"", "", "");
    let environment = TestEnvironment::with(&[("4.16/lamps.yaml", &newer), ("4.15/lamps.yaml", &older)]);
    let output = environment.run(&[&BOTH[..], &["--emit", "traps"]].concat());
    assert!(output.stderr.contains("traps: 3 scenarios written"), "{output}");
    assert!(!output.stderr.contains("no scenario for"), "{output}");
    let lint = environment.run(&["lint", "traps"]);
    assert_eq!(lint.code, Some(0), "{lint}");
    let run = environment.run(&["run", "traps", "--quiet"]);
    assert_eq!(run.code, Some(1), "{run}");
    for expected in ["Unsupported value: \"off\"", "seen: spec is `{}`", "seen: status.since is ``"] {
        assert!(run.stdout.contains(expected), "{expected} is not in {run}");
    }
    passes_without_the_traps(&environment);
}

/// Without the traps, the same steps pass: the older definition of the steps becomes the newer one.
fn passes_without_the_traps(environment: &TestEnvironment) {
    for file in environment.files().iter().filter(|file| file.starts_with("traps/")) {
        let text = environment.read(file);
        let steps: Vec<&str> = text.split("- apply:\n").collect();
        let after = steps[3].find("\n- ").map_or("", |end| &steps[3][end + 1..]);
        let newer = format!("{}{after}", steps[1]);
        let fixed = [&[steps[0], steps[1], steps[2], &newer], &steps[4..]].concat().join("- apply:\n");
        environment.write(file, fixed);
    }
    let run = environment.run(&["run", "traps", "--quiet"]);
    assert_eq!(run.code, Some(0), "{run}");
}

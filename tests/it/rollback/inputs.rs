//! Every wrong input is rejected with its place and what to do.

use super::{lamps, two_releases};
use crate::cli::environment::TestEnvironment;

/// Checks that the command exits with 2 and prints this error.
#[track_caller]
fn rejected(environment: &TestEnvironment, arguments: &[&str], expected: &str) {
    let output = environment.run(&[&["rollback-check"], arguments].concat());
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains(expected), "{expected} is not in {output}");
}

/// Checks the error for `other` on the older side.
#[track_caller]
fn rejected_older(files: &[(&str, &str)], expected: &str) {
    let environment = two_releases();
    for (name, text) in files {
        environment.write(name, text);
    }
    rejected(&environment, &["--from", "4.16", "--to", "other"], expected);
}

#[test]
fn files_that_are_no_definitions_are_rejected_with_their_place() {
    rejected_older(&[("other/x.yaml", "a: [1\n")], "error: other/x.yaml:1:4: unclosed bracket");
    rejected_older(
        &[("other/x.yaml", "kind: ConfigMap\n")],
        "other: expected CustomResourceDefinitions here, found none in 1 file",
    );
    let without_name = lamps("red", "").replace("metadata: {name: lamps.example.com}", "metadata: {}");
    let second = format!("kind: ConfigMap\n---\n{without_name}");
    rejected_older(
        &[("other/x.yaml", &second)],
        "other/x.yaml:3:1: expected a CustomResourceDefinition with metadata.name",
    );
    let without_schema = lamps("red", "").split("    schema:").next().unwrap().to_owned();
    rejected_older(
        &[("other/x.yaml", &without_schema)],
        "other/x.yaml:1:1: expected spec.versions[0].schema.openAPIV3Schema of version v1",
    );
    let twice = [("other/a.yaml", lamps("red", "")), ("other/b.yaml", lamps("red", ""))];
    let twice: Vec<(&str, &str)> = twice.iter().map(|(name, text)| (*name, text.as_str())).collect();
    rejected_older(
        &twice,
        "other/b.yaml:1:1: expected one definition of lamps.example.com, found another one at other/a.yaml:1:1",
    );
}

#[test]
fn a_definition_that_is_not_structural_is_rejected_with_the_message_of_the_server() {
    let open = lamps("red", "").replace("level: {type: integer}", "level: {minimum: 1}");
    rejected_older(&[("other/x.yaml", &open)], "other/x.yaml:1:1: no API server accepts lamps.example.com: ");
    rejected_older(&[("other/x.yaml", &open)], "properties[level].type: Required value: must not be empty");
}

#[test]
fn releases_without_a_common_definition_are_rejected() {
    let others = lamps("red", "").replace("lamps", "doors");
    rejected_older(
        &[("other/x.yaml", &others)],
        "4.16 has 1 (such as lamps.example.com), other has 1 (such as doors.example.com)",
    );
}

#[test]
fn a_huge_file_is_rejected_before_it_is_read() {
    let environment = two_releases();
    let path = environment.work().join("huge.yaml");
    std::fs::File::create(path).unwrap().set_len(100 << 20).unwrap();
    rejected(&environment, &["--from", "4.16", "--to", "huge.yaml"], "at most 32 MB, found 100 MB");
}

#[test]
fn wrong_arguments_name_the_nearest_ones() {
    let environment = two_releases();
    let both = ["--from", "4.16", "--to", "4.15"];
    let with = |more: &[&'static str]| [&both[..], more].concat();
    rejected(&environment, &["--from", "4.16", "--to", "4.99"], "--to: unknown release 4.99.0");
    rejected(&environment, &["--from", "4.16/lamp.yaml", "--to", "4.15"], "did you mean `4.16/lamps.yaml`?");
    rejected(&environment, &with(&["--only", "lamsp"]), "did you mean `lamps`?");
    rejected(&environment, &with(&["--kubernetes", "1.99"]), "a minor from 1.25 to 1.36");
    rejected(
        &environment,
        &with(&["--level", "high"]),
        "expected one of definition, status, edits, lost, again, note",
    );
    rejected(&environment, &with(&["--feature-set", "TechPreview"]), "did you mean `TechPreviewNoUpgrade`?");
    rejected(&environment, &["--series", "4.16"], "expected at least two folders named by versions");
    environment.write("baseline.json", "{\n");
    rejected(
        &environment,
        &with(&["--baseline", "baseline.json"]),
        "baseline.json:2:0: expected the output of `--format json`",
    );
}

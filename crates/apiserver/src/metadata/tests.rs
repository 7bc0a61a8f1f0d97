//! Tests of the validation of metadata.

use serde_json::{Value, json};

use super::check::{Checks, Counts, check_new, check_update, finalizer_warnings};
use crate::names::NameRule;
use crate::profile::Profile;

const BOTH: Counts = Counts { as_new: 1, against_old: 1 };
const CORE: Checks = Checks { on_create: true, qualified_finalizers: true, update: BOTH, status: BOTH };
const DOMAIN: &str =
    "Invalid value: \"x\": name is neither a standard finalizer name nor is it fully qualified";

#[expect(clippy::needless_pass_by_value, reason = "callers write it in place")]
fn new(metadata: Value) -> Vec<String> {
    let profile = Profile::of(36, false);
    let errors = check_new(&json!({ "metadata": metadata }), NameRule::Subdomain, false, CORE, &profile);
    errors.iter().map(|error| error.text(&profile)).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "callers write it in place")]
fn updated(metadata: Value, old: Value, checks: Checks) -> Vec<String> {
    let profile = Profile::of(36, false);
    let (object, old) = (json!({ "metadata": metadata }), json!({ "metadata": old }));
    let errors = check_update(&object, &old, checks, checks.update, &profile);
    errors.iter().map(|error| error.text(&profile)).collect()
}

#[test]
fn new_metadata_has_a_valid_name_prefix_generation_and_finalizers() {
    let required = "metadata.name: Required value: name or generateName is required";
    for (metadata, problem) in [
        (
            json!({ "name": "x", "generateName": "web-", "finalizers": ["a.io/b", "orphan", "kubernetes"] }),
            "",
        ),
        (json!({}), required),
        (
            json!({ "name": "x", "generation": -1 }),
            "metadata.generation: Invalid value: -1: must be greater than or equal to 0",
        ),
        (json!({ "name": "x", "finalizers": ["a.io/b", "x"] }), &format!("metadata.finalizers[1]: {DOMAIN}")),
    ] {
        assert_eq!(new(metadata).join("; "), problem);
    }
    let problems = new(json!({ "name": "Web-abcde", "generateName": "Web-" }));
    assert_eq!(problems.len(), 2);
    assert!(problems[0].starts_with("metadata.generateName: Invalid value: \"Web-\": a lowercase"));
}

#[test]
fn owners_need_a_version_that_can_be_parsed() {
    let owner = |version: &str| json!({ "apiVersion": version, "kind": "Pod", "name": "p", "uid": "u" });
    for (version, is_valid) in
        [("v1", true), ("apps/v1", true), ("", false), ("apps/", false), ("a/b/c", false)]
    {
        let problems = new(json!({ "name": "x", "ownerReferences": [owner(version)] }));
        let why = format!(
            "metadata.ownerReferences.apiVersion: Invalid value: {version:?}: version must not be empty"
        );
        assert_eq!(problems, if is_valid { vec![] } else { vec![why] });
    }
}

#[test]
fn an_update_repeats_each_error_as_often_as_the_kind_checks_it() {
    let once = Counts { as_new: 0, against_old: 0 };
    for (counts, labels, domains, added) in [(once, 2, 0, 1), (BOTH, 4, 2, 2)] {
        let checks = Checks { update: counts, ..CORE };
        let old = json!({ "deletionTimestamp": "2024-01-01T00:00:00Z", "finalizers": ["a.io/b"] });
        let mut new = old.clone();
        new["labels"] = json!({ "a": "b c" });
        new["finalizers"] = json!(["a.io/b", "x"]);
        let problems = updated(new, old, checks);
        let count = |start: &str| problems.iter().filter(|problem| problem.starts_with(start)).count();
        assert_eq!(count("metadata.labels: Invalid value: \"b c\""), labels);
        assert_eq!(count("metadata.finalizers[1]"), domains);
        assert_eq!(count("metadata.finalizers: Forbidden: no new finalizers"), added);
    }
}

#[test]
fn unchanged_metadata_is_not_validated_again() {
    let old = json!({ "labels": { "a": "b c" }, "finalizers": ["x"] });
    assert_eq!(updated(old.clone(), old, CORE), [""; 0]);
}

#[test]
fn warnings_are_only_about_new_finalizers_without_a_domain() {
    let object = |finalizers: Value| json!({ "metadata": { "finalizers": finalizers } });
    let warnings =
        finalizer_warnings(&object(json!(["b.io", "a", "old", "c.io/d"])), Some(&object(json!(["old"]))));
    let start = "prefer a domain-qualified finalizer name";
    let end = "to avoid accidental conflicts with other finalizer writers";
    assert_eq!(
        warnings,
        [
            format!("metadata.finalizers: \"a\": {start} {end}"),
            format!("metadata.finalizers: \"b.io\": {start} including a path (/) {end}"),
        ]
    );
}

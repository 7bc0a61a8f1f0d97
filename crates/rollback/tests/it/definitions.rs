//! Differences of definitions themselves: versions, scope, subresources, columns, kinds.

use crate::support::{self, Kind, check, trap};
use serde_json::{Value, json};
use windtunnel_rollback::check::{Check, Options};
use windtunnel_rollback::release::Release;
use windtunnel_rollback::trap::{Harm, Proof, Trap};

fn plain() -> Kind {
    Kind::with_value(json!({ "type": "string" }))
}

/// The message of the first rejection in a proof.
fn rejection(trap: &Trap) -> String {
    let Proof::Proved(witness) = &trap.proof else { panic!("unproved: {trap:#?}") };
    let rejected = witness.exchanges.iter().find(|exchange| exchange.is_rejected());
    rejected.expect("a rejection").message.clone()
}

fn with_versions(newest: &str) -> Kind {
    let kind = plain();
    let first = kind.0["spec"]["versions"][0].clone();
    let mut second = first.clone();
    second["name"] = json!("v2");
    let stored = |version: Value, is_stored: bool| support::merged(version, json!({ "storage": is_stored }));
    let versions = json!([stored(first, newest == "v1"), stored(second, newest == "v2")]);
    kind.set("/spec/versions", versions)
}

#[test]
fn a_stored_version_that_the_older_release_lacks_blocks_the_definition() {
    let traps = check(&with_versions("v2"), &plain(), 30);
    let found = trap(&traps, "version");
    assert_eq!(found.harm, Harm::Definition);
    assert!(rejection(found).contains("status.storedVersions"), "{}", rejection(found));
}

#[test]
fn a_served_version_that_the_older_release_lacks_is_not_found_any_more() {
    let traps = check(&with_versions("v1"), &plain(), 30);
    let found = trap(&traps, "version");
    assert_eq!((found.harm, found.version.as_str()), (Harm::Again, "v2"));
    assert!(rejection(found).contains("404 page not found"), "{}", rejection(found));
}

#[test]
fn another_scope_blocks_the_definition() {
    let traps = check(&plain().set("/spec/scope", json!("Namespaced")), &plain(), 30);
    let found = trap(&traps, "immutable");
    assert_eq!(found.harm, Harm::Definition);
    assert!(rejection(found).contains("spec.scope"), "{}", rejection(found));
}

#[test]
fn a_status_subresource_that_the_older_release_lacks_blocks_status_updates() {
    let older = plain().set("/spec/versions/0/subresources", json!({}));
    let traps = check(&plain(), &older, 30);
    assert_eq!(trap(&traps, "subresource").harm, Harm::Status);
}

#[test]
fn columns_conversions_and_merge_strategies_are_notes() {
    let list = |strategy: &str| json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": strategy });
    let (newer, older) = (Kind::with_value(list("set")), Kind::with_value(list("atomic")));
    let traps = check(&newer, &older, 30);
    assert_eq!((trap(&traps, "merge-strategy").harm, traps.len()), (Harm::Note, 1));
    let mut columns = plain();
    columns.0["spec"]["versions"][0]["additionalPrinterColumns"] =
        json!([{ "name": "Value", "type": "string", "jsonPath": ".spec.value" }]);
    assert_eq!(trap(&check(&columns, &plain(), 30), "printer-columns").harm, Harm::Note);
}

#[test]
fn a_new_kind_is_a_note_and_an_equal_one_is_nothing() {
    let newer = support::release("newer", 30, &plain());
    let check = Check::new(newer.clone(), Release::new("older", 30), Options::judged_by(30));
    let traps = check.definition("lamps.example.com").traps;
    assert_eq!((trap(&traps, "kind").harm, traps.len()), (Harm::Note, 1));
    let check = Check::new(newer.clone(), newer, Options::judged_by(30));
    assert!(check.definition("lamps.example.com").traps.is_empty());
}

#[test]
fn a_definition_that_no_server_accepts_is_a_problem_of_its_side() {
    let broken = Kind::with_value(json!({ "properties": {} }));
    let (newer, older) = (support::release("newer", 30, &plain()), support::release("older", 30, &broken));
    let findings = Check::new(newer, older, Options::judged_by(30)).definition("lamps.example.com");
    assert_eq!((findings.traps.len(), findings.rejected_definitions.len()), (0, 1));
    assert!(!findings.rejected_definitions[0].is_newer);
    assert!(
        findings.rejected_definitions[0].message.contains("must not be empty"),
        "{:?}",
        findings.rejected_definitions
    );
}

#[test]
fn built_in_versions_that_only_one_server_serves_are_traps_of_their_objects() {
    let schema = |version: &str| {
        json!({ "apiVersion": format!("flowcontrol.apiserver.k8s.io/{version}"), "kind": "FlowSchema",
            "metadata": { "name": "mine" } })
    };
    // 1.29 serves v1 and v1beta3, 1.28 serves v1beta3 and v1beta2.
    let (mut newer, mut older) = (Release::new("newer", 29), Release::new("older", 28));
    newer.add_manifest(schema("v1"));
    newer.add_manifest(schema("v1beta3"));
    older.add_manifest(schema("v1beta2"));
    let traps = Check::new(newer, older, Options::judged_by(28)).built_in_versions();
    let found: Vec<(&str, Harm)> = traps.iter().map(|trap| (trap.version.as_str(), trap.harm)).collect();
    assert_eq!(found, [("v1", Harm::Again), ("v1beta2", Harm::Edits)]);
    assert_eq!(traps[0].by_minor[&29], Harm::Note);
    assert!(
        rejection(&traps[0]).contains("could not find the requested resource"),
        "{}",
        rejection(&traps[0])
    );
}

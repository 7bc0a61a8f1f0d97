//! Witnesses, reports and objects of clusters.

use std::collections::BTreeSet;

use crate::support::{self, Kind, check, trap};
use serde_json::json;
use windtunnel_rollback::check::{Check, Options};
use windtunnel_rollback::trap::{Harm, Proof};
use windtunnel_rollback::{Direction, Report, output};

fn colours(values: &[&str]) -> Kind {
    Kind::with_value(json!({ "type": "string", "enum": values }))
}

fn report(newer: &Kind, older: &Kind, objects: Vec<serde_json::Value>) -> Report {
    let (newer, older) = (support::release("2", 27, newer), support::release("1", 27, older));
    let check = Check::new(newer, older, Options::judged_by(27)).with_objects(objects);
    let findings = vec![check.definition("lamps.example.com")];
    Report::of(&check, Direction::Rollback, findings)
}

#[test]
fn a_proof_has_the_requests_with_their_answers() {
    let traps = check(&colours(&["red", "blue"]), &colours(&["red"]), 27);
    let Proof::Proved(witness) = &trap(&traps, "enum").proof else { panic!("{traps:#?}") };
    let requests: Vec<(&str, &str, u16)> = witness
        .exchanges
        .iter()
        .map(|exchange| (exchange.method, exchange.path.as_str(), exchange.code))
        .collect();
    let (all, lamp) = ("/apis/example.com/v1/lamps", "/apis/example.com/v1/lamps/witness");
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/lamps.example.com";
    let status = format!("{lamp}/status");
    let expected = [
        ("POST", all, 201),
        ("PUT", definition, 200),
        ("PUT", status.as_str(), 422),
        ("PATCH", lamp, 422),
        ("PUT", lamp, 422),
        ("POST", all, 422),
    ];
    assert_eq!(requests, expected);
    let message = "Lamp.example.com \"witness\" is invalid: spec.value: Unsupported value: \"blue\": supported values: \"red\"";
    assert_eq!(witness.exchanges[2].message, message);
}

#[test]
fn the_same_seed_gives_the_same_report_and_another_one_the_same_traps() {
    let text = |rules| json!({ "type": "string", "maxLength": 60, "x-kubernetes-validations": rules });
    let newer = Kind::with_value(text(json!([])));
    let older = Kind::with_value(text(json!([{ "rule": "self.matches('^[a-z]{3}-[0-9]+$')" }])));
    let run = |seed| {
        let (newer, older) = (support::release("2", 30, &newer), support::release("1", 30, &older));
        let check = Check::new(newer, older, Options { seed, ..Options::judged_by(30) });
        let findings = vec![check.definition("lamps.example.com")];
        Report::of(&check, Direction::Rollback, findings)
    };
    assert_eq!(output::json(&[run(1)]).to_string(), output::json(&[run(1)]).to_string());
    let ids = |report: Report| report.traps.iter().map(|trap| (trap.id(), trap.harm)).collect::<Vec<_>>();
    assert_eq!(ids(run(1)), ids(run(2)));
}

#[test]
fn objects_of_a_cluster_that_meet_a_trap_are_named() {
    let lamp = |name: &str, value: &str| {
        json!({ "apiVersion": "example.com/v1", "kind": "Lamp", "metadata": { "name": name, "uid": "x" },
            "spec": { "value": value } })
    };
    let objects = vec![lamp("hall", "blue"), lamp("door", "red")];
    let report = report(&colours(&["red", "blue"]), &colours(&["red"]), objects);
    assert_eq!(report.traps[0].hits, ["hall"]);
    assert!(output::table(&report, Harm::Again).contains("in the cluster: Lamp spec.value: hall"));
}

#[test]
fn a_baseline_hides_known_traps_but_not_further_values() {
    let before = report(&colours(&["red", "blue"]), &colours(&["red"]), Vec::new());
    let baseline = output::fingerprints(&output::json(&[before])).unwrap();
    let mut same = report(&colours(&["red", "blue"]), &colours(&["red"]), Vec::new());
    same.remove_known(&baseline);
    assert_eq!((same.at_level(Harm::Again).count(), same.known), (0, 1));
    let mut more = report(&colours(&["red", "blue", "green"]), &colours(&["red"]), Vec::new());
    more.remove_known(&baseline);
    assert_eq!((more.at_level(Harm::Again).count(), more.known), (1, 0));
    assert!(output::fingerprints(&json!({})).unwrap_err().contains("found no `reports`"));
    let mut all = report(&colours(&["red", "blue"]), &colours(&["red"]), Vec::new());
    all.remove_known(&BTreeSet::new());
    assert_eq!(all.at_level(Harm::Again).count(), 1);
}

#[test]
fn every_format_names_the_trap() {
    let report = [report(&colours(&["red", "blue"]), &colours(&["red"]), Vec::new())];
    let sarif = output::sarif(&report, Harm::Again, &|_| Some(("crds/lamps.yaml".to_owned(), 3)));
    let sarif: serde_json::Value = serde_json::from_str(&sarif).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!((&result["level"], &result["ruleId"]), (&json!("error"), &json!("enum")));
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 3);
    let markdown = output::markdown(&report, Harm::Again);
    assert!(
        markdown.contains("| status | Lamp | `spec.value` | enum values \"blue\" | users | 1.30 |"),
        "{markdown}"
    );
    let html = output::html(&report, Harm::Again);
    assert!(html.contains("<code>spec.value</code><details>"), "{html}");
    let json = output::json(&report);
    assert_eq!(json["reports"][0]["traps"][0]["witness"]["object"]["spec"]["value"], "blue");
}

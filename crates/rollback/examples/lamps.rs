//! A rollback that rejects a colour: the newer release has one more than the older.

use serde_json::{Value, json};
use windtunnel_rollback::check::{Check, Options};
use windtunnel_rollback::release::Release;
use windtunnel_rollback::trap::Harm;
use windtunnel_rollback::{Direction, Report, output};

/// A definition of lamps with these colours.
fn lamps(colours: &Value) -> Value {
    let colour = json!({ "type": "string", "enum": colours });
    let spec = json!({ "type": "object", "properties": { "colour": colour } });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "lamps.example.com" },
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": { "plural": "lamps", "singular": "lamp", "kind": "Lamp", "listKind": "LampList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut newer, mut older) = (Release::new("2.0", 29), Release::new("1.0", 28));
    newer.add_object(&lamps(&json!(["red", "blue"])))?;
    older.add_object(&lamps(&json!(["red"])))?;
    let check = Check::new(newer, older, Options::judged_by(28));
    let findings = check.names().into_iter().map(|name| check.definition(name)).collect();
    let report = Report::of(&check, Direction::Rollback, findings);
    assert_eq!(report.count(Harm::Edits), 1);
    assert!(output::table(&report, Harm::Again).contains("enum values \"blue\""));
    Ok(())
}

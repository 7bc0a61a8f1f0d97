//! The way forward: the kinds of changes that crdify and crd-schema-checker document, each by a definition of its own.
#![expect(clippy::needless_pass_by_value, reason = "literals of JSON read better without borrows")]

use serde_json::{Value, json};
use windtunnel_rollback::check::{Check, Options};
use windtunnel_rollback::trap::{Harm, Proof, Trap};

use crate::support::{self, Kind};

/// The traps of an update from `before` to `after`, without notes.
fn update(before: &Kind, after: &Kind) -> Vec<Trap> {
    let (before, after) = (support::release("before", 29, before), support::release("after", 29, after));
    let traps = Check::new(before, after, Options::judged_by(29)).definition("lamps.example.com").traps;
    traps.into_iter().filter(|trap| trap.harm < Harm::Note || !matches!(trap.proof, Proof::Note)).collect()
}

/// Checks that a change of `spec.value` has one trap of this difference and harm.
#[track_caller]
fn breaks(before: Value, after: Value, difference: &str, harm: Harm) {
    let traps = update(&Kind::with_value(before), &Kind::with_value(after));
    let found: Vec<(&str, Harm)> = traps.iter().map(|trap| (trap.difference, trap.harm)).collect();
    assert_eq!(found, [(difference, harm)], "{traps:#?}");
}

/// Checks that a change of `spec.value` breaks nothing.
#[track_caller]
fn is_compatible(before: Value, after: Value) {
    let traps = update(&Kind::with_value(before), &Kind::with_value(after));
    assert!(traps.is_empty(), "{traps:#?}");
}

fn object(properties: Value, required: Value) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

#[test]
fn removed_fields_and_new_required_fields_break() {
    let (a, b) = (json!({ "type": "string" }), json!({ "type": "string" }));
    let both = json!({ "a": a, "b": b });
    // ExistingFieldRemoval, NoFieldRemoval
    breaks(
        object(both.clone(), json!(["a"])),
        object(json!({ "a": a }), json!(["a"])),
        "pruned-field",
        Harm::Lost,
    );
    // RequiredField, NoNewRequiredFields
    breaks(
        object(both.clone(), json!(["a"])),
        object(both.clone(), json!(["a", "b"])),
        "required",
        Harm::Edits,
    );
    is_compatible(object(both.clone(), json!(["a", "b"])), object(both.clone(), json!(["a"])));
    is_compatible(object(json!({ "a": a }), json!(["a"])), object(both, json!(["a"])));
}

#[test]
fn narrower_values_break_and_wider_ones_do_not() {
    let text = |more: Value| support::merged(json!({ "type": "string" }), more);
    let number = |more: Value| support::merged(json!({ "type": "integer" }), more);
    let list = |more: Value| support::merged(json!({ "type": "array", "items": { "type": "string" } }), more);
    let map = |more: Value| {
        support::merged(json!({ "type": "object", "additionalProperties": { "type": "string" } }), more)
    };
    for (narrow, wide, difference) in [
        // Enum, NoEnumRemoval
        (text(json!({ "enum": ["a"] })), text(json!({ "enum": ["a", "b"] })), "enum"),
        (text(json!({ "enum": ["a"] })), text(json!({})), "enum"),
        // Minimum, Maximum and their sizes
        (number(json!({ "minimum": 3 })), number(json!({ "minimum": 1 })), "bound"),
        (number(json!({ "maximum": 3 })), number(json!({ "maximum": 9 })), "bound"),
        (text(json!({ "minLength": 3 })), text(json!({ "minLength": 1 })), "bound"),
        (text(json!({ "maxLength": 3 })), text(json!({ "maxLength": 9 })), "bound"),
        (list(json!({ "minItems": 2 })), list(json!({ "minItems": 1 })), "bound"),
        (list(json!({ "maxItems": 2 })), list(json!({ "maxItems": 3 })), "bound"),
        (map(json!({ "minProperties": 2 })), map(json!({ "minProperties": 1 })), "bound"),
        (map(json!({ "maxProperties": 1 })), map(json!({ "maxProperties": 2 })), "bound"),
        // Pattern, Format
        (text(json!({ "pattern": "^a+$" })), text(json!({})), "pattern"),
        (text(json!({ "format": "uuid" })), text(json!({})), "format"),
    ] {
        breaks(wide.clone(), narrow.clone(), difference, Harm::Edits);
        is_compatible(narrow, wide);
    }
}

#[test]
fn other_types_and_new_rules_break() {
    // Type, NoDataTypeChange
    breaks(json!({ "type": "integer" }), json!({ "type": "string" }), "type", Harm::Edits);
    breaks(json!({ "type": "string" }), json!({ "type": "boolean" }), "type", Harm::Edits);
    let text = |rules: Value| json!({ "type": "string", "maxLength": 9, "x-kubernetes-validations": rules });
    breaks(text(json!([])), text(json!([{ "rule": "self != 'a'" }])), "rule", Harm::Edits);
    is_compatible(text(json!([{ "rule": "self != 'a'" }])), text(json!([])));
}

#[test]
fn other_scopes_and_removed_versions_break_the_definition() {
    // Scope
    let plain = || Kind::with_value(json!({ "type": "string" }));
    let traps = update(&plain(), &plain().set("/spec/scope", json!("Namespaced")));
    assert_eq!(traps.iter().map(|trap| trap.harm).collect::<Vec<_>>(), [Harm::Definition]);
    // StoredVersionRemoval
    let traps = update(&plain(), &plain().set("/spec/versions/0/name", json!("v2")));
    assert_eq!((traps[0].difference, traps[0].harm), ("version", Harm::Definition));
}

#[test]
fn another_default_is_a_note_with_a_witness() {
    let with = |default: &str| object(json!({ "a": { "type": "string", "default": default } }), json!([]));
    breaks(with("x"), with("y"), "default", Harm::Note);
}

//! Each kind of difference, by small definitions: found, proved, and ranked.

use crate::support::{self, Kind, check, trap};
use serde_json::{Value, json};
use windtunnel_rollback::trap::{Harm, Proof};

/// Checks that the only trap between two schemas of `spec.value` is proved, and has this difference and harm.
#[track_caller]
fn one(newer: Value, older: Value, kubernetes: u32, difference: &str, harm: Harm) {
    let traps = check(&Kind::with_value(newer), &Kind::with_value(older), kubernetes);
    let found: Vec<_> = traps.iter().map(|trap| (trap.difference, trap.harm, trap.proof.name())).collect();
    assert_eq!(found, [(difference, harm, "proved")], "{traps:#?}");
}

/// Checks the same on a minor that validates the whole object and on one that ratchets.
#[track_caller]
fn on_both(newer: &Value, older: &Value, difference: &str) {
    one(newer.clone(), older.clone(), 27, difference, Harm::Status);
    one(newer.clone(), older.clone(), 33, difference, Harm::Again);
}

#[test]
fn enums_bounds_patterns_and_formats_block_writes_until_servers_ratchet() {
    let text = |more: Value| support::merged(json!({ "type": "string" }), more);
    let list = |more: Value| support::merged(json!({ "type": "array", "items": { "type": "string" } }), more);
    let number = |more: Value| support::merged(json!({ "type": "integer" }), more);
    let map = |more: Value| {
        support::merged(json!({ "type": "object", "additionalProperties": { "type": "string" } }), more)
    };
    for (newer, older, difference) in [
        (text(json!({ "enum": ["a", "b", "c"] })), text(json!({ "enum": ["a", "b"] })), "enum"),
        (text(json!({})), text(json!({ "enum": ["x", "y"] })), "enum"),
        (text(json!({ "maxLength": 9 })), text(json!({ "maxLength": 4 })), "bound"),
        (text(json!({})), text(json!({ "minLength": 3 })), "bound"),
        (number(json!({ "maximum": 20 })), number(json!({ "maximum": 10 })), "bound"),
        (number(json!({ "minimum": 1 })), number(json!({ "minimum": 5 })), "bound"),
        (number(json!({ "maximum": 5 })), number(json!({ "maximum": 5, "exclusiveMaximum": true })), "bound"),
        (list(json!({ "maxItems": 3 })), list(json!({ "maxItems": 1 })), "bound"),
        (list(json!({})), list(json!({ "minItems": 2 })), "bound"),
        (map(json!({ "maxProperties": 2 })), map(json!({ "maxProperties": 1 })), "bound"),
        (number(json!({})), number(json!({ "multipleOf": 3 })), "multiple-of"),
        (text(json!({ "pattern": "^[a-z0-9]+$" })), text(json!({ "pattern": "^[a-z]+$" })), "pattern"),
        (text(json!({})), text(json!({ "format": "ipv4" })), "format"),
    ] {
        on_both(&newer, &older, difference);
    }
}

#[test]
fn types_block_writes_and_list_types_only_new_objects() {
    let list = |more: Value| support::merged(json!({ "type": "array", "items": { "type": "string" } }), more);
    on_both(&json!({ "x-kubernetes-int-or-string": true }), &json!({ "type": "integer" }), "type");
    on_both(&json!({ "type": "number" }), &json!({ "type": "integer" }), "type");
    // Every minor tolerates repeated elements that were stored before.
    let again = |newer: Value, older: Value| {
        for minor in [27, 33] {
            one(newer.clone(), older.clone(), minor, "list-type", Harm::Again);
        }
    };
    again(list(json!({})), list(json!({ "x-kubernetes-list-type": "set" })));
    let item = json!({ "type": "object", "required": ["a", "b"],
        "properties": { "a": { "type": "string" }, "b": { "type": "string" } } });
    let keyed = |keys: Value| json!({ "type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys });
    again(keyed(json!(["a", "b"])), keyed(json!(["a"])));
}

#[test]
fn fields_that_became_optional_block_writes_unless_a_default_fills_them_in() {
    let item = |required: Value, default: Value| {
        let mut b = json!({ "type": "string" });
        if !default.is_null() {
            b["default"] = default;
        }
        json!({ "type": "object", "required": required, "properties": { "a": { "type": "string" }, "b": b } })
    };
    on_both(&item(json!(["a"]), Value::Null), &item(json!(["a", "b"]), Value::Null), "required");
    let newer = Kind::with_value(item(json!(["a"]), json!("x")));
    let older = Kind::with_value(item(json!(["a", "b"]), json!("x")));
    assert!(check(&newer, &older, 27).is_empty());
}

#[test]
fn rules_that_the_newer_release_dropped_block_writes() {
    let text = |rules: Value| json!({ "type": "string", "maxLength": 40, "x-kubernetes-validations": rules });
    let dropped = json!([{ "rule": "self.startsWith('a-')", "message": "begins with a-" }]);
    on_both(&text(json!([])), &text(dropped), "rule");
    let pair = |rules: Value| {
        json!({ "type": "object", "x-kubernetes-validations": rules, "properties": {
            "type": { "type": "string", "enum": ["A", "B"] }, "a": { "type": "string" } } })
    };
    let union = json!([{ "rule": "has(self.type) && self.type == 'A' ? has(self.a) : !has(self.a)" }]);
    on_both(&pair(json!([])), &pair(union), "rule");
}

#[test]
fn other_words_for_the_same_rule_are_no_trap() {
    let text = |rule: &str| json!({ "type": "string", "maxLength": 20, "x-kubernetes-validations": [{ "rule": rule }] });
    let (newer, older) = (text("self.startsWith('a-')"), text("self.matches('^a-')"));
    let traps = check(&Kind::with_value(newer), &Kind::with_value(older), 30);
    assert!(matches!(traps[0].proof, Proof::Reworded(count) if count >= 30), "{traps:#?}");
    assert_eq!(traps.len(), 1);
}

#[test]
fn a_rule_about_changes_blocks_the_change_alone() {
    let text = |rules: Value| json!({ "type": "string", "maxLength": 9, "x-kubernetes-validations": rules });
    let immutable = json!([{ "rule": "self == oldSelf", "message": "is immutable" }]);
    one(text(json!([])), text(immutable), 30, "transition-rule", Harm::Again);
}

#[test]
fn alternatives_of_the_older_release_block_writes() {
    let newer = json!({ "type": "string" });
    let older = json!({ "type": "string", "anyOf": [{ "format": "ipv4" }, { "format": "ipv6" }] });
    on_both(&newer, &older, "composition");
}

#[test]
fn new_fields_are_lost_and_other_defaults_are_notes() {
    let object = |properties: Value| json!({ "type": "object", "properties": properties });
    let (newer, older) = (
        json!({ "a": { "type": "string" }, "b": { "type": "integer" } }),
        json!({ "a": { "type": "string" } }),
    );
    one(object(newer), object(older), 33, "pruned-field", Harm::Lost);
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    one(open, object(json!({})), 33, "unknown-fields", Harm::Lost);
    one(
        json!({ "type": "string", "nullable": true }),
        json!({ "type": "string" }),
        33,
        "nullable",
        Harm::Lost,
    );
    let map = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    one(map, object(json!({})), 33, "pruned-field", Harm::Lost);
    let with = |default: Value| object(json!({ "a": { "type": "string", "default": default } }));
    one(with(json!("x")), with(json!("y")), 33, "default", Harm::Note);
    // The older release fills in its default when it reads the object.
    one(object(json!({ "a": { "type": "string" } })), with(json!("y")), 33, "default", Harm::Lost);
}

#[test]
fn an_embedded_object_needs_its_kind() {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let embedded = support::merged(open.clone(), json!({ "x-kubernetes-embedded-resource": true }));
    // Servers do not tolerate this error, even if the value is unchanged.
    for minor in [27, 33] {
        one(open.clone(), embedded.clone(), minor, "embedded-resource", Harm::Status);
    }
}

#[test]
fn a_value_in_the_status_blocks_the_operator_until_1_33_upstream() {
    let status = |values: Value| {
        json!({ "type": "object", "properties": { "spec": { "type": "object" },
            "status": { "type": "object", "properties": {
                "phase": { "type": "string", "enum": values }, "observedGeneration": { "type": "integer" } } } } })
    };
    let (newer, older) = (Kind::new(status(json!(["A", "B"]))), Kind::new(status(json!(["A"]))));
    for (minor, harm) in [(27, Harm::Status), (30, Harm::Status), (31, Harm::Again), (33, Harm::Again)] {
        let traps = check(&newer, &older, minor);
        let found = trap(&traps, "enum");
        assert_eq!((found.harm, found.path.as_str()), (harm, "status.phase"), "1.{minor}");
        let saved = (harm == Harm::Status).then_some(31);
        assert_eq!(found.saved_from(), saved, "1.{minor}");
    }
}

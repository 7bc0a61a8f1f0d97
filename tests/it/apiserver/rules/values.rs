//! The values that expressions see, by schema.

use serde_json::{Value, json};
use windtunnel_core::{Write, resources};

use super::super::requests::{ask, server};
use super::{create, definition};

/// The error of a rule for an object: the rejection of the CRD or of the object, or empty if the rule holds.
fn rule_error(schema: &Value, object: &Value, rule: &str) -> String {
    let mut spec = schema.clone();
    spec["x-kubernetes-validations"] = json!([{ "rule": rule }]);
    let mut server = server(36);
    let write = Write::create(&resources::CUSTOM_RESOURCE_DEFINITIONS, definition(&spec));
    match ask(&mut server, &write) {
        Ok(_) => create(&mut server, object),
        Err(rejection) => rejection.message,
    }
}

fn check_rules(schema: &Value, object: &Value, good: &[&str], bad: &[(&str, &str)]) {
    for rule in good {
        assert_eq!(rule_error(schema, object, rule), "", "{rule}");
    }
    for (rule, text) in bad {
        let found = rule_error(schema, object, rule);
        assert!(found.contains(text), "{rule}: {found}");
    }
}

#[test]
fn sets_and_keyed_lists_are_compared_and_added_by_content() {
    let element = json!({ "type": "object", "required": ["k!", "k."], "properties": {
        "k!": { "type": "string", "maxLength": 9 }, "k.": { "type": "string", "maxLength": 9 }, "v": { "type": "integer" } } });
    let list = json!({ "type": "array", "maxItems": 9, "items": element, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k!", "k."] });
    let set = json!({ "type": "array", "maxItems": 9, "items": { "type": "string", "maxLength": 9 }, "x-kubernetes-list-type": "set" });
    let schema = json!({ "type": "object", "properties": { "s": set, "t": set,
        "l": { "type": "array", "maxItems": 3, "items": list } } });
    let item = |key: &str, number: i32| json!({ "k!": key, "k.": "1", "v": number });
    let object = json!({ "l": [[item("x", 1), item("y", 2)], [item("y", 2), item("x", 1)], [item("y", 3)]],
        "s": ["a", "b", "c"], "t": ["c", "a", "b"] });
    check_rules(
        &schema,
        &object,
        &[
            "self.l[0] == self.l[1]",
            "self.l[0] != self.l[2] && (self.l[0] + self.l[2])[1].v == 3",
            "self.l[2] + self.l[0] == self.l[1]",
            "size(self.l[0] + [self.l[2][0]]) == 2",
            "self.l[0][0].k__dot__ == '1'",
            "self.s == self.t && self.s + self.t == self.t && self.s + ['d', 'a'] == ['a', 'b', 'c', 'd']",
        ],
        &[
            ("self.l[0] == {'k': 'a'}", "found no matching overload for '_==_'"),
            ("self.l[0][0].k! == '1'", "Syntax error: mismatched input '!' expecting"),
        ],
    );
}

#[test]
fn expressions_see_the_fields_that_schema_and_object_have() {
    let schema = json!({ "type": "object", "properties": {
        "o": { "type": "object", "properties": { "b": { "type": "integer" }, "d": { "type": "integer", "nullable": true },
            "e": { "type": "object", "properties": { "f": { "type": "integer" } } } } },
        "m": { "type": "object", "maxProperties": 9, "additionalProperties": { "type": "string", "nullable": true, "maxLength": 9 } },
        "u": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        "l": { "type": "array", "items": { "x-kubernetes-preserve-unknown-fields": true } },
        "x": { "x-kubernetes-int-or-string": true, "maxLength": 9 },
        "em": { "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
        "true": { "type": "integer" }, "self": { "type": "integer" }, "int": { "type": "integer" } } });
    let object = json!({ "o": { "b": 1, "d": null }, "m": { "a": null, "./-": "x" }, "u": { "k": 1 }, "l": [1],
        "x": "25%", "true": 1, "self": 2, "int": 3,
        "em": { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "foo", "labels": { "a": "b" } }, "spec": {} } });
    check_rules(
        &schema,
        &object,
        &[
            "has(self.o.b) && !has(self.o.d) && !has(self.o.e)",
            "'a' in self.m && type(self.m['a']) == null_type && self.m['./-'] == 'x' && size(self.m) == 2",
            "has(self.u) && self.u == self.u",
            "self.x == '25%' && self.x != 1 && self.x != ['a']",
            "self.em.kind == 'Pod' && self.em.metadata.name == 'foo'",
            "self.__true__ == 1 && self.self == 2 && self.int == 3",
        ],
        &[
            ("has(self.o.z)", "undefined field 'z'"),
            ("has(self.o.e.f)", "no such key: e"),
            ("self.o['b'] == 1", "found no matching overload for '_[_]'"),
            ("self.m['c'] == 'x'", "no such key: c"),
            ("has(self.l)", "undefined field 'l'"),
            ("has(self.u.k)", "undefined field 'k'"),
            ("has(self.em.metadata.labels)", "undefined field 'labels'"),
            ("has(self.em.spec)", "undefined field 'spec'"),
            ("self.true == 1", "mismatched input 'true' expecting IDENTIFIER"),
            ("self == 201", "found no matching overload for '_==_'"),
            ("self.o.b == null", "found no matching overload for '_==_' applied to '(int, null)'"),
            ("self.__illegal__ == 301", "undefined field '__illegal__'"),
            (
                "self.x + 1 == 2",
                "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.x + 1 == 2",
            ),
        ],
    );
}

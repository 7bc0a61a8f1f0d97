//! Random schemas: mostly structural ones, of all types, with rules, defaults and lists of all kinds.

use serde_json::{Map, Value, json};

use super::objects::fitting;
use super::rules::rules;
use crate::fuzz::dice::Dice;

/// Names of properties; some are keywords of CEL, some need an escape in a pointer or a path.
pub(super) const NAMES: &[&str] =
    &["a", "b", "c", "spec", "k", "name", "in", "size", "x-y", "a/b", "d.e", "~", "__f__", "\u{e9}", "type"];
const FORMATS: &[&str] = &[
    "date-time",
    "date",
    "duration",
    "email",
    "ipv4",
    "ipv6",
    "cidr",
    "uri",
    "uuid",
    "byte",
    "int32",
    "hostname",
    "mac",
    "password",
    "double",
    "isbn",
    "creditcard",
    "hexcolor",
    "bsonobjectid",
    "k8s-short-name",
    "nonsense",
];
const PATTERNS: &[&str] =
    &["^[a-d]+$", "a|b", "^.{0,3}$", "^\\d+$", "(", "^(a+)+$", "[[:alpha:]]", "\\p{L}", "(?i)a"];

/// A schema of an object at the root of a version.
pub(super) fn root(dice: &mut Dice) -> Value {
    let mut schema = object(dice, 3);
    // With an atomic root, apply would remove the metadata that the server itself set.
    schema.as_object_mut().unwrap().remove("x-kubernetes-map-type");
    for name in ["spec", "status"] {
        if !dice.one_in(4) {
            schema["properties"][name] = object(dice, 3);
        }
    }
    dice.damaged_seldom(schema)
}

/// A schema of any type.
pub(super) fn schema(dice: &mut Dice, depth: u32) -> Value {
    let mut schema = match dice.number(0, if depth == 0 { 4 } else { 9 }) {
        0 => string(dice),
        1 | 2 => number(dice),
        3 => json!({ "type": "boolean" }),
        4 => json!({ "x-kubernetes-int-or-string": true }),
        5 | 6 => array(dice, depth),
        7 => loose(dice),
        _ => object(dice, depth),
    };
    if dice.one_in(8) {
        schema["nullable"] = json!(true);
    }
    if dice.one_in(6) {
        schema["enum"] = (0..dice.number(0, 3)).map(|_| fitting(dice, &schema, 2)).collect();
    }
    if dice.one_in(6) {
        compose(dice, &mut schema);
    }
    if dice.one_in(4) {
        schema["x-kubernetes-validations"] = rules(dice, &schema);
    }
    if dice.one_in(4) {
        schema["default"] = fitting(dice, &schema, 3);
    }
    schema
}

fn object(dice: &mut Dice, depth: u32) -> Value {
    let mut schema = json!({ "type": "object" });
    let depth = depth.saturating_sub(1);
    if dice.one_in(4) {
        schema["additionalProperties"] = self::schema(dice, depth);
    } else {
        let fields: Map<String, Value> = (0..dice.number(0, 4))
            .map(|_| (dice.pick(NAMES).to_owned(), self::schema(dice, depth)))
            .collect();
        if !fields.is_empty() && dice.one_in(3) {
            let name = fields.keys().nth(dice.index(fields.len())).cloned();
            schema["required"] = json!([name]);
        }
        schema["properties"] = fields.into();
        bound(dice, &mut schema, "x-kubernetes-map-type", &["atomic", "granular"]);
    }
    limit(dice, &mut schema, ["minProperties", "maxProperties"]);
    if dice.one_in(5) {
        schema["x-kubernetes-validations"] = rules(dice, &schema);
    }
    schema
}

/// The schema of an object with unknown fields, or of an embedded object of any kind.
fn loose(dice: &mut Dice) -> Value {
    let mut schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    if dice.one_in(2) {
        schema["x-kubernetes-embedded-resource"] = json!(true);
    }
    schema
}

fn string(dice: &mut Dice) -> Value {
    let mut schema = json!({ "type": "string" });
    limit(dice, &mut schema, ["minLength", "maxLength"]);
    bound(dice, &mut schema, "format", FORMATS);
    bound(dice, &mut schema, "pattern", PATTERNS);
    schema
}

fn number(dice: &mut Dice) -> Value {
    let mut schema = json!({ "type": dice.pick(&["integer", "integer", "number"]) });
    bound(dice, &mut schema, "format", &["int32", "int64", "double", "float"]);
    limit(dice, &mut schema, ["minimum", "maximum"]);
    if dice.one_in(6) {
        schema["multipleOf"] = [json!(2), json!(0.1), json!(0), json!(-3)][dice.index(4)].clone();
    }
    if dice.one_in(8) {
        schema["exclusiveMaximum"] = json!(true);
    }
    schema
}

fn array(dice: &mut Dice, depth: u32) -> Value {
    let depth = depth.saturating_sub(1);
    let mut schema = json!({ "type": "array" });
    limit(dice, &mut schema, ["minItems", "maxItems"]);
    schema["items"] = match dice.number(0, 3) {
        0 => {
            schema["x-kubernetes-list-type"] = json!("set");
            let scalar = [string(dice), number(dice)];
            scalar[dice.index(2)].clone()
        }
        1 => {
            schema["x-kubernetes-list-type"] = json!("map");
            schema["x-kubernetes-list-map-keys"] =
                if dice.one_in(3) { json!(["k", "name"]) } else { json!(["k"]) };
            let mut items = object(dice, depth);
            items["properties"]["k"] = json!({ "type": "string" });
            items["properties"]["name"] = json!({ "type": "integer", "default": 1 });
            items["required"] = json!(["k"]);
            if let Some(items) = items.as_object_mut() {
                items.remove("additionalProperties");
            }
            items
        }
        2 => {
            bound(dice, &mut schema, "x-kubernetes-list-type", &["atomic"]);
            self::schema(dice, depth)
        }
        _ => self::schema(dice, depth),
    };
    schema
}

/// Adds value validations to a schema: those of a schema without its structural keywords.
fn compose(dice: &mut Dice, schema: &mut Value) {
    let mut other = if dice.one_in(3) { object(dice, 1) } else { json!({ "minimum": 1, "pattern": "a" }) };
    if !dice.one_in(6) {
        bare(&mut other);
    }
    let word = dice.pick(&["allOf", "anyOf", "oneOf", "not"]);
    schema[word] = if word == "not" { other } else { json!([other, { "maxLength": 2 }]) };
}

fn bare(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    map.retain(|name, _| {
        !matches!(name.as_str(), "type" | "default" | "nullable" | "additionalProperties")
            && !name.starts_with("x-")
    });
    map.values_mut().for_each(bare);
}

fn bound(dice: &mut Dice, schema: &mut Value, name: &str, values: &[&str]) {
    if dice.one_in(4) {
        schema[name] = json!(dice.pick(values));
    }
}

fn limit(dice: &mut Dice, schema: &mut Value, names: [&str; 2]) {
    if dice.one_in(6) {
        schema[names[0]] = json!(dice.number(0, 2));
    }
    if dice.one_in(2) {
        let most = if dice.one_in(10) { dice.integer().unsigned_abs() >> 1 } else { dice.number(1, 12) };
        schema[names[1]] = json!(most);
    }
}

//! Definitions with random structural schemas, values for them, rules in CEL, and changes of the schema.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use crate::values::pick;

const NAMES: &[&str] = &["a", "b", "c", "items", "key", "x-y", "é", "__a", "in"];

/// Rules on a string, a number, a list, a map and an object, as `self`.
const STRING_RULES: &[&str] = &[
    "self != 'x'",
    "self.size() > 1",
    "self.startsWith('a')",
    "self.matches('^[a-z]+$')",
    "self == oldSelf",
    "self.lowerAscii() == self",
    "self.contains('b')",
    "int(self) > 0",
    "self.split(',').size() < 3",
    "isURL(self) && url(self).getHostname() != ''",
    "isIP(self)",
    "cidr(self).containsIP('10.0.0.1')",
    "self.trim() == self",
    "quantity(self).isGreaterThan(quantity('1'))",
    "isQuantity(self)",
    "duration(self) > duration('1s')",
    "timestamp(self) > timestamp('2024-01-01T00:00:00Z')",
    "self.replace('a', 'b') == 'b'",
    "self.indexOf('a') >= 0",
    "self.substring(0, 2) == 'ab'",
    "self.charAt(0) == 'a'",
    "format.dns1123Label().validate(self).hasValue()",
    "semver(self).major() > 0",
    "isSemver(self)",
    "self.find('[0-9]+') != ''",
    "base64.encode(b'a') == self",
    "oldSelf == '' || self != ''",
    "self in ['a', 'b']",
    "self.upperAscii() != 'A'",
    "size(self) < 5 ? true : false",
    "!self",
    "self + 1 == 'a'",
];
const NUMBER_RULES: &[&str] = &[
    "self > 1",
    "self % 2 == 0",
    "self >= oldSelf",
    "self in [1, 2]",
    "string(self) == '1'",
    "self / 0 == 1",
    "self * 9223372036854775807 > 0",
    "double(self) > 1.5",
    "self - 1 < 5",
    "uint(self) > 1u",
    "self == 1.0",
    "math.greatest(self, 1) == self",
];
const LIST_RULES: &[&str] = &[
    "self.size() < 3",
    "self.all(x, x != self[0])",
    "self.exists(x, x == self[0])",
    "self.exists_one(x, x == x)",
    "self.map(x, x).size() == self.size()",
    "self.filter(x, true).size() > 0",
    "self.isSorted()",
    "self.indexOf(self[0]) == 0",
    "self == oldSelf",
    "self.sum() > 1",
    "self.min() != self.max()",
    "self[0] == self[1]",
    "self.all(x, self.all(y, x == y))",
    "has(self[0].a)",
    "sets.contains(self, [self[0]])",
    "self.join(',') != 'a'",
    "oldSelf.all(x, x in self)",
    "self.slice(0, 1).size() == 1",
];
const MAP_RULES: &[&str] = &[
    "self.size() < 3",
    "self.all(k, k != 'x')",
    "'a' in self",
    "self.exists(k, self[k] == self[k])",
    "self['a'] == self['b']",
    "self.map(k, k).size() > 0",
    "self == oldSelf",
    "has(self.a)",
];
const OBJECT_RULES: &[&str] = &[
    "has(self.a)",
    "!has(self.a) || self.a == self.a",
    "has(self.a) == has(self.b)",
    "self.a == self.b",
    "self.b > 1",
    "has(self.c) ? self.c.size() > 0 : true",
    "self == oldSelf",
    "!has(oldSelf.a) || has(self.a)",
    "self.none == 1",
    "has(self.__a__)",
    "self.x__dash__y == 1",
    "self.?a.hasValue()",
    "self.?a.orValue('x') != 'y'",
    "true",
    "false",
    "1",
    "self.metadata.name == 'x'",
    "[self.a, self.b].size() == 2",
    "cel.bind(v, self.a, v == v)",
    "type(self.a) == string",
    "dyn(self.a) == 1",
    "self.__in__ == 1",
    "optional.of(self.a).hasValue()",
];

const PATTERNS: &[&str] = &["^a", "^[a-z]*$", "(", "\\d+", "^.{1,3}$"];
const FORMATS: &[&str] = &[
    "date-time",
    "date",
    "ipv4",
    "ipv6",
    "uuid",
    "email",
    "uri",
    "byte",
    "int32",
    "int64",
    "float",
    "double",
    "hostname",
    "cidr",
    "password",
    "duration",
    "mac",
    "unknown",
    "dns1123label",
];

const STRINGS: &[&str] = &[
    "",
    "a",
    "ab",
    "abc",
    "A",
    "x",
    "1",
    "2024-01-01T00:00:00Z",
    "2024-01-01",
    "1.2.3.4",
    "fd00::1",
    "10.0.0.0/8",
    "https://example.com/a",
    "5m",
    "100m",
    "1.2.3",
    "a,b",
    "é",
    "01234567-89ab-cdef-0123-456789abcdef",
    "a@b.c",
    "YQ==",
    "${a*40}",
    " a",
    "b",
];

pub(super) fn case(rng: &mut Rng) -> Value {
    match rng.u8(..4) {
        0 => definitions(rng),
        _ => objects(rng),
    }
}

/// Many definitions, none of which is stored.
fn definitions(rng: &mut Rng) -> Value {
    let steps: Vec<Value> = (0..12)
        .map(|_| {
            let schema = schema(rng, 0, true);
            let body = definition(rng, &schema, true);
            json!({"request": {"method": "POST", "path": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                "query": {"dryRun": "All"}, "body": body}})
        })
        .collect();
    json!({"namespace": false, "steps": steps})
}

/// A definition, objects of it, another schema, and updates of those objects.
fn objects(rng: &mut Rng) -> Value {
    let first = schema(rng, 0, false);
    let second = if rng.u8(..3) == 0 { schema(rng, 0, false) } else { changed(rng, &first) };
    let path = "/apis/${case}.example.com/v1/namespaces/${ns}/things";
    let mut steps = vec![json!({"crd": definition(rng, &first, false)})];
    for number in 0..12 {
        steps.push(step(rng, path, &format!("o{number}"), &first));
    }
    for _ in 0..6 {
        steps.push(update(rng, path, &first));
    }
    steps.push(json!({"crd": definition(rng, &second, false)}));
    for _ in 0..10 {
        steps.push(update(rng, path, &second));
    }
    steps.push(json!({"request": {"path": path}}));
    json!({"steps": steps})
}

fn step(rng: &mut Rng, path: &str, name: &str, schema: &Value) -> Value {
    let mut body =
        json!({"apiVersion": "${case}.example.com/v1", "kind": "Thing", "metadata": {"name": name}});
    body["spec"] = value(rng, schema, 0);
    if rng.u8(..10) == 0 {
        body["more"] = json!(1);
    }
    let mut request = json!({"method": "POST", "path": path, "body": body});
    if rng.u8(..4) == 0 {
        request["query"] = json!({"fieldValidation": *pick(rng, &["Strict", "Warn", "Ignore"])});
    }
    json!({"request": request})
}

fn update(rng: &mut Rng, path: &str, schema: &Value) -> Value {
    let name = format!("o{}", rng.u8(..12));
    let path = format!("{path}/{name}");
    let spec = value(rng, schema, 0);
    match rng.u8(..6) {
        0 => {
            json!({"request": {"method": "PATCH", "path": path, "type": "application/merge-patch+json", "body": {"metadata": {"labels": {"l": "m"}}}}})
        }
        1 | 2 => {
            json!({"request": {"method": "PATCH", "path": path, "type": "application/merge-patch+json", "body": {"spec": spec}}})
        }
        3 => {
            json!({"managedFields": true, "request": {"method": "PATCH", "path": path, "type": "application/apply-patch+yaml", "query": {"fieldManager": "m", "force": "true"},
            "body": {"apiVersion": "${case}.example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec}}})
        }
        4 => {
            json!({"request": {"method": "PATCH", "path": format!("{path}/status"), "type": "application/merge-patch+json", "body": {"status": {"s": *pick(rng, &[1, 100])}}}})
        }
        _ => json!({"request": {"path": path}}),
    }
}

fn definition(rng: &mut Rng, schema: &Value, strange: bool) -> Value {
    let status = json!({"type": "object", "properties": {"s": {"type": "integer", "maximum": 50}}});
    let root = json!({"type": "object", "properties": {"spec": schema, "status": status}});
    let mut version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": root}, "subresources": {"status": {}}});
    if strange && rng.u8(..4) == 0 {
        version["additionalPrinterColumns"] = json!([{"name": "A", "type": *pick(rng, &["string", "date", "x"]), "jsonPath": *pick(rng, &[".spec.a", "spec", ".x[", "{.a}", ".spec['a']"])}]);
    }
    if strange && rng.u8(..4) == 0 {
        version["selectableFields"] =
            json!([{"jsonPath": *pick(rng, &[".spec.a", ".spec", ".metadata.name", ".spec.none", "x"])}]);
    }
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.${case}.example.com"},
        "spec": {"group": "${case}.example.com", "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}, "versions": [version]}})
}

/// A random schema. A strange one breaks the rules of definitions now and then.
fn schema(rng: &mut Rng, depth: u32, strange: bool) -> Value {
    let kind = if depth == 0 {
        "object"
    } else {
        *pick(rng, &["object", "array", "string", "string", "integer", "number", "boolean", "int-or-string"])
    };
    let kind = if depth > 3 { "string" } else { kind };
    let mut schema = json!({"type": kind});
    match kind {
        "object" => object(rng, &mut schema, depth, strange),
        "array" => array(rng, &mut schema, depth, strange),
        "string" => string(rng, &mut schema),
        "integer" | "number" => number(rng, &mut schema),
        "int-or-string" => schema = json!({"x-kubernetes-int-or-string": true}),
        _ => {}
    }
    common(rng, &mut schema, strange);
    schema
}

fn object(rng: &mut Rng, schema: &mut Value, depth: u32, strange: bool) {
    if depth > 0 && rng.u8(..4) == 0 {
        schema["additionalProperties"] = self::schema(rng, depth + 1, strange);
        if rng.bool() {
            schema["maxProperties"] = json!(*pick(rng, &[0, 1, 2, 10]));
        }
        return rules(rng, schema, MAP_RULES, strange);
    }
    let mut properties = Map::new();
    for _ in 0..rng.usize(1..4) {
        let name = *pick(rng, if strange { NAMES } else { &NAMES[..6] });
        properties.insert(name.to_owned(), self::schema(rng, depth + 1, strange));
    }
    let names: Vec<String> = properties.keys().cloned().collect();
    schema["properties"] = Value::Object(properties);
    if rng.u8(..3) == 0 {
        schema["required"] = json!([pick(rng, &names)]);
    }
    if rng.u8(..6) == 0 {
        schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    if rng.u8(..8) == 0 {
        schema["x-kubernetes-map-type"] = json!(*pick(rng, &["atomic", "granular"]));
    }
    if strange && rng.u8(..8) == 0 {
        schema["x-kubernetes-embedded-resource"] = json!(true);
    }
    rules(rng, schema, OBJECT_RULES, strange);
}

fn array(rng: &mut Rng, schema: &mut Value, depth: u32, strange: bool) {
    schema["items"] = self::schema(rng, depth + 1, strange);
    if rng.bool() {
        schema["maxItems"] = json!(*pick(rng, &[1, 2, 10, 100]));
    }
    if rng.u8(..4) == 0 {
        schema["minItems"] = json!(1);
    }
    match rng.u8(..6) {
        0 if strange || schema["items"]["type"] == "string" => {
            schema["x-kubernetes-list-type"] = json!("set");
        }
        1 => {
            schema["x-kubernetes-list-type"] = json!("map");
            schema["x-kubernetes-list-map-keys"] = json!(["a"]);
            if !strange || rng.bool() {
                schema["items"] = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}});
            }
        }
        2 => schema["x-kubernetes-list-type"] = json!("atomic"),
        3 if strange => schema["uniqueItems"] = json!(true),
        _ => {}
    }
    rules(rng, schema, LIST_RULES, strange);
}

fn string(rng: &mut Rng, schema: &mut Value) {
    match rng.u8(..8) {
        0 => schema["maxLength"] = json!(*pick(rng, &[0, 1, 3, 10])),
        1 => schema["minLength"] = json!(*pick(rng, &[1, 3])),
        2 => schema["pattern"] = json!(*pick(rng, PATTERNS)),
        3 => schema["format"] = json!(*pick(rng, FORMATS)),
        4 => schema["enum"] = json!(["a", "b", "x"]),
        _ => {}
    }
    rules(rng, schema, STRING_RULES, false);
}

fn number(rng: &mut Rng, schema: &mut Value) {
    match rng.u8(..8) {
        0 => schema["minimum"] = json!(*pick(rng, &[0, 1, 5])),
        1 => schema["maximum"] = json!(*pick(rng, &[0, 1, 5])),
        2 => schema["multipleOf"] = json!(*pick(rng, &[2, 3])),
        3 => {
            schema["minimum"] = json!(1);
            schema["exclusiveMinimum"] = json!(true);
        }
        4 => schema["enum"] = json!([1, 2]),
        5 => schema["format"] = json!(*pick(rng, &["int32", "int64", "double", "float"])),
        _ => {}
    }
    rules(rng, schema, NUMBER_RULES, false);
}

fn rules(rng: &mut Rng, schema: &mut Value, pool: &[&str], strange: bool) {
    if rng.u8(..3) > 0 {
        return;
    }
    let mut rule = json!({"rule": *pick(rng, pool)});
    match rng.u8(..6) {
        0 => rule["message"] = json!("a message"),
        1 => rule["messageExpression"] = json!("'is ' + string(self.size())"),
        2 => {
            rule["reason"] = json!(*pick(
                rng,
                &["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]
            ));
        }
        3 => rule["fieldPath"] = json!(*pick(rng, &[".a", ".b", ".none", "a"])),
        4 => rule["optionalOldSelf"] = json!(true),
        _ => {}
    }
    if strange && rng.u8(..6) == 0 {
        rule["message"] = json!(*pick(rng, &["", "a\nb", " "]));
    }
    schema["x-kubernetes-validations"] = json!([rule]);
}

fn common(rng: &mut Rng, schema: &mut Value, strange: bool) {
    if rng.u8(..8) == 0 {
        schema["nullable"] = json!(true);
    }
    if rng.u8(..8) == 0 {
        schema["default"] = value(rng, &schema.clone(), 2);
    }
    if !strange || rng.u8(..6) > 0 {
        return;
    }
    match rng.u8(..12) {
        0 => schema["oneOf"] = json!([{"required": ["a"]}, {"required": ["b"]}]),
        1 => schema["anyOf"] = json!([{"minimum": 1}, {"type": "string"}]),
        2 => schema["allOf"] = json!([{"pattern": "^a", "description": "x"}]),
        3 => schema["not"] = json!({"enum": ["a"]}),
        4 => schema["$ref"] = json!("#/a"),
        5 => schema["type"] = json!(*pick(rng, &["", "null", "x"])),
        6 => schema["x-kubernetes-preserve-unknown-fields"] = json!(rng.bool()),
        7 => schema["x-kubernetes-int-or-string"] = json!(true),
        8 => schema["additionalProperties"] = json!(false),
        9 => schema["example"] = json!("x"),
        10 => schema["enum"] = json!([]),
        _ => schema["x-kubernetes-list-type"] = json!("x"),
    }
}

/// The schema with one keyword more or fewer.
fn changed(rng: &mut Rng, schema: &Value) -> Value {
    let mut schema = schema.clone();
    let names: Vec<String> =
        schema["properties"].as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default();
    if !names.is_empty() && rng.u8(..4) > 0 {
        let name = pick(rng, &names).clone();
        schema["properties"][&name] = changed(rng, &schema["properties"][&name].clone());
        return schema;
    }
    match rng.u8(..5) {
        0 => drop(schema.as_object_mut().map(|map| map.remove("x-kubernetes-validations"))),
        1 if names.len() > 1 => drop(schema["properties"].as_object_mut().map(|map| map.remove(&names[0]))),
        2 if !names.is_empty() => schema["required"] = json!([names[0]]),
        3 if schema["type"] == "string" => schema["maxLength"] = json!(1),
        _ => return self::schema(rng, 1, false),
    }
    schema
}

/// A value for a schema: mostly one that fits.
fn value(rng: &mut Rng, schema: &Value, depth: u32) -> Value {
    if rng.u8(..16) == 0 && depth > 0 {
        return pick(
            rng,
            &[Value::Null, json!(1), json!("a"), json!([]), json!({}), json!(true), json!(-5), json!(1.5)],
        )
        .clone();
    }
    if let Some(values) = schema["enum"].as_array().filter(|values| !values.is_empty()) {
        return pick(rng, values).clone();
    }
    match schema["type"].as_str() {
        Some("object") if schema["additionalProperties"].is_object() => {
            let keys = (0..rng.usize(..4)).map(|_| (*pick(rng, NAMES)).to_owned()).collect::<Vec<_>>();
            keys.into_iter()
                .map(|key| (key, value(rng, &schema["additionalProperties"], depth + 1)))
                .collect()
        }
        Some("object") => {
            let mut object = Map::new();
            for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
                if rng.u8(..5) > 0 {
                    object.insert(name.clone(), value(rng, inner, depth + 1));
                }
            }
            if rng.u8(..10) == 0 {
                object.insert("unknown".into(), json!({"x": 1}));
            }
            Value::Object(object)
        }
        Some("array") => (0..rng.usize(..4)).map(|_| value(rng, &schema["items"], depth + 1)).collect(),
        Some("integer") => json!(*pick(rng, &[0, 1, 2, 3, 4, 5, 6, -1, 100, 3_000_000_000_i64])),
        Some("number") => json!(*pick(rng, &[0.0, 1.0, 1.5, 2.0, -1.0, 6.0, 1e10])),
        Some("boolean") => json!(rng.bool()),
        Some("string") => json!(*pick(rng, STRINGS)),
        _ => pick(rng, &[json!(1), json!("1"), json!("a"), json!(1.5)]).clone(),
    }
}

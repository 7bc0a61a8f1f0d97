//! Rules in CEL and patterns of custom resources.

use serde_json::{Value, json};
use windtunnel_apiserver::Method;

use super::{check_damaged, texts, widgets};
use crate::fuzz::checked_server::{MERGE, ask, server};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.io/v1/namespaces/default/widgets";

/// Creates, updates and reads objects whose field `spec` has this schema, if the definition is accepted.
fn use_schema(spec: &Value, values: &[Value]) -> Result<(), String> {
    let mut server = server(34);
    if !ask(&mut server, Method::Post, DEFINITIONS, "", &widgets(spec))?.is_good() {
        return Ok(());
    }
    for spec in values {
        let object = json!({ "apiVersion": "example.io/v1", "kind": "Widget", "metadata": { "name": "b" }, "spec": spec });
        ask(&mut server, Method::Post, WIDGETS, "", &object)?;
        ask(&mut server, Method::Put, &format!("{WIDGETS}/b"), "", &object)?;
        ask(&mut server, Method::Patch, &format!("{WIDGETS}/b"), MERGE, &json!({ "spec": spec }))?;
    }
    ask(&mut server, Method::Get, WIDGETS, "", &Value::Null)?;
    ask(&mut server, Method::Get, "/openapi/v3/apis/example.io/v1", "", &Value::Null)?;
    Ok(())
}

/// Values of several types.
fn values() -> Vec<Value> {
    vec![
        json!({ "a": 1, "s": "text", "l": ["x", "y"], "m": { "k": "v" }, "t": "2024-01-01T00:00:00Z" }),
        json!({ "a": -9_223_372_036_854_775_808_i64, "s": "\u{1f980}10.0.0.0/8", "l": [], "t": "1h30m" }),
        json!({ "a": 9_223_372_036_854_775_807_i64, "s": "", "m": {} }),
        json!({}),
    ]
}

#[test]
fn damaged_rules() {
    let valid = texts(&[
        "self.a >= 0 && self.a + 1 > self.a",
        "has(self.s) && self.s.matches('^[a-z]+$') || self.s.size() > 3u",
        "self.l.all(x, x.startsWith('x')) ? self.l.exists_one(x, x == 'y') : [1, 2].map(i, i * 2) == [2, 4]",
        "oldSelf.hasValue() && oldSelf.value().a <= self.a",
        "self.m.exists(k, self.m[k] == 'v') && !('z' in self.m)",
        "duration(self.t).getHours() < 3 || timestamp(self.t).getFullYear('America/New_York') == 2023",
        "isCIDR(self.s) && cidr(self.s).containsIP('10.1.2.3') && ip('::1').isLoopback()",
        "quantity('1.5Gi').isGreaterThan(quantity('1G')) && semver('1.2.3').major() == 1 && url('https://a/b?c=d').getHost() == 'a'",
        "self.s.replace('a', 'b', 2).split(',').join('-').substring(0, 1).lowerAscii() == \"%s %d\".format([self.s, self.a])",
        "[1, 2, 3].sum() / (self.a - 1) % 2 == int('7') && string(b'abc').find('b+') == 'b' && {'a': 1}.a == 1",
        "cel.bind(x, self.a, x * x) > 0 && self.?s.orValue('d') != '' && sets.contains(self.l, ['x'])",
    ]);
    check_damaged("readers::rules::damaged_rules", &valid, read_rule);
}

/// An expression of a validation rule, and of the message of one.
fn read_rule(bytes: &[u8]) -> Result<(), String> {
    let rule = String::from_utf8_lossy(bytes);
    let text = json!({ "type": "string", "maxLength": 40 });
    let object = json!({ "type": "object",
        "properties": { "a": { "type": "integer" }, "s": text, "t": text,
            "l": { "type": "array", "maxItems": 5, "items": text },
            "m": { "type": "object", "maxProperties": 5, "additionalProperties": text } },
        "x-kubernetes-validations": [
            { "rule": rule, "messageExpression": "string(self.a)", "optionalOldSelf": true }] });
    use_schema(&object, &values())?;
    let message = json!({ "type": "object", "properties": { "s": { "type": "string", "maxLength": 40,
        "x-kubernetes-validations": [{ "rule": "true", "messageExpression": rule }] } } });
    use_schema(&message, &values())
}

#[test]
fn damaged_patterns() {
    let valid = texts(&[
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        "^(([0-9a-fA-F]{1,4}:){7}|::)\\d+/\\d{1,3}$",
        "(?i)^\\p{L}+[^\\s\\x00-\\x1f]*$",
        "\\A(?:a|b){2,5}?\\z",
        "^sha256:[a-f0-9]{64}$|\\bword\\B",
    ]);
    check_damaged("readers::rules::damaged_patterns", &valid, read_pattern);
}

/// An OpenAPI pattern.
fn read_pattern(bytes: &[u8]) -> Result<(), String> {
    let pattern = String::from_utf8_lossy(bytes);
    let schema = json!({ "type": "object", "properties": { "s": { "type": "string", "pattern": pattern } } });
    let long = json!({ "s": "aab".repeat(200) });
    use_schema(&schema, &[values(), vec![long]].concat())
}

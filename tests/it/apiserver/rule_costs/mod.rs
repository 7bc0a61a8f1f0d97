//! Compares the estimated costs of validation rules with recorded ones, and with those of a real server.

mod openshift;
#[cfg(feature = "serve")]
mod real_server;

use serde_json::{Value, json};
use windtunnel_apiserver::ApiServer;
use windtunnel_core::{Write, resources};

use super::requests::{ask, server};

/// Rules over the fields of the schema below. Each line has the cost to three digits, as kube-apiserver 1.36
/// estimates it, and the expression. Rules that do not compile and message expressions have a dash instead of
/// a cost. A rule whose cost for a single value exceeds the limit by more than a factor of 100 is `unbounded`.
const RULES: &str = include_str!("rules.txt");

/// The highest allowed cost of a rule.
const LIMIT: f64 = 1e7;

/// The costs and expressions of the rules.
fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    RULES.lines().map(|line| line.split_once('\t').unwrap())
}

/// Fields of all types, most of them of a declared size.
fn fields() -> Value {
    let text = |most: u64| json!({ "type": "string", "maxLength": most });
    let list = |items: Value| json!({ "type": "array", "maxItems": 10, "items": items });
    let object = |inner: Value| json!({ "type": "object", "properties": inner });
    json!({
        "s": text(50), "s2": text(20), "empty": text(0), "unbounded": { "type": "string" },
        "n": { "type": "integer" }, "d": { "type": "number" }, "flag": { "type": "boolean" },
        "t": { "type": "string", "format": "date-time" }, "span": { "type": "string", "format": "duration" },
        "bytes": { "type": "string", "format": "byte", "maxLength": 40 },
        "texts": list(text(20)), "numbers": list(json!({ "type": "integer" })),
        "spans": list(json!({ "type": "string", "format": "duration" })),
        "lists": list(list(text(7))), "objects": list(object(json!({ "a": text(9), "n": { "type": "integer" } }))),
        "endless": { "type": "array", "items": { "type": "string" } },
        "labels": { "type": "object", "maxProperties": 5, "additionalProperties": text(7) },
        "maps": list(json!({ "type": "object", "maxProperties": 4, "additionalProperties": text(6) })),
        "o": object(json!({ "a": text(5), "b": object(json!({ "c": text(3) })) })),
        "port": { "x-kubernetes-int-or-string": true },
    })
}

/// A CRD with one list for each number in `most`, which limits its length; the rule applies to the items.
fn definition(number: usize, rule: &Value, most: &[u32]) -> Value {
    let items = json!({ "type": "object", "properties": fields(), "x-kubernetes-validations": [rule] });
    let lists = most.iter().map(|most| {
        (format!("x{most}"), json!({ "type": "array", "maxItems": most, "items": items.clone() }))
    });
    let properties: serde_json::Map<String, Value> = lists.collect();
    let plural = format!("widget{number}s");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.example.io") },
        "spec": {
            "group": "example.io", "scope": "Cluster", "names": { "plural": plural, "kind": format!("Widget{number}") },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": properties } } } } }],
        },
    })
}

/// The error of this server for a CRD; empty if it is accepted.
fn answer(server: &mut ApiServer, definition: &Value) -> String {
    let write = Write::create(&resources::CUSTOM_RESOURCE_DEFINITIONS, definition.clone());
    ask(server, &write).err().map(|rejection| rejection.message).unwrap_or_default()
}

/// The number of values that brings a cost to between 10 and 100 times the limit, for which the server prints
/// three digits.
fn most_values(cost: f64) -> u32 {
    (0..=9).map(|digits| 10_u32.pow(digits)).find(|most| cost * f64::from(*most) > 10.0 * LIMIT).unwrap()
}

/// The cost of one value according to a server's message, to three digits; the message itself if it has no
/// cost.
fn cost(message: &str, most: u32) -> String {
    if message.contains("estimated rule cost exceeds budget by factor of more than 100x") {
        return "unbounded".to_owned();
    }
    let factor = message.split_once("estimated rule cost exceeds budget by factor of ");
    let factor = factor.and_then(|(_, rest)| rest.split_once('x')?.0.parse::<f64>().ok());
    factor.map_or_else(|| message.to_owned(), |factor| format!("{:.0}", factor * LIMIT / f64::from(most)))
}

#[test]
fn rules_cost_what_the_real_server_estimates() {
    let mut server = server(36);
    let mut differences = Vec::new();
    for (number, (wanted, text)) in rules().enumerate().filter(|(_, (wanted, _))| *wanted != "-") {
        let most = wanted.parse().map_or(1, most_values);
        let message = answer(&mut server, &definition(number, &json!({ "rule": text }), &[most]));
        let found = cost(&message, most);
        if found != wanted {
            differences.push(format!("{text}: wanted {wanted}, found {found}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn invalid_literals_are_rejected() {
    for (text, place, wanted) in [
        ("'%s is %d long'.format([self.s, size(self.s)]) == ''", 0, ""),
        ("'%s'.format([[1, 'a', null]]) == ''", 0, ""),
        (
            "'%d'.format([self.s]) == ''",
            18,
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("'%s'.format([]) == ''", 12, "index 0 out of range"),
        ("'%s'.format([1, 2]) == ''", 12, "too many arguments supplied to string.format (expected 1, got 2)"),
        (
            "'%q'.format([1]) == ''",
            12,
            "could not parse formatting clause: unrecognized formatting clause \"q\"",
        ),
        ("[1, 'a'].size() == 2", 5, "expected type 'int' but found 'string'"),
        ("[1, dyn('a')].size() == 2", 8, "expected type 'int' but found 'dyn'"),
        ("{'a': 1, 'b': 'c'}.size() == 2", 15, "expected type 'int' but found 'string'"),
        ("[[], ['a']].size() == 2", 0, ""),
    ] {
        let message = answer(&mut server(36), &definition(0, &json!({ "rule": text }), &[1]));
        if wanted.is_empty() {
            assert_eq!(message, "", "{text}");
        } else {
            let wanted = format!("compilation failed: ERROR: <input>:1:{place}: {wanted}\n");
            assert!(message.contains(&wanted), "{text}: {message}");
        }
    }
}

//! Validation rules of custom resources: evaluation, ratcheting, and differences between minors.

mod values;

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Body, Method, Reply, Request};
use windtunnel_core::{Identity, Resource, Write, resources};

use super::requests::{ask, define, now, server};

const WIDGETS: Resource = Resource::cluster("example.io", "v1", "Widget", "widgets");

/// A CRD with this schema of `spec`.
fn definition(spec: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.io" },
        "spec": {
            "group": "example.io", "scope": "Cluster", "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } } }],
        },
    })
}

fn widget(spec: &Value) -> Value {
    json!({ "apiVersion": "example.io/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": spec })
}

/// The error for a new object without its common prefix; empty if it is accepted.
fn create(server: &mut ApiServer, spec: &Value) -> String {
    match ask(server, &Write::create(&WIDGETS, widget(spec))) {
        Ok(_) => String::new(),
        Err(rejection) => shortened(&rejection.message),
    }
}

fn shortened(message: &str) -> String {
    message.replace("Widget.example.io \"w\" is invalid: ", "")
}

/// The error for a new CRD; empty if it is accepted.
fn definition_error(minor: u32, spec: &Value) -> String {
    let write = Write::create(&resources::CUSTOM_RESOURCE_DEFINITIONS, definition(spec));
    match ask(&mut server(minor), &write) {
        Ok(_) => String::new(),
        Err(rejection) => {
            let begin = "CustomResourceDefinition.apiextensions.k8s.io \"widgets.example.io\" is invalid: ";
            rejection
                .message
                .replace(begin, "")
                .replace("spec.validation.openAPIV3Schema.properties[spec]", "S")
        }
    }
}

/// Sends a merge patch of the object.
fn patch(server: &mut ApiServer, change: &Value) -> Reply {
    let admin = Identity::admin();
    let path = "/apis/example.io/v1/widgets/w";
    let mut request =
        Request::new(Method::Patch, path, &admin).with_content_type("application/merge-patch+json");
    request.body = Body::Bytes(change.to_string().into());
    server.handle(&request, now())
}

fn text_of(reply: &Reply) -> String {
    shortened(reply.json().unwrap()["message"].as_str().unwrap_or_default())
}

fn rule(rule: &str) -> Value {
    json!({ "rule": rule, "message": "no" })
}

#[test]
fn rules_are_evaluated_from_1_25() {
    let spec = json!({ "type": "object", "x-kubernetes-validations": [rule("self.a > 1")],
        "properties": { "a": { "type": "integer" } } });
    for (minor, rejected) in [(24, false), (25, true), (36, true)] {
        let mut server = server(minor);
        define(&mut server, definition(&spec));
        assert_eq!(!create(&mut server, &json!({ "a": 1 })).is_empty(), rejected, "1.{minor}");
    }
}

#[test]
fn message_expressions_work_from_1_27_and_reasons_and_paths_from_1_28() {
    let rule = json!({ "rule": "self.a > 1", "message": "plain", "messageExpression": "'made'",
        "reason": "FieldValueForbidden", "fieldPath": ".a" });
    let spec = json!({ "type": "object", "x-kubernetes-validations": [rule],
        "properties": { "a": { "type": "integer" } } });
    for (minor, text) in [
        (26, r#"spec: Invalid value: "object": plain"#),
        (27, r#"spec: Invalid value: "object": made"#),
        (28, "spec.a: Forbidden: made"),
    ] {
        let mut server = server(minor);
        define(&mut server, definition(&spec));
        assert_eq!(create(&mut server, &json!({ "a": 1 })), text, "1.{minor}");
    }
}

#[test]
fn rule_errors_show_the_type_before_1_35_and_only_scalar_values_since() {
    let inner =
        |kind: &str| json!({ "type": kind, "x-kubernetes-validations": [rule("self == self && false")] });
    let mut list = inner("array");
    list["items"] = json!({ "type": "string" });
    let spec = json!({ "type": "object", "x-kubernetes-validations": [rule("false")],
        "properties": { "i": inner("integer"), "l": list, "s": inner("string") } });
    for (minor, texts) in [
        (34, [r#""object": "#, r#""integer": "#, r#""array": "#, r#""string": "#]),
        (35, ["", "3: ", "", r#""x": "#]),
    ] {
        let mut server = server(minor);
        define(&mut server, definition(&spec));
        let [object, integer, array, string] = texts;
        assert_eq!(
            create(&mut server, &json!({ "i": 3, "l": ["a"], "s": "x" })),
            format!(
                "[spec: Invalid value: {object}no, spec.i: Invalid value: {integer}no, spec.l: Invalid value: \
                 {array}no, spec.s: Invalid value: {string}no]"
            )
        );
    }
}

#[test]
fn transition_rules_can_have_an_optional_old_value_from_1_30() {
    let rule = json!({ "rule": "oldSelf.hasValue()", "message": "no", "optionalOldSelf": true });
    let spec = json!({ "type": "object", "properties": {
        "a": { "type": "string", "x-kubernetes-validations": [rule] } } });
    for (minor, rejected) in [(29, false), (30, true)] {
        let mut server = server(minor);
        define(&mut server, definition(&spec));
        assert_eq!(!create(&mut server, &json!({ "a": "x" })).is_empty(), rejected, "1.{minor}");
    }
}

#[test]
fn an_unchanged_value_that_breaks_a_new_rule_is_tolerated_with_a_warning() {
    let schema = |rules: &Value| {
        json!({ "type": "object", "properties": { "b": { "type": "string" },
            "a": { "type": "string", "x-kubernetes-validations": rules } } })
    };
    let mut server = server(33);
    define(&mut server, definition(&schema(&json!([]))));
    assert_eq!(create(&mut server, &json!({ "a": "bad" })), "");
    define(&mut server, definition(&schema(&json!([rule("self != 'bad'")]))));
    let reply = patch(&mut server, &json!({ "spec": { "b": "x" } }));
    assert_eq!(
        (reply.code, reply.warnings),
        (200, vec![r#"spec.a: Invalid value: "string": no"#.to_owned()])
    );
    let reply = patch(&mut server, &json!({ "spec": { "a": "bad", "b": null } }));
    assert_eq!(reply.code, 200);
    define(&mut server, definition(&schema(&json!([rule("self.startsWith('good')")]))));
    let reply = patch(&mut server, &json!({ "spec": { "a": "worse" } }));
    assert_eq!(text_of(&reply), r#"spec.a: Invalid value: "string": no"#);
    // Transition rules and evaluation errors are never tolerated.
    for (rules, text) in [
        (json!([rule("oldSelf != 'bad'")]), r#"spec.a: Invalid value: "string": no"#),
        (
            json!([rule("self.charAt(9) == 'x'")]),
            r#"spec.a: Invalid value: "string": index out of range: 9 evaluating rule: no"#,
        ),
    ] {
        define(&mut server, definition(&schema(&rules)));
        assert_eq!(text_of(&patch(&mut server, &json!({ "spec": { "b": "z" } }))), text);
    }
}

#[test]
fn elements_of_lists_without_keys_are_tolerated_only_in_an_unchanged_list() {
    let schema = |rules: &Value| {
        json!({ "type": "object", "properties": { "b": { "type": "string" },
            "l": { "type": "array", "items": { "type": "string", "x-kubernetes-validations": rules } } } })
    };
    let mut server = server(33);
    define(&mut server, definition(&schema(&json!([]))));
    assert_eq!(create(&mut server, &json!({ "l": ["bad"] })), "");
    define(&mut server, definition(&schema(&json!([rule("self != 'bad'")]))));
    assert_eq!(patch(&mut server, &json!({ "spec": { "b": "x" } })).code, 200);
    let reply = patch(&mut server, &json!({ "spec": { "l": ["bad", "good"] } }));
    assert_eq!(text_of(&reply), r#"spec.l[0]: Invalid value: "string": no"#);
}

#[test]
fn map_keys_are_in_brackets_and_nulls_are_not_validated() {
    let spec = json!({ "type": "object", "properties": { "m": { "type": "object", "additionalProperties":
        { "type": "string", "nullable": true, "x-kubernetes-validations": [rule("self != 'bad'")] } } } });
    let mut server = server(33);
    define(&mut server, definition(&spec));
    let text = create(&mut server, &json!({ "m": { "k.1": "bad", "n": null, "o": "good" } }));
    assert_eq!(text, r#"spec.m[k.1]: Invalid value: "string": no"#);
}

#[test]
fn formats_become_typed_values_and_int_or_string_can_be_either() {
    let spec = json!({ "type": "object", "properties": {
        "d": { "type": "string", "format": "duration", "x-kubernetes-validations": [rule("self < duration('1h')")] },
        "t": { "type": "string", "format": "date", "x-kubernetes-validations": [rule("self.getFullYear() > 2000")] },
        "y": { "type": "string", "format": "byte", "x-kubernetes-validations": [rule("self.size() == 5")] },
        "x": { "x-kubernetes-int-or-string": true, "x-kubernetes-validations":
            [rule("type(self) == string ? self.endsWith('%') : self > 1")] } } });
    let mut server = server(33);
    define(&mut server, definition(&spec));
    let good = json!({ "d": "59m", "t": "2024-01-01", "y": "aGVsbG8=", "x": "5%" });
    assert_eq!(create(&mut server, &good), "");
    for (change, field) in [
        (json!({ "d": "61m" }), "spec.d"),
        (json!({ "t": "1999-12-31" }), "spec.t"),
        (json!({ "y": "aGVsbA==" }), "spec.y"),
        (json!({ "x": 1 }), "spec.x"),
        (json!({ "x": "5" }), "spec.x"),
    ] {
        let text = text_of(&patch(&mut server, &json!({ "spec": change })));
        assert!(text.starts_with(&format!("{field}: Invalid value")), "{field}: {text}");
    }
}

#[test]
fn an_evaluation_over_the_cost_limit_stops_all_others() {
    let spec = json!({ "type": "object", "x-kubernetes-validations": [rule("self.l.all(x, self.l.all(y, self.l.all(z, x + y + z > 0)))")],
        "properties": { "l": { "type": "array", "maxItems": 100, "items": { "type": "integer" } } } });
    let mut server = server(36);
    define(&mut server, definition(&spec));
    let text = create(&mut server, &json!({ "l": vec![1; 100] }));
    assert_eq!(
        text,
        "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation \
         rules will be run due to call cost exceeds limit for rule: no"
    );
}

#[test]
fn comparing_library_values_is_cheap_enough_for_lists() {
    let rules = [
        "isCIDR(self) && cidr(self) == cidr(self).masked()",
        "quantity(self) == quantity('1000m')",
        "ip(self) == ip('10.0.0.1')",
        "url(self) == url('https://example.com/')",
    ];
    for text in rules {
        let item = json!({ "type": "string", "maxLength": 40, "x-kubernetes-validations": [rule(text)] });
        let list = json!({ "type": "array", "maxItems": 100, "items": item });
        define(&mut server(36), definition(&json!({ "type": "object", "properties": { "l": list } })));
    }
}

#[test]
fn is_url_accepts_what_go_accepts_as_a_request_target() {
    let spec = json!({ "type": "object", "properties": { "u": { "type": "string", "x-kubernetes-validations": [rule("isURL(self)")] } } });
    let mut server = server(32);
    define(&mut server, definition(&spec));
    assert_eq!(create(&mut server, &json!({ "u": "https://a.example/x#y" })), "");
    for wrong in ["https://a.example#x", "https://a%41.example", "https://u p@a.example"] {
        let text = text_of(&patch(&mut server, &json!({ "spec": { "u": wrong } })));
        assert_eq!(text, "spec.u: Invalid value: \"string\": no", "{wrong}");
    }
}

#[test]
fn a_broken_list_rule_is_tolerated_while_elements_only_move() {
    let keyed = |rules: &Value| {
        let item = json!({ "type": "object", "required": ["k"], "properties": { "k": { "type": "string" }, "v": { "type": "string" } } });
        definition(&json!({ "type": "object", "properties": { "l": { "type": "array", "items": item,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "x-kubernetes-validations": rules } } }))
    };
    let mut server = server(33);
    define(&mut server, keyed(&json!([])));
    assert_eq!(create(&mut server, &json!({ "l": [{ "k": "a" }, { "k": "b" }] })), "");
    define(&mut server, keyed(&json!([rule("self.all(x, x.k != 'a')")])));
    let moved = json!({ "spec": { "l": [{ "k": "b" }, { "k": "a" }] } });
    assert_eq!(text_of(&patch(&mut server, &moved)), "");
    let changed = json!({ "spec": { "l": [{ "k": "b", "v": "x" }, { "k": "a" }] } });
    assert_eq!(text_of(&patch(&mut server, &changed)), "spec.l: Invalid value: \"array\": no");
}

#[test]
fn crds_with_invalid_rules_are_rejected() {
    let with = |rule: Value| {
        json!({ "type": "object", "x-kubernetes-validations": [rule], "properties": {
            "a": { "type": "string" }, "l": { "type": "array", "items": { "type": "string" } } } })
    };
    let at = "S.x-kubernetes-validations[0]";
    let shown = |rule: &str| {
        format!(
            "apiextensions.ValidationRule{{Rule:\"{rule}\", Message:\"\", MessageExpression:\"\", Reason:(*apiextensions.FieldValueErrorReason)(nil), FieldPath:\"\", OptionalOldSelf:(*bool)(nil)}}"
        )
    };
    for (rule, text) in [
        (json!({ "rule": " " }), format!("{at}.rule: Required value: rule is not specified")),
        (
            json!({ "rule": "true", "message": " " }),
            format!(r#"{at}.message: Invalid value: " ": message must be non-empty if specified"#),
        ),
        (
            json!({ "rule": "true\n&& true" }),
            format!("{at}.message: Required value: message must be specified if rule contains line breaks"),
        ),
        (
            json!({ "rule": "true", "reason": "Odd" }),
            format!(
                r#"{at}.reason: Unsupported value: "Odd": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired""#
            ),
        ),
        (
            json!({ "rule": "true", "optionalOldSelf": true }),
            format!(
                "{at}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"
            ),
        ),
        (
            json!({ "rule": "self.a" }),
            format!("{at}.rule: Invalid value: {}: cel expression must evaluate to a bool", shown("self.a")),
        ),
        (
            json!({ "rule": "self.b == 1" }),
            format!(
                "{at}.rule: Invalid value: {}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b == 1\n | ....^",
                shown("self.b == 1")
            ),
        ),
        (
            json!({ "rule": "self.l.all(x, x.contains('x'))" }),
            format!(
                "{at}.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)|S.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema|spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
            ),
        ),
    ] {
        let wanted = if text.contains('|') && text.contains("Forbidden") {
            format!("[{}]", text.replace("|S", ", S").replace("|spec", ", spec"))
        } else {
            text
        };
        assert_eq!(definition_error(33, &with(rule)), wanted);
    }
}

#[test]
fn new_rules_can_use_functions_of_the_previous_minor_and_stored_ones_any() {
    let spec = |rule: &str| json!({ "type": "object", "x-kubernetes-validations": [{ "rule": rule }] });
    let sets = spec("sets.contains([1], [1])");
    assert!(
        definition_error(29, &sets).contains("undeclared reference to 'sets'"),
        "{}",
        definition_error(29, &sets)
    );
    assert_eq!(definition_error(30, &sets), "");
    let mut server = server(30);
    define(&mut server, definition(&sets));
    server.set_kubernetes_minor(28);
    let mut updated = sets.clone();
    updated["description"] = json!("changed");
    define(&mut server, definition(&updated));
}

#[test]
fn a_default_must_satisfy_the_rules_of_its_schema() {
    let spec = json!({ "type": "object", "properties": { "a": { "type": "string", "default": "bad",
        "x-kubernetes-validations": [rule("self != 'bad'")] } } });
    assert_eq!(definition_error(33, &spec), "S.properties[a].default: Invalid value: \"string\": no");
}

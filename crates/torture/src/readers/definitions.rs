//! Definitions of custom resources, and what they are made of: schemas, patterns, rules in CEL.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method};

use super::cluster::{self, DEFINITIONS, WIDGETS, send};
use super::{Reader, examples};

/// A CustomResourceDefinition, in YAML or JSON.
pub(super) const DEFINITION: Reader =
    Reader { name: "definition", read: read_definition, examples: definition_examples };

/// An expression of a validation rule for a value of several types.
pub(super) const CEL: Reader = Reader { name: "cel", read: read_rule, examples: rule_examples };

/// A structural schema, and an object that is pruned, defaulted and validated by it.
pub(super) const SCHEMA: Reader = Reader { name: "schema", read: read_schema, examples: schema_examples };

/// An OpenAPI pattern.
pub(super) const PATTERN: Reader = Reader { name: "pattern", read: read_pattern, examples: pattern_examples };

/// The variables and validations of an admission policy.
pub(super) const POLICY: Reader = Reader { name: "policy", read: read_policy, examples: policy_examples };

/// Returns a server with the definition of the custom resource, if it is valid.
fn defined(schema: &Value) -> Option<ApiServer> {
    let mut server = cluster::server();
    let path = format!("{DEFINITIONS}/widgets.example.io");
    let patch = json!({ "spec": cluster::widgets(schema)["spec"] }).to_string();
    let code = send(&mut server, Method::Patch, &path, "application/merge-patch+json", patch.into_bytes());
    (code == 200).then_some(server)
}

/// Creates, updates and reads custom resources.
fn use_widgets(server: &mut ApiServer, specs: &[Value]) {
    for spec in specs {
        let metadata = json!({ "name": "b" });
        let object =
            json!({ "apiVersion": "example.io/v1", "kind": "Widget", "metadata": metadata, "spec": spec });
        send(server, Method::Post, WIDGETS, "", object.to_string().into_bytes());
        send(server, Method::Put, &format!("{WIDGETS}/b"), "", object.to_string().into_bytes());
        let patch = json!({ "spec": spec }).to_string().into_bytes();
        send(server, Method::Patch, &format!("{WIDGETS}/a"), "application/merge-patch+json", patch);
    }
    send(server, Method::Get, WIDGETS, "", Vec::new());
    send(server, Method::Get, "/openapi/v3/apis/example.io/v1", "", Vec::new());
}

/// Returns values of several types.
fn values() -> Vec<Value> {
    vec![
        json!({ "a": 1, "s": "text", "l": ["x", "y"], "m": { "k": "v" }, "t": "2024-01-01T00:00:00Z" }),
        json!({ "a": -9_223_372_036_854_775_808_i64, "s": "\u{1f980}10.0.0.0/8", "l": [], "t": "1h30m" }),
        json!({ "a": 9_223_372_036_854_775_807_i64, "s": "", "m": {} }),
        json!({}),
    ]
}

fn read_definition(bytes: &[u8]) {
    let mut server = cluster::server();
    send(&mut server, Method::Post, DEFINITIONS, "application/yaml", bytes.to_vec());
    send(
        &mut server,
        Method::Put,
        &format!("{DEFINITIONS}/widgets.example.io"),
        "application/yaml",
        bytes.to_vec(),
    );
    use_widgets(&mut server, &values());
    send(&mut server, Method::Get, "/apis?timeout=3s", "", Vec::new());
    send(&mut server, Method::Get, "/openapi/v2", "", Vec::new());
}

fn definition_examples() -> Vec<Vec<u8>> {
    let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
        "a": { "type": "integer", "minimum": 0, "default": 1 }, "l": { "type": "array", "items": { "type": "string" },
            "x-kubernetes-list-type": "set" } } }, "status": { "type": "object",
        "x-kubernetes-preserve-unknown-fields": true } } });
    let mut full = cluster::widgets(&schema);
    let scale = json!({ "specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a" });
    full["spec"]["versions"][0]["subresources"] = json!({ "status": {}, "scale": scale });
    full["spec"]["versions"][0]["additionalPrinterColumns"] =
        json!([{ "name": "A", "type": "integer", "jsonPath": ".spec.a" }]);
    full["spec"]["versions"][0]["selectableFields"] = json!([{ "jsonPath": ".spec.a" }]);
    let mut found = vec![full.to_string().into_bytes()];
    found.extend(examples::files(&[
        "scenarios/update/payload-4.18.6/0000_20_beacon-operator_01_beacons.crd.yaml",
        "scenarios/capabilities/payload-4.18.6/0000_50_cloud-credential-operator_01_credentialsrequests.crd.yaml",
    ]));
    found
}

fn read_rule(bytes: &[u8]) {
    let rule = String::from_utf8_lossy(bytes);
    let text = json!({ "type": "string", "maxLength": 40 });
    let schema = json!({ "type": "object", "properties": { "spec": { "type": "object",
        "properties": { "a": { "type": "integer" }, "s": text, "t": text,
            "l": { "type": "array", "maxItems": 5, "items": text },
            "m": { "type": "object", "maxProperties": 5, "additionalProperties": text } },
        "x-kubernetes-validations": [
            { "rule": rule, "messageExpression": "string(self.a)", "optionalOldSelf": true }] } } });
    if let Some(mut server) = defined(&schema) {
        use_widgets(&mut server, &values());
    }
    let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": { "s": {
        "type": "string", "maxLength": 40,
        "x-kubernetes-validations": [{ "rule": "true", "messageExpression": rule }] } } } } });
    if let Some(mut server) = defined(&schema) {
        use_widgets(&mut server, &values());
    }
}

fn rule_examples() -> Vec<Vec<u8>> {
    examples::texts(&[
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
    ])
}

fn read_schema(bytes: &[u8]) {
    let Ok(schema) = serde_json::from_slice::<Value>(bytes) else { return };
    let schema = json!({ "type": "object", "properties": { "spec": schema } });
    if let Some(mut server) = defined(&schema) {
        use_widgets(&mut server, &values());
        let apply = br#"{"apiVersion": "example.io/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec":
            {"l": ["x"]}}"#;
        let path = format!("{WIDGETS}/a?fieldManager=m&force=true");
        send(&mut server, Method::Patch, &path, "application/apply-patch+yaml", apply.to_vec());
    }
}

fn schema_examples() -> Vec<Vec<u8>> {
    examples::texts(&[
        r#"{"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "format": "int32",
            "minimum": 0,
            "exclusiveMinimum": true, "multipleOf": 2, "default": 4}, "s": {"type": "string", "enum":
            ["text", ""], "maxLength": 5,
            "nullable": true}}}"#,
        r#"{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "oneOf": [{"required": ["a"]},
            {"not": {"properties":
            {"s": {"pattern": "^x"}}}}]}"#,
        r#"{"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string",
            "format": "ipv4"},
            "x-kubernetes-list-type": "set", "maxItems": 3, "uniqueItems": false}, "m": {"type": "object",
            "additionalProperties":
            {"x-kubernetes-int-or-string": true}, "maxProperties": 4, "x-kubernetes-map-type": "atomic"}}}"#,
        r#"{"type": "object", "properties": {"l": {"type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys":
            ["name"], "items": {"type": "object", "required": ["name"], "properties": {"name":
            {"type": "string"}}}}, "t":
            {"type": "string", "format": "date-time"}}}"#,
        r#"{"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"apiVersion":
            {"type": "string"}, "kind":
            {"type": "string"}, "metadata": {"type": "object"}},
            "x-kubernetes-preserve-unknown-fields": true}"#,
        r#"{"type": "object", "properties": {"s": {"type": "string", "format": "duration"}, "a":
            {"type": "number", "maximum": 1e308}},
            "x-kubernetes-validations": [{"rule": "self.a > 0.5", "fieldPath": ".a",
            "reason": "FieldValueForbidden"}]}"#,
    ])
}

fn read_pattern(bytes: &[u8]) {
    let pattern = String::from_utf8_lossy(bytes);
    let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": { "s": {
        "type": "string", "pattern": pattern } } } } });
    if let Some(mut server) = defined(&schema) {
        let long = json!({ "s": "aab".repeat(200) });
        use_widgets(&mut server, &[values(), vec![long]].concat());
    }
}

fn pattern_examples() -> Vec<Vec<u8>> {
    examples::texts(&[
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        "^(([0-9a-fA-F]{1,4}:){7}|::)\\d+/\\d{1,3}$",
        "(?i)^\\p{L}+[^\\s\\x00-\\x1f]*$",
        "\\A(?:a|b){2,5}?\\z",
        "^sha256:[a-f0-9]{64}$|\\bword\\B",
    ])
}

fn read_policy(bytes: &[u8]) {
    const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1";
    let Ok(mut spec) = serde_json::from_slice::<Value>(bytes) else { return };
    let Some(members) = spec.as_object_mut() else { return };
    members.entry("matchConstraints").or_insert_with(|| {
        json!({ "resourceRules": [{ "apiGroups": ["*"],
        "apiVersions": ["*"], "operations": ["*"], "resources": ["*"] }] })
    });
    let mut server = cluster::server();
    let policy = json!({ "metadata": { "name": "p" }, "spec": spec }).to_string();
    let path = format!("{POLICIES}/validatingadmissionpolicies");
    send(&mut server, Method::Post, &path, "", policy.into_bytes());
    let binding = json!({ "metadata": { "name": "p" },
        "spec": { "policyName": "p", "validationActions": ["Deny", "Audit"] } });
    let path = format!("{POLICIES}/validatingadmissionpolicybindings");
    send(&mut server, Method::Post, &path, "", binding.to_string().into_bytes());
    use_widgets(&mut server, &values());
    let object = br#"{"metadata": {"name": "b", "labels": {"l": "m"}}, "data": {"k": "v"}}"#;
    send(&mut server, Method::Post, "/api/v1/namespaces/default/configmaps", "", object.to_vec());
    send(&mut server, Method::Delete, "/api/v1/namespaces/default/configmaps/a", "", Vec::new());
}

fn policy_examples() -> Vec<Vec<u8>> {
    examples::texts(&[
        r#"{"failurePolicy": "Fail", "variables": [{"name": "n", "expression": "object.metadata.name"}],
            "validations":
            [{"expression": "variables.n != 'b'", "messageExpression": "'no ' + variables.n",
            "reason": "Forbidden"}]}"#,
        r#"{"matchConditions": [{"name": "m",
            "expression": "request.operation == 'CREATE' && has(object.data)"}], "validations":
            [{"expression": "object.data.all(k, object.data[k].size() < 3)", "message": "long"}]}"#,
        r#"{"validations": [{"expression": "authorizer.group('').resource('pods').check('get').allowed()"},
            {"expression":
            "oldObject == null || oldObject.metadata.?labels.l.orValue('') == 'm'"}], "auditAnnotations":
            [{"key": "k",
            "valueExpression": "string(request.userInfo.groups.size())"}]}"#,
        r#"{"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations":
            ["CREATE"], "resources":
            ["configmaps"], "resourceNames": ["b"]}], "objectSelector": {"matchLabels": {"l": "m"}}},
            "validations": [{"expression":
            "dyn(object).data.k == 'v' && namespaceObject.metadata.name == 'default'"}]}"#,
    ])
}

//! Parses `openAPIV3Schema`.

use serde_json::{Map, Value};

use super::{Composition, Kind, Limits, ListType, Node, Rule};

impl Node {
    /// Parses a schema. Unknown keywords are ignored: the API server rejects invalid definitions.
    pub(crate) fn parse(schema: &Value) -> Self {
        let Some(map) = schema.as_object() else { return Self::default() };
        let flag = |name: &str| map.get(name).and_then(Value::as_bool).unwrap_or(false);
        let mut node = Self {
            types: types(map, flag("x-kubernetes-int-or-string")),
            nullable: flag("nullable"),
            keeps_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            is_embedded: flag("x-kubernetes-embedded-resource"),
            properties: properties(map),
            additional: additional(map.get("additionalProperties")),
            items: map.get("items").map(|items| Box::new(Self::parse(items))),
            required: texts(map.get("required")).into_iter().collect(),
            default: map.get("default").cloned(),
            limits: Limits::parse(map),
            list_type: match map.get("x-kubernetes-list-type").and_then(Value::as_str) {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map,
                _ => ListType::Atomic,
            },
            list_keys: texts(map.get("x-kubernetes-list-map-keys")),
            is_atomic_map: map.get("x-kubernetes-map-type").is_some_and(|kind| kind == "atomic"),
            rules: rules(map),
            compositions: Vec::new(),
        };
        node.compositions = compositions(map, flag("x-kubernetes-int-or-string"));
        node.merge_all_of(map);
        node
    }

    /// Merges branches of `allOf` without inner structure, and keeps the others as compositions.
    fn merge_all_of(&mut self, map: &Map<String, Value>) {
        for raw in list(map.get("allOf")) {
            let branch = Self::parse(raw);
            let inner = !branch.properties.is_empty()
                || branch.items.is_some()
                || branch.additional.is_some()
                || !branch.compositions.is_empty();
            self.limits = self.limits.and(&branch.limits);
            self.required.extend(branch.required.iter().cloned());
            if inner {
                let composition = Composition { keyword: "allOf", raw: raw.clone(), branches: vec![branch] };
                self.compositions.push(composition);
            }
        }
    }
}

/// The allowed types; both of them for `x-kubernetes-int-or-string`.
fn types(map: &Map<String, Value>, int_or_string: bool) -> Vec<Kind> {
    if int_or_string {
        return vec![Kind::Integer, Kind::String];
    }
    let given = map.get("type").and_then(Value::as_str);
    Kind::NAMES.iter().filter(|(_, name)| Some(*name) == given).map(|(kind, _)| *kind).collect()
}

fn properties(map: &Map<String, Value>) -> std::collections::BTreeMap<String, Node> {
    let fields = map.get("properties").and_then(Value::as_object).into_iter().flatten();
    fields.map(|(name, schema)| (name.clone(), Node::parse(schema))).collect()
}

/// The schema of other fields. `true` allows anything.
fn additional(schema: Option<&Value>) -> Option<Box<Node>> {
    match schema? {
        Value::Bool(true) => Some(Box::new(Node { keeps_unknown: true, ..Node::default() })),
        schema @ Value::Object(_) => Some(Box::new(Node::parse(schema))),
        _ => None,
    }
}

fn rules(map: &Map<String, Value>) -> Vec<Rule> {
    let text = |rule: &Value, name: &str| rule[name].as_str().unwrap_or_default().to_owned();
    let rules = list(map.get("x-kubernetes-validations"));
    rules.iter().map(|rule| Rule::new(&text(rule, "rule"), &text(rule, "message"))).collect()
}

/// `anyOf`, `oneOf` and `not`. For `x-kubernetes-int-or-string`, `anyOf` only repeats the types.
fn compositions(map: &Map<String, Value>, int_or_string: bool) -> Vec<Composition> {
    let mut found = Vec::new();
    for keyword in ["anyOf", "oneOf"] {
        let branches: Vec<Node> = list(map.get(keyword)).iter().map(Node::parse).collect();
        let repeats_types = int_or_string && keyword == "anyOf";
        if !branches.is_empty() && !repeats_types {
            found.push(Composition { keyword, raw: map[keyword].clone(), branches });
        }
    }
    if let Some(raw) = map.get("not") {
        found.push(Composition { keyword: "not", raw: raw.clone(), branches: vec![Node::parse(raw)] });
    }
    found
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn texts(value: Option<&Value>) -> Vec<String> {
    list(value).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

//! The form in which a real server prints parts of objects: its internal types, as JSON with the names of Go fields.
//! They have no JSON tags, so members are in the order of the struct, and absent ones have their zero value.

mod diff;
mod tree;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use self::diff::unified;
use self::tree::Node;
use super::items;

/// The internal types, one in each line: the name of the type, then its fields in the order of the struct, as
/// `NAME:SHAPE`, or `NAME=JSON:SHAPE` if the JSON name is not the name with a small first letter. `^` before a JSON name
/// means that the field is in the parent object. A shape is `s` (text), `n` (number), `b` (flag), `q` (quantity), `i`
/// (number or text), `J` (label selector), `M` (metadata), `A` (any value, as in JSON), or the name of a type, after `?`
/// (pointer), `[` (list) or `%` (map).
const TYPES: &str = include_str!("types.txt");

/// The fields of metadata, in the order of the Go struct.
const METADATA: [&str; 14] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

#[derive(Debug)]
struct Field {
    name: &'static str,
    /// The name in JSON; with a small first letter if the name in Go is not special.
    json: String,
    in_parent: bool,
    shape: &'static str,
}

static FIELDS: LazyLock<BTreeMap<&str, Vec<Field>>> = LazyLock::new(|| {
    TYPES
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, fields)| (name, fields.split(' ').filter_map(parse).collect()))
        .collect()
});

fn parse(field: &'static str) -> Option<Field> {
    let (names, shape) = field.split_once(':')?;
    let (name, json) = names.split_once('=').unwrap_or((names, ""));
    let in_parent = json.starts_with('^');
    let json = match json.trim_start_matches('^') {
        "" => name.get(..1)?.to_lowercase() + name.get(1..)?,
        json => json.to_owned(),
    };
    Some(Field { name, json, in_parent, shape })
}

/// The JSON names of the fields of an internal type.
pub(super) fn fields(type_name: &str) -> impl Iterator<Item = &'static str> + use<> {
    FIELDS.get(type_name).into_iter().flatten().map(|field| &*field.json)
}

/// A value of an internal type as JSON in one line. `?` before the name is a pointer.
pub(super) fn internal_form(value: &Value, type_name: &str) -> String {
    node(value, &Value::Null, type_name).compact()
}

/// The difference between two values of an internal type (`diff.Diff`).
pub(super) fn difference(old: &Value, new: &Value, type_name: &str) -> String {
    let pretty = |value| node(value, &Value::Null, type_name).pretty();
    unified(&pretty(old), &pretty(new))
}

/// The tree of a value. `parent` has the fields that JSON keeps one level higher.
fn node(value: &Value, parent: &Value, shape: &str) -> Node {
    let optional = shape.strip_prefix('?');
    let shape = optional.unwrap_or(shape);
    if value.is_null() && (optional.is_some() || shape.starts_with(['[', '%'])) {
        return Node::Scalar("null".to_owned());
    }
    if let Some(inner) = shape.strip_prefix('[') {
        return Node::List(items(value).iter().map(|one| node(one, &Value::Null, inner)).collect());
    }
    if let Some(inner) = shape.strip_prefix('%') {
        let entries = value.as_object().into_iter().flatten();
        return Node::Map(entries.map(|(key, one)| (key.clone(), node(one, &Value::Null, inner))).collect());
    }
    match (shape, value) {
        ("n" | "i", Value::Null) => Node::Scalar("0".to_owned()),
        ("b", Value::Null) => Node::Scalar("false".to_owned()),
        ("s", Value::Null) => Node::Scalar("\"\"".to_owned()),
        ("q", Value::Null) => Node::Scalar("\"0\"".to_owned()),
        ("J", _) => in_order(value, &["matchLabels", "matchExpressions"]),
        ("n" | "i" | "b" | "s" | "q" | "A", _) => Node::plain(value),
        _ => structure(value, parent, shape),
    }
}

fn structure(value: &Value, parent: &Value, type_name: &str) -> Node {
    let fields = FIELDS.get(type_name).map(Vec::as_slice).unwrap_or_default();
    let mut entries = Vec::new();
    for field in fields {
        if field.shape == "M" {
            let Node::Map(own) = in_order(&value["metadata"], &METADATA) else { continue };
            entries.extend(own);
            continue;
        }
        let holder = if field.in_parent { parent } else { value };
        entries.push((field.name.to_owned(), node(&holder[&field.json], value, field.shape)));
    }
    Node::Map(entries)
}

/// The fields of an object that has the same names in JSON.
fn in_order(value: &Value, fields: &[&str]) -> Node {
    let given = fields.iter().filter(|field| !value[**field].is_null());
    Node::Map(given.map(|field| ((*field).to_owned(), Node::plain(&value[*field]))).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_are_complete() {
        for field in FIELDS.values().flatten() {
            let name = field.shape.trim_start_matches(['?', '[', '%']);
            assert!(name.len() == 1 || FIELDS.contains_key(name), "{name}");
        }
    }

    #[test]
    fn values_have_all_fields_in_the_order_of_their_type() {
        let profile = json!({ "type": "RuntimeDefault", "localhostProfile": "<x" });
        let shown = r#"{"Type":"RuntimeDefault","LocalhostProfile":"\u003cx"}"#;
        assert_eq!(internal_form(&profile, "SeccompProfile"), shown);
        let spec = json!({ "hostNetwork": true, "securityContext": {}, "overhead": { "cpu": "1" } });
        let form = internal_form(&spec, "PodSpec");
        assert!(form.contains(r#""SecurityContext":{"HostNetwork":true,"HostPID":false,"#), "{form}");
        assert!(form.contains(r#""Overhead":{"cpu":"1"},"EnableServiceLinks":null"#), "{form}");
    }

    #[test]
    fn differences_show_three_lines_around_each_change() {
        let (old, new) = (json!({ "name": "e", "image": "i" }), json!({ "name": "e", "image": "j" }));
        let expected = "@@ -1,6 +1,6 @@\n {\n  \"Name\": \"e\",\n- \"Image\": \"i\",\n+ \"Image\": \"j\",\n  \
                        \"Command\": null,\n  \"Args\": null,\n  \"WorkingDir\": \"\",\n";
        assert_eq!(difference(&old, &new, "EphemeralContainer"), expected);
    }
}

//! Field paths in the syntax of scenarios: `status.history[0].state`, `data["usc.cpi.cv-version"]`.

use serde_json::Value;
use windtunnel_apiserver::known_fields::{FieldStep, unknown_field};
use windtunnel_core::Resource;
use windtunnel_core::text::nearest;

/// One component of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part<'a> {
    Name(&'a str),
    Index(usize),
}

/// The error for a text that is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a path such as `status.history[0].state` or `data[\"a.b\"]`, found `{0}`")]
pub struct InvalidPath(pub String);

/// Returns the value at `path`: names separated by dots, `[0]` for a list element, `["a.b"]` or `['a.b']` for
/// a name with dots.
///
/// Returns `None` for a missing value or an invalid path.
pub fn find<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    parts(path)?.into_iter().try_fold(value, |value, part| match part {
        Part::Name(name) => value.get(name),
        Part::Index(index) => value.get(index),
    })
}

/// Returns the value at `path` as the text that checks compare: a string unchanged, anything else as JSON. A
/// missing value and null give the empty text.
pub fn text_at(value: &Value, path: &str) -> String {
    match find(value, path) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Checks that a text is a path.
///
/// # Errors
/// [`InvalidPath`] with the text.
pub fn validate(path: &str) -> Result<(), InvalidPath> {
    parts(path).map(drop).ok_or_else(|| InvalidPath(path.to_owned()))
}

/// Returns why no object of a kind has the field at `path`: ``no such field `status.histroy`; did you mean
/// `status.history`?``. `definition` is the CustomResourceDefinition of the kind, if it has one.
///
/// Returns `None` if objects can have the field, if the kind is unknown, or for an invalid path.
pub fn no_such_field(resource: &Resource, definition: Option<&Value>, path: &str) -> Option<String> {
    let parts = parts(path)?;
    let unknown = unknown_field(resource, definition, &steps(&parts))?;
    let above = parts.get(..unknown.depth).unwrap_or_default();
    let place = |last: &Part<'_>| text_of(&[above, std::slice::from_ref(last)].concat());
    let found = parts.get(unknown.depth)?;
    let hint = match found {
        Part::Name(name) if unknown.known.is_empty() => {
            let list = text_of(above);
            format!(": expected a number as in `{list}[0]`, or nothing, after `{list}`, found `{name}`")
        }
        Part::Name(name) => nearest(name, unknown.known.iter().map(String::as_str))
            .map(|near| format!("; did you mean `{}`?", place(&Part::Name(near))))
            .unwrap_or_default(),
        Part::Index(_) => format!(": `{}` is not a list", text_of(above)),
    };
    Some(format!("no such field `{}`{hint}", place(found)))
}

/// Returns the paths of the fields in an object, or in a part of one such as a patch, that no object of the kind can have,
/// sorted. Of nested fields, it returns the outermost.
pub fn unknown_fields(resource: &Resource, definition: Option<&Value>, content: &Value) -> Vec<String> {
    let mut found = Vec::new();
    add_unknown(resource, definition, content, &mut Vec::new(), &mut found);
    found.sort();
    found
}

fn add_unknown<'v>(
    resource: &Resource,
    definition: Option<&Value>,
    value: &'v Value,
    path: &mut Vec<Part<'v>>,
    found: &mut Vec<String>,
) {
    let inner: Vec<(Part<'v>, &'v Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (Part::Name(name), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, value)| (Part::Index(index), value)).collect()
        }
        _ => Vec::new(),
    };
    for (part, value) in inner {
        path.push(part);
        let last = path.last().is_some_and(|part| matches!(part, Part::Name(_)));
        match unknown_field(resource, definition, &steps(path)) {
            Some(_) if last => found.push(text_of(path)),
            _ => add_unknown(resource, definition, value, path, found),
        }
        path.pop();
    }
}

fn steps<'p>(parts: &[Part<'p>]) -> Vec<FieldStep<'p>> {
    let step = |part: &Part<'p>| match part {
        Part::Name(name) => FieldStep::Name(name),
        Part::Index(_) => FieldStep::Index,
    };
    parts.iter().map(step).collect()
}

/// Returns a path as text.
fn text_of(parts: &[Part<'_>]) -> String {
    parts.iter().fold(String::new(), |path, part| match part {
        Part::Index(index) => format!("{path}[{index}]"),
        Part::Name(name) if name.contains(['.', '[', ' ']) => format!("{path}[\"{name}\"]"),
        Part::Name(name) if path.is_empty() => (*name).to_owned(),
        Part::Name(name) => format!("{path}.{name}"),
    })
}

fn parts(path: &str) -> Option<Vec<Part<'_>>> {
    let mut found = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let quoted = [("[\"", "\"]"), ("['", "']")];
        if let Some((inner, end)) =
            quoted.iter().find_map(|(start, end)| Some((rest.strip_prefix(start)?, end)))
        {
            let (name, after) = inner.split_once(end)?;
            found.push(Part::Name(name));
            rest = after;
        } else if let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner.split_once(']')?;
            found.push(Part::Index(index.parse().ok()?));
            rest = after;
        } else {
            // A dot separates a part from the next name; the first name has none.
            let names = if found.is_empty() { rest } else { rest.strip_prefix('.')? };
            let end = names.find(['.', '[']).unwrap_or(names.len());
            let (name, after) = names.split_at(end);
            if name.is_empty() || name.contains([']', '"', ' ']) {
                return None;
            }
            found.push(Part::Name(name));
            rest = after;
        }
    }
    if found.is_empty() { None } else { Some(found) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_select_fields_list_elements_and_names_with_dots() {
        let value = json!({"status": {"history": [{"state": "Completed", "verified": true}], "n": 3},
            "data": {"a.b": "x"}, "none": null});
        for (path, text) in [
            ("status.history[0].state", "Completed"),
            ("status.history[0].verified", "true"),
            ("status.history[1].state", ""),
            ("status.n", "3"),
            ("data[\"a.b\"]", "x"),
            ("data['a.b']", "x"),
            ("none", ""),
            ("status.history[0]", r#"{"state":"Completed","verified":true}"#),
        ] {
            assert_eq!(text_at(&value, path), text, "{path}");
            validate(path).unwrap();
        }
    }

    #[test]
    fn a_field_that_no_object_has_is_named_with_the_nearest_one() {
        let why =
            |path: &str| no_such_field(&windtunnel_core::resources::NODES, None, path).unwrap_or_default();
        assert_eq!(why("status.conditions[0].status"), "");
        assert_eq!(
            why("status.condition[0].status"),
            "no such field `status.condition`; did you mean `status.conditions`?"
        );
        assert_eq!(why("spec[0]"), "no such field `spec[0]`: `spec` is not a list");
        assert!(why("status.conditions.status").contains("expected a number as in `status.conditions[0]`"));
    }

    #[test]
    fn unknown_fields_of_a_patch_have_their_paths() {
        let patch = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"unschedulabel": {"x": 1}, "taints": [{"kye": "a"}]}});
        let found = unknown_fields(&windtunnel_core::resources::NODES, None, &patch);
        assert_eq!(found, ["spec.taints[0].kye", "spec.unschedulabel"]);
    }

    #[test]
    fn rejects_invalid_paths() {
        for path in
            ["", ".status", "status.", "status..x", "status[x]", "status[0", "data[\"a", "a b", "a[0]b"]
        {
            assert_eq!(validate(path), Err(InvalidPath(path.to_owned())), "{path}");
        }
    }
}

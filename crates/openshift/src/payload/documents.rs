//! The objects in a manifest file.

use serde_json::Value;
use windtunnel_core::yaml;

/// Parses the objects of a YAML stream or a JSON text. Lists are split into their items.
///
/// # Errors
/// `<line>:<column>: <what>` of the first error.
pub(super) fn parse_objects(path: &str, text: &str) -> Result<Vec<Value>, String> {
    let documents = if super::extension(path) == Some("json") { json(text)? } else { stream(text)? };
    let mut objects = Vec::new();
    for (line, document) in documents {
        add_objects(document, &mut objects).map_err(|what| format!("{line}:1: {what}"))?;
    }
    Ok(objects)
}

fn json(text: &str) -> Result<Vec<(usize, Value)>, String> {
    let value = serde_json::from_str(text).map_err(|error| json_error(&error))?;
    Ok(vec![(1, value)])
}

/// A JSON error with its position in front.
pub(super) fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    format!("{}:{}: {what}", error.line().max(1), error.column().max(1))
}

/// The documents of a stream, each with its first line. Empty documents are omitted. Of duplicate keys the
/// last value wins, as in the operator.
fn stream(text: &str) -> Result<Vec<(usize, Value)>, String> {
    let documents: Vec<Value> = yaml::from_str_multi_lenient(text).map_err(|error| error.to_string())?;
    let mut starts = Vec::new();
    let mut start = None;
    for (index, line) in text.lines().enumerate() {
        let is_blank = line.trim().is_empty() || line.trim_start().starts_with('#');
        if line == "---" || line.starts_with("--- ") {
            starts.extend(start.take());
        } else if !is_blank && start.is_none() {
            start = Some(index + 1);
        }
    }
    starts.extend(start);
    let lines = starts.into_iter().chain(std::iter::repeat(1));
    Ok(documents.into_iter().filter(|document| !document.is_null()).zip(lines).map(|(d, l)| (l, d)).collect())
}

/// Adds a document with a version, a kind and a name, or all items of a list.
fn add_objects(document: Value, objects: &mut Vec<Value>) -> Result<(), String> {
    if !document.is_object() {
        return Err("expected a Kubernetes object (a map)".to_owned());
    }
    let text = |field: &str| document[field].as_str().filter(|text| !text.is_empty());
    let Some(kind) = text("kind") else {
        return Err("expected `kind` in this Kubernetes object, found none".to_owned());
    };
    if text("apiVersion").is_none() {
        return Err(format!("expected `apiVersion` in this {kind}, found none"));
    }
    if kind == "List" || document["items"].is_array() && kind.ends_with("List") {
        let items = document["items"].as_array().cloned().unwrap_or_default();
        return items.into_iter().try_for_each(|item| add_objects(item, objects));
    }
    if document["metadata"]["name"].as_str().is_none_or(str::is_empty) {
        return Err(format!("expected `metadata.name` in this {kind}, found none"));
    }
    objects.push(document);
    Ok(())
}

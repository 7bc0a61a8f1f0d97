//! Parses a file of a dump: objects, lists of objects, or an answer of Prometheus.

use serde_json::{Value, json};
use windtunnel_core::{Object, yaml};

use super::alerts;

#[derive(Debug)]
pub(super) enum Content {
    /// All objects; empty for a file without any.
    Objects(Vec<Object>),
    /// The body of an answer to `/api/v1/alerts`.
    Alerts(String),
}

/// Parses YAML with one or more documents, or JSON.
///
/// # Errors
/// The file is neither: `path:line:column: why`.
pub(super) fn parse(path: &str, text: &str) -> Result<Content, String> {
    let is_answer = alerts::is_answer(path);
    let documents = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map(|value| vec![value]).map_err(|error| {
            format!("{path}:{}:{}: expected JSON: {}", error.line(), error.column(), plain(&error))
        })
    } else {
        yaml::from_str_multi_large::<Value>(text).map_err(|error| format!("{path}:{error}"))
    };
    let documents = match documents {
        Ok(documents) => documents,
        // A later stage reports the invalid answer as `oc` does.
        Err(_) if is_answer => return Ok(Content::Alerts(text.to_owned())),
        Err(error) => return Err(error),
    };
    if let [document] = &documents[..]
        && let Some(alerts) = alerts::of_answer(document)
    {
        return Ok(Content::Alerts(alerts));
    }
    let mut objects = Vec::new();
    for document in documents {
        flatten(document, &mut objects);
    }
    Ok(Content::Objects(objects))
}

/// Returns the error message without the position at its end.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ").map_or(text.clone(), |end| text[..end].to_owned())
}

/// Expands lists. Their items may leave out kind and apiVersion, which the list implies.
fn flatten(value: Value, objects: &mut Vec<Object>) {
    let kind = value["kind"].as_str().unwrap_or_default();
    let item_kind = kind.strip_suffix("List").filter(|_| value["items"].is_array());
    let Some(item_kind) = item_kind.map(str::to_owned) else {
        if !kind.is_empty() && value["metadata"]["name"].is_string() {
            objects.push(Object::new(value));
        }
        return;
    };
    let mut value = value;
    let api_version = value["apiVersion"].take();
    let Value::Array(items) = value["items"].take() else { return };
    for mut item in items {
        if item.is_object() && item["kind"].is_null() && !item_kind.is_empty() {
            item["kind"] = json!(item_kind);
            item["apiVersion"] = api_version.clone();
        }
        flatten(item, objects);
    }
}

//! Parses a file of a dump: objects, lists of objects, or an answer of Prometheus.

use serde_json::{Value, json};
use windtunnel_core::Object;
use windtunnel_core::bounded::{self, Exceeded, Limits};

use super::alerts;

#[derive(Debug)]
pub(super) enum Content {
    /// All objects; empty for a file without any.
    Objects(Vec<Object>),
    /// The body of an answer to `/api/v1/alerts`.
    Alerts(String),
}

/// The reason why a file cannot be parsed.
#[derive(Debug)]
pub(super) enum DocumentError {
    /// It is too large.
    Exceeded(Exceeded),
    /// It is invalid: `path:line:column: why`.
    Invalid(String),
}

/// Parses YAML with one or more documents, or JSON. Takes values and documents from the limits, but no memory, since the caller
/// decides what to keep.
///
/// # Errors
/// The file is neither, or too large.
pub(super) fn parse(path: &str, text: &str, left: &mut Limits) -> Result<Content, DocumentError> {
    let documents = match documents(path, text, left) {
        Ok(documents) => documents,
        // A later stage reports the invalid answer as `oc` does.
        Err(DocumentError::Invalid(_)) if alerts::is_answer(path) => {
            return Ok(Content::Alerts(text.to_owned()));
        }
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

/// Parses JSON, which is many times faster than YAML; and YAML if the text is no JSON.
fn documents(path: &str, text: &str, left: &mut Limits) -> Result<Vec<Value>, DocumentError> {
    let start = text.trim_start();
    if start.is_empty() {
        return Ok(Vec::new());
    }
    if start.starts_with(['{', '[']) {
        return json_or_flow_style(path, text, left);
    }
    bounded::yaml(text, left).map_err(|failure| of_parser(path, failure))
}

/// Parses a text that begins with a bracket: JSON, or YAML in flow style, such as a mapping in one line.
fn json_or_flow_style(path: &str, text: &str, left: &mut Limits) -> Result<Vec<Value>, DocumentError> {
    let no_json = match bounded::json(text, left) {
        Ok(value) => return Ok(vec![value]),
        Err(failure @ bounded::TextError::Json(_)) => failure,
        Err(failure) => return Err(of_parser(path, failure)),
    };
    let (is_named, is_quoted) = (is_named_json(path), starts_with_quote(text));
    if is_named && is_quoted {
        // Some damaged JSON is YAML with another meaning.
        return Err(of_parser(path, no_json));
    }
    // Damaged JSON takes nothing from the limits.
    let mut left_after = left.clone();
    match bounded::yaml(text, &mut left_after) {
        Err(_) if is_named || is_quoted => Err(of_parser(path, no_json)),
        parsed => {
            *left = left_after;
            parsed.map_err(|failure| of_parser(path, failure))
        }
    }
}

/// Returns whether a file has JSON by its name.
fn is_named_json(path: &str) -> bool {
    let path = path.strip_suffix(".gz").unwrap_or(path);
    path.rsplit_once('.').is_some_and(|(_, extension)| extension == "json")
}

/// Returns whether the first name or text behind the brackets is quoted, as always in JSON and rarely in YAML.
fn starts_with_quote(text: &str) -> bool {
    let is_bracket = |char: char| char.is_whitespace() || char == '{' || char == '[';
    text.trim_start_matches(is_bracket).starts_with('"')
}

fn of_parser(path: &str, failure: bounded::TextError) -> DocumentError {
    match failure {
        bounded::TextError::Exceeded(exceeded) => DocumentError::Exceeded(exceeded),
        bounded::TextError::Yaml(error) => DocumentError::Invalid(format!("{path}:{error}")),
        bounded::TextError::Json(error) => DocumentError::Invalid(format!(
            "{path}:{}:{}: expected JSON: {}",
            error.line(),
            error.column(),
            plain(&error)
        )),
    }
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

//! Normalizes an answer for a comparison.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use crate::corpus::find;
use crate::corpus::pointer::{parts, remove_parts};

const PLACEHOLDERS: [(&str, &str); 10] = [
    ("uid", "<uid>"),
    ("resourceVersion", "<rv>"),
    ("creationTimestamp", "<time>"),
    ("deletionTimestamp", "<time>"),
    ("time", "<time>"),
    ("lastTransitionTime", "<time>"),
    ("lastUpdateTime", "<time>"),
    ("continue", "<continue>"),
    ("storageVersionHash", "<hash>"),
    ("lastHeartbeatTime", "<time>"),
];

/// Replaces values that differ from run to run: the names of a case, UIDs, times, resource versions.
#[derive(Debug, Clone)]
pub struct Volatile {
    names: Vec<(String, &'static str)>,
}

impl Volatile {
    /// The names of a case end with `tail`: `ns-TAIL`, `cTAIL`, `CTAIL`.
    pub fn new(tail: &str) -> Self {
        let names = [("ns-", "<ns>"), ("c", "<case>"), ("C", "<Case>")];
        Self { names: names.map(|(head, placeholder)| (format!("{head}{tail}"), placeholder)).into() }
    }

    /// A text with placeholders.
    pub fn text(&self, text: &str) -> String {
        static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
            [
                (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uid>"),
                (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b", "<time>"),
                (r"(?i)\b(too old resource version: )\d+( \()\d+\)", "${1}<rv>${2}<rv>)"),
                (r"(?i)\b(resource version: )\d+", "${1}<rv>"),
                (r"\bhash=[0-9A-F]{32,}", "hash=<hash>"),
                (r#"(resourceVersion\\*":\\*")[0-9]+"#, "${1}<rv>"),
                (r#"(resourceVersion: ")[1-9][0-9]*""#, "${1}<rv>\""),
                (r"(continue: )[\w-]{20,}", "${1}<continue>"),
                (r"(Too large resource version: <rv>, current: )\d+", "${1}<rv>"),
                (r#"(serverAddress: )"?[0-9.]+:[0-9]+"?"#, "${1}<address>"),
                // In a message that shows a whole Service.
                (r#"(clusterIPs?\\*":\[?\\*")10\.[0-9.]+"#, "${1}<ip>"),
                (r"[\w./-]*pkg/api/legacyscheme", "pkg/api/legacyscheme"),
                (
                    r"(ResourceVersion in precondition: |ResourceVersion in object meta: |ResourceVersion in record \()\d+",
                    "${1}<rv>",
                ),
            ]
            .map(|(pattern, text)| (Regex::new(pattern).expect("valid"), text))
            .into()
        });
        let mut text = text.to_owned();
        for (name, placeholder) in &self.names {
            if text.contains(name) {
                text = text.replace(name, placeholder);
            }
        }
        if !text.contains("legacyscheme") && !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return text;
        }
        for (pattern, replacement) in RULES.iter() {
            if let Cow::Owned(changed) = pattern.replace_all(&text, *replacement) {
                text = changed;
            }
        }
        text
    }

    fn clean(&self, value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                Value::Object(map.iter().map(|(key, value)| self.clean_member(key, value)).collect())
            }
            Value::Array(items) => items.iter().map(|item| self.clean(item)).collect(),
            Value::String(text) => json!(self.text(text)),
            other => other.clone(),
        }
    }

    fn clean_member(&self, key: &str, value: &Value) -> (String, Value) {
        let placeholder = PLACEHOLDERS.iter().find(|(name, _)| *name == key);
        let value = match (placeholder, value) {
            (Some(("resourceVersion", _)), Value::String(text)) if text == "0" => json!("0"),
            (Some((_, placeholder)), Value::String(text)) if !text.is_empty() => json!(placeholder),
            _ => return (self.text(key), self.clean(value)),
        };
        (key.to_owned(), value)
    }
}

/// Sorts a list whose order does not matter.
pub fn sort(body: &mut Value, pointer: &str) {
    if let Some(items) = body.pointer_mut(pointer).and_then(Value::as_array_mut) {
        items.sort_by_cached_key(|item| {
            (item["name"].to_string(), item["metadata"]["name"].to_string(), item.to_string())
        });
    }
}

/// Sorts the errors of a Status. The server finds them by walking maps.
fn any_order(body: &mut Value) {
    let Some(causes) = body.pointer_mut("/details/causes").and_then(Value::as_array_mut) else { return };
    if causes.len() < 2 {
        return;
    }
    causes.sort_by_key(Value::to_string);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut texts: Vec<String> = causes
        .iter()
        .map(|cause| format!("{}: {}", text(&cause["field"]), text(&cause["message"])))
        .collect();
    texts.sort();
    texts.dedup();
    let Some(message) = body["message"].as_str().map(str::to_owned) else { return };
    let Some(start) = message.find(": [").map(|at| at + 3) else { return };
    let mut rest = message.clone();
    let mut longest = texts.clone();
    longest.sort_by_key(|text| std::cmp::Reverse(text.len()));
    for text in &longest {
        rest = rest.replacen(text.as_str(), "", 1);
    }
    if rest.get(start..) == Some(&(", ".repeat(texts.len() - 1) + "]")) {
        body["message"] = json!(format!("{}{}]", &message[..start], texts.join(", ")));
    }
}

/// Sorts the entries of managers. The server orders them by time, and the times differ from the recording.
fn sort_managers(object: &mut Value) {
    let text = |entry: &Value| {
        ["manager", "operation", "subresource", "apiVersion"].map(|field| entry[field].to_string())
    };
    if let Some(Value::Array(entries)) = object.pointer_mut("/metadata/managedFields") {
        entries.sort_by_cached_key(text);
    }
}

/// The part of an answer that a step compares, with placeholders.
pub fn shape(step: &Value, body: &Value, volatile: &Volatile) -> Value {
    let mut body = volatile.clean(body);
    any_order(&mut body);
    if let Some(pick) = step["pick"].as_array() {
        let picked = pick.iter().filter_map(Value::as_str);
        return Value::Object(picked.map(|pointer| (pointer.to_owned(), find(&body, pointer))).collect());
    }
    let managed = [
        "/metadata/managedFields",
        "/items/*/metadata/managedFields",
        "/rows/*/object/metadata/managedFields",
        "/object/metadata/managedFields",
    ];
    let managed = if step["managedFields"] == true { &managed[..0] } else { &managed[..] };
    sort_managers(&mut body);
    for row in body.get_mut("rows").and_then(Value::as_array_mut).into_iter().flatten() {
        row.get_mut("object").map(sort_managers);
    }
    let ignored = step["ignore"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for pointer in managed.iter().copied().chain(ignored) {
        remove_parts(&mut body, &parts(pointer), true);
    }
    body
}

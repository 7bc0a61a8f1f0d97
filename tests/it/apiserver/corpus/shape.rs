//! Normalizes the responses of two servers for a comparison.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

fn parts(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect()
}

pub(super) fn find(value: &Value, pointer: &str) -> Value {
    let mut at = value.clone();
    for part in parts(pointer) {
        at = match (&at, part.split_once('=')) {
            (Value::Array(items), Some((key, wanted))) => {
                let pointer = format!("/{}", key.replace('.', "/"));
                items.iter().find(|item| find(item, &pointer) == wanted).cloned().unwrap_or_default()
            }
            (Value::Array(items), None) => {
                part.parse::<usize>().ok().and_then(|index| items.get(index)).cloned().unwrap_or_default()
            }
            (Value::Object(map), _) => map.get(&part).cloned().unwrap_or_default(),
            _ => return Value::Null,
        };
    }
    at
}

fn remove(value: &mut Value, path: &[String]) {
    let Some((head, tail)) = path.split_first() else { return };
    match value {
        Value::Object(map) if head == "*" => map.values_mut().for_each(|inner| remove(inner, tail)),
        Value::Array(items) if head == "*" => items.iter_mut().for_each(|inner| remove(inner, tail)),
        Value::Object(map) if tail.is_empty() => {
            map.remove(head);
        }
        Value::Object(map) => {
            if let Some(inner) = map.get_mut(head) {
                remove(inner, tail);
            }
        }
        Value::Array(items) => {
            if let Some(inner) = head.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                if tail.is_empty() { *inner = json!("<ignored>") } else { remove(inner, tail) }
            }
        }
        _ => {}
    }
}

const VOLATILE: [(&str, &str); 10] = [
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

/// Replaces values that differ from run to run.
pub(super) fn volatile(text: &str) -> String {
    static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uid>"),
            (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b", "<time>"),
            (r"(?i)\b(too old resource version: )\d+( \()\d+\)", "${1}<rv>${2}<rv>)"),
            (r"(?i)\b(resource version: )\d+", "${1}<rv>"),
            (r"\bhash=[0-9A-F]{32,}", "hash=<hash>"),
            (r"(ResourceVersion in precondition: |ResourceVersion in record \()\d+", "${1}<rv>"),
        ]
        .map(|(pattern, text)| (Regex::new(pattern).unwrap(), text))
        .into()
    });
    let mut text = text.replace("ns-test", "<ns>").replace("ctest", "<case>").replace("Ctest", "<Case>");
    for (pattern, replacement) in RULES.iter() {
        text = pattern.replace_all(&text, *replacement).into_owned();
    }
    text
}

fn clean(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| {
                    let placeholder = VOLATILE.iter().find(|(name, _)| name == key);
                    match (placeholder, value) {
                        (Some(("resourceVersion", _)), Value::String(text)) if text == "0" => {
                            (key.clone(), json!("0"))
                        }
                        (Some((_, placeholder)), Value::String(text)) if !text.is_empty() => {
                            (key.clone(), json!(placeholder))
                        }
                        _ => (volatile(key), clean(value)),
                    }
                })
                .collect(),
        ),
        Value::Array(items) => items.iter().map(clean).collect(),
        Value::String(text) => json!(volatile(text)),
        other => other.clone(),
    }
}

/// Sorts a list whose order does not matter.
pub(super) fn sort(body: &mut Value, pointer: &str) {
    if let Some(items) = body.pointer_mut(pointer).and_then(Value::as_array_mut) {
        items.sort_by_cached_key(|item| {
            (item["name"].to_string(), item["metadata"]["name"].to_string(), item.to_string())
        });
    }
}

/// Sorts the errors of a Status.
fn any_order(body: &mut Value) {
    let Some(causes) = body.pointer_mut("/details/causes").and_then(Value::as_array_mut) else { return };
    if causes.len() < 2 {
        return;
    }
    causes.sort_by_key(Value::to_string);
    let mut texts: Vec<String> = causes
        .iter()
        .map(|cause| {
            format!("{}: {}", cause["field"].as_str().unwrap_or(""), cause["message"].as_str().unwrap_or(""))
        })
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

pub(super) fn shape(step: &Value, body: &Value) -> Value {
    let mut body = clean(body);
    any_order(&mut body);
    if let Some(pick) = step["pick"].as_array() {
        let picked = pick.iter().map(|pointer| pointer.as_str().unwrap());
        return Value::Object(picked.map(|pointer| (pointer.to_owned(), find(&body, pointer))).collect());
    }
    let managed = [
        "/metadata/managedFields",
        "/items/*/metadata/managedFields",
        "/rows/*/object/metadata/managedFields",
        "/object/metadata/managedFields",
    ];
    let managed = if step["managedFields"] == true { &managed[..0] } else { &managed[..] };
    if let Some(Value::Array(entries)) = body.pointer_mut("/metadata/managedFields") {
        // The server orders the entries by time, and the times differ from the recording.
        let text = |entry: &Value| {
            ["manager", "operation", "subresource", "apiVersion"].map(|field| entry[field].to_string())
        };
        entries.sort_by_key(text);
    }
    let ignored = step["ignore"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for pointer in managed.iter().copied().chain(ignored) {
        remove(&mut body, &parts(pointer));
    }
    body
}

pub(super) fn compare(want: &Value, got: &Value, path: &str, out: &mut Vec<String>) {
    let short = |value: &Value| value.to_string().chars().take(420).collect::<String>();
    match (want, got) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                match b.get(key) {
                    Some(other) => compare(value, other, &format!("{path}/{key}"), out),
                    None => out.push(format!("{path}/{key}: missing, want {}", short(value))),
                }
            }
            for (key, value) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                out.push(format!("{path}/{key}: unexpected {}", short(value)));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (one, other)) in a.iter().zip(b).enumerate() {
                compare(one, other, &format!("{path}/{index}"), out);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        _ if want == got => {}
        _ => out.push(format!("{path}: want {} got {}", short(want), short(got))),
    }
}

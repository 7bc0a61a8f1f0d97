//! Validation of ConfigMaps and Secrets.

use base64::Engine as _;
use serde_json::Value;

use super::{Errors, Path, TEXT, absent, immutable_as, text};
use crate::gotext;

/// Maximum size of the data of one object, in bytes.
const MOST_DATA: usize = 1024 * 1024;
const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
    'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const REDACTED: &str = "<secret contents redacted>";

/// The problems of a key of a ConfigMap or Secret (`IsConfigMapKey`).
pub(super) fn key_problems(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if key.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) {
        problems.push(KEY.to_owned());
    }
    match key {
        "." => problems.push("must not be '.'".to_owned()),
        ".." => problems.push("must not be '..'".to_owned()),
        _ if key.starts_with("..") => problems.push("must not start with '..'".to_owned()),
        _ => {}
    }
    problems
}

/// The number of bytes that base64 decodes to.
fn decoded_length(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|b| *b == b'=').count().min(2);
    (text.len() / 4 * 3).saturating_sub(padding)
}

pub(super) fn config_map(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let mut size = 0;
    for (field, binary) in [("data", false), ("binaryData", true)] {
        let at = Path::Root.child(field);
        for (key, value) in object[field].as_object().into_iter().flatten() {
            errors.each(at.key(key), key, key_problems(key));
            if !binary && object["binaryData"].get(key).is_some() {
                errors.invalid(at.key(key), key.as_str(), "duplicate of key present in binaryData");
            }
            size += if binary { decoded_length(text(value)) } else { text(value).len() };
        }
    }
    if size > MOST_DATA {
        // A real server prints the path of the whole object so.
        errors.too_long(Path::Root.key(""), MOST_DATA as u64);
    }
    immutable_data(object, old, &["data", "binaryData"], errors);
}

/// An immutable object keeps its data and stays immutable.
fn immutable_data(object: &Value, old: Option<&Value>, fields: &[&str], errors: &mut Errors<'_>) {
    const WHY: &str = "field is immutable when `immutable` is set";
    let Some(old) = old.filter(|old| old["immutable"] == true) else { return };
    if object["immutable"] != true {
        errors.forbidden(Path::Root.child("immutable"), WHY);
    }
    for field in fields {
        if object[*field] != old[*field] {
            errors.forbidden(Path::Root.child(field), WHY);
        }
    }
}

pub(super) fn secret(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("data");
    let mut size = 0;
    for (key, value) in object["data"].as_object().into_iter().flatten() {
        errors.each(at.key(key), key, key_problems(key));
        size += decoded_length(text(value));
    }
    if size > MOST_DATA {
        errors.too_long(at, MOST_DATA as u64);
    }
    secret_type(object, errors);
    if let Some(old) = old {
        immutable_as(TEXT, &object["type"], Some(&old["type"]), Path::Root.child("type"), errors);
        immutable_data(object, Some(old), &["data"], errors);
    }
}

/// Requires the data that belong to the type of a secret.
fn secret_type(object: &Value, errors: &mut Errors<'_>) {
    let at = Path::Root.child("data");
    let has = |key: &str| object["data"].get(key).is_some();
    match text(&object["type"]) {
        "kubernetes.io/service-account-token" => {
            let annotations = &object["metadata"]["annotations"];
            if absent(&annotations["kubernetes.io/service-account.name"]) {
                let metadata = Path::Root.child("metadata");
                let list = metadata.child("annotations");
                errors.required(list.key("kubernetes.io/service-account.name"), "");
            }
        }
        "kubernetes.io/dockercfg" => json_data(object, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => json_data(object, ".dockerconfigjson", errors),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            errors.required(at.key("username"), "");
            errors.required(at.key("password"), "");
        }
        "kubernetes.io/ssh-auth" if absent(&object["data"]["ssh-privatekey"]) => {
            errors.required(at.key("ssh-privatekey"), "");
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"].into_iter().filter(|key| !has(key)) {
                errors.required(at.key(key), "");
            }
        }
        _ => {}
    }
}

fn json_data(object: &Value, key: &str, errors: &mut Errors<'_>) {
    let at = Path::Root.child("data");
    let Some(data) = object["data"][key].as_str() else {
        errors.required(at.key(key), "");
        return;
    };
    let bytes = base64::engine::general_purpose::STANDARD.decode(data).unwrap_or_default();
    let first = || String::from_utf8_lossy(&bytes).trim_start().chars().next();
    let why = match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(_) | Value::Null) => return,
        Ok(other) => {
            let found = gotext::json_type(&other);
            format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
        }
        Err(_) => syntax_error(first()),
    };
    errors.invalid(at.key(key), REDACTED, why);
}

/// Go's message for malformed JSON that begins with a character.
fn syntax_error(first: Option<char>) -> String {
    match first {
        Some(c) if !"{[\"-0123456789tfn".contains(c) => {
            format!("invalid character '{c}' looking for beginning of value")
        }
        // For JSON that is malformed later, Go's exact message is not known here.
        _ => "unexpected end of JSON input".to_owned(),
    }
}

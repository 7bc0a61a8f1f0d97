//! Hides the values of a live cluster's Secrets in records and reports.
//!
//! A printed Secret loses all its values. In other texts, values are found by their text. That search leaves
//! out short values, which could be ordinary words, and public values such as certificates.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use windtunnel_core::Object;

use super::{Event, Record, WriteEvent};

const REDACTED: &str = "REDACTED";
/// The minimum length in bytes of values that are searched in texts; shorter ones may be ordinary words and
/// numbers.
const SHORTEST: usize = 8;
/// Entries that are public by convention.
const PUBLIC: [&str; 5] = ["ca.crt", "namespace", "service-ca.crt", "tls.crt", "username"];
/// The annotation with the last applied configuration of kubectl.
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The values to hide.
#[derive(Debug, Default)]
pub struct Secrets {
    /// Longest first, so that a value is replaced as a whole.
    values: Mutex<BTreeSet<(std::cmp::Reverse<usize>, String)>>,
}

impl Secrets {
    /// Learns the values in an answer of an API server: a Secret, a token, or a list of these.
    pub fn learn(&self, answer: &Value) {
        match answer["kind"].as_str() {
            Some("Secret") => self.learn_secret(answer),
            Some("SecretList") => items(answer).for_each(|item| self.learn_secret(item)),
            Some("List") => items(answer).for_each(|item| self.learn(item)),
            Some("TokenRequest") => self.add(answer["status"]["token"].as_str().unwrap_or_default()),
            _ => {}
        }
    }

    /// Learns the values of a Secret.
    pub fn learn_secret(&self, secret: &Value) {
        let own = ["name", "namespace"].map(|field| secret["metadata"][field].as_str().unwrap_or_default());
        for (name, text) in entries(secret, "data") {
            let decoded = STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let is_public =
                PUBLIC.contains(&name) || decoded.as_deref().is_some_and(|text| own.contains(&text));
            if is_public {
                continue;
            }
            self.add_encoded(text, decoded.as_deref());
        }
        for (_, text) in entries(secret, "stringData").filter(|(name, _)| !PUBLIC.contains(name)) {
            self.add_encoded(&STANDARD.encode(text), Some(text));
        }
    }

    fn add_encoded(&self, encoded: &str, decoded: Option<&str>) {
        // A value that is too short in plain text is too short in base64 as well.
        if decoded.is_some_and(|text| text.trim().len() < SHORTEST) {
            return;
        }
        self.add(encoded);
        if let Some(text) = decoded {
            self.add(text);
            // The form in a JSON string.
            let quoted = json!(text.trim()).to_string();
            self.add(quoted.trim_matches('"'));
        }
    }

    fn add(&self, text: &str) {
        let text = text.trim();
        if text.len() >= SHORTEST {
            let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
            values.insert((std::cmp::Reverse(text.len()), text.to_owned()));
        }
    }

    /// Returns a text without the values.
    pub fn hide(&self, text: &str) -> String {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let found = values.iter().filter(|(_, value)| value.len() <= text.len());
        found.fold(text.to_owned(), |text, (_, value)| {
            if text.contains(value.as_str()) { text.replace(value, REDACTED) } else { text }
        })
    }

    /// Removes the values from a record.
    pub fn hide_in(&self, record: &mut Record) {
        for entry in &mut record.entries {
            match &mut entry.event {
                Event::Write(write) => self.hide_in_write(write),
                Event::Step { text } | Event::Fault { text } => *text = self.hide(text),
                Event::Outcome { text, failure, .. } => {
                    *text = self.hide(text);
                    *failure = failure.take().map(|why| self.hide(&why));
                }
                Event::Command { line, stdout, stderr, .. } => {
                    for text in [line, stdout, stderr] {
                        *text = self.hide(text);
                    }
                }
                _ => {}
            }
        }
        for line in record.logs.iter_mut().flat_map(|log| &mut log.lines) {
            line.text = self.hide(&line.text);
        }
    }

    fn hide_in_write(&self, write: &mut WriteEvent) {
        write.message = self.hide(&write.message);
        for object in [&mut write.before, &mut write.after].into_iter().flatten() {
            let mut value = object.to_value();
            if self.hide_in_value(&mut value) {
                *object = Object::new(value);
            }
        }
    }

    /// Removes the values from the texts of an object; returns whether there were any.
    fn hide_in_value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => {
                let hidden = self.hide(text);
                let changed = hidden != *text;
                *text = hidden;
                changed
            }
            Value::Array(items) => {
                items.iter_mut().fold(false, |changed, item| self.hide_in_value(item) | changed)
            }
            Value::Object(map) => {
                map.values_mut().fold(false, |changed, item| self.hide_in_value(item) | changed)
            }
            _ => false,
        }
    }
}

/// Removes all values from the Secrets in an answer of an API server.
pub fn redact_secrets(answer: &mut Value) {
    match answer["kind"].as_str() {
        Some("Secret") => redact_secret(answer),
        Some("SecretList") => items_mut(answer).for_each(redact_secret),
        Some("List") => items_mut(answer).for_each(redact_secrets),
        Some("TokenRequest") => answer["status"]["token"] = json!(REDACTED),
        _ => {}
    }
}

fn redact_secret(secret: &mut Value) {
    for (field, replacement) in [("data", STANDARD.encode(REDACTED)), ("stringData", REDACTED.to_owned())] {
        for value in
            secret.get_mut(field).and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
        {
            *value = json!(replacement);
        }
    }
    if let Some(Value::Object(annotations)) = secret.pointer_mut("/metadata/annotations") {
        annotations.remove(APPLIED);
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

fn items_mut(list: &mut Value) -> impl Iterator<Item = &mut Value> {
    list.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten()
}

fn entries<'a>(secret: &'a Value, field: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let entries = secret[field].as_object().into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(data: &[(&str, &str)]) -> Secrets {
        let data: Map<String, Value> =
            data.iter().map(|(name, text)| ((*name).to_owned(), json!(STANDARD.encode(text)))).collect();
        let metadata = json!({ "namespace": "openshift-config", "name": "pull-secret" });
        let secrets = Secrets::default();
        secrets.learn(&json!({ "kind": "SecretList", "items": [{ "metadata": metadata, "data": data }] }));
        secrets
    }

    #[test]
    fn hides_plain_and_encoded_values_longest_first() {
        let secrets = secrets(&[("password", "correct horse"), ("more", "correct horse battery\n")]);
        let text = format!("a {} b correct horse battery c correct horse", STANDARD.encode("correct horse"));
        assert_eq!(secrets.hide(&text), "a REDACTED b REDACTED c REDACTED");
        secrets.learn(&json!({ "kind": "TokenRequest", "status": { "token": "eyJhbGciOi.x.y" } }));
        assert_eq!(secrets.hide("Bearer eyJhbGciOi.x.y"), "Bearer REDACTED");
    }

    #[test]
    fn keeps_ordinary_words_and_public_values() {
        let secrets = secrets(&[
            ("enabled", "true"),
            ("replicas", "1"),
            ("namespace", "kube-system"),
            ("owner", "openshift-config"),
            ("tls.crt", "-----BEGIN CERTIFICATE-----"),
        ]);
        let text = "true 1 kube-system openshift-config -----BEGIN CERTIFICATE----- dHJ1ZQ==";
        assert_eq!(secrets.hide(text), text);
    }

    #[test]
    fn redacts_values_of_any_length_in_a_printed_secret() {
        let mut answer = json!({ "kind": "Secret", "data": { "on": "MQ==" }, "metadata": { "name": "s",
            "annotations": { APPLIED: "{\"stringData\":{\"on\":\"1\"}}", "a": "b" } } });
        redact_secrets(&mut answer);
        let expected = json!({ "kind": "Secret", "data": { "on": "UkVEQUNURUQ=" },
            "metadata": { "name": "s", "annotations": { "a": "b" } } });
        assert_eq!(answer, expected);
    }

    #[test]
    fn hides_values_that_were_copied_into_other_objects() {
        let secrets = secrets(&[("password", "correct horse")]);
        let mut value = json!({ "spec": { "args": ["--password=correct horse"] } });
        assert!(secrets.hide_in_value(&mut value));
        assert_eq!(value, json!({ "spec": { "args": ["--password=REDACTED"] } }));
        assert!(!secrets.hide_in_value(&mut value));
    }
}

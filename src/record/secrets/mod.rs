//! Hides the values of a cluster's Secrets in records and reports.
//!
//! A printed Secret loses all its values. In other texts, values and their parts are found by their text, however it is
//! indented, wrapped, escaped or encoded. That search leaves out short values, which could be ordinary words, and public
//! values such as certificates.

mod canonical;
mod hidden_record;
mod object;
mod search;
mod values;

use std::sync::{Arc, Mutex, PoisonError};

pub use self::object::redact_secret;
use self::search::Index;
use self::values::Parts;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hashbrown::HashSet;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use windtunnel_core::pull_secret;

const REDACTED: &str = "REDACTED";
/// The minimum length in bytes of values that are searched in texts; shorter ones may be ordinary words and
/// numbers.
const SHORTEST: usize = 8;
/// Entries that are public by convention.
const PUBLIC: [&str; 5] = ["ca.crt", "namespace", "service-ca.crt", "tls.crt", "username"];
/// The annotation with the last applied configuration of kubectl.
pub(super) const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The values to hide. A copy learns separately.
#[derive(Debug, Default)]
pub struct Secrets {
    known: Mutex<Arc<Known>>,
    /// Whether the user wants to see the values.
    are_shown: bool,
}

#[derive(Debug, Clone, Default)]
struct Known {
    /// Hashes of the values in Secrets, because a Secret is observed many times.
    learned: HashSet<[u8; 32]>,
    index: Index,
}

impl Clone for Secrets {
    fn clone(&self) -> Self {
        Self { known: Mutex::new(self.known()), are_shown: self.are_shown }
    }
}

/// Equal if they hide the same values.
impl PartialEq for Secrets {
    fn eq(&self, other: &Self) -> bool {
        self.are_shown == other.are_shown && self.known().learned == other.known().learned
    }
}

impl Eq for Secrets {}

impl Secrets {
    /// Returns secrets that are shown: nothing is hidden.
    pub fn shown() -> Self {
        Self { are_shown: true, ..Self::default() }
    }

    /// Returns the values of these Secrets.
    pub fn of_objects<'o>(found: impl IntoIterator<Item = &'o Value>) -> Self {
        let secrets = Self::default();
        found.into_iter().for_each(|secret| secrets.learn_secret(secret));
        secrets
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

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

    /// Learns the values of a Secret. The installed pull secret is public: it stays, so that the cluster of a record renders
    /// the same files of nodes.
    pub fn learn_secret(&self, secret: &Value) {
        let own = ["name", "namespace"].map(|field| secret["metadata"][field].as_str().unwrap_or_default());
        for (name, text) in entries(secret, "data") {
            let decoded = STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let is_public = PUBLIC.contains(&name)
                || text == pull_secret::INSTALLED
                || decoded.as_deref().is_some_and(|text| own.contains(&text));
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
        match decoded {
            Some(text) => {
                self.add(text);
                if text != text.trim() {
                    self.update(encoded, Index::add_encoded);
                }
            }
            None => self.update(encoded, Index::add_encoded),
        }
    }

    fn add(&self, text: &str) {
        self.update(text.trim(), |index, text| {
            index.add(text);
            let Parts { values, lines } = Parts::of(text);
            for value in &values {
                index.add(value);
            }
            for line in &lines {
                index.add_plain(line);
            }
        });
    }

    fn update(&self, text: &str, add: impl FnOnce(&mut Index, &str)) {
        // The text in place of a value is no value.
        if text.len() < SHORTEST || text == REDACTED {
            return;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let hash = Sha256::digest(text).into();
        if !known.learned.contains(&hash) {
            let known = Arc::make_mut(&mut known);
            known.learned.insert(hash);
            add(&mut known.index, text);
        }
    }

    /// Returns a text without the values.
    pub fn hide(&self, text: &str) -> String {
        let hidden = if self.are_shown { None } else { self.known().index.replace(text, REDACTED) };
        hidden.unwrap_or_else(|| text.to_owned())
    }

    /// Removes all values from the Secrets in an answer of an API server.
    pub fn redact_answer(&self, answer: &mut Value) {
        if !self.are_shown {
            redact_secrets(answer);
        }
    }

    /// Removes the values from the texts of a value, and from the names of its fields.
    pub fn hide_in_value(&self, value: &mut Value) {
        if !self.are_shown {
            self.known().hide_in_value(value);
        }
    }
}

impl Known {
    fn hide_in_text(&self, text: &mut String) {
        if let Some(hidden) = self.index.replace(text, REDACTED) {
            *text = hidden;
        }
    }

    fn hide_in_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.hide_in_text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in_value(item)),
            Value::Object(map) => {
                let mut memory = Vec::new();
                if map.keys().any(|name| self.index.is_in(name, &mut memory)) {
                    *map = std::mem::take(map)
                        .into_iter()
                        .map(|(name, value)| (self.hidden_name(name), value))
                        .collect();
                }
                map.values_mut().for_each(|item| self.hide_in_value(item));
            }
            _ => {}
        }
    }

    fn hidden_name(&self, mut name: String) -> String {
        self.hide_in_text(&mut name);
        name
    }

    /// Returns whether a text of a value, or the name of a field, contains one of the values. `memory` is used by the search.
    fn is_in_value(&self, value: &Value, memory: &mut Vec<u8>) -> bool {
        match value {
            Value::String(text) => self.index.is_in(text, memory),
            Value::Array(items) => items.iter().any(|item| self.is_in_value(item, memory)),
            Value::Object(map) => map
                .iter()
                .any(|(name, item)| self.index.is_in(name, memory) || self.is_in_value(item, memory)),
            _ => false,
        }
    }
}

/// Removes all values from the Secrets in an answer of an API server.
pub(super) fn redact_secrets(answer: &mut Value) {
    match answer["kind"].as_str() {
        Some("Secret") => redact_secret(answer),
        Some("SecretList") => items_mut(answer).for_each(redact_secret),
        Some("List") => items_mut(answer).for_each(redact_secrets),
        Some("TokenRequest") => {
            if let Some(token) = answer.pointer_mut("/status/token") {
                *token = json!(REDACTED);
            }
        }
        _ => {}
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
    use serde_json::Map;

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
        let mut damaged = json!({ "kind": "TokenRequest", "status": "x" });
        redact_secrets(&mut damaged);
        assert_eq!(damaged["status"], "x");
    }

    const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oi8m1u7c2dQx0m0n9Y9Zr2W0q1A\n\
                       h3Jc8vbQmM2nWqk0z5rB1TqLw7dXo4yUeR9sKfPgC6tNVuE8aHjS0iZxDl2YbGmF\nQk1Zq7A=\n-----END RSA PRIVATE KEY-----\n";

    fn check_hidden(secrets: &Secrets, text: &str, leaks: &[&str]) {
        let hidden = secrets.hide(text);
        assert!(hidden.contains(REDACTED), "{text}\n{hidden}");
        for leak in leaks {
            assert!(!hidden.contains(leak), "{leak} of\n{text}\nin\n{hidden}");
        }
    }

    #[test]
    fn hides_keys_however_they_are_written() {
        let secrets = secrets(&[("tls.key", KEY)]);
        let lines: Vec<&str> = KEY.lines().skip(1).take(2).collect();
        let indented = KEY.replace('\n', "\n    ");
        let once = json!({ "data": { "key": KEY } }).to_string();
        let twice = json!({ "last-applied": once }).to_string();
        let wrapped = |columns: usize| {
            let encoded = STANDARD.encode(KEY);
            let lines = encoded.as_bytes().chunks(columns).map(String::from_utf8_lossy);
            lines.collect::<Vec<_>>().join("\n      ")
        };
        for text in [&indented, &once, &twice] {
            check_hidden(&secrets, &format!("before {text} after"), &lines);
        }
        // The rest of the text stays.
        assert_eq!(
            secrets.hide(&format!("key: |\n    {indented}\nb: c")),
            "key: |\n    REDACTED\n    \nb: c"
        );
        assert_eq!(secrets.hide(&once), r#"{"data":{"key":"REDACTED\n"}}"#);
        let with_name = STANDARD.encode(format!("key:\n{KEY}"));
        for text in [STANDARD.encode(KEY), wrapped(76), wrapped(64), with_name] {
            let hidden = secrets.hide(&format!("a: {text}\n"));
            assert!(hidden.contains(REDACTED) && hidden.len() < 30, "{text}\n{hidden}");
        }
        // A part of the key, with comments.
        check_hidden(&secrets, &format!("# {}\n# {}\n", lines[1], lines[0]), &lines);
        let encoded = STANDARD.encode(KEY);
        check_hidden(&secrets, &STANDARD.encode(&encoded), &[&STANDARD.encode(&encoded[..30])]);
    }

    #[test]
    fn hides_passwords_within_values_and_encoded_with_names() {
        let auth = STANDARD.encode("robot:sw0rd/fish+1");
        let login =
            json!({ "auths": { "quay.io": { "auth": auth, "password": "sw0rd/fish+1" } } }).to_string();
        let secrets = secrets(&[(".dockerconfigjson", &login), ("password", "b&sic p?ss+word")]);
        for text in [
            "sw0rd/fish+1".to_owned(),
            auth.clone(),
            "sw0rd%2Ffish%2B1".to_owned(),
            STANDARD.encode(&login),
            STANDARD.encode("other:sw0rd/fish+1"),
            STANDARD.encode(format!("{{\"password\": \"{}\"}}", "sw0rd/fish+1")),
            STANDARD.encode(&auth),
            "b%26sic%20p%3Fss%2Bword".to_owned(),
            "b&sic+p?ss+word".to_owned(),
            r"b\u0026sic p?ss+word".to_owned(),
            STANDARD.encode("admin:b&sic p?ss+word"),
        ] {
            check_hidden(&secrets, &format!("a {text} b"), &[&text, &text[3..text.len() - 4]]);
        }
    }

    #[test]
    fn texts_without_values_stay_byte_by_byte() {
        let secrets =
            secrets(&[("tls.key", KEY), ("config", "kind: ConfigMap\napiVersion: v1\nimage: quay.io/a\n")]);
        let text = "apiVersion: v1\nkind: ConfigMap\nimage: quay.io/a-b_c%20\\n\\u00e9 -----BEGIN RSA PRIVATE KEY-----\nother";
        assert_eq!(secrets.hide(text), text);
    }

    #[test]
    fn a_copy_learns_separately_and_shown_secrets_stay() {
        let secrets = secrets(&[("password", "correct horse")]);
        let copy = secrets.clone();
        copy.learn_secret(&json!({ "stringData": { "other": "battery staple" } }));
        assert_eq!(secrets.hide("correct horse battery staple"), "REDACTED battery staple");
        assert_eq!(copy.hide("correct horse battery staple"), "REDACTED REDACTED");
        let shown = Secrets::shown();
        shown.learn_secret(&json!({ "stringData": { "other": "battery staple" } }));
        assert_eq!(shown.hide("battery staple"), "battery staple");
    }

    #[test]
    fn the_replacement_is_no_value() {
        let secrets = secrets(&[("password", REDACTED)]);
        assert_eq!(secrets.hide("UkVEQUNURUQ="), "UkVEQUNURUQ=");
    }

    #[test]
    fn hides_values_that_were_copied_into_other_objects() {
        let secrets = secrets(&[("password", "correct horse")]);
        let mut value = json!({ "spec": { "args": ["--password=correct horse"], "is correct horse": 1 } });
        secrets.hide_in_value(&mut value);
        assert_eq!(value, json!({ "spec": { "args": ["--password=REDACTED"], "is REDACTED": 1 } }));
    }
}

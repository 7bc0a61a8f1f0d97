//! Hides the values of a live cluster's Secrets in records and reports.
//!
//! A printed Secret loses all its values. In other texts, values and their parts are found by their text, however it is
//! indented, wrapped, escaped or encoded. That search leaves out short values, which could be ordinary words, and public
//! values such as certificates.

mod canonical;
mod object;
mod search;
mod values;

use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hashbrown::HashSet;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use windtunnel_core::Object;
use windtunnel_core::resources::SECRETS;

pub use self::object::redact_secret;
use self::search::Index;
use self::values::Parts;
use super::{Event, Record, WriteEvent};

const REDACTED: &str = "REDACTED";
/// The minimum length in bytes of values that are searched in texts; shorter ones may be ordinary words and
/// numbers.
const SHORTEST: usize = 8;
/// Entries that are public by convention.
const PUBLIC: [&str; 5] = ["ca.crt", "namespace", "service-ca.crt", "tls.crt", "username"];
/// The annotation with the last applied configuration of kubectl.
pub(super) const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The values to hide.
#[derive(Debug, Default)]
pub struct Secrets(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Hashes of the values in Secrets, because a Secret is observed many times.
    learned: HashSet<[u8; 32]>,
    index: Index,
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
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if text.len() >= SHORTEST && known.learned.insert(Sha256::digest(text).into()) {
            add(&mut known.index, text);
        }
    }

    /// Returns a text without the values.
    pub fn hide(&self, text: &str) -> String {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.index.replace(text, REDACTED).unwrap_or_else(|| text.to_owned())
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
        let is_secret = write.key.is_kind(&SECRETS);
        for object in [&mut write.before, &mut write.after].into_iter().flatten() {
            let mut value = object.to_value();
            if is_secret {
                redact_secret(&mut value);
            }
            if self.hide_in_value(&mut value) || is_secret {
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
    fn hides_values_that_were_copied_into_other_objects() {
        let secrets = secrets(&[("password", "correct horse")]);
        let mut value = json!({ "spec": { "args": ["--password=correct horse"] } });
        assert!(secrets.hide_in_value(&mut value));
        assert_eq!(value, json!({ "spec": { "args": ["--password=REDACTED"] } }));
        assert!(!secrets.hide_in_value(&mut value));
    }
}

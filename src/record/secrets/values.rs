//! The parts of a Secret's value that are secret on their own: passwords in JSON, lines of a key.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::SHORTEST;
use crate::record::names::is_credential_entry;

/// The minimum length of a line, and of a text whose name does not say that it is a credential.
const SHORTEST_UNNAMED: usize = 12;
/// The largest number of parts of a value.
const PARTS: usize = 10_000;
/// How far JSON in JSON is followed.
const DEPTH: usize = 4;
/// Names of entries that contain the name or the place of a credential instead of the credential.
const REFERENCES: [&str; 6] = ["name", "file", "path", "ref", "url", "uri"];

/// The parts of a value.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Values within the value.
    pub(super) values: BTreeSet<String>,
    /// Lines that make sense only with the others.
    pub(super) lines: BTreeSet<String>,
}

impl Parts {
    /// Splits a value.
    pub(super) fn of(value: &str) -> Self {
        let mut parts = Self::default();
        parts.split(value, DEPTH);
        parts
    }

    fn split(&mut self, text: &str, depth: usize) {
        let text = text.trim();
        if depth == 0 {
            return;
        }
        if text.starts_with(['{', '['])
            && let Ok(document) = serde_json::from_str::<Value>(text)
        {
            self.add_leaves("", &document, depth);
        } else if text.contains('\n') {
            self.add_lines(text);
        }
    }

    fn add_leaves(&mut self, name: &str, value: &Value, depth: usize) {
        match value {
            Value::String(text) => {
                self.add_named(name, text);
                self.split(text, depth - 1);
            }
            Value::Array(items) => items.iter().for_each(|item| self.add_leaves(name, item, depth)),
            Value::Object(map) => {
                map.iter().for_each(|(name, value)| self.add_leaves(name, value, depth));
            }
            _ => {}
        }
    }

    /// Adds the value of an entry, unless it is no secret by its name and its look.
    fn add_named(&mut self, name: &str, text: &str) {
        let text = text.trim();
        if name == "auth"
            && let Some((_, password)) = decoded(text).as_deref().and_then(|login| login.split_once(':'))
        {
            self.add_value(password);
        }
        if is_credential(name) || !is_public(name) && is_random(text) {
            self.add_value(text);
        }
    }

    fn add_value(&mut self, text: &str) {
        let text = text.trim();
        if text.len() >= SHORTEST && self.values.len() < PARTS {
            self.values.insert(text.to_owned());
        }
    }

    fn add_lines(&mut self, text: &str) {
        let mut is_public = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with("-----") {
                let is_begin = line.starts_with("-----BEGIN ");
                is_public = is_begin && (line.contains("CERTIFICATE") || line.contains("PUBLIC KEY"));
            } else if let Some((name, value)) = entry(line) {
                if is_credential(name) {
                    self.add_value(value);
                }
            } else if !is_public && is_random(line) && self.lines.len() < PARTS {
                self.lines.insert(line.to_owned());
            }
        }
    }
}

/// The name and the value in a line of YAML or of a list of settings.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(": ").or_else(|| line.split_once('='))?;
    let name = name.trim_start_matches("- ").trim().trim_matches(['"', '\'']);
    let value = value.trim().trim_matches(['"', '\'']);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    (!name.is_empty() && value.len() > 1 && name.bytes().all(is_name)).then_some((name, value))
}

/// Returns whether the name of an entry says that it is a credential.
fn is_credential(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_reference = REFERENCES.iter().any(|ending| lower.ends_with(ending));
    (is_credential_entry(name) || lower.ends_with("key-data")) && !is_reference
}

/// Returns whether the name of an entry says that it is none.
fn is_public(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.contains("email")
        || lower.contains("user")
        || REFERENCES.iter().any(|ending| lower.ends_with(ending))
}

/// Returns whether a text looks as if it were drawn at random: one long word with letters and digits.
fn is_random(text: &str) -> bool {
    text.len() >= SHORTEST_UNNAMED
        && !text.contains(char::is_whitespace)
        && text.contains(|char: char| char.is_ascii_digit())
        && text.contains(|char: char| char.is_ascii_alphabetic())
        && !text.contains("://")
}

fn decoded(text: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_of_registries_have_passwords_and_tokens() {
        let auth = STANDARD.encode("robot:swordfish1");
        let text = format!(
            r#"{{"auths":{{"quay.io":{{"username":"robot-user-1","password":"p4ssphrase","email":"robot1@example.com",
               "auth":"{auth}","identitytoken":"identity-of-robot"}}}}}}"#
        );
        let found: Vec<String> = Parts::of(&text).values.into_iter().collect();
        assert_eq!(found, [&auth, "identity-of-robot", "p4ssphrase", "swordfish1"]);
    }

    #[test]
    fn ordinary_lines_and_certificates_are_no_secrets() {
        let text = "apiVersion: v1\nkind: ConfigMap\nsecretName: the-name-of-it\npassword: \"hunter2-hunter2\"\nTOKEN=abcdefgh\n\
                    -----BEGIN CERTIFICATE-----\nMIICertificate0000000\n-----END CERTIFICATE-----\n\
                    -----BEGIN RSA PRIVATE KEY-----\nMIIPrivateKey00000000\nshort1==\n-----END RSA PRIVATE KEY-----\n";
        let Parts { values, lines } = Parts::of(text);
        assert_eq!(values.into_iter().collect::<Vec<_>>(), ["abcdefgh", "hunter2-hunter2"]);
        assert_eq!(lines.into_iter().collect::<Vec<_>>(), ["MIIPrivateKey00000000"]);
    }

    #[test]
    fn keys_within_json_within_json_have_lines() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIPrivateKey00000000\n-----END PRIVATE KEY-----\n";
        let inner = serde_json::json!({ "type": "service_account", "private_key": key }).to_string();
        let Parts { values, lines } = Parts::of(&serde_json::json!({ "credentials": inner }).to_string());
        assert!(values.contains(key.trim()) && !values.contains("service_account"), "{values:?}");
        assert!(lines.contains("MIIPrivateKey00000000"), "{lines:?}");
    }
}

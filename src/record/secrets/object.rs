//! Removes the values of one Secret from its own object: from its data, and from copies of the data beside it.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use serde_json::{Map, Value, json};
use windtunnel_core::pull_secret;

use super::{APPLIED, PUBLIC, REDACTED, SHORTEST, Secrets, entries};
use crate::record::pattern::pattern;

/// The signs of a copy of an object, or of a change of its data: a field with the data in JSON at any depth or in YAML, a path
/// to the data in a JSON patch, and the start of gzip in base64. Tools for deployment keep the last applied state in annotations.
static COPY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"\b(data|stringData)\\*["']?\s*:|/(data|stringData)(/|\\*["'])|^\s*H4sI"#));

/// Removes all values from a Secret.
pub fn redact_secret(secret: &mut Value) {
    let own = OwnValues::of(secret);
    for (field, replacement) in [("data", STANDARD.encode(REDACTED)), ("stringData", REDACTED.to_owned())] {
        let values = map_mut(secret.get_mut(field)).flat_map(Map::values_mut);
        for value in values.filter(|value| value.as_str() != Some(pull_secret::INSTALLED)) {
            *value = json!(replacement);
        }
    }
    for annotations in map_mut(secret.pointer_mut("/metadata/annotations")) {
        annotations.remove(APPLIED);
        annotations.values_mut().for_each(|text| own.hide(text));
    }
    for labels in map_mut(secret.pointer_mut("/metadata/labels")) {
        labels.values_mut().for_each(|text| own.hide(text));
    }
}

fn map_mut(value: Option<&mut Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    value.and_then(Value::as_object_mut).into_iter()
}

/// The values of one Secret.
struct OwnValues {
    values: Secrets,
    /// Also short values, which are no ordinary words in base64.
    encoded: Vec<String>,
}

impl OwnValues {
    fn of(secret: &Value) -> Self {
        let values = Secrets::default();
        values.learn_secret(secret);
        let data = entries(secret, "data").map(|(name, text)| (name, text.to_owned()));
        let plain = entries(secret, "stringData").map(|(name, text)| (name, STANDARD.encode(text)));
        let encoded =
            data.chain(plain).filter(|(name, text)| !PUBLIC.contains(name) && text.len() >= SHORTEST);
        Self { values, encoded: encoded.map(|(_, text)| text).collect() }
    }

    /// Removes the values from a text beside them.
    fn hide(&self, value: &mut Value) {
        let Value::String(text) = value else { return };
        if COPY.is_match(text) || self.encoded.iter().any(|encoded| text.contains(encoded)) {
            REDACTED.clone_into(text);
        } else {
            *text = self.values.hide(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installed_pull_secret_is_public() {
        let installed = json!({ "kind": "Secret", "data": { (pull_secret::KEY): pull_secret::INSTALLED } });
        let mut secret = installed.clone();
        redact_secret(&mut secret);
        assert_eq!(secret, installed);
    }

    fn check(beside: &str, expected: &str) {
        let mut secret = json!({ "kind": "Secret", "data": { "password": STANDARD.encode("LEAK3-Zk"), "pin": "T1dOUElONw==" },
            "metadata": { "name": "s", "namespace": "LEAK3-Zk", "annotations": { "a": beside }, "labels": { "l": beside } } });
        redact_secret(&mut secret);
        assert_eq!(secret["metadata"]["annotations"]["a"], expected, "{beside}");
        assert_eq!(secret["metadata"]["labels"]["l"], expected, "{beside}");
        assert_eq!(secret["data"], json!({ "password": "UkVEQUNURUQ=", "pin": "UkVEQUNURUQ=" }));
        assert_eq!(secret["metadata"]["namespace"], "LEAK3-Zk", "an identity");
    }

    #[test]
    fn copies_of_present_and_former_data_are_removed() {
        for copy in [
            r#"{"apiVersion":"v1","data":{"password":"TEVBSzMtWms="},"kind":"Secret"}"#,
            r#"{"kind":"Secret","stringData":{"pin":"1234"}}"#,
            r#"{"original":"{\"data\":{\"pin\":\"MTIzNA==\"}}"}"#,
            "kind: Secret\ndata:\n  pin: MTIzNA==\n",
            r#"[{"op":"replace","path":"/data/pin","value":"MTIzNA=="}]"#,
            "H4sIAAAAAAAA/6pWykvMTVWyUkrLz1eqBQAAAP//",
            "the pin is T1dOUElONw==",
        ] {
            check(copy, REDACTED);
        }
    }

    #[test]
    fn values_within_a_text_are_removed_and_the_rest_stays() {
        let mut secret = json!({ "data": { "password": STANDARD.encode("correct horse") }, "metadata": { "annotations": {
            "plain": "use correct horse here", "owner": "team metadata", "encoded": STANDARD.encode("me:correct horse") } } });
        redact_secret(&mut secret);
        let annotations = &secret["metadata"]["annotations"];
        assert_eq!(annotations["plain"], "use REDACTED here");
        assert_eq!(annotations["owner"], "team metadata");
        assert!(annotations["encoded"].as_str().unwrap().contains(REDACTED), "{annotations}");
        check("team-a", "team-a");
    }

    #[test]
    fn a_redacted_secret_stays_the_same() {
        let mut secret = json!({ "data": { "a": "c2VjcmV0LXNlY3JldA==" }, "metadata": { "annotations": { "a": "secret-secret" } } });
        redact_secret(&mut secret);
        let once = secret.clone();
        redact_secret(&mut secret);
        assert_eq!(secret, once);
    }

    #[test]
    fn damaged_secrets_do_not_panic() {
        for mut secret in [
            json!("x"),
            json!({ "data": 1, "metadata": "x" }),
            json!({ "data": { "a": 1 }, "metadata": { "labels": [1] } }),
        ] {
            redact_secret(&mut secret);
        }
    }
}

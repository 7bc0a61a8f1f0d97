//! Removes secrets of a watched cluster from a record.
//!
//! Keys stay, so that objects keep their shape; values are replaced by [`REDACTED`]. This applies to all
//! values of Secrets, to keys, tokens and logins anywhere, which are recognized by their format, and to
//! values whose names indicate credentials.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use serde_json::{Map, Value, json};

const REDACTED: &str = "REDACTED";

/// Names of entries (of ConfigMaps, environments, annotations) whose values are credentials.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)passw(or)?d|passphrase|secret|token|credential|api[-_.]?key|access[-_.]?key|private[-_.]?key|kubeconfig|dockercfg|dockerconfig|htpasswd|\.key$|^auth$",
    )
});

/// Fields of any object that contain a credential, not the name of one.
const FIELDS: [&str; 12] = [
    "password",
    "passwordHash",
    "token",
    "accessToken",
    "refreshToken",
    "bearerToken",
    "idToken",
    "privateKey",
    "clientSecret",
    "pullSecret",
    "internalRegistryPullSecret",
    "sshAuthorizedKeys",
];

/// Formats of credentials: PEM keys, JSON web tokens, registry logins, kubeconfigs with keys, tokens of
/// OpenShift and of common services, URLs with a password.
static FORMS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"PRIVATE KEY-----|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]+\.|"auths?"\s*:|client-key-data|sha256~[A-Za-z0-9_-]{20,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bAKIA[A-Z0-9]{16}|://[^/\s:@]+:[^/\s:@]+@"#,
    )
});

/// Returns whether the name of an entry indicates that its value is a credential.
pub(super) fn is_credential_name(name: &str) -> bool {
    NAMES.is_match(name)
}

fn regex(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Removes secrets from an object. Also removes `managedFields`, which are most of an object's size and
/// contain no state.
pub fn redact(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
            redact_named(annotations, |text| json!(text));
        }
    }
    match object["kind"].as_str() {
        Some("Secret") => {
            redact_all(object.get_mut("data"), |text| json!(STANDARD.encode(text)));
            redact_all(object.get_mut("stringData"), |text| json!(text));
        }
        Some("ConfigMap") => {
            if let Some(Value::Object(data)) = object.get_mut("data") {
                redact_named(data, |text| json!(text));
            }
            if let Some(Value::Object(data)) = object.get_mut("binaryData") {
                redact_named(data, |text| json!(STANDARD.encode(text)));
            }
        }
        Some("MachineConfig") => redact_files(object.pointer_mut("/spec/config/storage/files")),
        _ => {}
    }
    redact_recursively(object);
}

fn redact_all(map: Option<&mut Value>, replacement: impl Fn(&str) -> Value) {
    for value in map.and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        *value = replacement(REDACTED);
    }
}

/// Replaces the values of a map whose names indicate credentials.
fn redact_named(map: &mut Map<String, Value>, replacement: impl Fn(&str) -> Value) {
    for (_, value) in map.iter_mut().filter(|(name, _)| NAMES.is_match(name)) {
        *value = replacement(REDACTED);
    }
}

/// Replaces the contents of files on nodes, which may contain anything in many encodings.
fn redact_files(list: Option<&mut Value>) {
    for file in list.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(contents) = file.get_mut("contents").filter(|contents| contents.is_object()) {
            *contents = json!({ "source": format!("data:,{REDACTED}") });
        }
    }
}

fn redact_recursively(value: &mut Value) {
    match value {
        Value::String(text) if FORMS.is_match(text) => *value = json!(REDACTED),
        Value::Array(items) => items.iter_mut().for_each(redact_recursively),
        Value::Object(map) => {
            // An environment variable.
            let name = map.get("name").and_then(Value::as_str);
            if name.is_some_and(|name| NAMES.is_match(name))
                && let Some(text @ Value::String(_)) = map.get_mut("value")
            {
                *text = json!(REDACTED);
            }
            for (field, inner) in map.iter_mut() {
                if FIELDS.contains(&field.as_str()) && is_text(inner) {
                    *inner = json!(REDACTED);
                } else {
                    redact_recursively(inner);
                }
            }
        }
        _ => {}
    }
}

/// Returns whether a value is a text or a list of texts. Those contain a credential; an object only refers to
/// one.
fn is_text(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().all(Value::is_string) && !items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mut object: Value, expected: &Value) {
        redact(&mut object);
        assert_eq!(object, *expected);
    }

    #[test]
    fn redacts_values_of_secrets_and_keeps_their_keys() {
        check(
            json!({ "kind": "Secret", "type": "kubernetes.io/tls", "data": { "tls.key": "c2VjcmV0", "tls.crt": "Y2VydA==" },
                    "metadata": { "name": "s", "managedFields": [1], "annotations": {
                        "kubectl.kubernetes.io/last-applied-configuration": "{}", "openshift.io/token-secret.value": "abc", "a": "b" } } }),
            &json!({ "kind": "Secret", "type": "kubernetes.io/tls", "data": { "tls.key": "UkVEQUNURUQ=", "tls.crt": "UkVEQUNURUQ=" },
                     "metadata": { "name": "s", "annotations": { "openshift.io/token-secret.value": REDACTED, "a": "b" } } }),
        );
    }

    #[test]
    fn redacts_credentials_by_name_and_by_format() {
        check(
            json!({ "kind": "ConfigMap", "data": { "db-password": "x", "config": "a: b", "token": "t", "conf": "url: postgres://me:pw@db/x" } }),
            &json!({ "kind": "ConfigMap", "data": { "db-password": REDACTED, "config": "a: b", "token": REDACTED, "conf": REDACTED } }),
        );
        let jwt = "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc";
        check(
            json!({ "kind": "Pod", "spec": { "volumes": [{ "secret": { "secretName": "s" } }], "containers": [{
                "args": ["--v=2", jwt, "-----BEGIN EC PRIVATE KEY-----\nabc"],
                "env": [{ "name": "API_KEY", "value": "k" }, { "name": "LOG", "value": "2" },
                        { "name": "TOKEN", "valueFrom": { "secretKeyRef": { "name": "s", "key": "token" } } }] }] } }),
            &json!({ "kind": "Pod", "spec": { "volumes": [{ "secret": { "secretName": "s" } }], "containers": [{
                "args": ["--v=2", REDACTED, REDACTED],
                "env": [{ "name": "API_KEY", "value": REDACTED }, { "name": "LOG", "value": "2" },
                        { "name": "TOKEN", "valueFrom": { "secretKeyRef": { "name": "s", "key": "token" } } }] }] } }),
        );
    }

    #[test]
    fn redacts_users_and_files_of_machine_configs() {
        check(
            json!({ "kind": "MachineConfig", "spec": { "osImageURL": "i", "config": {
                "passwd": { "users": [{ "name": "core", "sshAuthorizedKeys": ["ssh-rsa AAA"], "passwordHash": "$6$" }] },
                "storage": { "files": [{ "path": "/etc/x", "contents": { "source": "data:;base64,eA==", "compression": "gzip" } }] } } } }),
            &json!({ "kind": "MachineConfig", "spec": { "osImageURL": "i", "config": {
                "passwd": { "users": [{ "name": "core", "sshAuthorizedKeys": REDACTED, "passwordHash": REDACTED }] },
                "storage": { "files": [{ "path": "/etc/x", "contents": { "source": "data:,REDACTED" } }] } } } }),
        );
    }

    #[test]
    fn keeps_conditions_and_images() {
        let object = json!({ "kind": "ClusterVersion", "metadata": { "name": "version" }, "spec": { "clusterID": "c" },
            "status": { "conditions": [{ "type": "Failing", "message": "could not find the token secret \"a\"" }],
                        "history": [{ "image": "quay.io/x@sha256:0123456789abcdef0123456789abcdef" }] } });
        check(object.clone(), &object);
    }
}

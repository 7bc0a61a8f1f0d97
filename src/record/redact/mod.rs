//! Removes secrets of a watched cluster from a record.
//!
//! Keys stay, so that objects keep their shape; values are replaced by [`REDACTED`]. This applies to all
//! values of Secrets, to keys, tokens and logins anywhere, which are recognized by their format, and to
//! values whose names indicate credentials. A text that contains JSON is treated like an object.

mod formats;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use self::formats::is_credential;
use super::names::{is_credential_entry, is_credential_field};
use super::secrets::{APPLIED, redact_secrets};

const REDACTED: &str = "REDACTED";

/// Removes secrets from an object. Also removes `managedFields`, which are most of an object's size and
/// contain no state.
pub fn redact(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    redact_value(object);
}

fn redact_value(value: &mut Value) {
    redact_kind(value);
    match value {
        Value::String(text) => redact_text(text),
        Value::Array(items) => items.iter_mut().for_each(redact_value),
        Value::Object(map) => redact_fields(map),
        _ => {}
    }
}

/// Removes the secrets of a kind from an object of this kind, which may be a part of another object such as a Template.
fn redact_kind(object: &mut Value) {
    match object["kind"].as_str() {
        Some("Secret" | "SecretList") => redact_secrets(object),
        Some("ConfigMap") => {
            if let Some(Value::Object(data)) = object.get_mut("data") {
                redact_entries(data, |text| json!(text));
            }
            if let Some(Value::Object(data)) = object.get_mut("binaryData") {
                redact_entries(data, |text| json!(STANDARD.encode(text)));
            }
        }
        Some("MachineConfig") => object.pointer_mut("/spec/config").into_iter().for_each(redact_files),
        _ if object["ignition"]["version"].is_string() => redact_files(object),
        _ => {}
    }
}

/// Replaces the values of a map whose names indicate credentials.
fn redact_entries(map: &mut Map<String, Value>, replacement: impl Fn(&str) -> Value) {
    for (_, value) in map.iter_mut().filter(|(name, _)| is_credential_entry(name)) {
        *value = replacement(REDACTED);
    }
}

/// Replaces the contents of files in a configuration of Ignition, which may contain anything in many encodings.
fn redact_files(config: &mut Value) {
    match config {
        Value::Object(map) if map.get("source").is_some_and(Value::is_string) => {
            *config = json!({ "source": format!("data:,{REDACTED}") });
        }
        Value::Object(map) => map.values_mut().for_each(redact_files),
        Value::Array(items) => items.iter_mut().for_each(redact_files),
        _ => {}
    }
}

fn redact_fields(map: &mut Map<String, Value>) {
    // An environment variable, a header, or a parameter of a template.
    let name = map.get("name").and_then(Value::as_str);
    if name.is_some_and(is_credential_entry)
        && let Some(text @ Value::String(_)) = map.get_mut("value")
    {
        *text = json!(REDACTED);
    }
    if let Some(Value::Object(annotations)) = map.get_mut("annotations") {
        annotations.remove(APPLIED);
        redact_entries(annotations, |text| json!(text));
    }
    for (field, value) in map.iter_mut() {
        if is_credential_field(field, value) {
            hide(value);
        } else {
            redact_value(value);
        }
    }
}

/// Replaces a text, or each text of a list.
fn hide(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide),
        other => *other = json!(REDACTED),
    }
}

fn redact_text(text: &mut String) {
    if is_credential(text) {
        REDACTED.clone_into(text);
    } else if text.trim_start().starts_with(['{', '['])
        && let Ok(before) = serde_json::from_str::<Value>(text)
    {
        let mut document = before.clone();
        redact(&mut document);
        if document != before {
            *text = document.to_string();
        }
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
                "passwd": { "users": [{ "name": "core", "sshAuthorizedKeys": [REDACTED], "passwordHash": REDACTED }] },
                "storage": { "files": [{ "path": "/etc/x", "contents": { "source": "data:,REDACTED" } }] } } } }),
        );
    }

    #[test]
    fn redacts_files_of_ignition_wherever_it_keeps_them() {
        let redacted = json!({ "source": "data:,REDACTED" });
        let config = |file: Value| {
            json!({ "ignition": { "version": "3.4.0", "config": { "merge": [file.clone()] } },
                    "storage": { "files": [{ "path": "/var/lib/kubelet/config.json", "append": [file.clone()], "contents": file }],
                                 "luks": [{ "name": "root", "keyFile": file }] } })
        };
        let file = json!({ "source": "data:;base64,eyJ9", "httpHeaders": [{ "name": "X", "value": "y" }] });
        check(
            json!({ "kind": "MachineConfig", "spec": { "config": config(file.clone()) } }),
            &json!({ "kind": "MachineConfig", "spec": { "config": config(redacted.clone()) } }),
        );
        check(
            json!({ "kind": "ConfigMap", "data": { "worker.ign": config(file).to_string() } }),
            &json!({ "kind": "ConfigMap", "data": { "worker.ign": config(redacted).to_string() } }),
        );
    }

    #[test]
    fn redacts_fields_of_oauth_clients_and_builds() {
        check(
            json!({ "kind": "OAuthClient", "secret": "s", "additionalSecrets": ["a", "b"], "redirectURIs": ["https://x"] }),
            &json!({ "kind": "OAuthClient", "secret": REDACTED, "additionalSecrets": [REDACTED, REDACTED], "redirectURIs": ["https://x"] }),
        );
        let build = |secret: &str, variable: &str| {
            json!({ "kind": "BuildConfig", "spec": {
                "triggers": [{ "type": "GitHub", "github": { "secret": secret } }, { "type": "Generic", "generic": { "secretReference": { "name": "s" } } }],
                "source": { "sourceSecret": { "name": "s" }, "secrets": [{ "secret": { "name": "s" } }] },
                "strategy": { "dockerStrategy": { "env": [{ "name": "Authorization", "value": variable }] } } } })
        };
        check(build("hunter2", "Basic x"), &build(REDACTED, REDACTED));
    }

    #[test]
    fn redacts_annotations_at_any_depth() {
        let deployment = |password: &str, applied: bool| {
            let mut annotations = json!({ "example.com/password": password, "a": "b" });
            if applied {
                annotations[APPLIED] = json!("{}");
            }
            json!({ "kind": "Deployment", "spec": { "template": { "metadata": { "annotations": annotations } } } })
        };
        check(deployment("hunter2", true), &deployment(REDACTED, false));
    }

    #[test]
    fn redacts_secrets_in_other_objects_and_in_texts() {
        let secret = |value: &str| json!({ "kind": "Secret", "apiVersion": "v1", "metadata": { "name": "s" }, "data": { "pin": value } });
        let redacted = "UkVEQUNURUQ=";
        check(
            json!({ "kind": "Template", "objects": [secret("MQ==")], "parameters": [{ "name": "PASSWORD", "value": "x" }] }),
            &json!({ "kind": "Template", "objects": [secret(redacted)], "parameters": [{ "name": "PASSWORD", "value": REDACTED }] }),
        );
        let list = |value: &str| {
            json!({ "kind": "SecretList", "items": [{ "data": { "pin": value } }] }).to_string()
        };
        let map = |json: String, list: String, yaml: &str| json!({ "kind": "ConfigMap", "data": { "json": json, "list": list, "yaml": yaml } });
        let yaml = "apiVersion: v1\nkind: Secret\nstringData:\n  pin: '1'\n";
        let twice = |value: &str| json!({ "inner": secret(value).to_string() }).to_string();
        check(map(twice("MQ=="), list("MQ=="), yaml), &map(twice(redacted), list(redacted), REDACTED));
    }

    #[test]
    fn keeps_texts_without_secrets_byte_by_byte() {
        let object = json!({ "kind": "ConfigMap", "metadata": { "annotations": { "a": "{ \"b\" : 1.0 }" } },
            "data": { "a": "[1, 2", "rule": "kind: Role\nrules: [{resources: [secrets]}]\n", "limits": "{\"hard\": {\"secrets\": \"10\"}}" } });
        check(object.clone(), &object);
    }

    #[test]
    fn keeps_conditions_and_images() {
        let object = json!({ "kind": "ClusterVersion", "metadata": { "name": "version" }, "spec": { "clusterID": "c" },
            "status": { "conditions": [{ "type": "Failing", "message": "could not find the token secret \"a\"" }],
                        "history": [{ "image": "quay.io/x@sha256:0123456789abcdef0123456789abcdef" }] } });
        check(object.clone(), &object);
    }
}

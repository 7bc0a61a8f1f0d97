//! Names that indicate credentials: those of entries, which people choose, and those of fields, which an API defines.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::pattern::pattern;

/// Names of entries (of ConfigMaps, environments, annotations, headers) whose values are credentials.
static ENTRIES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)passw(or)?d|passphrase|secret|token|credential|api[-_.]?key|access[-_.]?key|private[-_.]?key|kubeconfig|dockercfg|dockerconfig|htpasswd|\.key$|^auth$|^(proxy-)?authorization$|cookie$",
    )
});

/// Names of fields that contain a credential. They end with its word: `secretName` and `tokenConfig` only refer to one. A name
/// with a slash or a dot is a label or another entry.
static FIELDS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^[\w-]*(passwd|password|passphrase|secret|token|credentials?|(access|account|api|encryption|private|secret)[-_]?key)([-_]?(hash|value))?$",
    )
});

/// Names of fields with a list of credentials.
static LISTS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)^[\w-]*(passwords|secrets|tokens)$|^sshAuthorizedKeys$"));

/// Fields of Kubernetes, OpenShift and the operator of Prometheus that contain names of Secrets.
const REFERENCES: [&str; 4] = ["configSecret", "imagePullSecret", "imagePullSecrets", "secrets"];

/// Returns whether the name of an entry indicates that its value is a credential.
pub(super) fn is_credential_entry(name: &str) -> bool {
    ENTRIES.is_match(name)
}

/// Returns whether a field contains a credential. Credentials are texts and lists of texts; an object only refers to one.
pub(super) fn is_credential_field(name: &str, value: &Value) -> bool {
    let is_named = match value {
        Value::String(text) => !text.is_empty() && FIELDS.is_match(name),
        Value::Array(items) => {
            let are_texts = !items.is_empty() && items.iter().all(Value::is_string);
            are_texts && (LISTS.is_match(name) || FIELDS.is_match(name))
        }
        _ => false,
    };
    is_named && !REFERENCES.contains(&name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_with_credentials_end_with_their_word() {
        for name in [
            "accessToken",
            "api_key",
            "authorizeToken",
            "bearerToken",
            "bindPassword",
            "clientSecret",
            "httpSecret",
            "internalRegistryPullSecret",
            "password",
            "passwordHash",
            "privateKey",
            "pullSecret",
            "secret",
            "secretAccessKey",
            "token",
        ] {
            assert!(is_credential_field(name, &json!("x")), "{name}");
        }
        for name in ["additionalSecrets", "tokens", "sshAuthorizedKeys", "password"] {
            assert!(is_credential_field(name, &json!(["x"])), "{name}");
        }
    }

    #[test]
    fn references_settings_and_labels_are_no_credentials() {
        for name in [
            "accessTokenInactivityTimeout",
            "configSecret",
            "count/secrets",
            "credentialsMode",
            "example.io/token",
            "imagePullSecret",
            "key",
            "keyData",
            "passwordFile",
            "secretName",
            "secrets",
            "topologyKey",
        ] {
            assert!(!is_credential_field(name, &json!("x")), "{name}");
        }
        assert!(!is_credential_field("secrets", &json!(["alertmanager-tls"])));
        assert!(!is_credential_field("imagePullSecrets", &json!(["registry"])));
        for value in [json!(""), json!([]), json!({ "name": "s" }), json!([{ "name": "s" }]), json!(true)] {
            assert!(!is_credential_field("secret", &value), "{value}");
        }
    }
}

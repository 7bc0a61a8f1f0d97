//! Texts that are credentials by their format, whatever their names are.

use std::sync::LazyLock;

use regex::Regex;

use crate::record::pattern::pattern;

/// PEM keys, JSON web tokens, registry logins (also in base64), kubeconfigs with keys or tokens, tokens of OpenShift and of
/// common services, URLs with a password.
static CREDENTIALS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"PRIVATE KEY-----|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]+\.|"auths?"\s*:|eyJhdXRo|eyAiYXV0aH|ewogICJhdXRo|ewogICAgImF1dGh|ewoJImF1dGh|client-key-data|(?s:\busers:.*\btoken:\s)|sha256~[A-Za-z0-9_-]{20,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bAKIA[A-Z0-9]{16}|://[^/\s:@]+:[^/\s:@]+@"#,
    )
});

/// The line of YAML that begins a Secret.
static SECRET: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?m)^[\s-]*kind:\s*["']?Secret["']?\s*$"#));

/// The line of YAML before the values of a Secret.
static VALUES: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^\s*(data|stringData):"));

/// Returns whether a text contains a credential, or the manifest of a Secret in YAML.
pub(super) fn is_credential(text: &str) -> bool {
    CREDENTIALS.is_match(text) || SECRET.is_match(text) && VALUES.is_match(text)
}

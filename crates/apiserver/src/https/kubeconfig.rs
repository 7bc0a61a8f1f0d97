//! A kubeconfig file for the server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

/// A kubeconfig with one cluster, one user and one context, all named `windtunnel`.
pub(super) fn text(url: &str, authority_pem: &str, token: &str) -> String {
    let authority = STANDARD.encode(authority_pem);
    // JSON strings are YAML strings, so quoting is correct whatever the token contains.
    let (url, token) = (json!(url), json!(token));
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: windtunnel
  cluster:
    server: {url}
    certificate-authority-data: {authority}
users:
- name: windtunnel
  user:
    token: {token}
contexts:
- name: windtunnel
  context:
    cluster: windtunnel
    user: windtunnel
    namespace: default
current-context: windtunnel
"
    )
}

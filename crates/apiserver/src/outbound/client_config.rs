//! `clientConfig` of admission and conversion webhooks: the address of the webhook and its validation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::field::FieldError;
use crate::names;
use crate::outbound::hooks::{HookService, HookTarget};

/// The default port of a webhook's service.
pub(crate) const PORT: u16 = 443;

/// The target of a valid `clientConfig`.
pub(crate) fn target(config: &Value) -> HookTarget {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let service = &config["service"];
    let ca_bundle = text(&config["caBundle"]);
    if !service.is_object() {
        return HookTarget { url: text(&config["url"]), service: None, ca_bundle };
    }
    let port = service["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(PORT);
    let service_name = HookService::new(&text(&service["namespace"]), &text(&service["name"]), port);
    let path = text(&service["path"]);
    let path = path.trim_start_matches('/');
    let url = format!("https://{}.{}.svc:{port}/{path}", service_name.name, service_name.namespace);
    HookTarget { url: url.trim_end_matches('/').to_owned(), service: Some(service_name), ca_bundle }
}

/// Whether the text is base64 of PEM certificates.
pub(crate) fn is_bundle(text: &str) -> bool {
    let bytes = STANDARD.decode(text).unwrap_or_default();
    String::from_utf8_lossy(&bytes).contains("-----BEGIN CERTIFICATE-----")
}

/// Validates a `clientConfig`.
pub(crate) fn check(config: &Value, at: &str) -> Vec<FieldError> {
    match (config["url"].as_str(), &config["service"]) {
        (Some(url), Value::Null) => check_url(url, &format!("{at}.url")),
        (None, service @ Value::Object(_)) => check_service(service, &format!("{at}.service")),
        _ => vec![FieldError::required(at, "exactly one of url or service is required")],
    }
}

/// `ValidateWebhookURL`.
fn check_url(url: &str, at: &str) -> Vec<FieldError> {
    const FORM: &str = "; desired format: https://host[/path]";
    let mut errors = Vec::new();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or_default() };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let mut fail = |value: &str, why: String| errors.push(FieldError::invalid(at, value, why));
    if scheme != "https" {
        fail(scheme, format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if host.is_empty() {
        fail(host, format!("host must be provided{FORM}"));
    }
    for (part, what) in [
        (user, "user information is not permitted in the URL"),
        (fragment, "fragments are not permitted in the URL"),
        (query, "query parameters are not permitted in the URL"),
    ] {
        if !part.is_empty() {
            fail(part, what.to_owned());
        }
    }
    errors
}

/// `ValidateWebhookService`.
fn check_service(service: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["name", "namespace"] {
        if service[field].as_str().is_none_or(str::is_empty) {
            errors
                .push(FieldError::required(format!("{at}.{field}"), format!("service {field} is required")));
        }
    }
    let port = service["port"].as_i64().unwrap_or_else(|| i64::from(PORT));
    if !(1..=65535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(format!("{at}.port"), port, why));
    }
    let path = service["path"].as_str().unwrap_or_default();
    let at = format!("{at}.path");
    let mut fail = |why: String| errors.push(FieldError::invalid(at.as_str(), path, why));
    if path.is_empty() || path == "/" {
        return errors;
    }
    if path == "//" {
        fail("segment[0] may not be empty".to_owned());
        return errors;
    }
    if !path.starts_with('/') {
        fail("must start with a '/'".to_owned());
    }
    let mut rest = path.chars();
    rest.next();
    let rest = rest.as_str();
    for (index, segment) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if segment.is_empty() {
            fail(format!("segment[{index}] may not be empty"));
            continue;
        }
        for why in names::subdomain(segment) {
            fail(format!("segment[{index}]: {why}"));
        }
    }
    errors
}

//! `clientConfig` of admission and conversion webhooks: the address of the webhook and its validation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::field::FieldError;
use crate::gotext::url::{self, Url};
use crate::names;
use crate::outbound::hooks::{HookService, HookTarget};

/// The default port of a webhook's service.
pub(crate) const PORT: u16 = 443;

/// The target of a valid `clientConfig`. Its path is cleaned, as the REST client of Kubernetes joins the elements of paths.
pub(crate) fn target(config: &Value) -> HookTarget {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let service = &config["service"];
    let ca_bundle = text(&config["caBundle"]);
    if !service.is_object() {
        let url = text(&config["url"]);
        let url = Url::parse(&url).map_or(url, |parsed| {
            let path = url::escape_path(&url::clean_path(&parsed.unescaped_path()));
            Url { path, query: String::new(), ..parsed }.to_string()
        });
        return HookTarget { url, service: None, ca_bundle };
    }
    let port = service["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(PORT);
    let service_name = HookService::new(&text(&service["namespace"]), &text(&service["name"]), port);
    let path = url::escape_path(&url::clean_path(&text(&service["path"])));
    let url = format!("https://{}.{}.svc:{port}{path}", service_name.name, service_name.namespace);
    HookTarget { url, service: Some(service_name), ca_bundle }
}

/// Checks that the CA bundle of a target has certificates, if there is one.
///
/// # Errors
/// The message of the REST client.
pub(crate) fn check_bundle(target: &HookTarget) -> Result<(), String> {
    if target.ca_bundle.is_empty() || is_bundle(&target.ca_bundle) {
        return Ok(());
    }
    Err("unable to load root certificates: unable to parse bytes as PEM block".to_owned())
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
    let (text, fragment) = url.split_once('#').unwrap_or((url, ""));
    let parsed = match parse(text) {
        Ok(parsed) => parsed,
        Err(why) => return vec![FieldError::required(at, format!("url must be a valid URL: {why}{FORM}"))],
    };
    let authority = text.split_once("//").map(|(_, rest)| rest.split(['/', '?']).next().unwrap_or_default());
    let user = authority.and_then(|authority| authority.rsplit_once('@')).map_or("", |(user, _)| user);
    let mut fail = |value: &str, why: String| errors.push(FieldError::invalid(at, value, why));
    if parsed.scheme != "https" {
        fail(&parsed.scheme, format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if parsed.host.is_empty() {
        fail("", format!("host must be specified{FORM}"));
    }
    for (part, what) in [
        (user, "user information is not permitted in the URL"),
        (fragment, "fragments are not permitted in the URL"),
        (&parsed.query, "query parameters are not permitted in the URL"),
    ] {
        if !part.is_empty() {
            fail(part, what.to_owned());
        }
    }
    errors
}

/// Parses a URL that may be relative (`url.Parse`).
fn parse(text: &str) -> Result<Url, String> {
    if text.starts_with("//") {
        let parsed = Url::parse(&format!("https:{text}"))?;
        return Ok(Url { scheme: String::new(), ..parsed });
    }
    if text.starts_with(|first: char| first.is_ascii_alphanumeric() && !text.contains(':')) || text.is_empty()
    {
        return Url::parse(&format!("/{text}"));
    }
    Url::parse(text)
}

/// `ValidateWebhookService`.
fn check_service(service: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    // The real server takes the name for the namespace, and the namespace for the name.
    for (field, reported) in [("namespace", "name"), ("name", "namespace")] {
        if service[field].as_str().is_none_or(str::is_empty) {
            errors.push(FieldError::required(format!("{at}.{reported}"), ""));
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The fields and details of the errors about a configuration.
    fn errors(config: &Value) -> Vec<String> {
        let errors = check(config, "c");
        errors.iter().map(|error| format!("{}: {}", error.field, error.detail)).collect()
    }

    #[test]
    fn urls_are_checked_as_go_parses_them() {
        const FORM: &str = "; desired format: https://host[/path]";
        let scheme = format!("c.url: 'https' is the only allowed URL scheme{FORM}");
        let host = format!("c.url: host must be specified{FORM}");
        let invalid = |why: &str| format!("c.url: url must be a valid URL: parse {why}{FORM}");
        for (url, expected) in [
            ("HTTPS://x/", vec![]),
            ("https://x:1//a/../b?", vec![]),
            ("", vec![scheme.clone(), host.clone()]),
            ("x", vec![scheme.clone(), host.clone()]),
            ("//x/y", vec![scheme.clone()]),
            ("https:x", vec![host.clone()]),
            ("https:///x", vec![host]),
            ("http://x", vec![scheme]),
            (":x", vec![invalid("\":x\": missing protocol scheme")]),
            ("https://x y/#f", vec![invalid("\"https://x y/\": invalid character \" \" in host name")]),
            ("https://x:abc/", vec![invalid("\"https://x:abc/\": invalid port \":abc\" after host")]),
            ("https://u:p@x", vec!["c.url: user information is not permitted in the URL".to_owned()]),
            ("https://x?q", vec!["c.url: query parameters are not permitted in the URL".to_owned()]),
            ("https://x#f", vec!["c.url: fragments are not permitted in the URL".to_owned()]),
        ] {
            assert_eq!(errors(&json!({ "url": url })), expected, "{url}");
        }
    }

    #[test]
    fn name_and_namespace_of_services_are_reported_for_each_other() {
        assert_eq!(errors(&json!({ "service": { "name": "a" } })), ["c.service.name: "]);
        assert_eq!(errors(&json!({ "service": { "namespace": "a" } })), ["c.service.namespace: "]);
    }

    #[test]
    fn targets_have_a_clean_path() {
        let url = |config: Value| target(&config).url;
        for (path, clean) in [("", "/"), ("//x/", "/x"), ("/a/../b%20c", "/b%20c"), ("/a|b", "/a%7Cb")] {
            assert_eq!(url(json!({ "url": format!("https://h:1{path}") })), format!("https://h:1{clean}"));
        }
        let service = json!({ "service": { "namespace": "n", "name": "s", "path": "/x/" } });
        assert_eq!(url(service), "https://s.n.svc:443/x");
        assert_eq!(url(json!({ "service": { "namespace": "n", "name": "s" } })), "https://s.n.svc:443/");
    }
}

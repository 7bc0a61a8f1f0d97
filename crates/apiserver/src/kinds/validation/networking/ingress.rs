//! Validation of ingresses and their classes (`pkg/apis/networking/validation`).

use serde_json::Value;

use super::{ip, port_number};
use crate::kinds::validation::{Errors, Path, TEXT, immutable_as, items, one_of_required, text};
use crate::names;

/// The annotation that named the class before the field existed.
const CLASS: &str = "kubernetes.io/ingress.class";
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must \
    consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
    '*.example.com', regex used for validation is \
    '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// The bytes of a path besides letters and digits.
const PATH_BYTES: &[u8] = b"/-._~%!$&'()*+,;=:";
const BAD_PATH: &str = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";

/// Validates an ingress (`ValidateIngressCreate`, `ValidateIngressUpdate`).
pub(in crate::kinds::validation) fn ingress(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    if items(&spec["rules"]).is_empty() && spec["defaultBackend"].is_null() {
        errors.invalid(at, spec["rules"].clone(), "either `defaultBackend` or `rules` must be specified");
    }
    if spec["defaultBackend"].is_object() {
        backend(&spec["defaultBackend"], at.child("defaultBackend"), errors);
    }
    let rules = at.child("rules");
    for (index, rule) in items(&spec["rules"]).iter().enumerate() {
        let at = rules.index(index);
        let host = text(&rule["host"]);
        if !host.is_empty() {
            if ip::parse(host).is_some() {
                errors.invalid(at.child("host"), host, "must be a DNS name, not an IP address");
            }
            errors.each(at.child("host"), host, host_name(host));
        }
        if rule["http"].is_null() {
            continue;
        }
        let http = at.child("http");
        let paths = http.child("paths");
        if items(&rule["http"]["paths"]).is_empty() {
            errors.required(paths, "");
        }
        for (index, path) in items(&rule["http"]["paths"]).iter().enumerate() {
            ingress_path(path, paths.index(index), errors);
        }
    }
    certificates(&spec["tls"], at.child("tls"), errors);
    let class = text(&spec["ingressClassName"]);
    if !spec["ingressClassName"].is_null() {
        errors.each(at.child("ingressClassName"), class, names::subdomain(class));
    }
    let annotation = &object["metadata"]["annotations"][CLASS];
    if old.is_none()
        && !spec["ingressClassName"].is_null()
        && annotation.as_str().is_some_and(|annotated| annotated != class)
    {
        let annotations = Path::Root.child("annotations");
        let why = "must match `ingressClassName` when both are specified";
        errors.invalid(annotations.child(CLASS), annotation.clone(), why);
    }
}

/// Errors in a host, which may begin with `*.`.
fn host_name(host: &str) -> Vec<String> {
    if !host.contains('*') {
        return names::subdomain(host);
    }
    let good = host.strip_prefix("*.").is_some_and(|rest| names::subdomain(rest).is_empty());
    if good { Vec::new() } else { vec![WILDCARD.to_owned()] }
}

fn certificates(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (index, tls) in items(list).iter().enumerate() {
        let at = at.index(index);
        let hosts = at.child("hosts");
        for (index, host) in items(&tls["hosts"]).iter().enumerate() {
            let host = text(host);
            errors.each(hosts.index(index), host, host_name(host));
        }
        let secret = text(&tls["secretName"]);
        if !secret.is_empty() {
            errors.each(at.child("secretName"), secret, names::subdomain(secret));
        }
    }
}

fn ingress_path(path: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let given = text(&path["path"]);
    if path["pathType"].is_null() {
        errors.required(at.child("pathType"), "pathType must be specified");
        return;
    }
    match text(&path["pathType"]) {
        "Exact" | "Prefix" if !given.starts_with('/') => {
            errors.invalid(at.child("path"), given, "must be an absolute path");
            ambiguous_path(given, at.child("path"), errors);
        }
        "ImplementationSpecific" if !given.is_empty() && !given.starts_with('/') => {
            errors.invalid(at.child("path"), given, "must be an absolute path");
        }
        "Exact" | "Prefix" => ambiguous_path(given, at.child("path"), errors),
        "ImplementationSpecific" => {}
        other => {
            let known = ["Exact", "ImplementationSpecific", "Prefix"];
            errors.unsupported(at.child("pathType"), other, &known);
        }
    }
    backend(&path["backend"], at.child("backend"), errors);
}

/// Rejects paths with empty or relative segments, or with an escaped slash.
fn ambiguous_path(path: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    for part in ["//", "/./", "/../", "%2f", "%2F"].into_iter().filter(|part| path.contains(part)) {
        errors.invalid(at, path, format!("must not contain '{part}'"));
    }
    for end in ["/..", "/."].into_iter().filter(|end| path.ends_with(end)) {
        errors.invalid(at, path, format!("cannot end with '{end}'"));
    }
}

/// Validates a backend (`validateIngressBackend`).
fn backend(backend: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    match (backend["service"].is_object(), backend["resource"].is_object()) {
        (true, true) => errors.invalid(at, "", "cannot set both resource and service backends"),
        (false, false) => errors.invalid(at, "", "resource or service backend is required"),
        (false, true) => reference(&backend["resource"], at.child("resource"), errors),
        (true, false) => service_backend(&backend["service"], at, errors),
    }
}

fn service_backend(service: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let place = at.child("service");
    match text(&service["name"]) {
        "" => errors.required(place.child("name"), ""),
        name => {
            let relaxed = errors.profile.relaxed_service_names;
            let wrong = if relaxed { names::label(name) } else { names::dns1035_label(name) };
            errors.each(place.child("name"), name, wrong);
        }
    }
    let port = place.child("port");
    let (name, number) = (text(&service["port"]["name"]), service["port"]["number"].as_i64().unwrap_or(0));
    match (name, number) {
        ("", 0) => errors.required(at, "port name or number is required"),
        ("", _) => port_number(number, port.child("number"), errors),
        (_, 0) => errors.each(port.child("name"), name, names::port_name(name)),
        _ => errors.invalid(at, "", "cannot set both port name & port number"),
    }
}

/// Validates a reference to an object in the same namespace (`validateIngressTypedLocalObjectReference`).
fn reference(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(group) = value["apiGroup"].as_str() {
        errors.each(at.child("apiGroup"), group, names::subdomain(group));
    }
    for field in ["kind", "name"] {
        match text(&value[field]) {
            "" => errors.required(at.child(field), ""),
            given => errors.each(at.child(field), given, names::path_segment(given)),
        }
    }
}

/// Validates the parameters of a class (`validateIngressClassParametersReference`).
fn parameters(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    reference(value, at, errors);
    one_of_required(&value["scope"], &["Cluster", "Namespace"], at.child("scope"), errors);
    let place = at.child("namespace");
    match (text(&value["scope"]), value["namespace"].as_str()) {
        ("Namespace", None) => errors.required(place, "`parameters.scope` is set to 'Namespace'"),
        ("Namespace", Some(namespace)) => errors.each(place, namespace, names::label(namespace)),
        ("Cluster", Some(_)) => errors.forbidden(place, "`parameters.scope` is set to 'Cluster'"),
        _ => {}
    }
}

/// Validates the class of ingresses (`ValidateIngressClass`).
pub(in crate::kinds::validation) fn ingress_class(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = Path::Root.child("spec");
    let place = at.child("controller");
    let controller = text(&object["spec"]["controller"]);
    if controller.len() > 250 {
        errors.too_long(place, 250);
    }
    match controller.split_once('/') {
        _ if controller.is_empty() => errors.required(place, ""),
        Some((domain, path)) if !domain.is_empty() && !path.is_empty() => {
            errors.each(place, domain, names::subdomain(domain));
            let other = |b: u8| !b.is_ascii_alphanumeric() && !PATH_BYTES.contains(&b);
            if path.bytes().any(other) {
                errors.invalid(place, path, BAD_PATH);
            }
        }
        _ => {
            let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            errors.invalid(place, controller, why);
        }
    }
    if object["spec"]["parameters"].is_object() {
        parameters(&object["spec"]["parameters"], at.child("parameters"), errors);
    }
    if let Some(old) = old {
        immutable_as(TEXT, &object["spec"]["controller"], Some(&old["spec"]["controller"]), place, errors);
    }
}

//! Validation of ingresses and their classes (`pkg/apis/networking/validation`).

use std::net::IpAddr;

use serde_json::Value;

use crate::kinds::validation::pods::container::PORT_RANGE;
use crate::kinds::validation::{Errors, Path, immutable, items, text};
use crate::names;

/// The annotation that named the class before the field existed.
const CLASS: &str = "kubernetes.io/ingress.class";
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must \
    consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
    '*.example.com', regex used for validation is \
    '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

pub(in crate::kinds::validation) fn ingress(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Field(&Path::Root, "spec");
    let spec = &object["spec"];
    if items(&spec["rules"]).is_empty() && spec["defaultBackend"].is_null() {
        errors.invalid(at, Value::Array(Vec::new()), "either `defaultBackend` or `rules` must be specified");
    }
    if spec["defaultBackend"].is_object() {
        backend(&spec["defaultBackend"], Path::Field(&at, "defaultBackend"), errors);
    }
    let rules = Path::Field(&at, "rules");
    for (index, rule) in items(&spec["rules"]).iter().enumerate() {
        let at = Path::Index(&rules, index);
        let host = text(&rule["host"]);
        if !host.is_empty() {
            if host.parse::<IpAddr>().is_ok() {
                errors.invalid(Path::Field(&at, "host"), host, "must be a DNS name, not an IP address");
            } else {
                errors.each(Path::Field(&at, "host"), host, host_name(host));
            }
        }
        if rule["http"].is_null() {
            continue;
        }
        let http = Path::Field(&at, "http");
        let paths = Path::Field(&http, "paths");
        if items(&rule["http"]["paths"]).is_empty() {
            errors.required(paths, "");
        }
        for (index, path) in items(&rule["http"]["paths"]).iter().enumerate() {
            ingress_path(path, Path::Index(&paths, index), errors);
        }
    }
    certificates(&spec["tls"], Path::Field(&at, "tls"), errors);
    let class = text(&spec["ingressClassName"]);
    if !spec["ingressClassName"].is_null() {
        errors.each(Path::Field(&at, "ingressClassName"), class, names::subdomain(class));
    }
    let annotation = &object["metadata"]["annotations"][CLASS];
    if old.is_none()
        && !spec["ingressClassName"].is_null()
        && annotation.as_str().is_some_and(|annotated| annotated != class)
    {
        let annotations = Path::Field(&Path::Root, "annotations");
        let why = "must match `ingressClassName` when both are specified";
        errors.invalid(Path::Field(&annotations, CLASS), annotation.clone(), why);
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
        let at = Path::Index(&at, index);
        let hosts = Path::Field(&at, "hosts");
        for (index, host) in items(&tls["hosts"]).iter().enumerate() {
            let host = text(host);
            errors.each(Path::Index(&hosts, index), host, host_name(host));
        }
        let secret = text(&tls["secretName"]);
        if !secret.is_empty() {
            errors.each(Path::Field(&at, "secretName"), secret, names::subdomain(secret));
        }
    }
}

fn ingress_path(path: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let given = text(&path["path"]);
    match text(&path["pathType"]) {
        "" => errors.required(Path::Field(&at, "pathType"), "pathType must be specified"),
        "Exact" | "Prefix" if !given.starts_with('/') => {
            errors.invalid(Path::Field(&at, "path"), given, "must be an absolute path");
            ambiguous_path(given, Path::Field(&at, "path"), errors);
        }
        "ImplementationSpecific" if !given.is_empty() && !given.starts_with('/') => {
            errors.invalid(Path::Field(&at, "path"), given, "must be an absolute path");
        }
        "Exact" | "Prefix" => ambiguous_path(given, Path::Field(&at, "path"), errors),
        "ImplementationSpecific" => {}
        other => {
            let known = ["Exact", "ImplementationSpecific", "Prefix"];
            errors.unsupported(Path::Field(&at, "pathType"), other, &known);
        }
    }
    backend(&path["backend"], Path::Field(&at, "backend"), errors);
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

fn backend(backend: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    match (backend["service"].is_object(), backend["resource"].is_object()) {
        (true, true) => errors.invalid(at, "", "cannot set both resource and service backends"),
        (false, false) => errors.required(at, "resource or service backend is required"),
        (false, true) => {}
        (true, false) => {
            let at = Path::Field(&at, "service");
            let service = &backend["service"];
            match text(&service["name"]) {
                "" => errors.required(Path::Field(&at, "name"), ""),
                name => errors.each(Path::Field(&at, "name"), name, names::dns1035_label(name)),
            }
            let (name, number) = (text(&service["port"]["name"]), service["port"]["number"].as_i64());
            match (name, number.unwrap_or(0)) {
                ("", 0) => errors.required(at, "port name or number is required"),
                ("", number) if !(1..=65535).contains(&number) => {
                    let port = Path::Field(&at, "port");
                    errors.invalid(Path::Field(&port, "number"), number, PORT_RANGE);
                }
                (_, number) if !name.is_empty() && number != 0 => {
                    errors.invalid(at, "", "cannot set both port name & port number");
                }
                _ => {}
            }
        }
    }
}

pub(in crate::kinds::validation) fn ingress_class(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = Path::Field(&Path::Root, "spec");
    let place = Path::Field(&at, "controller");
    let controller = text(&object["spec"]["controller"]);
    if controller.len() > 250 {
        errors.too_long(place, 250);
    }
    match controller.split_once('/') {
        _ if controller.is_empty() => errors.required(place, ""),
        Some((domain, path)) if !domain.is_empty() && !path.is_empty() => {
            errors.each(place, domain, names::subdomain(domain));
        }
        _ => {
            let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            errors.invalid(place, controller, why);
        }
    }
    if let Some(old) = old {
        immutable(&object["spec"]["controller"], Some(&old["spec"]["controller"]), place, errors);
    }
}

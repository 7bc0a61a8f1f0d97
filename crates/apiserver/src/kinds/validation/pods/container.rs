//! Validation of containers of pods.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kinds::quantity::Quantity;
use crate::kinds::validation::{Errors, NON_NEGATIVE, Path, absent, items, one_of, one_of_if_given, text};
use crate::names;
use crate::profile::since;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];
pub(in crate::kinds::validation) const PORT_RANGE: &str = "must be between 1 and 65535, inclusive";
const ENV_NAME: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";
const STRICT_ENV_NAME: &str = "a valid environment variable name must consist of alphabetic characters, digits, '_', \
    '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used \
    for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')";
const HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];

/// The properties of a pod that affect its containers.
pub(in crate::kinds::validation) struct Pod<'a> {
    pub(in crate::kinds::validation) volumes: &'a BTreeSet<&'a str>,
    pub(in crate::kinds::validation) host_network: bool,
}

/// Validates a list of containers; `names` are those seen before.
pub(in crate::kinds::validation) fn list<'a>(
    containers: &'a Value,
    at: Path<'_>,
    pod: &Pod<'_>,
    names: &mut BTreeSet<&'a str>,
    errors: &mut Errors<'_>,
) {
    for (index, one) in items(containers).iter().enumerate() {
        let at = Path::Index(&at, index);
        container(one, at, pod, errors);
        let name = text(&one["name"]);
        if !name.is_empty() && !names.insert(name) {
            errors.duplicate(Path::Field(&at, "name"), name);
        }
    }
}

fn container(container: &Value, at: Path<'_>, pod: &Pod<'_>, errors: &mut Errors<'_>) {
    label(&container["name"], Path::Field(&at, "name"), errors);
    let image = text(&container["image"]);
    if image.is_empty() {
        errors.required(Path::Field(&at, "image"), "");
    } else if image.trim() != image {
        errors.invalid(Path::Field(&at, "image"), image, "must not have leading or trailing whitespace");
    }
    let policy = Path::Field(&at, "terminationMessagePolicy");
    one_of(&container["terminationMessagePolicy"], &["FallbackToLogsOnError", "File"], policy, errors);
    one_of(&container["imagePullPolicy"], &PULL_POLICIES, Path::Field(&at, "imagePullPolicy"), errors);
    ports(&container["ports"], Path::Field(&at, "ports"), pod.host_network, errors);
    environment(&container["env"], Path::Field(&at, "env"), errors);
    mounts(&container["volumeMounts"], Path::Field(&at, "volumeMounts"), pod, errors);
    resources(&container["resources"], Path::Field(&at, "resources"), errors);
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if container[name].is_object() {
            probe(&container[name], name, Path::Field(&at, name), errors);
        }
    }
}

/// Requires a name that is a DNS label.
pub(in crate::kinds::validation) fn label(name: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    match text(name) {
        "" => errors.required(at, ""),
        name => errors.each(at, name, names::label(name)),
    }
}

fn ports(list: &Value, at: Path<'_>, host_network: bool, errors: &mut Errors<'_>) {
    let mut names_seen = BTreeSet::new();
    for (index, port) in items(list).iter().enumerate() {
        let at = Path::Index(&at, index);
        let name = text(&port["name"]);
        if !name.is_empty() {
            errors.each(Path::Field(&at, "name"), name, names::port_name(name));
            if !names_seen.insert(name) {
                errors.duplicate(Path::Field(&at, "name"), name);
            }
        }
        let number = port["containerPort"].as_i64().unwrap_or(0);
        match number {
            0 => errors.required(Path::Field(&at, "containerPort"), ""),
            1..=65535 => {}
            _ => errors.invalid(Path::Field(&at, "containerPort"), number, PORT_RANGE),
        }
        if let Some(host) = port["hostPort"].as_i64().filter(|host| *host != 0) {
            if !(1..=65535).contains(&host) {
                errors.invalid(Path::Field(&at, "hostPort"), host, PORT_RANGE);
            } else if host_network && host != number {
                let why = "must match `containerPort` when `hostNetwork` is true";
                errors.invalid(Path::Field(&at, "hostPort"), host, why);
            }
        }
        one_of(&port["protocol"], &PROTOCOLS, Path::Field(&at, "protocol"), errors);
    }
}

fn environment(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let relaxed = errors.profile.minor >= since::RELAXED_ENVIRONMENT;
    for (index, variable) in items(list).iter().enumerate() {
        let at = Path::Index(&at, index);
        let name = text(&variable["name"]);
        if name.is_empty() {
            errors.required(Path::Field(&at, "name"), "");
        } else if relaxed {
            if !name.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=') {
                errors.invalid(Path::Field(&at, "name"), name, ENV_NAME);
            }
        } else {
            let fine = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
            if !fine || name.as_bytes()[0].is_ascii_digit() {
                errors.invalid(Path::Field(&at, "name"), name, STRICT_ENV_NAME);
            }
        }
        let from = &variable["valueFrom"];
        if from.is_object() {
            let at = Path::Field(&at, "valueFrom");
            let sources = from.as_object().map_or(0, serde_json::Map::len);
            if sources == 0 {
                let why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
                errors.invalid(at, "", why);
            } else if !absent(&variable["value"]) {
                errors.invalid(at, "", "may not be specified when `value` is not empty");
            } else if sources > 1 {
                errors.invalid(at, "", "may not have more than one field specified at a time");
            }
        }
    }
}

fn mounts(list: &Value, at: Path<'_>, pod: &Pod<'_>, errors: &mut Errors<'_>) {
    let mut paths = BTreeSet::new();
    for (index, mount) in items(list).iter().enumerate() {
        let at = Path::Index(&at, index);
        match text(&mount["name"]) {
            "" => errors.required(Path::Field(&at, "name"), ""),
            name if !pod.volumes.contains(name) => errors.not_found(Path::Field(&at, "name"), name),
            _ => {}
        }
        let path = text(&mount["mountPath"]);
        if path.is_empty() {
            errors.required(Path::Field(&at, "mountPath"), "");
        } else if !paths.insert(path) {
            errors.invalid(Path::Field(&at, "mountPath"), path, "must be unique");
        }
    }
}

/// Requires a resource name that is standard or has a domain (`validateContainerResourceName`).
pub(in crate::kinds::validation) fn resource_name(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if !name.contains('/') && !is_standard(name) {
        errors.invalid(at, name, "must be a standard resource type or fully qualified");
        errors.invalid(at, name, "must be a standard resource for containers");
    }
}

/// Amounts must not be negative, and requests must not exceed limits.
fn resources(resources: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let amount = |value: &Value| Quantity::parse(text(value)).ok().flatten();
    for list in ["limits", "requests"] {
        let at = Path::Field(&at, list);
        for (name, value) in resources[list].as_object().into_iter().flatten() {
            if amount(value).is_some_and(Quantity::is_negative) {
                errors.invalid(Path::Key(&at, name), text(value), NON_NEGATIVE);
            }
            resource_name(name, at, errors);
        }
    }
    let at = Path::Field(&at, "requests");
    for (name, value) in resources["requests"].as_object().into_iter().flatten() {
        let limit = &resources["limits"][name];
        let (Some(request), Some(most)) = (amount(value), amount(limit)) else { continue };
        if request.compare(most).is_gt() {
            let why = format!("must be less than or equal to {name} limit of {}", text(limit));
            errors.invalid(at, text(value), why);
        }
    }
}

fn is_standard(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage" | "storage") || name.starts_with("hugepages-")
}

fn probe(probe: &Value, name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut given = HANDLERS.iter().filter(|handler| probe[**handler].is_object());
    if given.next().is_none() {
        errors.required(at, "must specify a handler type");
    }
    for handler in given {
        errors.forbidden(Path::Field(&at, handler), "may not specify more than 1 handler type");
    }
    for field in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        crate::kinds::validation::non_negative(&probe[field], Path::Field(&at, field), errors);
    }
    for handler in ["httpGet", "tcpSocket"] {
        if probe[handler].is_object() {
            let at = Path::Field(&at, handler);
            port(&probe[handler]["port"], Path::Field(&at, "port"), errors);
            if handler == "httpGet" {
                one_of_if_given(
                    &probe[handler]["scheme"],
                    &["HTTP", "HTTPS"],
                    Path::Field(&at, "scheme"),
                    errors,
                );
            }
        }
    }
    let threshold = probe["successThreshold"].as_i64().unwrap_or(1);
    if name != "readinessProbe" && threshold != 1 {
        errors.invalid(Path::Field(&at, "successThreshold"), threshold, "must be 1");
    }
}

/// Validates the number or the name of a port.
pub(in crate::kinds::validation) fn port(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    match value {
        Value::Number(number) if number.as_i64().is_some_and(|number| !(1..=65535).contains(&number)) => {
            errors.invalid(at, value.clone(), PORT_RANGE);
        }
        Value::String(name) => errors.each(at, name, names::port_name(name)),
        _ => {}
    }
}

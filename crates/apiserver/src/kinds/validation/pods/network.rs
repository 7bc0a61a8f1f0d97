//! Validation of how pods resolve names: DNS, host names and host aliases.

use serde_json::Value;

use super::names::{address, plain_label, relaxed_subdomain, subdomain};
use crate::kinds::validation::{Errors, Path, items, text};
use crate::names;
use crate::profile::since;

const NAMESERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCH_BYTES_MAX: usize = 2048;

/// Validates the configuration of DNS (`validatePodDNSConfig`).
pub(super) fn dns_config(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let config = &spec["dnsConfig"];
    let servers = items(&config["nameservers"]);
    if spec["dnsPolicy"] == "None" {
        if !config.is_object() {
            errors.required(at, "must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        }
        if servers.is_empty() {
            let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.required(at.child("nameservers"), why);
            return;
        }
    }
    let place = at.child("nameservers");
    if servers.len() > NAMESERVERS_MAX {
        let why = format!("must not have more than {NAMESERVERS_MAX} nameservers");
        errors.invalid_list(place, &config["nameservers"], "string", &why);
    }
    for (index, server) in servers.iter().enumerate() {
        address(text(server), &[], place.index(index), errors);
    }
    searches(&config["searches"], at.child("searches"), errors);
    let place = at.child("options");
    for (index, option) in items(&config["options"]).iter().enumerate() {
        if text(&option["name"]).is_empty() {
            errors.required(place.index(index), "must not be empty");
        }
    }
}

fn searches(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let searches = items(list);
    if searches.len() > SEARCHES_MAX {
        let why = format!("must not have more than {SEARCHES_MAX} search paths");
        errors.invalid(at, list.clone(), why);
    }
    let bytes: usize = searches.iter().map(|search| text(search).len() + 1).sum();
    if bytes > SEARCH_BYTES_MAX + 1 {
        let why = format!(
            "must not have more than {SEARCH_BYTES_MAX} characters (including spaces) in the search list"
        );
        errors.invalid(at, list.clone(), why);
    }
    let is_relaxed = errors.profile.minor >= since::RELAXED_SEARCHES;
    for (index, search) in searches.iter().map(text).enumerate() {
        if is_relaxed && search == "." {
            continue;
        }
        let search = search.strip_suffix('.').unwrap_or(search);
        let problems = if is_relaxed { relaxed_subdomain(search) } else { names::subdomain(search) };
        errors.each(at.index(index), search, problems);
    }
}

/// Validates addresses and names in the hosts file (`ValidateHostAliases`).
pub(super) fn host_aliases(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (index, alias) in items(list).iter().enumerate() {
        let at = at.index(index);
        address(text(&alias["ip"]), &[], at.child("ip"), errors);
        let at = at.child("hostnames");
        for (index, name) in items(&alias["hostnames"]).iter().enumerate() {
            subdomain(name, at.index(index), errors);
        }
    }
}

/// Validates the names of the pod in DNS (`validatePodHostName` and parts of `ValidatePodSpec`).
pub(super) fn host_names(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["hostname", "subdomain"] {
        if !text(&spec[field]).is_empty() {
            plain_label(&spec[field], at.child(field), errors);
        }
    }
    let Some(name) = spec["hostnameOverride"].as_str() else { return };
    let at = at.child("hostnameOverride");
    for field in ["setHostnameAsFQDN", "hostNetwork"].into_iter().filter(|field| spec[*field] == true) {
        errors.forbidden(at, format!("may not be specified when {field} is true"));
    }
    if name.len() > 64 {
        errors.too_long(at, 64);
    }
    errors.each(at, name, names::subdomain(name));
}

/// Requires that ports on the host network are those of the containers (`validatePodHostNetworkDeps`).
pub(super) fn host_ports(spec: &Value, is_pod: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    if spec["hostNetwork"] != true {
        return;
    }
    let at = at.child("containers");
    for (index, container) in items(&spec["containers"]).iter().enumerate() {
        let at = at.index(index);
        let at = at.child("ports");
        for (index, port) in items(&container["ports"]).iter().enumerate() {
            let number = |field: &str| port[field].as_i64().unwrap_or(0);
            let (host, own) = (number("hostPort"), number("containerPort"));
            if host != own && (is_pod || host != 0) {
                let why = "must match `containerPort` when `hostNetwork` is true";
                errors.invalid(at.index(index).child("hostPort"), host, why);
            }
        }
    }
}

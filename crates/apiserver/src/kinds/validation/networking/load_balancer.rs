//! Validation of the load balancer in the status of services and ingresses (`ValidateLoadBalancerStatus`,
//! `ValidateIngressLoadBalancerStatus`).

use serde_json::Value;

use super::ip;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::names;
use crate::profile::since;

const MODES: [&str; 2] = ["Proxy", "VIP"];

pub(super) fn service(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let entries = items(&object["status"]["loadBalancer"]["ingress"]);
    let minor = errors.profile.minor;
    if object["spec"]["type"] != "LoadBalancer" && !entries.is_empty() && minor >= since::BALANCER_STATUS {
        let status = Path::Root.child("status");
        let at = status.child("loadBalancer");
        let why = "may only be used when `spec.type` is 'LoadBalancer'";
        errors.forbidden(at.child("ingress"), why);
        return;
    }
    check(object, old, minor >= since::BALANCER_MODE, errors);
}

pub(in crate::kinds::validation) fn ingress(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    check(object, old, false, errors);
}

/// Validates the entries. A stored address need not be valid.
fn check(object: &Value, old: Option<&Value>, modes: bool, errors: &mut Errors<'_>) {
    let status = Path::Root.child("status");
    let at = status.child("loadBalancer");
    let list = at.child("ingress");
    let known = old.map(|old| items(&old["status"]["loadBalancer"]["ingress"])).unwrap_or_default();
    for (index, entry) in items(&object["status"]["loadBalancer"]["ingress"]).iter().enumerate() {
        let at = list.index(index);
        let (address, host) = (text(&entry["ip"]), text(&entry["hostname"]));
        if !address.is_empty() && !known.iter().any(|stored| stored["ip"] == address) {
            ip::check(address, at.child("ip"), errors);
        }
        if modes {
            mode(entry, at.child("ipMode"), errors);
        }
        if !host.is_empty() {
            errors.each(at.child("hostname"), host, names::subdomain(host));
            if ip::parse(host).is_some() {
                errors.invalid(at.child("hostname"), host, "must be a DNS name, not an IP address");
            }
        }
    }
}

fn mode(entry: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let has_address = !text(&entry["ip"]).is_empty();
    match entry["ipMode"].as_str() {
        None if has_address => errors.required(at, "must be specified when `ip` is set"),
        Some(_) if !has_address => errors.forbidden(at, "may not be specified when `ip` is not set"),
        Some(mode) if !MODES.contains(&mode) => errors.unsupported(at, mode, &MODES),
        None | Some(_) => {}
    }
}

//! The address families of a service (`initIPFamilyFields`).

use serde_json::{Map, Value, json};

use super::{has_cluster_ip, is_empty};
use crate::field::FieldError;
use crate::kinds::validation::networking::{ip, service::addresses};
use crate::kinds::validation::path::Errors;
use crate::profile::Profile;

const POLICY: &str = "spec.ipFamilyPolicy";

/// Sets the policy and the families, or returns why the cluster cannot provide them.
pub(super) fn init(
    service: &mut Value,
    old: Option<&Value>,
    profile: &Profile,
) -> Result<(), Vec<FieldError>> {
    let spec = &mut service["spec"];
    let old = old.map(|old| &old["spec"]);
    let any = spec["clusterIP"] == "None" && spec["selector"].as_object().is_none_or(Map::is_empty);
    if spec["ipFamilyPolicy"].is_null() {
        let before = old.map(|old| &old["ipFamilyPolicy"]).filter(|policy| !policy.is_null()).cloned();
        // A headless service without selector may have backends of any family.
        let default = if any { "RequireDualStack" } else { "SingleStack" };
        spec["ipFamilyPolicy"] = before.unwrap_or_else(|| json!(default));
    }
    let mut errors = Errors::new(profile);
    addresses::check(spec, &mut errors, old);
    fail(errors.into_found())?;
    let mut errors = old.map(|old| reduce(spec, old)).unwrap_or_default();
    errors.extend(single_stack(spec));
    errors.extend(infer(spec));
    fail(errors)?;
    if any {
        add_families(spec);
        return Ok(());
    }
    fail(unavailable(spec))?;
    if is_empty(&spec["ipFamilies"]) {
        spec["ipFamilies"] = json!(["IPv4"]);
    }
    Ok(())
}

fn fail(errors: Vec<FieldError>) -> Result<(), Vec<FieldError>> {
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn invalid_policy(spec: &Value, why: &str) -> FieldError {
    FieldError::invalid(POLICY, spec["ipFamilyPolicy"].clone(), why)
}

fn list<'a>(spec: &'a Value, field: &str) -> &'a [Value] {
    spec[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The policy `SingleStack` releases unchanged second values; other policies must not.
fn reduce(spec: &mut Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let single = spec["ipFamilyPolicy"] == "SingleStack";
    for (field, what) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
        let (new, before) = (list(spec, field), list(old, field));
        if single && new == before && new.len() > 1 {
            spec[field] = json!([new[0]]);
        } else if !single && !new.is_empty() && new.len() < before.len() {
            let why = format!("must be 'SingleStack' to release the secondary {what}");
            errors.push(invalid_policy(spec, &why));
        }
    }
    errors
}

/// The policy `SingleStack` allows one address and one family.
fn single_stack(spec: &Value) -> Vec<FieldError> {
    if spec["ipFamilyPolicy"] != "SingleStack" {
        return Vec::new();
    }
    let lists = [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")].into_iter();
    let two = lists.filter(|(field, _)| list(spec, field).len() == 2);
    two.map(|(_, what)| {
        let why =
            format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
        invalid_policy(spec, &why)
    })
    .collect()
}

/// Adds the families of given addresses.
fn infer(spec: &mut Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !has_cluster_ip(spec) || spec["clusterIP"] == "None" {
        return errors;
    }
    let mut families = list(spec, "ipFamilies").to_vec();
    for (index, address) in list(spec, "clusterIPs").iter().enumerate().skip(families.len()) {
        if ip::is_v6(address.as_str().unwrap_or_default()) {
            let (at, why) = (format!("spec.clusterIPs[{index}]"), "IPv6 is not configured on this cluster");
            errors.push(FieldError::invalid(at, spec["clusterIPs"].clone(), why));
        } else {
            families.push(json!("IPv4"));
        }
    }
    if !families.is_empty() {
        spec["ipFamilies"] = Value::Array(families);
    }
    errors
}

/// Completes the families of a headless service without selector.
fn add_families(spec: &mut Value) {
    let mut families = list(spec, "ipFamilies").to_vec();
    if families.is_empty() {
        families.push(json!("IPv4"));
    }
    if families.len() < 2 && spec["ipFamilyPolicy"] != "SingleStack" {
        let other = if families[0] == "IPv4" { "IPv6" } else { "IPv4" };
        families.push(json!(other));
    }
    spec["ipFamilies"] = Value::Array(families);
}

/// The cluster has only IPv4.
fn unavailable(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if spec["ipFamilyPolicy"] == "RequireDualStack" {
        errors.push(invalid_policy(spec, "this cluster is not configured for dual-stack services"));
    }
    for (index, family) in list(spec, "ipFamilies").iter().enumerate().filter(|(_, one)| *one != "IPv4") {
        let at = format!("spec.ipFamilies[{index}]");
        errors.push(FieldError::invalid(at, family.clone(), "not configured on this cluster"));
    }
    errors
}

//! Paths that are no resources: version, health, and which resources there are.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::kinds::Kind;
use super::kinds::catalog::Catalog;
use super::reply::{Reply, ReplyBody};
use super::request::Method;
use super::status::{Outcome, Refused};

/// Answers a path that is no resource, as Kubernetes 1.`minor`.
pub(crate) fn answer(catalog: &Catalog, minor: u32, method: Method, path: &str) -> Outcome<Reply> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let body = match parts.as_slice() {
        ["version"] => version(minor),
        ["healthz" | "livez" | "readyz"] => return Ok(Reply::new(200, ReplyBody::Text("ok".to_owned()))),
        ["api"] => json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }),
        ["apis"] => {
            let groups: Vec<Value> =
                groups(catalog).into_iter().map(|(name, versions)| group(&name, &versions)).collect();
            json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
        }
        ["apis", name] => {
            let versions = groups(catalog).remove(*name).ok_or_else(Refused::unknown_path)?;
            let mut group = group(name, &versions);
            group["kind"] = json!("APIGroup");
            group["apiVersion"] = json!("v1");
            group
        }
        ["api", version] => resources(catalog, "", version)?,
        ["apis", name, version] => resources(catalog, name, version)?,
        _ => return Err(Refused::unknown_path()),
    };
    if method != Method::Get {
        return Err(Refused::method_not_allowed());
    }
    Ok(Reply::value(200, body))
}

fn version(minor: u32) -> Value {
    json!({
        "major": "1", "minor": minor.to_string(), "gitVersion": format!("v1.{minor}.0"),
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "", "compiler": "", "platform": "linux/amd64",
    })
}

/// Versions by group, the core group left out.
fn groups(catalog: &Catalog) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for kind in catalog.all().filter(|kind| !kind.resource.group.is_empty()) {
        let versions = groups.entry(kind.resource.group.to_string()).or_default();
        if !versions.iter().any(|version| *version == kind.resource.version) {
            versions.push(kind.resource.version.to_string());
        }
    }
    groups
}

fn group(name: &str, versions: &[String]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| json!({ "groupVersion": format!("{name}/{version}"), "version": version }))
        .collect();
    json!({ "name": name, "preferredVersion": versions.first(), "versions": versions })
}

fn resources(catalog: &Catalog, group: &str, version: &str) -> Outcome<Value> {
    let found = catalog.all().filter(|kind| kind.resource.group == group && kind.resource.version == version);
    let resources: Vec<Value> = found.flat_map(|kind| resource(kind)).collect();
    if resources.is_empty() {
        return Err(Refused::unknown_path());
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Ok(
        json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources }),
    )
}

/// The entry of a kind and of its status.
fn resource(kind: &Kind) -> Vec<Value> {
    let resource = &kind.resource;
    let mut main = json!({
        "name": resource.plural, "singularName": kind.singular, "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
    });
    for (field, names) in [("shortNames", &kind.short_names), ("categories", &kind.categories)] {
        if !names.is_empty() {
            main[field] = json!(names);
        }
    }
    let mut entries = vec![main];
    if kind.rules.status {
        entries.push(json!({
            "name": format!("{}/status", resource.plural), "singularName": "",
            "namespaced": resource.namespaced, "kind": resource.kind, "verbs": ["get", "patch", "update"],
        }));
    }
    entries
}

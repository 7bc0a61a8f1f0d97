//! Discovery of groups, versions and resources: one document each (`/apis/GROUP/VERSION`) or all in one.

mod aggregated;
mod groups;
mod resources;
mod services;

use serde_json::{Value, json};

pub(crate) use aggregated::document as aggregated;
pub(crate) use groups::{Group, groups, is_builtin_group, sorted_versions};
pub(crate) use resources::{Entry, entries};
pub(crate) use services::{all_groups, is_delegated};

use super::kinds::Kind;
use super::kinds::catalog::Catalog;
use super::rejection::{BoxedRejection, Outcome};

/// The document of `/api`.
pub(crate) fn versions() -> Value {
    json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [
        { "clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443" },
    ] })
}

/// The document of `/apis`.
pub(crate) fn group_list(groups: &[Group]) -> Value {
    let groups: Vec<Value> = groups.iter().filter(|group| !group.name.is_empty()).map(group_entry).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// The document of `/apis/GROUP`.
pub(crate) fn group(groups: &[Group], name: &str) -> Outcome<Value> {
    let found = groups.iter().find(|group| group.name == name && !name.is_empty());
    let mut entry = group_entry(found.ok_or_else(BoxedRejection::unknown_path)?);
    entry["kind"] = json!("APIGroup");
    entry["apiVersion"] = json!("v1");
    Ok(entry)
}

fn group_entry(group: &Group) -> Value {
    let entry =
        |version: &String| json!({ "groupVersion": format!("{}/{version}", group.name), "version": version });
    let versions: Vec<Value> = group.versions.iter().map(entry).collect();
    json!({ "name": group.name, "preferredVersion": versions.first(), "versions": versions })
}

/// The document of `/api/v1` and `/apis/GROUP/VERSION`.
pub(crate) fn resource_list(catalog: &Catalog, group: &str, version: &str) -> Outcome<Value> {
    let mut found = kinds(catalog, group, version).peekable();
    if found.peek().is_none() {
        // The path of a built-in group exists even without this version; that of another group does not.
        return Err(if catalog.is_builtin(group) {
            BoxedRejection::unknown_resource()
        } else {
            BoxedRejection::unknown_path()
        });
    }
    let minor = catalog.minor();
    let resources: Vec<Value> = found.flat_map(|kind| entries(kind, minor)).map(Entry::into_legacy).collect();
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut list =
        json!({ "kind": "APIResourceList", "groupVersion": group_version, "resources": resources });
    // The handler of the core group leaves it out.
    if !group.is_empty() {
        list["apiVersion"] = json!("v1");
    }
    Ok(list)
}

/// The kinds of one group and version, by plural.
pub(crate) fn kinds<'a>(
    catalog: &'a Catalog,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = &'a Kind> {
    let all = catalog.served().map(AsRef::as_ref);
    all.filter(move |kind: &&Kind| kind.resource.group == group && kind.resource.version == version)
}

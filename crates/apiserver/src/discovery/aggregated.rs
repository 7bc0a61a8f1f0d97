//! Aggregated discovery: all groups with their resources in one document (`apidiscovery.k8s.io`).

use serde_json::{Value, json};

use super::resources::Entry;
use super::{Group, entries, kinds};
use crate::kinds::catalog::Catalog;
use crate::profile::since;

/// The document of `/api` (the core group) or `/apis` (all other groups), in a version of
/// `apidiscovery.k8s.io`.
pub(crate) fn document(catalog: &Catalog, groups: &[Group], core: bool, version: &str) -> Value {
    let groups = groups.iter().filter(|group| group.name.is_empty() == core);
    let items: Vec<Value> = groups.map(|group| item(catalog, group)).collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items,
    })
}

fn item(catalog: &Catalog, group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| {
            let kinds = kinds(catalog, &group.name, version);
            let resources: Vec<Value> =
                kinds.filter_map(|kind| resource(&entries(kind, catalog.minor()))).collect();
            if resources.is_empty() {
                // Another server has it, which does not answer.
                return json!({ "version": version, "freshness": "Stale" });
            }
            json!({ "version": version, "resources": resources, "freshness": "Current" })
        })
        .collect();
    let mut metadata = if group.name.is_empty() { json!({}) } else { json!({ "name": group.name }) };
    if catalog.minor() < since::ABSENT_TIMES_OMITTED {
        metadata["creationTimestamp"] = Value::Null;
    }
    json!({ "metadata": metadata, "versions": versions })
}

fn resource(entries: &[Entry<'_>]) -> Option<Value> {
    let (main, subresources) = entries.split_first()?;
    let resource = &main.kind.resource;
    let mut shown = json!({
        "resource": resource.plural,
        "responseKind": response_kind(main),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": main.kind.singular,
        "verbs": main.verbs,
    });
    main.add_names(&mut shown);
    if !subresources.is_empty() {
        let subresource = |entry: &Entry<'_>| {
            json!({
                "subresource": entry.subresource, "responseKind": response_kind(entry), "verbs": entry.verbs,
            })
        };
        shown["subresources"] = subresources.iter().map(subresource).collect();
    }
    Some(shown)
}

/// The kind that an endpoint returns. Built-in groups omit their own group and version.
fn response_kind(entry: &Entry<'_>) -> Value {
    let resource = &entry.kind.resource;
    let own = (&*resource.group, &*resource.version);
    let (group, version, kind) = entry.own_kind.unwrap_or((own.0, own.1, &*resource.kind));
    let (group, version) =
        if entry.kind.custom.is_none() && (group, version) == own { ("", "") } else { (group, version) };
    json!({ "group": group, "version": version, "kind": kind })
}

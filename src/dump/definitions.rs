//! Definitions of kinds whose definition a dump lacks: the cluster served them, since it had objects of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::kinds;

/// The groups of Kubernetes' own API server below `k8s.io`, whose kinds no definition adds.
const BUILT_IN: [&str; 18] = [
    "admissionregistration",
    "apiextensions",
    "apiregistration",
    "authentication",
    "authorization",
    "certificates",
    "coordination",
    "discovery",
    "events",
    "flowcontrol.apiserver",
    "internal.apiserver",
    "networking",
    "node",
    "rbac.authorization",
    "resource",
    "scheduling",
    "storage",
    "storagemigration",
];

/// Returns a definition without a schema for each kind of these objects that a definition can add.
pub fn definitions_without_schema<'o>(objects: impl IntoIterator<Item = &'o Value>) -> Vec<Value> {
    let mut found: BTreeMap<(&str, &str), (Vec<&str>, bool)> = BTreeMap::new();
    for object in objects {
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let Some((group, version)) = api_version.rsplit_once('/').filter(|(group, _)| is_addable(group))
        else {
            continue;
        };
        let (versions, is_namespaced) =
            found.entry((group, object["kind"].as_str().unwrap_or_default())).or_default();
        if !versions.contains(&version) {
            versions.push(version);
        }
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        *is_namespaced |= !namespace.is_empty();
    }
    found
        .into_iter()
        .map(|((group, kind), (versions, scope))| definition(group, kind, &versions, scope))
        .collect()
}

fn is_addable(group: &str) -> bool {
    let is_built_in = group.strip_suffix(".k8s.io").is_some_and(|name| BUILT_IN.contains(&name));
    group.contains('.') && !is_built_in
}

fn definition(group: &str, kind: &str, versions: &[&str], is_namespaced: bool) -> Value {
    let plural = kinds::plural(&format!("{group}/{}", versions[0]), kind);
    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let versions: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(index, name)| json!({ "name": name, "served": true, "storage": index == 0, "schema": schema }))
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            // Groups below `k8s.io` need it.
            "annotations": { "api-approved.kubernetes.io": "unapproved, created by windtunnel serve" },
        },
        "spec": {
            "group": group,
            "scope": if is_namespaced { "Namespaced" } else { "Cluster" },
            "names": {
                "kind": kind,
                "listKind": format!("{kind}List"),
                "plural": plural,
                "singular": kind.to_lowercase(),
            },
            "versions": versions,
        },
    })
}

//! The names by which a client finds kinds: plural, singular and short names.

use serde_json::Value;
use windtunnel_core::Resource;
use windtunnel_core::resources::{self, CLUSTER_OPERATORS, CLUSTER_VERSIONS};
use windtunnel_core::text::did_you_mean;

/// Short names of kinds (`shortNames` of their definitions).
const SHORT: &[(&str, &str)] = &[
    ("cj", "cronjobs"),
    ("cm", "configmaps"),
    ("co", "clusteroperators"),
    ("crd", "customresourcedefinitions"),
    ("crds", "customresourcedefinitions"),
    ("csr", "certificatesigningrequests"),
    ("deploy", "deployments"),
    ("ds", "daemonsets"),
    ("ep", "endpoints"),
    ("ev", "events"),
    ("hpa", "horizontalpodautoscalers"),
    ("idms", "imagedigestmirrorsets"),
    ("ing", "ingresses"),
    ("ip", "ipaddresses"),
    ("itms", "imagetagmirrorsets"),
    ("limits", "limitranges"),
    ("mc", "machineconfigs"),
    ("mcp", "machineconfigpools"),
    ("netpol", "networkpolicies"),
    ("no", "nodes"),
    ("ns", "namespaces"),
    ("pc", "priorityclasses"),
    ("pdb", "poddisruptionbudgets"),
    ("po", "pods"),
    ("pv", "persistentvolumes"),
    ("pvc", "persistentvolumeclaims"),
    ("quota", "resourcequotas"),
    ("rc", "replicationcontrollers"),
    ("rs", "replicasets"),
    ("sa", "serviceaccounts"),
    ("sc", "storageclasses"),
    ("scc", "securitycontextconstraints"),
    ("sts", "statefulsets"),
    ("svc", "services"),
    ("vac", "volumeattributesclasses"),
];

/// A kind that a CustomResourceDefinition of the cluster defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomKind {
    resource: Resource,
    /// Its singular and short names.
    names: Vec<String>,
}

impl CustomKind {
    /// Returns the kind of a CustomResourceDefinition in its stored version; `None` for an incomplete one.
    pub fn of_definition(definition: &Value) -> Option<Self> {
        let names = &definition["spec"]["names"];
        let short = names["shortNames"].as_array().into_iter().flatten();
        let names = short.chain([&names["singular"]]).filter_map(Value::as_str).map(str::to_owned).collect();
        Some(Self { resource: Resource::of_definition(definition)?, names })
    }

    /// Returns the kind itself.
    pub fn resource(&self) -> &Resource {
        &self.resource
    }
}

/// Returns the kind with this plural, singular or short name, optionally with (the start of) its group.
/// Kinds that windtunnel knows take precedence over `custom` ones.
pub fn find_resource(word: &str, custom: &[CustomKind]) -> Option<Resource> {
    let word = word.to_lowercase();
    let (name, group) = word.split_once('.').unwrap_or((&word, ""));
    let known = SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, plural)| plural);
    let in_group = |resource: &Resource| {
        resource.group.starts_with(group) || format!("{}.{}", resource.version, resource.group) == group
    };
    let fits = |resource: &&Resource| {
        (resource.plural == known || resource.kind.to_lowercase() == known) && in_group(resource)
    };
    let is_named = |kind: &&CustomKind| {
        let resource = &kind.resource;
        let named = resource.plural == name
            || resource.kind.to_lowercase() == name
            || kind.names.iter().any(|own| own == name);
        named && in_group(resource)
    };
    // If several kinds have the same name, those of OpenShift updates take precedence.
    let first = [&CLUSTER_VERSIONS, &CLUSTER_OPERATORS];
    let builtin = first.into_iter().chain(resources::ALL).find(fits);
    builtin.or_else(|| custom.iter().find(is_named).map(CustomKind::resource)).cloned()
}

/// Returns the nearest plural as a hint.
pub(super) fn hint(word: &str, custom: &[CustomKind]) -> String {
    let custom = custom.iter().map(|kind| &*kind.resource.plural);
    did_you_mean(word, resources::ALL.iter().map(|resource| &*resource.plural).chain(custom))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_custom_kinds_by_all_of_their_names() {
        let names = json!({ "kind": "Lamp", "plural": "lamps", "singular": "lamp", "shortNames": ["lp"] });
        let definition = json!({ "spec": {
            "group": "example.com", "names": names, "versions": [{ "name": "v1", "storage": true }],
        } });
        let custom = [CustomKind::of_definition(&definition).unwrap()];
        for name in ["lamps", "lamp", "Lamp", "lp", "lamps.example.com", "lamp.v1.example.com"] {
            let found = find_resource(name, &custom).map(|found| found.kind.into_owned());
            assert_eq!(found.as_deref(), Some("Lamp"), "{name}");
        }
        assert_eq!(find_resource("lamps.example.org", &custom), None);
        assert_eq!(find_resource("lamp", &[]), None);
        assert_eq!(hint("lamqs", &custom), "; did you mean `lamps`?");
    }
}

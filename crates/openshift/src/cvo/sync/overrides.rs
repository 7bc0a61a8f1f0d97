//! `spec.overrides`: objects that administrators exclude from the operator's management.

use serde_json::Value;
use windtunnel_core::Object;

/// The unmanaged objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cvo) struct Overrides(Vec<Named>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    group: String,
    kind: String,
    namespace: String,
    name: String,
}

impl Overrides {
    /// The unmanaged objects of this ClusterVersion.
    pub(in crate::cvo) fn of(cluster_version: &Object) -> Self {
        let unmanaged =
            cluster_version.list("/spec/overrides").iter().filter(|entry| entry["unmanaged"] == true);
        let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        Self(
            unmanaged
                .map(|entry| Named {
                    group: text(entry, "group"),
                    kind: text(entry, "kind"),
                    namespace: text(entry, "namespace"),
                    name: text(entry, "name"),
                })
                .collect(),
        )
    }

    /// Returns whether this object is unmanaged.
    pub(in crate::cvo) fn contains(&self, object: &Value) -> bool {
        let is = |value: &Value, name: &str| value.as_str().unwrap_or_default() == name;
        let is_in = |group: &str| {
            let api_version = object["apiVersion"].as_str().unwrap_or_default();
            api_version.rsplit_once('/').map_or("", |(group, _)| group) == group
        };
        self.0.iter().any(|named| {
            is(&object["kind"], &named.kind)
                && is_in(&named.group)
                && is(&object["metadata"]["name"], &named.name)
                && is(&object["metadata"]["namespace"], &named.namespace)
        })
    }
}

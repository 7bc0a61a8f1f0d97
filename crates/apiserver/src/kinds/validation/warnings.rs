//! Warnings about accepted objects of built-in kinds (`WarningsOnCreate`, `WarningsOnUpdate`).

use serde_json::Value;

use super::networking::{ip, warnings as networking};
use super::node_labels::deprecated_label;
use super::storage::warnings as storage;
use super::{Path, absent, items, text};
use crate::kinds::Kind;
use crate::profile::{Profile, since};

/// Adds the warnings about an accepted object; the number is the minor of Kubernetes.
type Warner = fn(&Value, Option<&Value>, u32, &mut Vec<String>);

/// Group, plural, and the function that adds the warnings about objects of that kind.
const TABLE: &[(&str, &str, Warner)] = &[
    ("", "endpoints", networking::endpoints),
    ("", "nodes", node),
    ("", "persistentvolumeclaims", storage::claim),
    ("", "persistentvolumes", storage::volume),
    ("", "serviceaccounts", service_account),
    ("", "services", networking::service),
    ("discovery.k8s.io", "endpointslices", networking::slice),
    ("networking.k8s.io", "ingresses", networking::ingress),
    ("networking.k8s.io", "networkpolicies", networking::policy),
    ("node.k8s.io", "runtimeclasses", runtime_class),
    ("storage.k8s.io", "csidrivers", storage::driver),
    ("storage.k8s.io", "csistoragecapacities", storage::capacity),
    ("storage.k8s.io", "storageclasses", storage::class),
];

const MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";

/// The warnings about an accepted object; `old` is the object that an update replaces.
pub(crate) fn object_warnings(
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
    profile: &Profile,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if kind.custom.is_none() {
        let row = TABLE.iter().find(|row| kind.is_resource(row.0, row.1));
        if let Some((.., warner)) = row {
            warner(object, old, profile.minor, &mut warnings);
        }
    }
    warnings
}

fn node(object: &Value, _old: Option<&Value>, minor: u32, warnings: &mut Vec<String>) {
    let spec = &object["spec"];
    if !spec["configSource"].is_null() {
        warnings.push("spec.configSource: the feature is removed".to_owned());
    }
    if !absent(&spec["externalID"]) && minor >= since::EXTERNAL_ID_WARNING {
        warnings.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned());
    }
    if minor >= since::ADDRESS_WARNINGS {
        let at = Path::Field(&Path::Root, "spec");
        let list = Path::Field(&at, "podCIDRs");
        for (index, range) in items(&spec["podCIDRs"]).iter().enumerate() {
            ip::warn_range(text(range), Path::Index(&list, index), warnings);
        }
    }
}

fn runtime_class(object: &Value, _old: Option<&Value>, _minor: u32, warnings: &mut Vec<String>) {
    let selector = object["scheduling"]["nodeSelector"].as_object();
    for why in selector.into_iter().flat_map(|labels| labels.keys()).filter_map(|key| deprecated_label(key)) {
        warnings.push(format!("scheduling.nodeSelector: {why}"));
    }
}

/// Warns when the annotation is new.
fn service_account(object: &Value, old: Option<&Value>, minor: u32, warnings: &mut Vec<String>) {
    let has = |account: &Value| account["metadata"]["annotations"].get(MOUNTABLE).is_some();
    if has(object) && !old.is_some_and(has) && minor >= since::MOUNTABLE_WARNING {
        let why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets";
        warnings.push(format!("metadata.annotations[{MOUNTABLE}]: {why}"));
    }
}

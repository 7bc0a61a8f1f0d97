//! Warnings about accepted objects of built-in kinds (`WarningsOnCreate`, `WarningsOnUpdate`).

use serde_json::Value;

use super::certificates::key_pair;
use super::devices::slice_warnings;
use super::limits::quota;
use super::networking::{ip, warnings as networking};
use super::node_labels::deprecated_label;
use super::storage::warnings as storage;
use super::workloads::warnings as workloads;
use super::{Path, absent, items, pods, text};
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
    ("", "replicationcontrollers", workloads::name),
    ("", "resourcequotas", quota::warn),
    ("", "secrets", key_pair::warn),
    ("", "serviceaccounts", service_account),
    ("", "services", networking::service),
    ("apps", "deployments", workloads::name),
    ("apps", "replicasets", workloads::name),
    ("apps", "statefulsets", workloads::stateful_set),
    ("batch", "cronjobs", workloads::cron_job),
    ("batch", "jobs", workloads::job),
    ("discovery.k8s.io", "endpointslices", networking::slice),
    ("networking.k8s.io", "ingresses", networking::ingress),
    ("networking.k8s.io", "networkpolicies", networking::policy),
    ("node.k8s.io", "runtimeclasses", runtime_class),
    ("resource.k8s.io", "resourceslices", slice_warnings),
    ("storage.k8s.io", "csidrivers", storage::driver),
    ("storage.k8s.io", "csistoragecapacities", storage::capacity),
    ("storage.k8s.io", "storageclasses", storage::class),
];

const MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";

/// The warnings about an accepted object of a built-in kind, first those about its pods; `old` is the object that an
/// update replaces.
pub(crate) fn warnings(kind: &Kind, object: &Value, old: Option<&Value>, profile: &Profile) -> Vec<String> {
    let mut found = Vec::new();
    if kind.custom.is_none() {
        pods::warnings::of_object(kind, object, old, &mut found);
        if let Some((.., warner)) = TABLE.iter().find(|row| kind.is_resource(row.0, row.1)) {
            warner(object, old, profile.minor, &mut found);
        }
    }
    found
}

/// The warnings about an accepted status.
pub(crate) fn status_warnings(kind: &Kind, object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if kind.is_resource("", "pods") {
        pods::warnings::status(object, &mut found);
    }
    found
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
        let at = Path::Root.child("spec");
        let list = at.child("podCIDRs");
        for (index, range) in items(&spec["podCIDRs"]).iter().enumerate() {
            ip::warn_range(text(range), list.index(index), warnings);
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

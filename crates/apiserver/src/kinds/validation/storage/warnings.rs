//! Warnings about accepted volumes, claims, classes and CSI objects (`WarningsOnCreate`, `WarningsOnUpdate`).

use serde_json::Value;

use super::quantity;
use crate::gotext::quote;
use crate::kinds::validation::node_labels::deprecated_label;
use crate::kinds::validation::{Path, absent, items, text};
use crate::profile::since;

const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
/// Sources of plugins that were removed, their name in the warning, when it was deprecated and removed, and the
/// first minor that warns.
const REMOVED: [(&str, &str, &str, &str, u32); 6] = [
    ("cephfs", "cephfs", "1.28", "1.31+", 28),
    ("photonPersistentDisk", "photonPersistentDisk", "1.11", "1.16+", 0),
    ("scaleIO", "scaleIO", "1.16", "1.22+", 0),
    ("storageos", "storageOS", "1.22", "1.25+", 0),
    ("glusterfs", "glusterfs", "1.25", "1.26+", 25),
    ("rbd", "rbd", "1.28", "1.31+", 28),
];
const TOKENS: &str = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent \
    possible logging of tokens in volume attributes";

/// Warnings about a volume (`GetWarningsForPersistentVolume`).
pub(in crate::kinds::validation) fn volume(
    object: &Value,
    _old: Option<&Value>,
    minor: u32,
    warnings: &mut Vec<String>,
) {
    let (spec, annotations) = (&object["spec"], &object["metadata"]["annotations"]);
    if !annotations[CLASS].is_null() {
        warnings.push(annotation(CLASS, "deprecated since v1.8; use \"storageClassName\" attribute instead"));
    }
    if !annotations[OPTIONS].is_null() {
        warnings.push(annotation(OPTIONS, "deprecated since v1.31; use \"mountOptions\" attribute instead"));
    }
    if spec["persistentVolumeReclaimPolicy"] == "Recycle" {
        let why = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic \
                   provisioning.";
        warnings.push(format!("spec.persistentVolumeReclaimPolicy: {why}"));
    }
    let terms = items(&spec["nodeAffinity"]["required"]["nodeSelectorTerms"]);
    for (index, term) in terms.iter().enumerate() {
        let at = format!("spec.nodeAffinity.required.nodeSelectorTerms[{index}]");
        expressions(&term["matchExpressions"], &at, warnings);
    }
    for (field, name, deprecated, removed, since) in REMOVED {
        if spec[field].is_object() && minor >= since {
            warnings.push(format!("spec.{name}: deprecated in v{deprecated}, non-functional in v{removed}"));
        }
    }
}

fn annotation(key: &str, why: &str) -> String {
    format!("metadata.annotations[{key}]: {why}")
}

/// Warnings about deprecated labels of nodes in expressions.
fn expressions(list: &Value, at: &str, warnings: &mut Vec<String>) {
    for (index, one) in items(list).iter().enumerate() {
        let key = text(&one["key"]);
        if let Some(why) = deprecated_label(key) {
            warnings.push(format!("{at}.matchExpressions[{index}].key: {key} is {why}"));
        }
    }
}

/// Warnings about a claim (`GetWarningsForPersistentVolumeClaim`).
pub(in crate::kinds::validation) fn claim(
    object: &Value,
    _old: Option<&Value>,
    _minor: u32,
    warnings: &mut Vec<String>,
) {
    if !object["metadata"]["annotations"][CLASS].is_null() {
        warnings.push(annotation(CLASS, "deprecated since v1.8; use \"storageClassName\" attribute instead"));
    }
    let at = Path::Root.child("spec");
    claim_sizes(&object["spec"]["resources"], at.child("resources"), warnings);
}

/// Warnings about sizes of a claim that are not whole bytes (`GetWarningsForPersistentVolumeClaimSpec`).
pub(in crate::kinds::validation) fn claim_sizes(resources: &Value, at: Path<'_>, warnings: &mut Vec<String>) {
    for list in ["requests", "limits"] {
        fraction(&resources[list]["storage"], at.child(list).key("storage"), warnings);
    }
}

/// Warns about an amount of bytes that is not an integer.
pub(in crate::kinds::validation) fn fraction(amount: &Value, at: Path<'_>, warnings: &mut Vec<String>) {
    if quantity(amount).is_some_and(|amount| !amount.in_thousandths().is_whole()) {
        let (at, shown) = (at.text(), quote(text(amount)));
        warnings.push(format!("{at}: fractional byte value {shown} is invalid, must be an integer"));
    }
}

/// Warnings about the topologies of a class (`GetWarningsForStorageClass`).
pub(in crate::kinds::validation) fn class(
    object: &Value,
    _old: Option<&Value>,
    _minor: u32,
    warnings: &mut Vec<String>,
) {
    for (term, topology) in items(&object["allowedTopologies"]).iter().enumerate() {
        for (index, one) in items(&topology["matchLabelExpressions"]).iter().enumerate() {
            if let Some(why) = deprecated_label(text(&one["key"])) {
                let at = format!("allowedTopologies[{term}].matchLabelExpressions[{index}].key");
                warnings.push(format!("{at}: {why}"));
            }
        }
    }
}

/// Warnings about the topology of a capacity (`GetWarningsForCSIStorageCapacity`).
pub(in crate::kinds::validation) fn capacity(
    object: &Value,
    _old: Option<&Value>,
    _minor: u32,
    warnings: &mut Vec<String>,
) {
    let topology = &object["nodeTopology"];
    expressions(&topology["matchExpressions"], "nodeTopology", warnings);
    for label in topology["matchLabels"].as_object().into_iter().flat_map(|labels| labels.keys()) {
        if let Some(why) = deprecated_label(label) {
            warnings.push(format!("nodeTopology.matchLabels.{label}: {why}"));
        }
    }
}

/// A warning about a driver that gets tokens where their use is recorded.
pub(in crate::kinds::validation) fn driver(
    object: &Value,
    old: Option<&Value>,
    minor: u32,
    warnings: &mut Vec<String>,
) {
    let spec = &object["spec"];
    let changed = old.is_none_or(|old| old["spec"]["tokenRequests"] != spec["tokenRequests"]);
    if minor >= since::TOKENS_IN_SECRETS
        && changed
        && !absent(&spec["tokenRequests"])
        && spec["serviceAccountTokenInSecrets"].is_null()
    {
        warnings.push(TOKENS.to_owned());
    }
}

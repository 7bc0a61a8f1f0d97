//! The status of a ClusterVersion is frozen: it has values that its own CRD no longer allows, so every write
//! fails.
//!
//! This happens after a rollback: the newer release enabled capabilities, the older release's CRD does not
//! know them, and the cluster-version operator never disables a capability. An API server that validates a
//! status as a whole rejects every update of it, and the ClusterVersion keeps reporting the state from
//! before.

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::clock::{Time, rfc3339};

use super::Facts;
use super::findings::{Cause, Findings, HealthDraft};
use crate::insight::{ImpactLevel, ImpactType, ResourceRef};

/// The status cannot be written.
pub(super) const FROZEN: Cause = Cause {
    name: "Status is frozen",
    levels: &[ImpactLevel::Critical],
    impact: ImpactType::UpdateStalled,
    reference: "https://issues.redhat.com/browse/OTA-1223",
};

/// The first Kubernetes 1.x whose API server, as shipped with OpenShift (4.18), accepts an invalid value in a
/// status if it was there before (`CRDValidationRatcheting` on the status subresource).
const RATCHETING_MINOR: u32 = 31;

/// The lists in `status.capabilities` whose items the CRD enumerates.
const FIELDS: [&str; 2] = [ENABLED, "knownCapabilities"];
const ENABLED: &str = "enabledCapabilities";

/// The cluster-version operator keeps enabled capabilities, so it can never write this list without them.
const REMEDY_ENABLED: &str =
    "Capabilities cannot be disabled again; apply the CustomResourceDefinition of a release that knows them.";
/// The operator writes the capabilities that its own release knows.
const REMEDY_KNOWN: &str = "A cluster-version operator of the release that the CustomResourceDefinition belongs to fixes this when it starts.";

/// Returns the stored values that the CRD does not allow, by list, in stored order. Lists without such values
/// are omitted.
pub fn disallowed_values<'a>(
    cluster_version: &'a Value,
    crd: &'a Value,
) -> Vec<(&'static str, Vec<&'a str>)> {
    let stored = &cluster_version["status"]["capabilities"];
    let Some(schema) = storage_schema(crd) else { return Vec::new() };
    let capabilities = &schema["properties"]["status"]["properties"]["capabilities"]["properties"];
    let disallowed = |field: &'static str| {
        let allowed = capabilities[field]["items"]["enum"].as_array()?;
        let values = stored[field].as_array()?;
        let values = values.iter().filter(|value| !allowed.contains(value)).filter_map(Value::as_str);
        Some((field, values.collect::<Vec<_>>())).filter(|(_, values)| !values.is_empty())
    };
    FIELDS.into_iter().filter_map(disallowed).collect()
}

/// Returns the schema that writes are validated against: that of the stored version.
fn storage_schema(crd: &Value) -> Option<&Value> {
    let versions = crd["spec"]["versions"].as_array()?;
    let version = versions.iter().find(|version| version["storage"] == true && version["served"] == true)?;
    version["schema"].get("openAPIV3Schema")
}

/// Adds the insight while the status has such values and the API server rejects them.
pub(super) fn assess(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    let Some(minor) = facts.kubernetes_minor.filter(|minor| *minor < RATCHETING_MINOR) else { return };
    let disallowed = facts.crd.map(|crd| disallowed_values(facts.cluster_version, crd)).unwrap_or_default();
    if disallowed.is_empty() {
        return;
    }
    let capabilities: BTreeSet<&str> =
        disallowed.iter().flat_map(|(_, values)| values.iter().copied()).collect();
    let capabilities: Vec<&str> = capabilities.into_iter().collect();
    let mut draft = HealthDraft::new(&FROZEN, ResourceRef::cluster_version(facts.name()));
    draft.summary = format!(
        "ClusterVersion {} can no longer be written: its CRD does not know capabilities {}",
        facts.name(),
        capabilities.join(", ")
    );
    let seen = findings.seen(&draft);
    draft.description = describe(&disallowed, minor, seen);
    draft.since = Some(seen);
    findings.add(draft);
}

fn describe(disallowed: &[(&str, Vec<&str>)], minor: u32, seen: Time) -> String {
    let remedy =
        if disallowed.iter().any(|(field, _)| *field == ENABLED) { REMEDY_ENABLED } else { REMEDY_KNOWN };
    let fields: Vec<String> = disallowed
        .iter()
        .map(|(field, values)| format!("status.capabilities.{field} holds {}", values.join(", ")))
        .collect();
    format!(
        "{}, which the enum of CustomResourceDefinition clusterversions.config.openshift.io does not allow \
         (seen since {}). The API server (Kubernetes 1.{minor}) validates the whole status at each write, so \
         it rejects every status update with these values. Conditions, versions and history have not \
         changed since then. {remedy}",
        fields.join("; "),
        rfc3339(seen)
    )
}

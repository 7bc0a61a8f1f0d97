//! Validation of the claims that pods create for their ephemeral volumes.

use serde_json::Value;

use crate::kinds::quantity::Quantity;
use crate::kinds::validation::pods::names::{labels, subdomain_if_given};
use crate::kinds::validation::{Errors, Path, items, selector, text};

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];
const NOT_POSITIVE: &str = "must be greater than zero";

/// Requires a template for the claim (`validateEphemeralVolumeSource`).
pub(super) fn ephemeral(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let template = &source["volumeClaimTemplate"];
    let at = at.child("volumeClaimTemplate");
    if template.is_object() {
        metadata(&template["metadata"], at.child("metadata"), errors);
        claim_spec(&template["spec"], at.child("spec"), errors);
    } else {
        errors.required(at, "");
    }
}

/// Accepts labels and annotations only (`ValidateTemplateObjectMeta`).
fn metadata(metadata: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    labels(&metadata["labels"], at.child("labels"), errors);
    for (field, value) in metadata.as_object().into_iter().flatten() {
        if !matches!(&**field, "labels" | "annotations" | "creationTimestamp") && !value.is_null() {
            errors.forbidden(at.child(field), "cannot be set");
        }
    }
}

/// Validates the specification of a claim (`ValidatePersistentVolumeClaimSpec`).
fn claim_spec(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    access_modes(spec, at.child("accessModes"), errors);
    selector::check(&spec["selector"], at.child("selector"), errors);
    requested_size(&spec["resources"]["requests"]["storage"], at.child("resources"), errors);
    for field in ["storageClassName", "volumeAttributesClassName"] {
        subdomain_if_given(&spec[field], at.child(field), errors);
    }
    if let Some(mode) = spec["volumeMode"].as_str().filter(|mode| !VOLUME_MODES.contains(mode)) {
        errors.unsupported(at.child("volumeMode"), mode, &VOLUME_MODES);
    }
    for field in ["dataSource", "dataSourceRef"] {
        if spec[field].is_object() {
            data_source(&spec[field], at.child(field), errors);
        }
    }
    let (source, reference) = (&spec["dataSource"], &spec["dataSourceRef"]);
    if source.is_null() || reference.is_null() {
        return;
    }
    let place = at.child("dataSource").text();
    if !text(&reference["namespace"]).is_empty() {
        errors.invalid(at, place, "may not be specified when dataSourceRef.namespace is specified");
    } else if ["apiGroup", "kind", "name"].iter().any(|field| source[*field] != reference[*field]) {
        errors.invalid(at, place, "must match dataSourceRef");
    }
}

fn access_modes(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let modes = || items(&spec["accessModes"]).iter().map(text);
    if modes().next().is_none() {
        errors.required(at, "at least 1 access mode is required");
    }
    for mode in modes().filter(|mode| !ACCESS_MODES.contains(mode)) {
        errors.unsupported(at, mode, &ACCESS_MODES);
    }
    let is_shared = modes().any(|mode| mode != "ReadWriteOncePod" && ACCESS_MODES.contains(&mode));
    if is_shared && modes().any(|mode| mode == "ReadWriteOncePod") {
        errors.forbidden(at, "may not use ReadWriteOncePod with other access modes");
    }
}

fn requested_size(size: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let at = at.key("storage");
    if size.is_null() {
        errors.required(at, "");
    }
    let Some(amount) = Quantity::parse(text(size)).ok().flatten() else { return };
    if !amount.is_more(Quantity::ZERO) {
        errors.invalid(at, text(size), NOT_POSITIVE);
    }
}

/// Validates the object from which the volume is filled (`validateDataSource`, `validateDataSourceRef`).
fn data_source(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["name", "kind"] {
        if text(&source[field]).is_empty() {
            errors.required(at.child(field), "");
        }
    }
    let (group, kind) = (text(&source["apiGroup"]), text(&source["kind"]));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.invalid(at, kind, why);
    }
    if !text(&source["namespace"]).is_empty() {
        errors.each(
            at.child("namespace"),
            text(&source["namespace"]),
            crate::names::label(text(&source["namespace"])),
        );
    }
    subdomain_if_given(&source["apiGroup"], at.child("apiGroup"), errors);
}

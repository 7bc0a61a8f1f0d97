//! Validation of volumes on block devices.

use serde_json::{Value, json};

use crate::kinds::validation::{Errors, Path, items, text};

const PARTITIONS: &str = "must be between 1 and 255, inclusive";
const UNITS: &str = "must be between 0 and 255, inclusive";
const CACHING: [&str; 3] = ["None", "ReadOnly", "ReadWrite"];
const AZURE_KINDS: [&str; 3] = ["Dedicated", "Managed", "Shared"];
const MANAGED_DISKS: &str =
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const BLOB_DISKS: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";

/// Requires the number of a partition; 0 is the whole disk.
pub(super) fn partition(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(number) = source["partition"].as_i64().filter(|number| !(0..=255).contains(number)) {
        errors.invalid(at.child("partition"), number, PARTITIONS);
    }
}

/// Validates an iSCSI disk (`validateISCSIVolumeSource`).
pub(super) fn iscsi(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let name = text(&source["iqn"]);
    if !name.is_empty() {
        qualified_name(name, at.child("iqn"), errors);
    }
    logical_unit(&source["lun"], at, errors);
    let authenticates = source["chapAuthDiscovery"] == true || source["chapAuthSession"] == true;
    if authenticates && source["secretRef"].is_null() {
        errors.required(at.child("secretRef"), "");
    }
    if let Some(initiator) = source["initiatorName"].as_str() {
        qualified_name(initiator, at.child("initiatorname"), errors);
    }
}

fn logical_unit(number: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(number) = number.as_i64().filter(|number| !(0..=255).contains(number)) {
        errors.invalid(at.child("lun"), number, UNITS);
    }
}

/// Requires a name in one of the three forms that iSCSI has.
fn qualified_name(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if !matches!(name.get(..3), Some("iqn" | "eui" | "naa")) {
        errors.invalid(at, name, "must be valid format starting with iqn, eui, or naa");
    } else if !is_iscsi_name(name) {
        errors.invalid(at, name, "must be valid format");
    }
}

/// Whether a name has one of the three forms that iSCSI has.
pub(in crate::kinds::validation) fn is_iscsi_name(name: &str) -> bool {
    let is_identifier = |rest: &str, length: usize| {
        rest.len() == length + 1 && rest[1..].bytes().all(|b| b.is_ascii_alphanumeric())
    };
    match name.get(..3) {
        Some("iqn") => name.match_indices("iqn.").any(|(start, _)| is_dated_name(&name[start + 4..])),
        Some("eui") => name.is_ascii() && is_identifier(&name[3..], 16),
        Some("naa") => name.is_ascii() && is_identifier(&name[3..], 32),
        _ => false,
    }
}

/// Whether a text is `YYYY-MM.DOMAIN:NAME`.
fn is_dated_name(text: &str) -> bool {
    let Some((date, rest)) = text.split_once('.') else { return false };
    let is_date = date.len() == 7
        && date.bytes().enumerate().all(|(at, b)| if at == 4 { b == b'-' } else { b.is_ascii_digit() });
    let is_domain = |domain: &str| {
        !domain.is_empty() && domain.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
    };
    let is_name = |name: &str| {
        !name.is_empty()
            && !name
                .contains(|c: char| matches!(c, ',' | ';' | '*' | '&' | '$' | '|') || c.is_ascii_whitespace())
    };
    is_date && rest.split_once(':').is_some_and(|(domain, name)| is_domain(domain) && is_name(name))
}

/// Validates a Flocker data set (`validateFlockerVolumeSource`).
pub(in crate::kinds::validation) fn flocker(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (name, id) = (text(&source["datasetName"]), text(&source["datasetUUID"]));
    if name.is_empty() && id.is_empty() {
        errors.required(at, "one of datasetName and datasetUUID is required");
    }
    if !name.is_empty() && !id.is_empty() {
        errors.invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously");
    }
    if name.contains('/') {
        errors.invalid(at.child("datasetName"), name, "must not contain '/'");
    }
}

/// Validates a Fibre Channel disk (`validateFCVolumeSource`).
pub(super) fn fibre_channel(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (names, ids) = (items(&source["targetWWNs"]), items(&source["wwids"]));
    let place = at.child("targetWWNs");
    if names.is_empty() && ids.is_empty() {
        errors.required(place, "must specify either targetWWNs or wwids, but not both");
    }
    if !names.is_empty() && !ids.is_empty() {
        let why = "targetWWNs and wwids can not be specified simultaneously";
        errors.invalid(place, json!(names), why);
    }
    if !names.is_empty() {
        if source["lun"].is_null() {
            errors.required(at.child("lun"), "lun is required if targetWWNs is specified");
        }
        logical_unit(&source["lun"], at, errors);
    }
}

/// Rejects options of a driver in domains of Kubernetes (`validateFlexVolumeSource`).
pub(super) fn flex(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let at = at.child("options");
    for key in source["options"].as_object().into_iter().flat_map(|options| options.keys()) {
        let domain = key.split('/').next().unwrap_or_default().to_lowercase();
        if ["kubernetes.io", "k8s.io"]
            .iter()
            .any(|own| domain == *own || domain.ends_with(&format!(".{own}")))
        {
            errors.invalid(at.key(key), &**key, "kubernetes.io and k8s.io namespaces are reserved");
        }
    }
}

/// Validates an Azure disk (`validateAzureDisk`).
pub(in crate::kinds::validation) fn azure(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (field, known) in [("cachingMode", &CACHING), ("kind", &AZURE_KINDS)] {
        if let Some(given) = source[field].as_str().filter(|given| !known.contains(given)) {
            errors.unsupported(at.child(field), given, known);
        }
    }
    let uri = text(&source["diskURI"]);
    match source["kind"].as_str() {
        Some("Managed") if !uri.starts_with("/subscriptions/") => {
            errors.unsupported(at.child("diskURI"), uri, &[MANAGED_DISKS]);
        }
        Some(kind) if kind != "Managed" && !uri.starts_with("https://") => {
            errors.unsupported(at.child("diskURI"), uri, &[BLOB_DISKS]);
        }
        _ => {}
    }
}

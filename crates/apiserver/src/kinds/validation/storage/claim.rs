//! Validation of claims (`ValidatePersistentVolumeClaim`, `ValidatePersistentVolumeClaimUpdate`).

use serde_json::{Value, json};

use super::{NOT_POSITIVE, VOLUME_MODES, access_modes, class_name, quantity};
use crate::kinds::quantity::Quantity;
use crate::kinds::validation::resource_names::{STORAGE, is_native};
use crate::kinds::validation::{Errors, Path, absent, immutable, selector, text};
use crate::names;
use crate::profile::since;

/// The annotation that named the class before the field existed.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const IMMUTABLE: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
const RESIZE_STATES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

pub(in crate::kinds::validation) fn claim(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    check_spec(&object["spec"], old.map(|old| &old["spec"]), at, errors);
    let Some(old) = old else { return };
    class_annotation(object, old, errors);
    check_fixed(object, old, at, errors);
    shrunk(object, &old["spec"], at, errors);
    let mode = Path::Root.child("volumeMode");
    immutable(&object["spec"]["volumeMode"], Some(&old["spec"]["volumeMode"]), mode, errors);
    attributes_class(object, old, at.child("volumeAttributesClassName"), errors);
}

/// Validates the specification of a claim or of the template of one (`ValidatePersistentVolumeClaimSpec`).
pub(in crate::kinds::validation) fn check_spec(
    spec: &Value,
    old: Option<&Value>,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    access_modes(spec, "at least 1 access mode is required", at, errors);
    if spec["selector"].is_object() {
        selector::check(&spec["selector"], at.child("selector"), errors);
    }
    let resources = at.child("resources");
    let place = resources.key("storage");
    let storage = &spec["resources"]["requests"]["storage"];
    match quantity(storage) {
        _ if storage.is_null() => errors.required(place, ""),
        Some(amount) if !amount.is_more(Quantity::ZERO) => errors.invalid(place, text(storage), NOT_POSITIVE),
        _ => {}
    }
    class_name(&spec["storageClassName"], at.child("storageClassName"), errors);
    // An empty mode is given, and unknown.
    if let Some(mode) = spec["volumeMode"].as_str().filter(|mode| !VOLUME_MODES.contains(mode)) {
        errors.unsupported(at.child("volumeMode"), mode, &VOLUME_MODES);
    }
    let had_group = old.is_some_and(|old| {
        ["dataSource", "dataSourceRef"].iter().any(|field| !old[*field]["apiGroup"].is_null())
    });
    for field in ["dataSource", "dataSourceRef"] {
        if spec[field].is_object() {
            data_source(&spec[field], had_group, at.child(field), errors);
        }
    }
    same_source(spec, at, errors);
    let class = &spec["volumeAttributesClassName"];
    class_name(class, at.child("volumeAttributesClassName"), errors);
}

/// Validates a data source; a stored group need not be valid (`validateDataSource`).
fn data_source(source: &Value, had_group: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["name", "kind"] {
        if absent(&source[field]) {
            errors.required(at.child(field), "");
        }
    }
    let (group, kind) = (text(&source["apiGroup"]), text(&source["kind"]));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        errors.invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
    }
    if !group.is_empty() && !had_group {
        errors.each(at.child("apiGroup"), group, names::subdomain(group));
    }
    let namespace = text(&source["namespace"]);
    if !namespace.is_empty() {
        errors.each(at.child("namespace"), namespace, names::label(namespace));
    }
}

/// The two fields of the data source agree. A real server shows the path of the field, an empty struct.
fn same_source(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (source, reference) = (&spec["dataSource"], &spec["dataSourceRef"]);
    if !source.is_object() || !reference.is_object() {
        return;
    }
    let differs = ["apiGroup", "kind", "name"].iter().any(|field| source[*field] != reference[*field]);
    if !absent(&reference["namespace"]) {
        errors.invalid(at, json!({}), "may not be specified when dataSourceRef.namespace is specified");
    } else if differs {
        errors.invalid(at, json!({}), "must match dataSourceRef");
    }
}

/// The annotation for the class is immutable, unless the field takes its place.
fn class_annotation(object: &Value, old: &Value, errors: &mut Errors<'_>) {
    let (new, before) = (&object["metadata"]["annotations"][CLASS], &old["metadata"]["annotations"][CLASS]);
    if !from_annotation(object, old) && text(new) != text(before) {
        let metadata = Path::Root.child("metadata");
        let list = metadata.child("annotations");
        errors.invalid(list.key(CLASS), text(new), "field is immutable");
    }
}

/// Whether the class moves from the annotation to the field (`validateStorageClassUpgradeFromAnnotation`).
fn from_annotation(object: &Value, old: &Value) -> bool {
    let (new, before) = (&object["metadata"]["annotations"][CLASS], &old["metadata"]["annotations"][CLASS]);
    before.is_string()
        && old["spec"]["storageClassName"].is_null()
        && object["spec"]["storageClassName"] == *before
        && (new.is_null() || new == before)
}

/// Forbids changes, except of the fields that a claim may set once, and those that a bound claim may change.
fn check_fixed(object: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if object["spec"] == old["spec"] {
        return;
    }
    let (mut new, mut before) = (object["spec"].clone(), old["spec"].clone());
    let keep = |to: &mut Value, from: &Value, field: &str| {
        if let Some(fields) = to.as_object_mut() {
            fields.remove(field);
            fields.extend(from.get(field).map(|value| (field.to_owned(), value.clone())));
        }
    };
    if absent(&before["volumeName"]) {
        keep(&mut before, &new, "volumeName");
    }
    let annotation = &old["metadata"]["annotations"][CLASS];
    let class = &new["storageClassName"];
    if from_annotation(object, old) {
        keep(&mut new, &Value::Null, "storageClassName");
    } else if before["storageClassName"].is_null()
        && !class.is_null()
        && (annotation.is_null() || class == annotation)
    {
        keep(&mut new, &before, "storageClassName");
    }
    if object["status"]["phase"] == "Bound" {
        keep(&mut new, &before, "volumeAttributesClassName");
        let requested = before["resources"]["requests"]["storage"].clone();
        if let Some(requests) = new["resources"]["requests"].as_object_mut() {
            requests.insert("storage".to_owned(), requested);
        }
    }
    if new != before {
        super::forbid_change(IMMUTABLE, &before, &new, "PersistentVolumeClaimSpec", at, errors);
    }
}

/// The requested size of a claim must not shrink; since `since::EXPANSION_RECOVERY` only not to its capacity
/// or less.
fn shrunk(object: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let size = |spec: &Value| quantity(&spec["resources"]["requests"]["storage"]).unwrap_or(Quantity::ZERO);
    let new = size(&object["spec"]);
    if !new.is_less(size(old)) {
        return;
    }
    let resources = at.child("resources");
    let requests = resources.child("requests");
    let at = requests.child("storage");
    if errors.profile.minor < since::EXPANSION_RECOVERY {
        errors.forbidden(at, "field can not be less than previous value");
        return;
    }
    let got = quantity(&object["status"]["capacity"]["storage"]).unwrap_or(Quantity::ZERO);
    if !new.is_more(got) {
        errors.forbidden(at, "field can not be less than status.capacity");
    }
}

/// An applied class of attributes must not be removed.
fn attributes_class(object: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    const FIELD: &str = "volumeAttributesClassName";
    let (new, before) = (&object["spec"][FIELD], &old["spec"][FIELD]);
    if new == before || old["status"]["currentVolumeAttributesClassName"].is_null() || !absent(new) {
        return;
    }
    let what = if new.is_null() { "nil" } else { "empty string" };
    let why =
        format!("update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil");
    errors.forbidden(at, why);
}

/// Validates a status write (`ValidatePersistentVolumeClaimStatusUpdate`).
pub(in crate::kinds::validation) fn status(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("status");
    let status = &object["status"];
    let capacity = at.child("capacity");
    for (name, amount) in status["capacity"].as_object().into_iter().flatten() {
        basic(amount, capacity.key(name), errors);
    }
    if errors.profile.minor < since::EXPANSION_RECOVERY {
        return;
    }
    let states = at.child("allocatedResourceStatuses");
    for (name, state) in status["allocatedResourceStatuses"].as_object().into_iter().flatten() {
        resource(name, states, errors);
        if !RESIZE_STATES.contains(&text(state)) {
            // A real server shows the name of the resource, not its state.
            errors.unsupported(states, name, &RESIZE_STATES);
        }
    }
    let amounts = at.child("allocatedResources");
    for (name, amount) in status["allocatedResources"].as_object().into_iter().flatten() {
        let before = errors.found.len();
        resource(name, amounts, errors);
        if errors.found.len() == before {
            basic(amount, amounts.key(name), errors);
        }
    }
}

/// Rejects a negative amount, shown as a rounded number (`validateBasicResource`).
pub(super) fn basic(amount: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(value) = quantity(amount).map(Quantity::value).filter(|value| *value < 0) {
        errors.invalid(at, value, "must be a valid resource quantity");
    }
}

/// Validates the name of a resource: of those of Kubernetes only storage
/// (`validatePersistentVolumeClaimResourceKey`).
fn resource(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let wrong = names::labels::label_key(name);
    if wrong.is_empty() && is_native(name) && name != STORAGE {
        errors.unsupported(at, name, &[STORAGE]);
    }
    errors.each(at, name, wrong);
}

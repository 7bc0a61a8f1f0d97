//! Validation of persistent volumes (`ValidatePersistentVolume`, `ValidatePersistentVolumeUpdate`).

use serde_json::Value;

use super::source::{self, SOURCE};
use super::{NOT_POSITIVE, VOLUME_MODES, access_modes, claim, class_name, quantity};
use crate::field::{FieldError, Shown};
use crate::kinds::quantity::Quantity;
use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::{
    Errors, Path, absent, immutable, node_selector, one_of_if_given, one_of_if_set, text,
};
use crate::names;

const RECLAIM_POLICIES: [&str; 3] = ["Delete", "Recycle", "Retain"];

pub(in crate::kinds::validation) fn volume(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    check_spec(spec, text(&object["metadata"]["name"]), at, errors);
    let Some(old) = old.map(|old| &old["spec"]) else { return };
    // A real server validates an updated specification twice, which shows in the causes.
    check_spec(spec, text(&object["metadata"]["name"]), at, errors);
    same_source(spec, old, at, errors);
    let mode = Path::Root.child("volumeMode");
    immutable(&spec["volumeMode"], Some(&old["volumeMode"]), mode, errors);
    if !old["nodeAffinity"].is_null() && spec["nodeAffinity"] != old["nodeAffinity"] {
        let why = "field is immutable, except for updating from beta label to GA";
        let shown = internal_form(&spec["nodeAffinity"], "?VolumeNodeAffinity");
        errors.invalid_shown(Path::Root.child("nodeAffinity"), shown.clone(), shown, why);
    }
    if !old["volumeAttributesClassName"].is_null() && spec["volumeAttributesClassName"].is_null() {
        let place = at.child("volumeAttributesClassName");
        errors.forbidden(place, "update from non-nil value to nil is forbidden");
    }
}

fn check_spec(spec: &Value, name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    access_modes(spec, "", at, errors);
    capacity(&spec["capacity"], at.child("capacity"), errors);
    let policy = at.child("persistentVolumeReclaimPolicy");
    one_of_if_given(&spec["persistentVolumeReclaimPolicy"], &RECLAIM_POLICIES, policy, errors);
    node_affinity(&spec["nodeAffinity"], at.child("nodeAffinity"), errors);
    source::check(spec, name, at, errors);
    let root = text(&spec["hostPath"]["path"]).trim_end_matches(['/', '.']).is_empty();
    if spec["hostPath"].is_object() && root && spec["persistentVolumeReclaimPolicy"] == "Recycle" {
        errors.forbidden(policy, "may not be 'recycle' for a hostPath mount of '/'");
    }
    class_name(&spec["storageClassName"], at.child("storageClassName"), errors);
    one_of_if_set(&spec["volumeMode"], &VOLUME_MODES, at.child("volumeMode"), errors);
    if let Some(class) = spec["volumeAttributesClassName"].as_str() {
        let place = at.child("volumeAttributesClassName");
        match class {
            "" => errors.required(place, "an empty string is disallowed"),
            _ => errors.each(place, class, names::subdomain(class)),
        }
        if spec["csi"].is_null() {
            let why = "has to be specified when using volumeAttributesClassName";
            errors.required(at.child("csi"), why);
        }
    }
}

/// The capacity is an amount of storage, and nothing else.
fn capacity(capacity: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if absent(capacity) {
        errors.required(at, "");
    }
    let amounts = capacity.as_object();
    if amounts.is_none_or(|amounts| amounts.len() > 1 || !amounts.contains_key("storage")) {
        let shown = if capacity.is_null() {
            Shown::Raw { json: "null".to_owned(), go: "core.ResourceList(nil)".to_owned() }
        } else {
            Shown::Json(capacity.clone())
        };
        errors.found.push(FieldError::not_supported(at.text(), shown, &["storage"]));
    }
    for (name, amount) in amounts.into_iter().flatten() {
        let at = at.key(name);
        claim::basic(amount, at, errors);
        if quantity(amount).is_some_and(|amount| !amount.is_more(Quantity::ZERO)) {
            errors.invalid(at, text(amount), NOT_POSITIVE);
        }
    }
}

/// Validates the nodes that can use the volume (`validateVolumeNodeAffinity`).
fn node_affinity(affinity: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if affinity.is_null() {
        return;
    }
    let at = at.child("required");
    if affinity["required"].is_null() {
        errors.required(at, "must specify required node constraints");
        return;
    }
    node_selector::check(&affinity["required"], at, errors);
}

/// Forbids changes of the source, except the first secret for expansion.
fn same_source(spec: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    const SECRET: &str = "controllerExpandSecretRef";
    let (mut new, old) = (source::of(spec), source::of(old));
    if old["csi"].is_object() && old["csi"][SECRET].is_null() && new["csi"].is_object() {
        new["csi"].as_object_mut().map(|csi| csi.remove(SECRET));
    }
    if new != old {
        let why = "spec.persistentvolumesource is immutable after creation";
        super::forbid_change(why, &old, &new, SOURCE, at.child("persistentvolumesource"), errors);
    }
}

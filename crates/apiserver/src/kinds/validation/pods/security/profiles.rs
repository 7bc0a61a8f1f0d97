//! Validation of seccomp and AppArmor profiles, and of the annotations that they once were.

use serde_json::Value;

use crate::gotext::quote;
use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::pods::context::all_containers;
use crate::kinds::validation::pods::names::descending_path;
use crate::kinds::validation::{Errors, Path, text};

const TYPES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];
const PATH_MAX: u64 = 4095;
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
/// The prefix of the annotations that once were the AppArmor profiles of containers.
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Validates a seccomp profile (`validateSeccompProfileField`).
pub(super) fn seccomp(profile: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if !profile.is_object() {
        return;
    }
    match text(&profile["type"]) {
        "" => errors.required(at.child("type"), "type is required when seccompProfile is set"),
        given if !TYPES.contains(&given) => errors.unsupported(at.child("type"), given, &TYPES),
        _ => {}
    }
    let (path, place) = (&profile["localhostProfile"], at.child("localhostProfile"));
    if profile["type"] == "Localhost" {
        match path.as_str() {
            None => errors.required(place, "must be set when seccomp type is Localhost"),
            Some(path) => descending_path(path, place, errors),
        }
    } else if !path.is_null() {
        let shown = internal_form(profile, "SeccompProfile");
        errors.invalid_shown(place, shown.clone(), shown, "can only be set when seccomp type is Localhost");
    }
}

const APP_ARMOR_PATH: &str = "must be set when AppArmor type is Localhost";

/// Validates an AppArmor profile (`ValidateAppArmorProfileField`).
pub(super) fn app_armor(profile: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if !profile.is_object() {
        return;
    }
    let (path, place) = (&profile["localhostProfile"], at.child("localhostProfile"));
    match (text(&profile["type"]), path.as_str()) {
        ("Localhost", None) => errors.required(place, APP_ARMOR_PATH),
        ("Localhost", Some(path)) => {
            if path.trim() != path {
                errors.invalid(place, path, "must not be padded with whitespace");
            } else if path.is_empty() {
                errors.required(place, APP_ARMOR_PATH);
            }
            if path.len() as u64 > PATH_MAX {
                errors.too_long(place, PATH_MAX);
            }
        }
        ("RuntimeDefault" | "Unconfined", Some(path)) => {
            errors.invalid(place, path, "can only be set when AppArmor type is Localhost");
        }
        ("RuntimeDefault" | "Unconfined", None) => {}
        ("", _) => errors.required(at.child("type"), "type is required when appArmorProfile is set"),
        (other, _) => errors.unsupported(at.child("type"), other, &TYPES),
    }
}

/// Validates the profiles in annotations (`ValidateSeccompPodAnnotations`, `ValidateAppArmorPodAnnotations`).
pub(in crate::kinds::validation::pods) fn annotation_profiles(
    annotations: &Value,
    spec: &Value,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    for (key, value) in annotations.as_object().into_iter().flatten() {
        let value = text(value);
        if key == SECCOMP_POD || key.starts_with(SECCOMP_CONTAINER) {
            match value {
                "runtime/default" | "docker/default" | "unconfined" => {}
                _ => match value.strip_prefix("localhost/") {
                    Some(path) => descending_path(path, at.child(key), errors),
                    None => errors.invalid(at.child(key), value, "must be a valid seccomp profile"),
                },
            }
        }
        let Some(name) = key.strip_prefix(APP_ARMOR) else { continue };
        if !all_containers(spec).any(|(_, _, container)| text(&container["name"]) == name) {
            errors.invalid(at.key(key), name, "container not found");
        }
        if !matches!(value, "" | "runtime/default" | "unconfined") && !value.starts_with("localhost/") {
            errors.invalid(at.key(key), value, format!("invalid AppArmor profile name: {}", quote(value)));
        }
    }
}

/// Requires that annotations agree with the fields that replace them (`validateSeccompAnnotationsAndFields`,
/// `validateAppArmorAnnotationsAndFieldsMatchOnCreate`).
pub(in crate::kinds::validation::pods) fn matching_annotations(
    annotations: &Value,
    spec: &Value,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    if !annotations.is_object() {
        return;
    }
    let of_pod = &spec["securityContext"];
    let context_at = at.child("securityContext");
    let place = context_at.child("seccompProfile");
    matching(&annotations[SECCOMP_POD], &of_pod["seccompProfile"], "seccomp", place, errors);
    for (list, index, container) in all_containers(spec) {
        let (list_at, name) = (at.child(list), text(&container["name"]));
        let container_at = list_at.index(index);
        let context_at = container_at.child("securityContext");
        let context = &container["securityContext"];
        let annotation = annotations.get(format!("{SECCOMP_CONTAINER}{name}")).unwrap_or(&Value::Null);
        matching(
            annotation,
            &context["seccompProfile"],
            "seccomp",
            context_at.child("seccompProfile"),
            errors,
        );
        if spec["os"]["name"] == "windows" {
            continue;
        }
        let own = &context["appArmorProfile"];
        let profile = if own.is_null() { &of_pod["appArmorProfile"] } else { own };
        let annotation = annotations.get(format!("{APP_ARMOR}{name}")).unwrap_or(&Value::Null);
        matching(annotation, profile, "apparmor", context_at.child("appArmorProfile"), errors);
    }
}

fn matching(annotation: &Value, profile: &Value, what: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let Some(annotation) = annotation.as_str() else { return };
    let fits = match text(&profile["type"]) {
        "Unconfined" => annotation == "unconfined",
        "RuntimeDefault" => {
            annotation == "runtime/default" || (what == "seccomp" && annotation == "docker/default")
        }
        "Localhost" => {
            let path = annotation.strip_prefix("localhost/");
            if path.is_some() && path != profile["localhostProfile"].as_str() {
                let why = format!("{what} profile in annotation and field must match");
                errors.forbidden(at.child("localhostProfile"), why);
            }
            path.is_some()
        }
        _ => true,
    };
    if !fits {
        errors.forbidden(at.child("type"), format!("{what} type in annotation and field must match"));
    }
}

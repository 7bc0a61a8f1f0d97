//! The validation of an object before the server stores it.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::admission::policy;
use crate::admission::webhook::configuration;
use crate::call::Call;
use crate::delta::Delta;
use crate::field::{Cause, FieldError};
use crate::kinds::typed::{Empty, with_empties};
use crate::kinds::validation as builtin;
use crate::kinds::{Custom, Kind, strategy};
use crate::profile::{Profile, StatusScope};
use crate::rejection::{BoxedRejection, Outcome};
use crate::schema::ratchet::StoredCounterpart;
use crate::schema::rules::{self, ValidatedObject};
use crate::schema::{embedded, error_order, list_type, validate};
use crate::server::draws::Draws;
use crate::{crd, metadata};

/// Sets the namespace of the path on an object, and rejects an object with another one.
pub(super) fn match_namespace(call: &Call<'_>, object: &mut Value) -> Outcome<()> {
    if !call.kind.resource.namespaced {
        metadata::metadata_mut(object).remove("namespace");
        return Ok(());
    }
    let given = metadata::text(object, "namespace");
    if !given.is_empty() && given != call.path.namespace {
        return Err(BoxedRejection::other_namespace());
    }
    if given.is_empty() {
        metadata::metadata_mut(object)
            .insert("namespace".to_owned(), Value::String(call.path.namespace.to_string()));
    }
    Ok(())
}

/// What validation needs besides the object.
#[derive(Debug)]
pub(crate) struct Validation<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) draws: &'a mut Draws,
    /// The empty lists and maps that the client gave.
    pub(crate) empties: &'a [Empty],
    /// The errors that were found before.
    pub(crate) earlier: Vec<FieldError>,
}

/// Validates a new object.
pub(crate) fn validate_new(kind: &Kind, object: &Value, validation: Validation<'_>) -> Outcome<()> {
    let Validation { profile, draws, empties, earlier: mut errors } = validation;
    let checks = kind.metadata;
    let of_metadata = || {
        let names = kind.rules.names.of_minor(profile);
        metadata::check_new(object, names, kind.resource.namespaced, checks, profile)
    };
    if checks.on_create {
        errors.extend(of_metadata());
    }
    if let Some(custom) = &kind.custom {
        let context = validate::Context { profile, field_prefix: "", is_default: false };
        let found = validate::validate(object, None, &custom.version.schema, context);
        errors.extend(error_order::draw(found, &mut |count| draws.next_property(count)));
        errors.extend(beyond_schema(custom, object, None, None, profile));
        let validated = ValidatedObject { object, old: None, ratchets: false };
        let version = &custom.version;
        errors.extend(rules::check(version.rules(), &version.schema, validated, &errors, profile).0);
    } else {
        errors.extend(check_builtin(kind, object, None, None, empties, profile));
    }
    if kind.is_resource("apiextensions.k8s.io", "customresourcedefinitions") {
        errors.extend(crd::validation::check(object, None, profile));
    } else if configuration::is_configuration(kind) {
        errors.extend(configuration::check(kind, object, None, profile));
    } else if policy::is_policy(kind) {
        errors.extend(policy::check::check(kind, object, None, profile));
    }
    if errors.is_empty() && !checks.on_create {
        errors = of_metadata();
    }
    finish(kind, object, &errors, profile)
}

/// A write to the status subresource.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatusWrite<'a> {
    /// The name of the subresource.
    pub(super) subresource: &'a str,
    /// The difference between the stored and the new object.
    pub(super) object: &'a Delta,
    /// The difference between the stored and the new status.
    pub(super) status: &'a Delta,
    /// Whether the current schema validated the stored object. If so, validation skips unchanged values.
    pub(super) was_checked: bool,
}

/// Validates an updated object or status. Tolerated violations go into `warnings`.
pub(super) fn validate_update(
    kind: &Kind,
    object: &Value,
    old: &Value,
    status: Option<StatusWrite<'_>>,
    validation: Validation<'_>,
    warnings: &mut Vec<String>,
) -> Outcome<()> {
    let Validation { profile, draws, empties, earlier: mut errors } = validation;
    let checks = kind.metadata;
    let counts = if status.is_some() { checks.status } else { checks.update };
    errors.extend(metadata::check_update(object, old, checks, counts, profile));
    if let Some(custom) = &kind.custom {
        errors.extend(custom_update(custom, object, old, status, profile, warnings, draws));
    } else {
        let part = status.map(|status| status.subresource);
        errors.extend(check_builtin(kind, object, Some(old), part, empties, profile));
    }
    if kind.is_resource("apiextensions.k8s.io", "customresourcedefinitions") {
        errors.extend(if status.is_some() {
            crd::validation::check_status(object)
        } else {
            crd::validation::check(object, Some(old), profile)
        });
    } else if configuration::is_configuration(kind) {
        errors.extend(configuration::check(kind, object, Some(old), profile));
    } else if policy::is_policy(kind) && status.is_none() {
        errors.extend(policy::check::check(kind, object, Some(old), profile));
    }
    finish(kind, object, &errors, profile)
}

/// Validates an object of a built-in kind. Lists and maps without elements count as absent, except for the few rules that
/// forbid them, and messages show them.
fn check_builtin(
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
    part: Option<&str>,
    empties: &[Empty],
    profile: &Profile,
) -> Vec<FieldError> {
    let run = |object: &Value, old| builtin::check(kind, object, old, part, profile);
    let exact = with_empties(object, empties, |_| old.is_some() && is_compared_exactly(kind));
    let mut errors = run(&exact, old);
    let is_dropped = |empty: &Empty| strategy::is_disabled(kind, &empty.pointer, old, profile.minor);
    if empties.iter().all(is_dropped) {
        return errors;
    }
    let shown = with_empties(object, empties, |empty| !empty.is_tagged && !is_dropped(empty));
    if !errors.is_empty() {
        take_values(&mut errors, run(&shown, old));
    }
    // Without the stored object: comparisons with it take empty ones for absent ones.
    let known = run(object, None);
    let mut counts: BTreeMap<(String, Cause), usize> = BTreeMap::new();
    for error in &known {
        *counts.entry(error.check()).or_default() += 1;
    }
    let mut is_new = |error: &FieldError| match counts.get_mut(&error.check()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    errors.extend(run(&shown, None).into_iter().filter(|error| is_new(error)));
    errors
}

/// Replaces errors by those of the same checks of another form of the object.
fn take_values(errors: &mut [FieldError], others: Vec<FieldError>) {
    let mut by_check: BTreeMap<(String, Cause), VecDeque<FieldError>> = BTreeMap::new();
    for other in others {
        by_check.entry(other.check()).or_default().push_back(other);
    }
    for error in errors {
        let same = by_check.get_mut(&error.check());
        if let Some(other) = same.and_then(VecDeque::pop_front) {
            *error = other;
        }
    }
}

/// Whether validation distinguishes an empty map from an absent one in the stored object (`reflect.DeepEqual`).
fn is_compared_exactly(kind: &Kind) -> bool {
    kind.is_resource("", "configmaps")
        || kind.is_resource("", "secrets")
        || kind.is_resource("storage.k8s.io", "volumeattributesclasses")
}

/// The warnings about an accepted object (`WarningsOnCreate`, `WarningsOnUpdate`).
pub(super) fn warnings(kind: &Kind, object: &Value, old: Option<&Value>, profile: &Profile) -> Vec<String> {
    let mut warnings = Vec::new();
    if kind.custom.is_some() {
        warnings.extend(metadata::finalizer_warnings(object, old));
    } else if kind.is_resource("apiextensions.k8s.io", "customresourcedefinitions") {
        warnings.extend(crd::format_warnings(object, old, profile.minor));
    }
    warnings.extend(builtin::warnings(kind, object, old, profile));
    warnings
}

/// The warnings about an accepted status.
pub(super) fn status_warnings(kind: &Kind, object: &Value) -> Vec<String> {
    builtin::status_warnings(kind, object)
}

fn custom_update(
    custom: &Custom,
    object: &Value,
    old: &Value,
    status: Option<StatusWrite<'_>>,
    profile: &Profile,
    warnings: &mut Vec<String>,
    draws: &mut Draws,
) -> Vec<FieldError> {
    let schema = &custom.version.schema;
    let ratchets = if status.is_some() { profile.ratchets_status } else { profile.ratchets_objects };
    let status_only = status.filter(|_| profile.status_scope == StatusScope::StatusOnly);
    let mut errors = if let Some(StatusWrite { status: delta, was_checked, .. }) = status_only {
        let field_prefix = if profile.status_in_field { "status" } else { "" };
        let context = validate::Context { profile, field_prefix, is_default: false };
        match (object.get("status"), schema.properties.get("status")) {
            (Some(value), Some(schema)) => {
                let before = if was_checked { StoredCounterpart::checked } else { StoredCounterpart::new };
                let old = old.get("status").filter(|_| ratchets || was_checked);
                let old = old.map(|old| before(old, delta));
                validate::validate(value, old, schema, context)
            }
            _ => Vec::new(),
        }
    } else {
        let context = validate::Context { profile, field_prefix: "", is_default: false };
        let checked = status.filter(|status| status.was_checked);
        let old = checked
            .map(|status| StoredCounterpart::checked(old, status.object))
            .or(ratchets.then_some(old.into()));
        validate::validate(object, old, schema, context)
    };
    errors = error_order::draw(errors, &mut |count| draws.next_property(count));
    let status_delta = status.map(|status| status.status);
    errors.extend(beyond_schema(custom, object, Some(old), status_delta, profile));
    let validated = ValidatedObject { object, old: Some(old), ratchets };
    let (broken, tolerated) = rules::check(custom.version.rules(), schema, validated, &errors, profile);
    errors.extend(broken);
    warnings.extend(tolerated);
    errors
}

/// Validates embedded objects, and lists that are sets or maps. If the stored object has duplicates, all duplicates are
/// tolerated, as in a real server.
fn beyond_schema(
    custom: &Custom,
    object: &Value,
    old: Option<&Value>,
    status: Option<&Delta>,
    profile: &Profile,
) -> Vec<FieldError> {
    let schema = &custom.version.schema;
    let mut errors = embedded::check(object, schema, profile);
    let duplicates = list_type::check(object, status, schema);
    let tolerated = || old.is_some_and(|old| !list_type::check(old, None, schema).is_empty());
    if !duplicates.is_empty() && !tolerated() {
        errors.extend(duplicates);
    }
    errors
}

fn finish(kind: &Kind, object: &Value, errors: &[FieldError], profile: &Profile) -> Outcome<()> {
    if errors.is_empty() {
        return Ok(());
    }
    let resource = kind.stored_as();
    Err(BoxedRejection::invalid(
        &resource.group,
        &resource.kind,
        metadata::text(object, "name"),
        errors,
        profile,
    ))
}

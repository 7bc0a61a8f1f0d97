//! Values that a later minor accepted, in pods that outlive a rollback.

use serde_json::Value;

use crate::field::FieldError;
use crate::kinds::validation::Errors;
use crate::kinds::validation::pods::object::metadata_and_spec;
use crate::profile::Profile;

/// The newest minor, which accepts most.
const NEWEST: u32 = 36;

/// Drops the errors after the first `count` that the stored pod has as well, if the newest minor does not have them: a
/// server accepts a value that only a later minor accepts if the stored pod has it
/// (`GetValidationOptionsFromPodSpecAndMeta`).
pub(super) fn tolerate_stored(object: &Value, old: &Value, count: usize, errors: &mut Errors<'_>) {
    if errors.found.len() == count || errors.profile.minor >= NEWEST {
        return;
    }
    let newest = Profile::of(NEWEST, false);
    let stored = errors_about(old, errors.profile);
    let lasting = errors_about(object, &newest);
    let found = errors.found.split_off(count);
    errors.found.extend(found.into_iter().filter(|error| !has(&stored, error) || has(&lasting, error)));
}

fn errors_about(pod: &Value, profile: &Profile) -> Vec<FieldError> {
    let mut errors = Errors::new(profile);
    metadata_and_spec(pod, &mut errors);
    errors.found
}

fn has(errors: &[FieldError], error: &FieldError) -> bool {
    errors.iter().any(|other| other.field == error.field && other.cause == error.cause)
}

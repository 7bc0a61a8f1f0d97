//! Values that a later minor accepted, in pods that outlive a rollback.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::field::{Cause, FieldError};
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
    let checks = |errors: &[FieldError]| -> BTreeSet<(String, Cause)> {
        errors.iter().map(FieldError::check).collect()
    };
    let (stored, lasting) = (checks(&stored), checks(&lasting));
    let found = errors.found.split_off(count);
    let stays = |error: &FieldError| {
        let check = error.check();
        !stored.contains(&check) || lasting.contains(&check)
    };
    errors.found.extend(found.into_iter().filter(stays));
}

fn errors_about(pod: &Value, profile: &Profile) -> Vec<FieldError> {
    let mut errors = Errors::new(profile);
    metadata_and_spec(pod, &mut errors);
    errors.found
}

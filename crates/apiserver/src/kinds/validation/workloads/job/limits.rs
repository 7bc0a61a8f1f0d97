//! The completion mode of a Job, and the limits of indexed Jobs.

use serde_json::Value;

use super::is_indexed;
use crate::kinds::validation::{Errors, Path};

const MODES: [&str; 2] = ["NonIndexed", "Indexed"];
const MOST_PARALLELISM: i64 = 100_000;
const MOST_FAILED: i64 = 100_000;
/// The completions above which a Job with a backoff limit per index has lower limits.
const MANY_COMPLETIONS: i64 = 100_000;
/// The parallelism and the failed indexes of a Job with many completions.
const MOST_WITH_MANY: i64 = 10_000;
const INDEXED_ONLY: &str = "requires indexed completion mode";

/// Validates the completion mode, and the fields that depend on it.
pub(super) fn check(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let limit = &spec["backoffLimitPerIndex"];
    if !spec["maxFailedIndexes"].is_null() && limit.is_null() {
        errors.required(at.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
    match spec["completionMode"].as_str() {
        None | Some("NonIndexed") => {
            for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if !spec[field].is_null() {
                    errors.invalid(at.child(field), spec[field].clone(), INDEXED_ONLY);
                }
            }
        }
        Some("Indexed") => indexed(spec, at, errors),
        Some(mode) => errors.unsupported(at.child("completionMode"), mode, &MODES),
    }
}

fn indexed(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let number = |field: &str| spec[field].as_i64();
    let mut at_most = |field: &str, most: i64, why: &str| {
        if let Some(given) = number(field).filter(|given| *given > most) {
            errors.invalid(at.child(field), given, why);
        }
    };
    let why = format!("must be less than or equal to {MOST_PARALLELISM} when completion mode is Indexed");
    at_most("parallelism", MOST_PARALLELISM, &why);
    let completions = number("completions");
    at_most("maxFailedIndexes", completions.unwrap_or(i64::MAX), "must be less than or equal to completions");
    at_most("maxFailedIndexes", MOST_FAILED, &format!("must be less than or equal to {MOST_FAILED}"));
    let has_many = completions.is_some_and(|count| count > MANY_COMPLETIONS);
    if has_many && !spec["backoffLimitPerIndex"].is_null() {
        let why = format!(
            "must be less than or equal to {MOST_WITH_MANY} when completions are above {MANY_COMPLETIONS} and used with \
             backoff limit per index"
        );
        at_most("parallelism", MOST_WITH_MANY, &why);
        at_most("maxFailedIndexes", MOST_WITH_MANY, &why);
        if spec["maxFailedIndexes"].is_null() {
            let why = format!("must be specified when completions is above {MANY_COMPLETIONS}");
            errors.required(at.child("maxFailedIndexes"), &why);
        }
    }
    if completions.is_none() {
        errors.required(at.child("completions"), "when completion mode is Indexed");
    }
}

/// The warning about a Job whose failed indexes may be too many to track (`WarningsForJobSpec`).
pub(in crate::kinds::validation::workloads) fn warning(spec: &Value, path: &str) -> Option<String> {
    let number = |field: &str| spec[field].as_i64().unwrap_or(0);
    let is_large = is_indexed(spec)
        && number("completions") > MANY_COMPLETIONS
        && number("parallelism") > MOST_WITH_MANY;
    is_large.then(|| {
        format!(
            "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, \
             Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    })
}

//! Numbers of pods that may be a percentage (`intstr.IntOrString`).

use serde_json::Value;

use crate::kinds::validation::{Errors, Path, non_negative};

const NOT_A_PERCENTAGE: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  \
    or '93%', regex used for validation is '[0-9]+%')";

/// The number in a percentage such as `25%`; `None` for other values (`getPercentValue`).
fn percentage(value: &Value) -> Option<i64> {
    let digits = value.as_str()?.strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    // A number that is too large for Go's `int` counts as the largest one.
    is_number.then(|| digits.parse().unwrap_or(i64::MAX))
}

/// The number in a value, with or without a percent sign (`getIntOrPercentValue`).
pub(super) fn number(value: &Value) -> i64 {
    let given = || value.as_str().and_then(|text| text.parse().ok());
    percentage(value).or_else(|| value.as_i64()).or_else(given).unwrap_or(0)
}

/// Requires a percentage, or a number that is not negative (`ValidatePositiveIntOrPercent`).
pub(in crate::kinds::validation) fn check(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    match value {
        Value::String(_) if percentage(value).is_none() => {
            errors.invalid_amount(at, value, NOT_A_PERCENTAGE);
        }
        number => non_negative(number, at, errors),
    }
}

/// Rejects a percentage above 100 (`IsNotMoreThan100Percent`).
pub(in crate::kinds::validation) fn at_most_all(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if percentage(value).is_some_and(|percent| percent > 100) {
        errors.invalid_amount(at, value, "must not be greater than 100%");
    }
}

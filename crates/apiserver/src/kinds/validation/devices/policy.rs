//! Validation of capacities that several claims share (`validateRequestPolicy`).

use serde_json::Value;

use super::collections::each_unique;
use crate::kinds::quantity::Quantity;
use crate::kinds::validation::{Errors, Path, absent, items};

const MOST_VALUES: usize = 10;

/// Validates a capacity. Only a device with several allocations has a policy for requests.
pub(super) fn capacity(capacity: &Value, shared: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    let (policy, at) = (&capacity["requestPolicy"], at.child("requestPolicy"));
    if policy.is_null() {
        return;
    }
    if !shared {
        errors.forbidden(at, "allowMultipleAllocations must be true");
        return;
    }
    let (has_values, has_range) = (!absent(&policy["validValues"]), !policy["validRange"].is_null());
    let most = quantity(&capacity["value"]).unwrap_or(Quantity::ZERO);
    let default = quantity(&policy["default"]);
    match (has_values, has_range, default) {
        (true, true, _) => {
            let why = "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the \
                       same time";
            errors.forbidden(at, why);
        }
        (true, false, Some(default)) => {
            values(&policy["validValues"], default, most, at.child("validValues"), errors);
        }
        (false, true, Some(default)) => {
            range(&policy["validRange"], default, most, at.child("validRange"), errors);
        }
        (true, false, None) => errors.required(at.child("default"), "required when validValues is defined"),
        (false, true, None) => errors.required(at.child("default"), "required when validRange is defined"),
        (false, false, _) => {}
    }
}

fn quantity(value: &Value) -> Option<Quantity> {
    Quantity::parse(value.as_str()?).ok().flatten()
}

/// Requires ascending values, one of which is the default (`validateRequestPolicyValidValues`).
fn values(list: &Value, default: Quantity, most: Quantity, at: Path<'_>, errors: &mut Errors<'_>) {
    let given: Vec<Quantity> = items(list).iter().filter_map(quantity).collect();
    for (index, pair) in given.windows(2).enumerate() {
        if pair[0].is_more(pair[1]) {
            let why = "values must be sorted in ascending order";
            errors.invalid(at.index(index + 1), pair[1].text(), why);
        }
    }
    let whole =
        |value: &Value| quantity(value).map(|amount| amount.whole_above().to_string()).unwrap_or_default();
    each_unique(list, MOST_VALUES, whole, at, errors, |value, at, errors| {
        if let Some(value) = quantity(value).filter(|value| value.is_more(most)) {
            let why = format!("option is larger than capacity value: {}", most.text());
            errors.invalid(at, value.text(), why);
        }
    });
    if given.len() > MOST_VALUES || !given.iter().any(|value| value.compare(default).is_eq()) {
        errors.invalid(at, default.text(), "default value is not valid according to the requestPolicy");
    }
}

/// Requires a range within the capacity that has the default (`validateRequestPolicyRange`).
fn range(range: &Value, default: Quantity, most: Quantity, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut fail = |field: &str, value: Quantity, why: String| {
        errors.invalid(at.child(field), value.text(), why);
    };
    let Some(min) = quantity(&range["min"]) else {
        return errors.required(at.child("min"), "required when validRange is defined");
    };
    let (max, step) = (quantity(&range["max"]), quantity(&range["step"]));
    if min.is_more(most) {
        fail("min", min, format!("min is larger than capacity value: {}", most.text()));
    }
    if default.is_less(min) {
        fail("min", default, format!("default is less than min: {}", min.text()));
    }
    if let Some(max) = max {
        if min.is_more(max) {
            fail("max", min, format!("min is larger than max: {}", max.text()));
        }
        if max.is_more(most) {
            fail("max", max, format!("max is larger than capacity value: {}", most.text()));
        }
        if default.is_more(max) {
            fail("max", default, format!("default is more than max: {}", max.text()));
        }
    }
    let Some(step) = step else { return };
    let one = min.plus(step);
    if one.is_more(most) {
        let why = format!("one step {} is larger than capacity value: {}", one.text(), most.text());
        fail("step", step, why);
    }
    for value in [Some(default), max].into_iter().flatten() {
        let distance = value.whole_above().checked_sub(min.whole_above());
        if distance
            .and_then(|distance| distance.checked_rem(step.whole_above()))
            .is_some_and(|rest| rest != 0)
        {
            let why =
                format!("value is not a multiple of a given step ({}) from ({})", step.text(), min.text());
            fail("step", value, why);
        }
    }
}

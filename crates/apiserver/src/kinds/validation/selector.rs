//! Validation of label selectors.

use serde_json::Value;

use super::path::string_map;
use super::{Errors, Path, items, text};
use crate::{gotext, names};

/// Validates a selector (`ValidateLabelSelector`).
pub(super) fn check(selector: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let map = Path::Field(&at, "matchLabels");
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        errors.each(map, key, names::labels::label_key(key));
        let value = text(value);
        errors.each(map, value, names::labels::label_value(value));
    }
    let list = Path::Field(&at, "matchExpressions");
    for (index, expression) in items(&selector["matchExpressions"]).iter().enumerate() {
        let at = Path::Index(&list, index);
        let has_values = !items(&expression["values"]).is_empty();
        match text(&expression["operator"]) {
            "In" | "NotIn" if !has_values => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.required(Path::Field(&at, "values"), why);
            }
            "Exists" | "DoesNotExist" if has_values => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.forbidden(Path::Field(&at, "values"), why);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => errors.invalid(Path::Field(&at, "operator"), other, "not a valid selector operator"),
        }
        let key = text(&expression["key"]);
        errors.each(Path::Field(&at, "key"), key, names::labels::label_key(key));
        let values = Path::Field(&at, "values");
        for (index, value) in items(&expression["values"]).iter().enumerate() {
            let value = text(value);
            errors.each(Path::Index(&values, index), value, names::labels::label_value(value));
        }
    }
}

/// Whether a selector has no requirements.
pub(super) fn is_empty(selector: &Value) -> bool {
    super::absent(&selector["matchLabels"]) && items(&selector["matchExpressions"]).is_empty()
}

/// Requires that a selector is unchanged.
pub(super) fn immutable(selector: &Value, old: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    if old.is_none_or(|old| old == selector) {
        return;
    }
    let requirements = items(&selector["matchExpressions"]).iter().map(|one| {
        let values: Vec<String> =
            items(&one["values"]).iter().map(|value| gotext::quote(text(value))).collect();
        let (key, operator) = (gotext::quote(text(&one["key"])), gotext::quote(text(&one["operator"])));
        format!(
            "v1.LabelSelectorRequirement{{Key:{key}, Operator:{operator}, Values:[]string{{{}}}}}",
            values.join(", ")
        )
    });
    let requirements: Vec<String> = requirements.collect();
    let requirements = if requirements.is_empty() {
        "[]v1.LabelSelectorRequirement(nil)".to_owned()
    } else {
        format!("[]v1.LabelSelectorRequirement{{{}}}", requirements.join(", "))
    };
    let labels = string_map(&selector["matchLabels"]);
    let syntax = format!("v1.LabelSelector{{MatchLabels:{labels}, MatchExpressions:{requirements}}}");
    // Go prints the fields in the order of the struct.
    let fields = ["matchLabels", "matchExpressions"].into_iter().filter(|field| !selector[*field].is_null());
    let fields: Vec<String> = fields.map(|field| format!("\"{field}\":{}", selector[field])).collect();
    errors.invalid_shown(at, format!("{{{}}}", fields.join(",")), syntax, "field is immutable");
}

//! Validation of label selectors.

use serde_json::Value;

use super::path::string_map;
use super::{Errors, Path, items, text};
use crate::field::Shown;
use crate::{gotext, names};

/// Validates a selector.
pub(super) fn check(selector: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let found = names::selector::check(selector);
    errors.found.extend(found.into_iter().map(|error| error.below(&at.text())));
}

/// Whether a selector has no requirements.
pub(super) fn is_empty(selector: &Value) -> bool {
    super::absent(&selector["matchLabels"]) && items(&selector["matchExpressions"]).is_empty()
}

/// Requires that a selector is unchanged.
pub(super) fn immutable(selector: &Value, old: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    if old.is_some_and(|old| old != selector) {
        invalid(selector, at, "field is immutable", errors);
    }
}

/// An invalid selector, as Go prints it.
pub(super) fn invalid(selector: &Value, at: Path<'_>, why: &str, errors: &mut Errors<'_>) {
    if selector.is_null() {
        errors.invalid_shown(at, "null".to_owned(), "(*v1.LabelSelector)(nil)".to_owned(), why);
        return;
    }
    let requirements = items(&selector["matchExpressions"]).iter().map(|one| {
        let values = Shown::list(&one["values"], "string").list_syntax();
        let (key, operator) = (gotext::quote(text(&one["key"])), gotext::quote(text(&one["operator"])));
        format!("v1.LabelSelectorRequirement{{Key:{key}, Operator:{operator}, Values:{values}}}")
    });
    let requirements: Vec<String> = requirements.collect();
    let requirements = if requirements.is_empty() {
        "[]v1.LabelSelectorRequirement(nil)".to_owned()
    } else {
        format!("[]v1.LabelSelectorRequirement{{{}}}", requirements.join(", "))
    };
    let labels = string_map(&selector["matchLabels"]);
    let syntax = format!("v1.LabelSelector{{MatchLabels:{labels}, MatchExpressions:{requirements}}}");
    errors.invalid_shown(at, json(selector), syntax, why);
}

/// The JSON of a selector or `null`, with the fields in the order of the Go struct.
pub(super) fn json(selector: &Value) -> String {
    if selector.is_null() {
        return "null".to_owned();
    }
    let fields = ["matchLabels", "matchExpressions"].into_iter().filter(|field| !selector[*field].is_null());
    let fields: Vec<String> = fields.map(|field| format!("\"{field}\":{}", selector[field])).collect();
    format!("{{{}}}", fields.join(","))
}

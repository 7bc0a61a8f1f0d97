//! Validation of limit ranges (`ValidateLimitRange`).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kinds::quantity::Quantity;
use crate::kinds::validation::resource_names::{container_resource_name, is_overcommittable, resource_name};
use crate::kinds::validation::{Errors, Path, absent, items, text};
use crate::names;

/// Larger amounts are compared as integers, the others in thousandths (`resource.MaxMilliValue`).
const MOST_WITH_THOUSANDTHS: i64 = i64::MAX / 1000;
const TYPES: [&str; 3] = ["Container", "PersistentVolumeClaim", "Pod"];
/// Comparisons of amounts: the lower field, the upper field, the field of the error, the field whose value it
/// shows, and the names of both in the message.
const ORDER: [(&str, &str, &str, &str, &str, &str); 6] = [
    ("min", "max", "min", "min", "min value", "max value"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest", "min value", "default request value"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest", "default request value", "max value"),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request value",
        "default limit value",
    ),
    ("min", "default", "default", "min", "min value", "default value"),
    ("default", "max", "default", "max", "default value", "max value"),
];

pub(in crate::kinds::validation) fn limit_range(
    object: &Value,
    _old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = Path::Root.child("spec");
    let list = at.child("limits");
    let mut seen = BTreeSet::new();
    for (index, limit) in items(&object["spec"]["limits"]).iter().enumerate() {
        let at = list.index(index);
        let kind = text(&limit["type"]);
        type_name(kind, at.child("type"), errors);
        if !seen.insert(kind) {
            errors.duplicate(at.child("type"), kind);
        }
        validate_limit(limit, kind, at, errors);
    }
}

fn type_name(kind: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let problems = names::labels::label_key(kind);
    if problems.is_empty() && !kind.contains('/') && !TYPES.contains(&kind) {
        errors.invalid(at, kind, "must be a standard limit type or fully qualified");
    }
    errors.each(at, kind, problems);
}

fn validate_limit(limit: &Value, kind: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
        let place = at.child(field);
        if kind == "Pod" && field.starts_with("default") {
            if !absent(&limit[field]) {
                errors.forbidden(place, "may not be specified when `type` is 'Pod'");
            }
            continue;
        }
        for name in limit[field].as_object().into_iter().flat_map(serde_json::Map::keys) {
            if matches!(kind, "Pod" | "Container") {
                container_resource_name(name, place.key(name), errors);
            } else {
                resource_name(name, place.key(name), errors);
            }
        }
    }
    let stored = |field: &str| !limit[field]["storage"].is_null();
    if kind == "PersistentVolumeClaim" && !stored("min") && !stored("max") {
        let why = "either minimum or maximum storage value is required, but neither was provided";
        errors.required(at.child("limits"), why);
    }
    amounts(limit, at, errors);
}

/// Requires that minimum <= default request <= default limit <= maximum, and that ratios are at least 1.
fn amounts(limit: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let amount = |value: &Value| Quantity::parse(text(value)).ok().flatten();
    let has_defaults = limit["type"] != "Pod";
    let fields = ["min", "max", "maxLimitRequestRatio", "default", "defaultRequest"];
    let fields = &fields[..if has_defaults { 5 } else { 3 }];
    let all = fields.iter().flat_map(|field| limit[*field].as_object().into_iter().flatten());
    let resources: BTreeSet<&String> = all.map(|(name, _)| name).collect();
    for name in resources {
        for (low, high, place, shown, low_words, high_words) in ORDER {
            if !has_defaults && (low.starts_with("default") || high.starts_with("default")) {
                continue;
            }
            let (Some(lower), Some(higher)) = (amount(&limit[low][name]), amount(&limit[high][name])) else {
                continue;
            };
            if lower.compare(higher).is_gt() {
                let (less, more) = (text(&limit[low][name]), text(&limit[high][name]));
                let why = format!("{low_words} {less} is greater than {high_words} {more}");
                let field = at.child(place);
                quantity(&limit[shown][name], field.key(name), &why, errors);
            }
        }
        ratio(limit, name, at, errors);
        if has_defaults {
            equal_defaults(limit, name, at, errors);
        }
    }
}

/// Requires that a ratio is at least 1, and not greater than that of the maximum and the minimum.
fn ratio(limit: &Value, name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let amount = |field: &str| Quantity::parse(text(&limit[field][name])).ok().flatten();
    let given = &limit["maxLimitRequestRatio"][name];
    let Some(ratio) = amount("maxLimitRequestRatio") else { return };
    let field = at.child("maxLimitRequestRatio");
    if ratio.is_less(Quantity::ONE) {
        let why = format!("ratio {} is less than 1", text(given));
        quantity(given, field.key(name), &why, errors);
    }
    let (Some(least), Some(most)) = (amount("min"), amount("max")) else { return };
    let numbers = [ratio, least, most].map(Quantity::value);
    let is_small = numbers.iter().all(|number| *number < MOST_WITH_THOUSANDTHS);
    let [_, low, high] = if is_small { [ratio, least, most].map(Quantity::milli_value) } else { numbers };
    let given_ratio = if is_small { float(ratio.milli_value()) / 1000.0 } else { float(ratio.value()) };
    let bound = float(high) / float(low);
    if given_ratio > bound {
        let why = format!("ratio {} is greater than max/min = {bound:.6}", text(given));
        quantity(given, field.key(name), &why, errors);
    }
}

#[expect(clippy::cast_precision_loss, reason = "Go compares the ratios as floating-point numbers as well")]
fn float(number: i64) -> f64 {
    number as f64
}

/// Requires equal defaults for a resource that cannot be overcommitted (`IsOvercommitAllowed`).
fn equal_defaults(limit: &Value, name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if is_overcommittable(name) {
        return;
    }
    let (most, request) = (&limit["default"][name], &limit["defaultRequest"][name]);
    let amount = |value: &Value| Quantity::parse(text(value)).ok().flatten();
    if let (Some(default), Some(requested)) = (amount(most), amount(request))
        && default.compare(requested).is_ne()
    {
        let field = at.child("defaultRequest");
        let (default, requested) = (text(most), text(request));
        let why = format!("default value {default} must equal to defaultRequest value {requested} in {name}");
        quantity(request, field.key(name), &why, errors);
    }
}

/// An invalid quantity. In Go syntax it is a struct, whose number is shown as it was written.
fn quantity(value: &Value, at: Path<'_>, why: &str, errors: &mut Errors<'_>) {
    let given = text(value);
    let digits = given.find(|c: char| !c.is_ascii_digit()).unwrap_or(given.len());
    let (number, unit) = given.split_at(digits);
    let plain = number.parse::<i64>().unwrap_or(0);
    let (number, scale, format) = match unit {
        "m" => (plain, -3, "DecimalSI"),
        "k" => (plain, 3, "DecimalSI"),
        "M" => (plain, 6, "DecimalSI"),
        "G" => (plain, 9, "DecimalSI"),
        "Ki" => (plain << 10, 0, "BinarySI"),
        "Mi" => (plain << 20, 0, "BinarySI"),
        "Gi" => (plain << 30, 0, "BinarySI"),
        _ => (plain, 0, "DecimalSI"),
    };
    let syntax = format!(
        "resource.Quantity{{i:resource.int64Amount{{value:{number}, scale:{scale}}}, \
         d:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:\"\", Format:\"{format}\"}}"
    );
    errors.invalid_shown(at, value.to_string(), syntax, why);
}

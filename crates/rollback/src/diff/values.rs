//! Differences in the restrictions of single values.

use serde_json::Value;

use super::{Bound, Difference, Keyword};
use crate::schema::{Kind, Limits, Node};

/// The values that only the newer schema accepts, by restriction.
pub(super) fn compare(newer: &Node, older: &Node) -> Vec<Difference> {
    let mut found = Vec::new();
    found.extend(added_types(newer, older));
    found.extend(added_values(newer, older));
    if newer.nullable && !older.nullable && !older.types.is_empty() {
        found.push(Difference::Null);
    }
    found.extend(bounds(&newer.limits, &older.limits));
    let (now, before) = (&newer.limits, &older.limits);
    let gone = |texts: &[String], kept: &[String]| -> Vec<String> {
        texts.iter().filter(|text| !kept.contains(text)).cloned().collect()
    };
    // An enum of the newer release leaves no other texts; the server decides about those.
    found.extend(gone(&before.patterns, &now.patterns).into_iter().map(Difference::Pattern));
    found.extend(
        gone(&before.formats, &now.formats)
            .into_iter()
            .filter(|name| restricts(name))
            .map(Difference::Format),
    );
    let multiples = before.multiples.iter().filter(|one| !now.multiples.contains(one));
    found.extend(multiples.map(|one| Difference::Multiple(*one)));
    if older.is_embedded && !newer.is_embedded {
        found.push(Difference::Embedded);
    }
    found
}

/// The types that only the newer schema allows.
fn added_types(newer: &Node, older: &Node) -> Option<Difference> {
    if older.types.is_empty() {
        return None;
    }
    let all = [Kind::Object, Kind::Array, Kind::String, Kind::Integer, Kind::Number, Kind::Boolean];
    let added = all.into_iter().filter(|kind| newer.allows(*kind) && !older.allows(*kind));
    // Values that are neither of these types need no schema: those of an untyped schema are rarely meant.
    let added: Vec<Kind> = added.collect();
    (!added.is_empty()).then_some(Difference::Type(added))
}

/// The values that only the newer enum has.
fn added_values(newer: &Node, older: &Node) -> Option<Difference> {
    let before = older.limits.allowed()?;
    let Some(now) = newer.limits.allowed() else { return Some(Difference::Enum(Vec::new())) };
    let added: Vec<Value> = now.into_iter().filter(|value| !before.contains(value)).cloned().collect();
    (!added.is_empty()).then_some(Difference::Enum(added))
}

/// The bounds that are stricter in the older release.
#[expect(clippy::cast_precision_loss, reason = "bounds of sizes are small")]
fn bounds(newer: &Limits, older: &Limits) -> Vec<Difference> {
    let size = |bound: Option<u64>| bound.map(|bound| bound as f64);
    let number = |bound: Option<(f64, bool)>| bound.map(|(bound, _)| bound);
    let least = |keyword, newer: Option<f64>, older: Option<f64>| (keyword, newer, older, 1.0);
    let most = |keyword, newer: Option<f64>, older: Option<f64>| (keyword, newer, older, -1.0);
    let pairs = [
        least(Keyword::Minimum, number(newer.minimum), number(older.minimum)),
        most(Keyword::Maximum, number(newer.maximum), number(older.maximum)),
        least(Keyword::MinLength, size(newer.min_length), size(older.min_length)),
        most(Keyword::MaxLength, size(newer.max_length), size(older.max_length)),
        least(Keyword::MinItems, size(newer.min_items), size(older.min_items)),
        most(Keyword::MaxItems, size(newer.max_items), size(older.max_items)),
        least(Keyword::MinProperties, size(newer.min_properties), size(older.min_properties)),
        most(Keyword::MaxProperties, size(newer.max_properties), size(older.max_properties)),
    ];
    let stricter = pairs.into_iter().filter_map(|(keyword, newer, older, direction)| {
        let bound = older?;
        let is_stricter =
            newer.is_none_or(|newer| bound * direction > newer * direction) && !is_idle(keyword, bound);
        is_stricter.then_some(Difference::Bound(Bound { keyword, older: bound, newer }))
    });
    let mut found: Vec<Difference> = stricter.collect();
    let excluded =
        [(Keyword::Minimum, newer.minimum, older.minimum), (Keyword::Maximum, newer.maximum, older.maximum)];
    for (keyword, newer, older) in excluded {
        if let (Some((now, false)), Some((before, true))) = (newer, older)
            && (now - before).abs() < f64::EPSILON
        {
            found.push(Difference::Bound(Bound { keyword, older: before, newer: Some(now) }));
        }
    }
    found
}

/// Whether every size fulfils a bound, such as a minimum of 0.
fn is_idle(keyword: Keyword, bound: f64) -> bool {
    matches!(keyword, Keyword::MinLength | Keyword::MinItems | Keyword::MinProperties) && bound <= 0.0
}

/// Whether a format rejects texts. Those of numbers and of passwords do not (`k8s.io/apiextensions-apiserver`, supported
/// formats).
fn restricts(format: &str) -> bool {
    !matches!(format, "password" | "int32" | "int64" | "float" | "double" | "binary" | "int-or-string")
}

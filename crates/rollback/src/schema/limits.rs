//! The restrictions of a single value.

use serde_json::{Map, Value};

/// Bounds, patterns, formats and enums. Each list holds texts that apply together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Limits {
    pub(crate) enums: Vec<Vec<Value>>,
    pub(crate) patterns: Vec<String>,
    pub(crate) formats: Vec<String>,
    /// The least number, and whether it is excluded.
    pub(crate) minimum: Option<(f64, bool)>,
    /// The greatest number, and whether it is excluded.
    pub(crate) maximum: Option<(f64, bool)>,
    pub(crate) multiples: Vec<f64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
}

impl Limits {
    /// Parses the keywords of a schema.
    pub(super) fn parse(map: &Map<String, Value>) -> Self {
        let size = |name: &str| map.get(name).and_then(Value::as_u64);
        let text = |name: &str| map.get(name).and_then(Value::as_str).map(str::to_owned);
        let bound = |name: &str, exclusive: &str| {
            let excluded = map.get(exclusive).and_then(Value::as_bool).unwrap_or(false);
            map.get(name).and_then(Value::as_f64).map(|number| (number, excluded))
        };
        Self {
            enums: map.get("enum").and_then(Value::as_array).cloned().into_iter().collect(),
            patterns: text("pattern").into_iter().collect(),
            formats: text("format").into_iter().collect(),
            minimum: bound("minimum", "exclusiveMinimum"),
            maximum: bound("maximum", "exclusiveMaximum"),
            multiples: map.get("multipleOf").and_then(Value::as_f64).into_iter().collect(),
            min_length: size("minLength"),
            max_length: size("maxLength"),
            min_items: size("minItems"),
            max_items: size("maxItems"),
            min_properties: size("minProperties"),
            max_properties: size("maxProperties"),
        }
    }

    /// The values of all enums; `None` without an enum.
    pub(crate) fn allowed(&self) -> Option<Vec<&Value>> {
        let (first, others) = self.enums.split_first()?;
        Some(first.iter().filter(|value| others.iter().all(|list| list.contains(value))).collect())
    }

    /// Both restrictions together.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.enums.extend(other.enums.iter().filter(|list| !self.enums.contains(list)).cloned());
        both.patterns.extend(other.patterns.iter().filter(|text| !self.patterns.contains(text)).cloned());
        both.formats.extend(other.formats.iter().filter(|text| !self.formats.contains(text)).cloned());
        both.multiples.extend(other.multiples.iter().filter(|one| !self.multiples.contains(one)));
        both.minimum = stricter(self.minimum, other.minimum, |one, two| one > two);
        both.maximum = stricter(self.maximum, other.maximum, |one, two| one < two);
        both.min_length = self.min_length.max(other.min_length);
        both.min_items = self.min_items.max(other.min_items);
        both.min_properties = self.min_properties.max(other.min_properties);
        both.max_length = least(self.max_length, other.max_length);
        both.max_items = least(self.max_items, other.max_items);
        both.max_properties = least(self.max_properties, other.max_properties);
        both
    }
}

/// The stricter of two bounds.
fn stricter(
    one: Option<(f64, bool)>,
    two: Option<(f64, bool)>,
    is_stricter: fn(f64, f64) -> bool,
) -> Option<(f64, bool)> {
    match (one, two) {
        (Some(one), Some(two)) if is_stricter(one.0, two.0) || !is_stricter(two.0, one.0) && one.1 => {
            Some(one)
        }
        (Some(_), Some(two)) => Some(two),
        (one, two) => one.or(two),
    }
}

/// The lower of two maximums. A missing one is no limit.
fn least(one: Option<u64>, two: Option<u64>) -> Option<u64> {
    match (one, two) {
        (Some(one), Some(two)) => Some(one.min(two)),
        (one, two) => one.or(two),
    }
}

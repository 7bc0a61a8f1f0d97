//! Validates a value against a structural schema, and collects all errors in a fixed order.
//!
//! Order per node: type, compositions, string, format, number, list, enum, object. A node that equals its
//! counterpart in the stored object is skipped: its errors are not new (ratcheting).

use serde_json::{Map, Value, json};

use super::path::Path;
use super::ratchet::{self, Elements, StoredCounterpart};
use super::structural::Structural;
use crate::field::{Cause, FieldError, Shown};
use crate::gotext;
use crate::profile::Profile;
use crate::repeats::repeated;

mod composition;
mod scalar;

/// The form of paths, and the wordings of the minor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'p> {
    pub(crate) profile: &'p Profile,
    /// Prefix of all field paths.
    pub(crate) field_prefix: &'p str,
    /// Whether the value is a default in a definition. A real server does not check the type of such an int-or-string
    /// (`Structural.ToKubeOpenAPI`).
    pub(crate) is_default: bool,
}

/// The result of a validation.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) errors: Vec<FieldError>,
    /// Number of checks that applied; decides which failing branch of a composition is reported.
    matches: u32,
}

/// Validates a whole value. `old` is the stored value, if unchanged parts are tolerated.
pub(crate) fn validate(
    value: &Value,
    old: Option<StoredCounterpart<'_>>,
    schema: &Structural,
    context: Context<'_>,
) -> Vec<FieldError> {
    let mut found = Findings::default();
    Walk { context }.node(value, old, schema, &Path::Root, &mut found);
    found.errors
}

/// A walk over a value along its schema.
struct Walk<'p> {
    context: Context<'p>,
}

impl Walk<'_> {
    fn node(
        &self,
        value: &Value,
        old: Option<StoredCounterpart<'_>>,
        schema: &Structural,
        path: &Path<'_>,
        found: &mut Findings,
    ) {
        if old.is_some_and(|old| ratchet::is_same(value, old, schema)) {
            return;
        }
        let is_any_type = self.context.is_default && schema.types.len() > 1;
        if !is_any_type && (!schema.types.is_empty() || schema.checks.format.is_some()) {
            self.check_type(value, schema, path, found);
            found.matches += 1;
        }
        if value.is_null() {
            self.check_enum(value, schema, path, found);
            return;
        }
        self.compositions(value, schema, path, found);
        match value {
            Value::String(text) => self.string(text, schema, path, found),
            Value::Number(number) => self.number(number, schema, path, found),
            Value::Array(items) => self.list(items, old, schema, path, found),
            _ => {}
        }
        self.check_enum(value, schema, path, found);
        if let Value::Object(map) = value {
            self.object(map, old, schema, path, found);
        }
        found.matches += 2;
    }

    fn field(&self, path: &Path<'_>) -> String {
        path.under(self.context.field_prefix)
    }

    /// An error whose detail says `in body`.
    fn in_body(&self, path: &Path<'_>, value: Shown, words: &str) -> FieldError {
        let detail = format!("{path} in body {words}");
        FieldError { cause: Cause::Invalid, field: self.field(path), value, detail }
    }

    fn check_type(&self, value: &Value, schema: &Structural, path: &Path<'_>, found: &mut Findings) {
        let (actual, number_format) = type_of(value);
        if schema.checks.format.is_none() && schema.types.as_slice() == [actual] {
            return;
        }
        let has = |name: &str| schema.types.contains(&name);
        let wrong = |expected: &str, actual: &str| FieldError {
            cause: Cause::TypeInvalid,
            ..self.in_body(
                path,
                Shown::Json(json!(actual)),
                &format!("must be of type {expected}: \"{actual}\""),
            )
        };
        if value.is_null() {
            if !schema.types.is_empty() && !schema.nullable {
                found.errors.push(wrong(&schema.types.join(","), "null"));
            }
            return;
        }
        let float_as_int = actual == "number" && has("integer") && is_integral(value);
        let int_as_float = actual == "integer" && has("number");
        let fits = has(actual) || float_as_int || int_as_float;
        let is_text = matches!(value, Value::String(_) | Value::Array(_));
        if let Some(named) = self.format(schema) {
            // Errors name the format instead of the expected type.
            if !is_text && !fits {
                found.errors.push(wrong(&named.name, number_format));
                return;
            }
            if is_text && !has("integer") && !has("number") {
                return;
            }
        }
        if !fits && !schema.types.is_empty() {
            found.errors.push(wrong(&schema.types.join(","), actual));
        }
    }

    fn list(
        &self,
        items: &[Value],
        old: Option<StoredCounterpart<'_>>,
        schema: &Structural,
        path: &Path<'_>,
        found: &mut Findings,
    ) {
        if let Some(inner) = &schema.items {
            let mut counterparts = Elements::new(old, schema);
            for (index, item) in items.iter().enumerate() {
                let counterpart = counterparts.find(index, item);
                self.node(item, counterpart, inner, &path.index(index), found);
            }
        }
        let (checks, count) = (&schema.checks, items.len() as u64);
        if let Some(least) = checks.min_items.filter(|least| count < *least) {
            let words = format!("should have at least {least} items");
            found.errors.push(self.in_body(path, Shown::Json(json!(count)), &words));
        }
        if let Some(most) = checks.max_items.filter(|most| count > *most) {
            found.errors.push(self.too_many(path, count, most));
        }
        if checks.unique_items && repeated(items.iter().map(Value::to_string)).contains(&true) {
            let shown = Shown::Json(json!(""));
            found.errors.push(self.in_body(path, shown, "shouldn't contain duplicates"));
        }
        found.matches += 1;
    }

    fn object(
        &self,
        map: &Map<String, Value>,
        old: Option<StoredCounterpart<'_>>,
        schema: &Structural,
        path: &Path<'_>,
        found: &mut Findings,
    ) {
        found.matches += 1;
        let (checks, count) = (&schema.checks, map.len() as u64);
        if let Some(least) = checks.min_properties.filter(|least| count < *least) {
            let words = format!("should have at least {least} properties");
            found.errors.push(self.in_body(path, Shown::Json(json!(count)), &words));
            if self.context.profile.counts_end_objects {
                return;
            }
        }
        if let Some(most) = checks.max_properties.filter(|most| count > *most) {
            found.errors.push(self.too_many(path, count, most));
            if self.context.profile.counts_end_objects {
                return;
            }
        }
        let mut before = ratchet::Counterparts::new(old);
        for (place, (name, value, property)) in schema.along(map.iter()).enumerate() {
            if let Some(property) = property.or_else(|| schema.additional()) {
                let counterpart = before.find(place, name);
                // Most values of an update are unchanged scalars, so skip those early.
                if !counterpart.is_some_and(|old| ratchet::is_same_scalar(value, old)) {
                    self.node(value, counterpart, property, &path.key(name), found);
                }
            }
        }
        for name in schema.required.iter().filter(|name| !map.contains_key(*name)) {
            found.errors.push(FieldError::required(self.field(&path.key(name)), ""));
        }
    }

    fn too_many(&self, path: &Path<'_>, count: u64, most: u64) -> FieldError {
        let items = if most == 1 { "item" } else { "items" };
        let detail = format!("must have at most {most} {items}");
        FieldError::new(Cause::TooMany, self.field(path), json!(count), detail)
    }

    fn check_enum(&self, value: &Value, schema: &Structural, path: &Path<'_>, found: &mut Findings) {
        let allowed = &schema.checks.enumeration;
        // No enum value equals null in Go, not even null.
        if allowed.is_empty() || !value.is_null() && allowed.iter().any(|item| same(item, value)) {
            return;
        }
        let texts: Vec<String> = allowed
            .iter()
            .map(|item| match item {
                Value::String(text) => text.clone(),
                Value::Number(number) => gotext::number(number),
                other => other.to_string(),
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        found.errors.push(FieldError::not_supported(self.field(path), Shown::Json(value.clone()), &texts));
    }
}

impl Findings {
    fn merge(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.matches += other.matches;
    }
}

/// The schema type of a value, and its number format in Go.
fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        // Go decodes a number beyond `int64` to a `float64`.
        Value::Number(number) if !number.is_i64() => ("number", "double"),
        Value::Number(_) => ("integer", "int64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

/// Whether a float counts as an integer (`swag.IsFloat64AJSONInteger`): nearly a whole number that a float holds exactly.
#[expect(clippy::float_cmp, reason = "a whole number is exactly its rounding")]
fn is_integral(value: &Value) -> bool {
    const MOST: f64 = 9_007_199_254_740_991.0;
    const EPSILON: f64 = 1e-9;
    let Some(float) = value.as_f64().filter(|float| float.abs() <= MOST) else { return false };
    let whole = float.round();
    float == whole || whole != 0.0 && (float - whole).abs() < EPSILON * whole.abs()
}

/// Whether a value equals an enum value. A number is first converted to the type of the enum value, which
/// truncates it if that is an integer.
#[expect(clippy::float_cmp, reason = "an enum value is either exactly this number or not")]
fn same(allowed: &Value, value: &Value) -> bool {
    match (allowed.as_f64(), value.as_f64()) {
        (Some(a), Some(b)) => a == if allowed.is_f64() { b } else { b.trunc() },
        _ => allowed == value,
    }
}

#[cfg(test)]
mod tests;

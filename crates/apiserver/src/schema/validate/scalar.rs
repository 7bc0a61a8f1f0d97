//! Validation of strings and numbers.

use std::fmt;

use serde_json::{Number, Value, json};

use super::{Findings, Walk};
use crate::field::{Cause, FieldError, Shown};
use crate::gotext;
use crate::profile::since;
use crate::schema::format::{Format, NamedFormat};
use crate::schema::path::Path;
use crate::schema::structural::Structural;

impl Walk<'_> {
    /// The format of a schema, if this minor enforces it.
    pub(super) fn format<'s>(&self, schema: &'s Structural) -> Option<&'s NamedFormat> {
        let named = schema.checks.format.as_ref()?;
        let fits = named.format.number_type().is_none_or(|kind| schema.types.contains(&kind));
        (fits && named.format.is_enforced_by(self.context.profile.minor)).then_some(named)
    }

    /// Checks length and pattern (reports only the first failure), then the format.
    pub(super) fn string(&self, text: &str, schema: &Structural, path: &Path<'_>, found: &mut Findings) {
        let checks = &schema.checks;
        let shown = || Shown::Json(json!(text));
        let length = || text.chars().count() as u64;
        let too_long = checks.max_length.filter(|most| length() > *most);
        let too_short = checks.min_length.filter(|least| length() < *least);
        let mismatch = checks.pattern.as_ref().filter(|(_, pattern)| !pattern.is_match(text));
        if let Some(most) = too_long {
            let detail = self.context.profile.too_long_text(most);
            found.errors.push(FieldError::new(Cause::TooLong, self.field(path), Value::Null, detail));
        } else if let Some(least) = too_short {
            let words = format!("should be at least {least} chars long");
            found.errors.push(self.in_body(path, shown(), &words));
        } else if let Some((pattern, _)) = mismatch {
            found.errors.push(self.in_body(path, shown(), &format!("should match '{pattern}'")));
        }
        found.matches += 1;
        if let Some(named) = self.format(schema).filter(|named| !named.format.accepts(text)) {
            let words = format!("must be of type {}: {}", named.name, gotext::quote(text));
            let error = self.in_body(path, shown(), &words);
            found.errors.push(FieldError { cause: Cause::TypeInvalid, ..error });
        }
    }

    /// Checks the range of the type, then multiples and bounds. Each of these must itself be in that range.
    pub(super) fn number(&self, number: &Number, schema: &Structural, path: &Path<'_>, found: &mut Findings) {
        let checks = &schema.checks;
        let Some(value) = number.as_f64() else { return };
        let range = Range::from_schema(schema, self.format(schema));
        let mut check = |what: &str, value: f64| {
            if self.context.profile.minor < since::NUMBER_RANGES || range.holds(value) {
                return;
            }
            let detail = format!("{what} value must be of type {range} in {path}");
            let field = if self.context.field_prefix.is_empty() { "" } else { self.context.field_prefix };
            found.errors.push(FieldError::invalid(field, json!(""), detail));
        };
        // The maximum of `int64` is valid as an integer, but its float is one too large.
        check("Checked", if number.as_i64() == Some(i64::MAX) { value.next_down() } else { value });
        let bounds = [
            ("MultipleOf", checks.multiple_of),
            ("Minimum boundary", checks.minimum.map(|(least, _)| least)),
            ("Maximum boundary", checks.maximum.map(|(most, _)| most)),
        ];
        for (what, bound) in bounds {
            if let Some(bound) = bound {
                check(what, bound);
            }
        }
        for words in out_of_bounds(number, value, schema) {
            let shown = Shown::Json(Value::Number(number.clone()));
            found.errors.push(self.in_body(path, shown, &words));
        }
        found.matches += 1;
    }
}

/// Messages about violated multiples and bounds.
fn out_of_bounds(number: &Number, value: f64, schema: &Structural) -> Vec<String> {
    let checks = &schema.checks;
    let mut wrong = Vec::new();
    if let Some(factor) = checks.multiple_of.filter(|factor| *factor > 0.0 && (value / factor).fract() != 0.0)
    {
        wrong.push(format!("should be a multiple of {}", bound(factor, number)));
    }
    if let Some((least, exclusive)) = checks.minimum {
        if exclusive && value <= least {
            wrong.push(format!("should be greater than {}", bound(least, number)));
        } else if value < least {
            wrong.push(format!("should be greater than or equal to {}", bound(least, number)));
        }
    }
    if let Some((most, exclusive)) = checks.maximum {
        if exclusive && value >= most {
            wrong.push(format!("should be less than {}", bound(most, number)));
        } else if value > most {
            wrong.push(format!("should be less than or equal to {}", bound(most, number)));
        }
    }
    wrong
}

/// A bound as the server prints it: truncated, if the value is an integer.
fn bound(bound: f64, beside: &Number) -> String {
    gotext::float(if beside.is_f64() { bound } else { bound.trunc() })
}

/// The range that type and format require of numbers (`validate.IsValueValidAgainstRange`).
struct Range<'a> {
    kind: &'static str,
    format: Option<&'a NamedFormat>,
}

impl<'a> Range<'a> {
    fn from_schema(schema: &Structural, format: Option<&'a NamedFormat>) -> Self {
        let kind = match schema.types.as_slice() {
            ["integer"] => "integer",
            _ => "number",
        };
        Self { kind, format: format.filter(|named| named.format.number_type() == Some(kind)) }
    }

    fn holds(&self, value: f64) -> bool {
        /// One more than the largest `int64`.
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        let whole = value.fract() == 0.0;
        match (self.kind, self.format.map(|named| named.format)) {
            ("integer", Some(Format::Int32)) => {
                whole && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value)
            }
            ("integer", _) => whole && (-LIMIT..LIMIT).contains(&value),
            (_, Some(Format::Float)) => value.abs() <= f64::from(f32::MAX),
            _ => true,
        }
    }
}

impl fmt::Display for Range<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.format {
            Some(named) => write!(f, "{} with format {}", self.kind, named.name),
            None => write!(f, "{} (default format)", self.kind),
        }
    }
}

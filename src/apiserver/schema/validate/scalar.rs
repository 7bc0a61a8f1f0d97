//! Strings and numbers.

use serde_json::{Number, Value, json};

use super::{Findings, Walk};
use crate::apiserver::field::{Cause, FieldError, Shown};
use crate::apiserver::gotext;
use crate::apiserver::schema::format::Format;
use crate::apiserver::schema::path::Path;
use crate::apiserver::schema::structural::Structural;

impl Walk<'_> {
    /// Length and pattern (only the first that fails), then format.
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
        if let Some(format) = checks.format.filter(|format| !format.accepts(text)) {
            let words = format!("must be of type {}: {}", format.name(), gotext::quote(text));
            let error = self.in_body(path, shown(), &words);
            found.errors.push(FieldError { cause: Cause::TypeInvalid, ..error });
        }
    }

    /// Range of the type, then multiples and bounds.
    pub(super) fn number(&self, number: &Number, schema: &Structural, path: &Path<'_>, found: &mut Findings) {
        let checks = &schema.checks;
        let Some(value) = number.as_f64() else { return };
        if let Some(words) = out_of_range(number, value, schema) {
            let detail = format!("Checked value must be of type {words} in {}", self.text(path));
            let field = if self.context.field_prefix.is_empty() { "" } else { self.context.field_prefix };
            found.errors.push(FieldError::invalid(field, json!(""), detail));
        }
        let mut fail = |words: String| {
            let shown = Shown::Json(Value::Number(number.clone()));
            found.errors.push(self.in_body(path, shown, &words));
        };
        if let Some(factor) =
            checks.multiple_of.filter(|factor| *factor > 0.0 && (value / factor).fract() != 0.0)
        {
            fail(format!("should be a multiple of {}", bound(factor, number)));
        }
        if let Some((most, exclusive)) = checks.maximum {
            if exclusive && value >= most {
                fail(format!("should be less than {}", bound(most, number)));
            } else if value > most {
                fail(format!("should be less than or equal to {}", bound(most, number)));
            }
        }
        if let Some((least, exclusive)) = checks.minimum {
            if exclusive && value <= least {
                fail(format!("should be greater than {}", bound(least, number)));
            } else if value < least {
                fail(format!("should be greater than or equal to {}", bound(least, number)));
            }
        }
        found.matches += 1;
    }
}

/// A bound as the server prints it beside a value: beside an integer its fraction is cut.
fn bound(bound: f64, beside: &Number) -> String {
    gotext::float(if beside.is_f64() { bound } else { bound.trunc() })
}

/// What the type and format demand of a number that is outside of them.
fn out_of_range(number: &Number, value: f64, schema: &Structural) -> Option<String> {
    let integer = schema.types.as_slice() == ["integer"];
    if !integer || schema.types.is_empty() {
        return None;
    }
    match schema.checks.format {
        Some(format @ (Format::Int32 | Format::Int64)) => {
            let inside = match format {
                Format::Int32 => (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value),
                _ => number.is_i64() || value.fract() == 0.0,
            };
            (!inside || value.fract() != 0.0).then(|| format!("integer with format {}", format.name()))
        }
        _ => (value.fract() != 0.0).then(|| "integer (default format)".to_owned()),
    }
}

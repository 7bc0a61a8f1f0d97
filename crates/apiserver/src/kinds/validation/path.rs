//! Paths of fields during validation, as a chain on the stack: no text is allocated as long as there is no
//! error.

use serde_json::Value;

use crate::field::{Cause, FieldError, Shown};
use crate::gotext;
use crate::profile::Profile;
use crate::wording;

/// A path (`field.Path`).
#[derive(Debug, Clone, Copy)]
pub(super) enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
    Key(&'a Path<'a>, &'a str),
}

impl Path<'_> {
    /// The path of a field of this value (`Child`).
    pub(super) fn child<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path::Field(self, name)
    }

    /// The path of an element of this list (`Index`).
    pub(super) fn index(&self, index: usize) -> Path<'_> {
        Path::Index(self, index)
    }

    /// The path of an entry of this map (`Key`).
    pub(super) fn key<'b>(&'b self, key: &'b str) -> Path<'b> {
        Path::Key(self, key)
    }

    fn write(self, out: &mut String) {
        match self {
            Self::Root => {}
            Self::Field(parent, name) => {
                parent.write(out);
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Self::Index(parent, index) => {
                parent.write(out);
                out.push_str(&format!("[{index}]"));
            }
            Self::Key(parent, key) => {
                parent.write(out);
                out.push_str(&format!("[{key}]"));
            }
        }
    }

    /// The path as text: `spec.containers[0].name`.
    pub(super) fn text(self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }
}

/// The errors found so far.
#[derive(Debug)]
pub(crate) struct Errors<'a> {
    pub(super) profile: &'a Profile,
    pub(super) found: Vec<FieldError>,
}

impl<'a> Errors<'a> {
    pub(crate) fn new(profile: &'a Profile) -> Self {
        Self { profile, found: Vec::new() }
    }

    /// The errors found.
    pub(crate) fn into_found(self) -> Vec<FieldError> {
        self.found
    }

    pub(super) fn required(&mut self, at: Path<'_>, why: &str) {
        let path = at.text();
        let why = wording::required(why, &path, self.profile.minor);
        self.found.push(FieldError::required(path.as_str(), why));
    }

    pub(super) fn invalid(&mut self, at: Path<'_>, value: impl Into<Value>, why: impl Into<String>) {
        self.found.push(FieldError::invalid(at.text(), value, why));
    }

    /// An invalid time in RFC 3339.
    pub(super) fn invalid_time(&mut self, at: Path<'_>, time: &Value, why: &str) {
        self.found.push(FieldError::invalid_time(at.text(), time, why));
    }

    /// An invalid name of a type that formats itself (`fmt.Stringer`), which earlier minors print without quotes.
    pub(super) fn invalid_name(&mut self, at: Path<'_>, name: &str, why: &str) {
        self.invalid_shown(at, gotext::quote(name), name.to_owned(), why);
    }

    /// An invalid number or percentage (`intstr.IntOrString`).
    pub(super) fn invalid_amount(&mut self, at: Path<'_>, amount: &Value, why: &str) {
        let syntax = match amount.as_str() {
            Some(text) => format!("intstr.IntOrString{{Type:1, IntVal:0, StrVal:{}}}", gotext::quote(text)),
            None => {
                format!(
                    "intstr.IntOrString{{Type:0, IntVal:{}, StrVal:\"\"}}",
                    amount.as_i64().unwrap_or_default()
                )
            }
        };
        let json = match amount {
            Value::String(text) => gotext::quote(text),
            other => other.to_string(),
        };
        self.invalid_shown(at, json, syntax, why);
    }

    /// Reports the errors since `first` once more, as minors that validate an object twice do.
    pub(super) fn repeat_since(&mut self, first: usize) {
        self.found.extend_from_within(first..);
    }

    /// An invalid list of strings of this Go type.
    pub(super) fn invalid_list(&mut self, at: Path<'_>, list: &Value, of: &'static str, why: &str) {
        self.found.push(FieldError::invalid_list(at.text(), list, of, why));
    }

    pub(super) fn forbidden(&mut self, at: Path<'_>, why: impl Into<String>) {
        self.found.push(FieldError::forbidden(at.text(), why));
    }

    pub(super) fn duplicate(&mut self, at: Path<'_>, value: impl Into<Value>) {
        self.found.push(FieldError::new(Cause::Duplicate, at.text(), value.into(), ""));
    }

    /// A duplicate of a Go struct, which is printed as JSON or in Go syntax.
    pub(super) fn duplicate_of(&mut self, at: Path<'_>, json: String, syntax: String, why: &str) {
        let value = Shown::Text(if self.profile.json_values { json } else { syntax });
        self.found.push(FieldError {
            cause: Cause::Duplicate,
            field: at.text(),
            value,
            detail: why.to_owned(),
        });
    }

    /// A value that must name something, and what it must name (`field.NotFound` with a detail).
    pub(super) fn not_found_among(&mut self, at: Path<'_>, value: &str, why: String) {
        self.found.push(FieldError::new(Cause::NotFound, at.text(), value.into(), why));
    }

    /// An error of the server itself (`field.InternalError`).
    pub(super) fn internal(&mut self, at: Path<'_>, why: String) {
        self.found.push(FieldError::new(Cause::Internal, at.text(), Value::Null, why));
    }

    pub(super) fn too_many(&mut self, at: Path<'_>, count: usize, most: usize) {
        let items = if most == 1 { "item" } else { "items" };
        let why = format!("must have at most {most} {items}");
        self.found.push(FieldError::new(Cause::TooMany, at.text(), count.into(), why));
    }

    pub(super) fn not_found(&mut self, at: Path<'_>, value: &str) {
        self.found.push(FieldError::new(Cause::NotFound, at.text(), value.into(), ""));
    }

    pub(super) fn unsupported(&mut self, at: Path<'_>, value: &str, known: &[&str]) {
        let shown = Shown::Json(Value::from(value));
        self.found.push(FieldError::not_supported(at.text(), shown, known));
    }

    pub(super) fn too_long(&mut self, at: Path<'_>, most: u64) {
        let why = self.profile.too_many_bytes_text(most);
        self.found.push(FieldError::new(Cause::TooLong, at.text(), Value::Null, why));
    }

    /// An invalid value of a Go type, which is printed as JSON or in Go syntax.
    pub(super) fn invalid_shown(&mut self, at: Path<'_>, json: String, syntax: String, why: &str) {
        let value = Shown::Text(if self.profile.json_values { json } else { syntax });
        self.found.push(FieldError {
            cause: Cause::Invalid,
            field: at.text(),
            value,
            detail: why.to_owned(),
        });
    }

    /// An invalid value that the message omits (`field.OmitValueType`).
    pub(super) fn invalid_omitted(&mut self, at: Path<'_>, why: impl Into<String>) {
        self.found.push(FieldError {
            cause: Cause::Invalid,
            field: at.text(),
            value: Shown::Nothing,
            detail: why.into(),
        });
    }

    /// An unsupported value of a Go type, which is printed as JSON or in Go syntax.
    pub(super) fn unsupported_shown(&mut self, at: Path<'_>, json: String, syntax: String, known: &[&str]) {
        let value = Shown::Text(if self.profile.json_values { json } else { syntax });
        self.found.push(FieldError::not_supported(at.text(), value, known));
    }

    /// An invalid map of strings.
    pub(super) fn invalid_map(&mut self, at: Path<'_>, map: &Value, why: &str) {
        let json = if map.is_null() { "null".to_owned() } else { map.to_string() };
        self.invalid_shown(at, json, string_map(map), why);
    }

    /// An invalid value, once for each reason.
    pub(super) fn each(&mut self, at: Path<'_>, value: &str, reasons: Vec<String>) {
        for why in reasons {
            self.invalid(at, value, why);
        }
    }
}

/// Formats a map of strings in Go syntax.
pub(super) fn string_map(map: &Value) -> String {
    let Some(map) = map.as_object() else { return "map[string]string(nil)".to_owned() };
    let quoted = map.iter().map(|(key, value)| {
        format!("{}:{}", gotext::quote(key), gotext::quote(value.as_str().unwrap_or_default()))
    });
    format!("map[string]string{{{}}}", quoted.collect::<Vec<_>>().join(", "))
}

//! Field errors (`field.Error`), their messages, and their form in a Status.

use serde_json::{Value, json};

use super::gotext;
use super::profile::Profile;
use super::wording;
use crate::repeats::repeated;

/// The type of a field error (`field.ErrorType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    Required,
    Invalid,
    TypeInvalid,
    NotSupported,
    Duplicate,
    NotFound,
    Forbidden,
    TooLong,
    TooMany,
    Internal,
}

impl Cause {
    /// The `reason` of a Status cause.
    fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotFound => "FieldValueNotFound",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
        }
    }

    /// The start of the message (`ErrorType.String`).
    fn description(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::NotFound => "Not found",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }
}

/// The value in an error message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shown {
    /// A JSON value.
    Json(Value),
    /// A Go `uint64`, which older servers print in hexadecimal.
    Unsigned(u64),
    /// A time in RFC 3339, or null for none.
    Time(Value),
    /// A Go list of strings, with its type.
    Strings(&'static str, Vec<String>),
    /// A Go list of strings that is nil.
    NoStrings,
    /// A value of a Go type of the server, as Go prints it.
    Text(String),
    /// No value: the message omits it.
    Nothing,
    /// Verbatim text: one for minors that print composite values as JSON, one for minors that print them in Go syntax.
    Raw { json: String, go: String },
}

/// An error of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldError {
    pub(crate) cause: Cause,
    /// The path of the field; an empty path prints as `<nil>`.
    pub(crate) field: String,
    pub(crate) value: Shown,
    pub(crate) detail: String,
}

impl FieldError {
    /// The field and the cause, which are the same for errors of the same check.
    pub(crate) fn check(&self) -> (String, Cause) {
        (self.field.clone(), self.cause)
    }

    pub(crate) fn new(
        cause: Cause,
        field: impl Into<String>,
        value: Value,
        detail: impl Into<String>,
    ) -> Self {
        Self { cause, field: field.into(), value: Shown::Json(value), detail: detail.into() }
    }

    pub(crate) fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Cause::Required, field, Value::Null, detail)
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Cause::Forbidden, field, Value::Null, detail)
    }

    pub(crate) fn invalid(
        field: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(Cause::Invalid, field, value.into(), detail)
    }

    /// An error of the server.
    pub(crate) fn internal(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Cause::Internal, field, Value::Null, detail)
    }

    /// An error for a time.
    pub(crate) fn invalid_time(field: impl Into<String>, time: &Value, detail: impl Into<String>) -> Self {
        let value = Shown::Time(time.clone());
        Self { cause: Cause::Invalid, field: field.into(), value, detail: detail.into() }
    }

    /// An error for a list of strings of this Go type.
    pub(crate) fn invalid_list(
        field: impl Into<String>,
        value: &Value,
        of: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        let value = Shown::list(value, of);
        Self { cause: Cause::Invalid, field: field.into(), value, detail: detail.into() }
    }

    /// An error for an unsupported value, with the supported values in the given order.
    pub(crate) fn not_supported(field: impl Into<String>, value: Shown, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|text| gotext::quote(text)).collect();
        let detail = if quoted.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", quoted.join(", "))
        };
        Self { cause: Cause::NotSupported, field: field.into(), value, detail }
    }

    /// The same error of a value that is at `path` in a larger one.
    pub(crate) fn below(mut self, path: &str) -> Self {
        let is_joined = path.is_empty() || self.field.is_empty() || self.field.starts_with('[');
        self.field = format!("{path}{}{}", if is_joined { "" } else { "." }, self.field);
        self
    }

    /// The path in messages.
    fn path(&self) -> &str {
        if self.field.is_empty() { "<nil>" } else { &self.field }
    }

    /// The message after the path (`ErrorBody`).
    pub(crate) fn body(&self, profile: &Profile) -> String {
        let description = self.cause.description();
        let mut text = match self.cause {
            _ if self.value == Shown::Nothing => description.to_owned(),
            Cause::Required | Cause::Forbidden | Cause::TooLong | Cause::Internal => description.to_owned(),
            _ => format!("{description}: {}", self.value.text(profile)),
        };
        let detail = wording::detail(&self.detail, &self.field, profile.minor);
        if !detail.is_empty() {
            text.push_str(": ");
            text.push_str(&detail);
        }
        text
    }

    /// The message with the path.
    pub(crate) fn text(&self, profile: &Profile) -> String {
        format!("{}: {}", self.path(), self.body(profile))
    }

    /// The error as an element of `details.causes`.
    pub(crate) fn as_cause(&self, profile: &Profile) -> Value {
        json!({ "reason": self.cause.reason(), "message": self.body(profile), "field": self.path() })
    }
}

impl Shown {
    /// A list of strings of this Go type.
    pub(crate) fn list(value: &Value, of: &'static str) -> Self {
        match value.as_array() {
            None => Self::NoStrings,
            Some(items) => {
                let texts = items.iter().map(|item| item.as_str().unwrap_or_default().to_owned());
                Self::Strings(of, texts.collect())
            }
        }
    }

    /// A list of strings in Go syntax.
    pub(crate) fn list_syntax(&self) -> String {
        match self {
            Self::Strings(of, list) => {
                let quoted: Vec<String> = list.iter().map(|text| gotext::quote(text)).collect();
                format!("[]{of}{{{}}}", quoted.join(", "))
            }
            _ => "[]string(nil)".to_owned(),
        }
    }

    /// The value as a message shows it.
    pub(crate) fn text(&self, profile: &Profile) -> String {
        match self {
            Self::Json(Value::String(text)) => gotext::quote(text),
            Self::Json(Value::Number(number)) => gotext::number(number),
            Self::Json(Value::Bool(flag)) => flag.to_string(),
            Self::Json(Value::Null) if !profile.json_values => "\"null\"".to_owned(),
            Self::Json(value) if profile.json_values => gotext::escape_html(value.to_string()),
            Self::Json(value) => gotext::syntax(value),
            Self::Text(text) => text.clone(),
            Self::Nothing => String::new(),
            Self::Raw { json, .. } if profile.json_values => gotext::escape_html(json.clone()),
            Self::Raw { go, .. } => go.clone(),
            Self::Unsigned(number) if profile.json_values => number.to_string(),
            Self::Unsigned(number) => format!("{number:#x}"),
            Self::Time(Value::String(time)) if !profile.json_values => gotext::time(time),
            Self::Time(time) => Self::Json(time.clone()).text(profile),
            Self::Strings(_, list) if profile.json_values => gotext::escape_html(json!(list).to_string()),
            Self::NoStrings if profile.json_values => "null".to_owned(),
            Self::Strings(..) | Self::NoStrings => self.list_syntax(),
        }
    }
}

/// Joins errors to one message: a single error without brackets, several in brackets without duplicates
/// (`errors.Aggregate`).
pub(crate) fn aggregate(errors: &[FieldError], profile: &Profile) -> String {
    let texts: Vec<String> = errors.iter().map(|error| error.text(profile)).collect();
    let mut is_repeated = repeated(&texts).into_iter();
    let texts: Vec<&str> =
        texts.iter().filter(|_| is_repeated.next() == Some(false)).map(String::as_str).collect();
    match texts.as_slice() {
        [only] => (*only).to_owned(),
        _ => format!("[{}]", texts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregate_puts_several_errors_in_brackets_without_duplicates() {
        let profile = Profile::of(27, false);
        let errors = [
            FieldError::required("spec.a", ""),
            FieldError::invalid("", Value::Null, "why"),
            FieldError::required("spec.a", ""),
        ];
        assert_eq!(aggregate(&errors[..1], &profile), "spec.a: Required value");
        assert_eq!(
            aggregate(&errors, &profile),
            r#"[spec.a: Required value, <nil>: Invalid value: "null": why]"#
        );
    }

    #[test]
    fn composite_values_print_as_go_syntax_before_1_34_and_as_json_after() {
        let error = FieldError::new(Cause::Duplicate, "spec.l[1]", json!({"k": "a"}), "");
        assert_eq!(
            error.text(&Profile::of(33, false)),
            r#"spec.l[1]: Duplicate value: map[string]interface {}{"k":"a"}"#
        );
        assert_eq!(error.text(&Profile::of(34, false)), r#"spec.l[1]: Duplicate value: {"k":"a"}"#);
    }
}

//! The fields of reviews with their Go types, for the messages about wrong ones.

use serde_json::Value;

use crate::gotext::json_type;
use crate::kinds::typed::check_base64;

/// A Go struct.
pub(super) struct Struct {
    name: &'static str,
    /// Whether it is in the package of the review's version, and not in that of `v1` of the metadata.
    is_of_review: bool,
    fields: &'static [(&'static str, Field)],
}

/// The type of a field.
enum Field {
    /// A string of this Go type.
    Text(&'static str),
    /// A string whose type is in the package of the review's version.
    ReviewText(&'static str),
    Bool,
    Int32,
    Bytes,
    Texts,
    TextMap,
    One(&'static Struct),
    Many(&'static Struct),
    /// A list of objects of any type.
    Objects,
}

const TEXT: Field = Field::Text("string");
const UID: Field = Field::Text("types.UID");

pub(super) const ADMISSION: Struct = Struct {
    name: "AdmissionReview",
    is_of_review: true,
    fields: &[
        ("request", Field::One(&Struct { name: "AdmissionRequest", is_of_review: true, fields: &REQUEST })),
        (
            "response",
            Field::One(&Struct { name: "AdmissionResponse", is_of_review: true, fields: &ADMITTED }),
        ),
    ],
};

pub(super) const CONVERSION: Struct = Struct {
    name: "ConversionReview",
    is_of_review: true,
    fields: &[
        ("request", Field::One(&Struct { name: "ConversionRequest", is_of_review: true, fields: &CONVERT })),
        (
            "response",
            Field::One(&Struct { name: "ConversionResponse", is_of_review: true, fields: &CONVERTED }),
        ),
    ],
};

const REQUEST: [(&str, Field); 5] =
    [("uid", UID), ("subResource", TEXT), ("name", TEXT), ("namespace", TEXT), ("dryRun", Field::Bool)];

const ADMITTED: [(&str, Field); 7] = [
    ("uid", UID),
    ("allowed", Field::Bool),
    ("status", Field::One(&STATUS)),
    ("patch", Field::Bytes),
    ("patchType", Field::ReviewText("PatchType")),
    ("auditAnnotations", Field::TextMap),
    ("warnings", Field::Texts),
];

const CONVERT: [(&str, Field); 3] = [("uid", UID), ("desiredAPIVersion", TEXT), ("objects", Field::Objects)];

const CONVERTED: [(&str, Field); 3] =
    [("uid", UID), ("convertedObjects", Field::Objects), ("result", Field::One(&STATUS))];

pub(super) const STATUS: Struct = Struct {
    name: "Status",
    is_of_review: false,
    fields: &[
        ("metadata", Field::One(&LIST_META)),
        ("status", TEXT),
        ("message", TEXT),
        ("reason", Field::Text("v1.StatusReason")),
        ("details", Field::One(&DETAILS)),
        ("code", Field::Int32),
    ],
};

const LIST_META: Struct = Struct {
    name: "ListMeta",
    is_of_review: false,
    fields: &[("selfLink", TEXT), ("resourceVersion", TEXT), ("continue", TEXT)],
};

const DETAILS: Struct = Struct {
    name: "StatusDetails",
    is_of_review: false,
    fields: &[
        ("name", TEXT),
        ("group", TEXT),
        ("kind", TEXT),
        ("uid", UID),
        ("causes", Field::Many(&CAUSE)),
        ("retryAfterSeconds", Field::Int32),
    ],
};

const CAUSE: Struct = Struct {
    name: "StatusCause",
    is_of_review: false,
    fields: &[("reason", Field::Text("v1.CauseType")), ("message", TEXT), ("field", TEXT)],
};

/// The Go package of a review's version.
type Package<'a> = &'a str;

impl Struct {
    /// Checks the types of all fields.
    ///
    /// # Errors
    /// The message of Go's decoder about the first wrong one.
    pub(super) fn check(&self, value: &Value, package: Package<'_>) -> Result<(), String> {
        self.check_at(value, package, "")
    }

    fn check_at(&self, value: &Value, package: Package<'_>, at: &str) -> Result<(), String> {
        for (name, field) in self.fields {
            let path = if at.is_empty() { (*name).to_owned() } else { format!("{at}.{name}") };
            field.check(&value[*name], package, &path).map_err(|error| match error {
                UnmarshalError::Type(found, expected) => {
                    let place = format!("{}.{path}", self.name);
                    format!("json: cannot unmarshal {found} into Go struct field {place} of type {expected}")
                }
                UnmarshalError::Message(message) => message,
            })?;
        }
        Ok(())
    }

    /// The Go type.
    fn type_name(&self, package: Package<'_>) -> String {
        format!("{}.{}", if self.is_of_review { package } else { "v1" }, self.name)
    }
}

/// The error of a field.
enum UnmarshalError {
    /// The found value and the expected type.
    Type(String, String),
    Message(String),
}

impl Field {
    fn check(&self, value: &Value, package: Package<'_>, path: &str) -> Result<(), UnmarshalError> {
        let is_right = match (self, value) {
            (Self::Text(_) | Self::ReviewText(_), Value::String(_))
            | (Self::Bool, Value::Bool(_))
            | (Self::Objects, Value::Array(_))
            | (_, Value::Null) => true,
            (Self::Int32, Value::Number(number)) => {
                if number.as_i64().is_none_or(|number| i32::try_from(number).is_err()) {
                    return Err(UnmarshalError::Type(format!("number {number}"), self.type_name(package)));
                }
                true
            }
            (Self::Bytes, Value::String(text)) => {
                return match check_base64(text) {
                    Some(at) => {
                        Err(UnmarshalError::Message(format!("illegal base64 data at input byte {at}")))
                    }
                    None => Ok(()),
                };
            }
            (Self::Texts, Value::Array(items)) => return items.iter().try_for_each(check_text),
            (Self::TextMap, Value::Object(map)) => return map.values().try_for_each(check_text),
            (Self::One(inner), Value::Object(_)) => {
                return inner.check_at(value, package, path).map_err(UnmarshalError::Message);
            }
            (Self::Many(inner), Value::Array(items)) => {
                return items.iter().try_for_each(|item| match item {
                    Value::Object(_) | Value::Null => {
                        inner.check_at(item, package, path).map_err(UnmarshalError::Message)
                    }
                    other => Err(UnmarshalError::Type(json_type(other).to_owned(), inner.type_name(package))),
                });
            }
            _ => false,
        };
        if is_right {
            Ok(())
        } else {
            Err(UnmarshalError::Type(json_type(value).to_owned(), self.type_name(package)))
        }
    }

    /// The Go type.
    fn type_name(&self, package: Package<'_>) -> String {
        match self {
            Self::Text(name) => (*name).to_owned(),
            Self::ReviewText(name) => format!("{package}.{name}"),
            Self::Bool => "bool".to_owned(),
            Self::Int32 => "int32".to_owned(),
            Self::Bytes => "[]uint8".to_owned(),
            Self::Texts => "[]string".to_owned(),
            Self::TextMap => "map[string]string".to_owned(),
            Self::One(inner) => inner.type_name(package),
            Self::Many(inner) => format!("[]{}", inner.type_name(package)),
            Self::Objects => "[]runtime.RawExtension".to_owned(),
        }
    }
}

/// Checks an element that must be a string.
fn check_text(value: &Value) -> Result<(), UnmarshalError> {
    match value {
        Value::String(_) | Value::Null => Ok(()),
        other => Err(UnmarshalError::Type(json_type(other).to_owned(), "string".to_owned())),
    }
}

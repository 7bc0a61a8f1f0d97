//! Reads a config as a parser with fixed types does: unknown fields are dropped, the case of names does not matter, and
//! what is empty is left out.

use serde_json::{Map, Value};

use super::report::{Path, Report};
use super::schema::{Field, Kind, Type};

/// A value of the wrong kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// The kind that was found: `string`, `number`, `bool`, `array` or `object`.
    found: String,
    path: Path,
    /// The object that has the field.
    owner: &'static Type,
    /// The kind that the field has.
    wanted: String,
}

impl Mismatch {
    fn new(value: &Value, path: &Path, owner: &'static Type, wanted: &str) -> Self {
        let found = match value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::Number(number) if wanted == "int" => format!("number {number}"),
            Value::Number(_) => "number".to_owned(),
            Value::String(_) => "string".to_owned(),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) => "object".to_owned(),
        };
        Self { found, path: path.clone(), owner, wanted: wanted.to_owned() }
    }

    /// The error of the parser, with its place in the config `raw`.
    pub(super) fn report(&self, raw: &Value) -> Report {
        let Self { found, path, owner, wanted } = self;
        let (owner, path_text) = (owner.type_name(), path.fields());
        let message = format!(
            "json: cannot unmarshal {found} into Go struct field {owner}.{path_text} of type {wanted}"
        );
        Report::of_parser(raw, path, message)
    }
}

/// Reads an object of this type and minor of spec 3.
pub(super) fn read(value: &Value, of: &'static Type, minor: u64) -> Result<Value, Mismatch> {
    read_at(value, of, of, minor, &Path::default()).map(Value::Object)
}

fn read_at(
    value: &Value,
    of: &'static Type,
    owner: &'static Type,
    minor: u64,
    path: &Path,
) -> Result<Map<String, Value>, Mismatch> {
    let mut read = Map::new();
    let none = Map::new();
    let fields = match value {
        Value::Null => &none,
        Value::Object(fields) => fields,
        _ => return Err(Mismatch::new(value, path, owner, &format!("types.{}", of.type_name()))),
    };
    for field in of.fields(minor) {
        let found = fields
            .get_key_value(field.name)
            .or_else(|| fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(field.name)));
        let Some((name, value)) = found else {
            if matches!(field.kind, Kind::Name) {
                read.insert(field.name.to_owned(), Value::String(String::new()));
            }
            continue;
        };
        if let Some(value) = field_value(value, field, of, minor, &path.at(name.as_str()))? {
            read.insert(field.name.to_owned(), value);
        }
    }
    Ok(read)
}

/// The value of a field, or `None` if it is left out.
fn field_value(
    value: &Value,
    field: &Field,
    owner: &'static Type,
    minor: u64,
    path: &Path,
) -> Result<Option<Value>, Mismatch> {
    let wrong = |wanted: &str| Err(Mismatch::new(value, path, owner, wanted));
    let read = match field.kind {
        Kind::Text => match value {
            Value::Null => None,
            Value::String(_) => Some(value.clone()),
            _ => return wrong("string"),
        },
        Kind::Name | Kind::Short => match value {
            Value::Null if matches!(field.kind, Kind::Name) => Some(Value::String(String::new())),
            Value::Null => None,
            Value::String(text) if text.is_empty() && matches!(field.kind, Kind::Short) => None,
            Value::String(_) => Some(value.clone()),
            _ => return wrong("string"),
        },
        Kind::Int | Kind::Number => match value {
            Value::Null => None,
            Value::Number(number) if number.is_i64() => {
                (!matches!(field.kind, Kind::Number) || number.as_i64() != Some(0)).then(|| value.clone())
            }
            _ => return wrong("int"),
        },
        Kind::Flag => match value {
            Value::Null => None,
            Value::Bool(_) => Some(value.clone()),
            _ => return wrong("bool"),
        },
        Kind::Texts => match value {
            Value::Null => None,
            Value::Array(entries) => {
                let text = |(index, entry): (usize, &Value)| match entry {
                    Value::Null => Ok(Value::String(String::new())),
                    Value::String(_) => Ok(entry.clone()),
                    _ => Err(Mismatch::new(entry, &path.at(index), owner, "string")),
                };
                let entries = entries.iter().enumerate().map(text).collect::<Result<Vec<_>, _>>()?;
                (!entries.is_empty()).then_some(Value::Array(entries))
            }
            _ => return wrong("[]string"),
        },
        Kind::One(of) => {
            let object = read_at(value, of, owner, minor, path)?;
            (!object.is_empty()).then_some(Value::Object(object))
        }
        Kind::Many(of) => match value {
            Value::Null => None,
            Value::Array(entries) => {
                let entry =
                    |(index, entry)| read_at(entry, of, owner, minor, &path.at(index)).map(Value::Object);
                let entries = entries.iter().enumerate().map(entry).collect::<Result<Vec<_>, _>>()?;
                (!entries.is_empty()).then_some(Value::Array(entries))
            }
            _ => return wrong(&format!("[]types.{}", of.type_name())),
        },
    };
    Ok(read)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::schema::CONFIG;
    use super::*;

    #[test]
    fn drops_what_is_unknown_newer_or_empty() {
        let config = json!({
            "ignition": { "Version": "3.2.0", "proxy": {} },
            "kernelArguments": { "shouldExist": ["a"] },
            "passwd": { "users": [{ "name": "core", "sshAuthorizedKeys": [], "uid": null }] },
            "own": 1,
        });
        let read = |minor| read(&config, &CONFIG, minor).unwrap();
        let users = json!({ "users": [{ "name": "core" }] });
        assert_eq!(read(2), json!({ "ignition": { "version": "3.2.0" }, "passwd": users }));
        assert_eq!(read(3)["kernelArguments"], json!({ "shouldExist": ["a"] }));
    }

    #[test]
    fn names_the_field_of_another_kind() {
        let config =
            json!({ "ignition": { "version": "3.2.0" }, "storage": { "files": [{ "mode": "0644" }] } });
        let report = read(&config, &CONFIG, 2).unwrap_err().report(&config);
        let why = "error at line 1 col 67: json: cannot unmarshal string into Go struct field File.storage.files.mode of type int\n";
        assert_eq!(report.to_string(), why);
    }
}

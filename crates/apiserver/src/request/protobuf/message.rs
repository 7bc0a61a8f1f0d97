//! Decodes messages of the types in the tables.

use serde_json::{Map, Value};

use super::scalar;
use super::wire::{Raw, Reader, varint};
use crate::facts::go::Zero;
use crate::facts::{EMBEDDED, Field, FieldKind, Scalar, TypeId, Types};

/// Maximum nesting depth of messages. Recursive schemas could otherwise overflow the stack.
const DEPTH_MAX: usize = 100;

/// Converts messages to JSON.
#[derive(Clone, Copy)]
pub(super) struct Decoder<'t> {
    types: &'t Types,
    depth: usize,
}

impl<'t> Decoder<'t> {
    pub(super) fn new(types: &'t Types) -> Self {
        Self { types, depth: 0 }
    }

    fn deeper(self) -> Result<Self, String> {
        if self.depth >= DEPTH_MAX {
            return Err(format!("proto: messages nest deeper than {DEPTH_MAX}"));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    /// Adds the fields of a message to an object.
    pub(super) fn message(
        self,
        id: TypeId,
        bytes: &[u8],
        object: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let of = self.types.get(id);
        let mut fields = Reader::new(bytes, of.name);
        while let Some((number, raw)) = fields.next()? {
            let Some(field) = of.fields.iter().find(|field| field.number == number) else { continue };
            self.field(field, raw, object)?;
        }
        Ok(())
    }

    fn field(self, field: &Field, raw: Raw<'_>, object: &mut Map<String, Value>) -> Result<(), String> {
        match &field.kind {
            FieldKind::Struct(id) if field.name == EMBEDDED => {
                let Raw::Bytes(bytes) = raw else { return Err(raw.unexpected(self.types.get(*id).name)) };
                self.deeper()?.message(*id, bytes, object)
            }
            FieldKind::Struct(id) => {
                let Raw::Bytes(bytes) = raw else { return Err(raw.unexpected(field.name)) };
                let inner = object.entry(field.name).or_insert_with(|| Value::Object(Map::new()));
                match inner {
                    Value::Object(inner) => self.deeper()?.message(*id, bytes, inner),
                    // Only messages are added under this name.
                    _ => Ok(()),
                }
            }
            FieldKind::List(kind) => {
                let list = object.entry(field.name).or_insert_with(|| Value::Array(Vec::new()));
                match list {
                    Value::Array(list) => self.items(kind, field.name, raw, list),
                    _ => Ok(()),
                }
            }
            FieldKind::Map(kind) => {
                let (key, value) = self.entry(kind, field.name, raw)?;
                let map = object.entry(field.name).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(map) = map {
                    map.insert(key, value);
                }
                Ok(())
            }
            FieldKind::Scalar(kind) => {
                let value = self.scalar(*kind, field.name, raw)?;
                if value.is_null() || is_zero(&value, *kind) && field.zero == Zero::Never {
                    object.remove(field.name);
                } else {
                    object.insert(field.name.to_owned(), value);
                }
                Ok(())
            }
        }
    }

    /// A value in a list or a map.
    fn value(self, kind: &FieldKind, name: &str, raw: Raw<'_>) -> Result<Value, String> {
        let Raw::Bytes(bytes) = raw else {
            return match kind {
                FieldKind::Scalar(kind) => self.scalar(*kind, name, raw),
                _ => Err(raw.unexpected(name)),
            };
        };
        match kind {
            FieldKind::Scalar(kind) => self.scalar(*kind, name, raw),
            FieldKind::Struct(id) => {
                let mut object = Map::new();
                self.deeper()?.message(*id, bytes, &mut object)?;
                Ok(Value::Object(object))
            }
            // `ExtraValue`: a list is a message of its own.
            FieldKind::List(kind) => {
                let (mut list, mut fields) = (Vec::new(), Reader::new(bytes, name));
                while let Some((number, raw)) = fields.next()? {
                    if number == 1 {
                        self.items(kind, name, raw, &mut list)?;
                    }
                }
                Ok(Value::Array(list))
            }
            FieldKind::Map(_) => Ok(Value::Null),
        }
    }

    /// Adds an item to a list, or all items of a packed list.
    fn items(self, kind: &FieldKind, name: &str, raw: Raw<'_>, list: &mut Vec<Value>) -> Result<(), String> {
        let packed = matches!(kind, FieldKind::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::Bool));
        match raw {
            Raw::Bytes(mut bytes) if packed => {
                while !bytes.is_empty() {
                    let number = varint(&mut bytes)?;
                    list.push(self.value(kind, name, Raw::Varint(number))?);
                }
            }
            _ => list.push(self.value(kind, name, raw)?),
        }
        Ok(())
    }

    /// An entry of a map: a message with key and value.
    fn entry(self, kind: &FieldKind, name: &str, raw: Raw<'_>) -> Result<(String, Value), String> {
        let Raw::Bytes(bytes) = raw else { return Err(raw.unexpected(name)) };
        let (mut key, mut value) = (String::new(), None);
        let mut fields = Reader::new(bytes, name);
        while let Some((number, raw)) = fields.next()? {
            match (number, raw) {
                (1, Raw::Bytes(text)) => key = scalar::text(text),
                (1, other) => return Err(other.unexpected(name)),
                (2, raw) => value = Some(self.value(kind, name, raw)?),
                _ => {}
            }
        }
        let value = match value {
            Some(value) => value,
            None => self.value(kind, name, scalar::zero(kind))?,
        };
        Ok((key, value))
    }

    fn scalar(self, kind: Scalar, name: &str, raw: Raw<'_>) -> Result<Value, String> {
        match kind {
            Scalar::SchemaOrBool | Scalar::SchemaOrArray | Scalar::SchemaOrStrings => {
                let Raw::Bytes(bytes) = raw else { return Err(raw.unexpected(name)) };
                self.deeper()?.schema_or(kind, bytes)
            }
            _ => scalar::value(kind, name, raw),
        }
    }

    /// `JSONSchemaPropsOrBool`, `...OrArray` and `...OrStringArray`. Their first field is a schema, except
    /// for `JSONSchemaPropsOrBool`, in which it is a bool.
    fn schema_or(self, kind: Scalar, bytes: &[u8]) -> Result<Value, String> {
        let Some(id) = self.types.find("apiextensions", "v1", "JSONSchemaProps") else {
            return Ok(Value::Null);
        };
        let schema = |raw| self.value(&FieldKind::Struct(id), "schema", raw);
        let (mut one, mut many, mut allows) = (None, Vec::new(), false);
        let mut fields = Reader::new(bytes, "JSONSchemaPropsOr");
        while let Some((number, raw)) = fields.next()? {
            match (kind, number, raw) {
                (Scalar::SchemaOrBool, 1, Raw::Varint(flag)) => allows = flag != 0,
                (Scalar::SchemaOrBool, 1, other) => return Err(other.unexpected("allows")),
                (Scalar::SchemaOrBool, 2, raw) | (_, 1, raw) => one = Some(schema(raw)?),
                (Scalar::SchemaOrArray, 2, raw) => many.push(schema(raw)?),
                (Scalar::SchemaOrStrings, 2, raw) => {
                    many.push(scalar::value(Scalar::String, "property", raw)?);
                }
                _ => {}
            }
        }
        Ok(match (kind, one) {
            (Scalar::SchemaOrBool, None) => Value::Bool(allows),
            (_, Some(schema)) if many.is_empty() => schema,
            (_, None) if many.is_empty() => Value::Null,
            _ => Value::Array(many),
        })
    }
}

/// Whether Go's JSON omits a value if it is optional.
fn is_zero(value: &Value, kind: Scalar) -> bool {
    match value {
        Value::Bool(flag) => !flag && kind == Scalar::Bool,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => {
            number.as_f64() == Some(0.0) && matches!(kind, Scalar::Int32 | Scalar::Int64 | Scalar::Double)
        }
        _ => false,
    }
}

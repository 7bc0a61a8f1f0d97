//! The part of a schema that server-side apply needs, for built-in kinds and custom resources.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::facts::go::Zero;
use crate::facts::{ApplyMerge, Field, FieldKind, PatchMerge, Scalar, TypeId, types};
use crate::kinds::Kind;
use crate::kinds::custom::Version;
use crate::schema::Structural;
use crate::schema::structural::{Additional, ListType};

/// A place in a schema.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// A struct of a built-in kind, or a field of struct type.
    Struct { id: TypeId, atomic: bool },
    /// A field of a built-in kind.
    Field { kind: &'static FieldKind, merge: &'static ApplyMerge, patch: PatchMerge },
    /// A node of a custom resource's schema.
    Node {
        schema: &'a Structural,
        /// Whether a parent node keeps unknown fields, which then applies here as well.
        preserves: bool,
        /// Whether it has `apiVersion`, `kind` and `metadata`: the root, and embedded objects.
        object: bool,
    },
    /// Without a schema: maps are merged and lists are atomic (`__untyped_deduced_`).
    Deduced,
}

/// How the values at a place are merged.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form<'a> {
    Scalar(Type),
    /// A list and its elements.
    List(ListMerge<'a>, Shape<'a>),
    /// A map, which may be atomic.
    Map {
        atomic: bool,
    },
}

/// How a list is merged.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ListMerge<'a> {
    /// As a whole.
    Atomic,
    Set,
    Map(Keys<'a>),
}

/// The keys of list elements.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keys<'a> {
    /// Of a built-in kind, and the struct of the elements.
    Static(&'a [&'static str], Option<TypeId>),
    Owned(&'a [String], Option<&'a Structural>),
}

/// Types of scalars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Numeric,
    String,
    Boolean,
    Untyped,
}

/// A member of a struct or map.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Member<'a> {
    /// A field in the schema.
    Declared(Shape<'a>),
    /// A key of a map.
    Key(Shape<'a>),
    /// A field that is not in the schema.
    Unknown,
}

const DEFAULT: &ApplyMerge = &ApplyMerge::Default;

impl<'a> Shape<'a> {
    /// The shape of a kind's objects.
    pub(crate) fn for_kind(kind: &'a Kind) -> Self {
        if let Some(custom) = &kind.custom {
            return Self::for_version(&custom.version);
        }
        let resource = &kind.resource;
        types()
            .find(&resource.group, &resource.version, &resource.kind)
            .map_or(Self::Deduced, |id| Self::Struct { id, atomic: false })
    }

    /// The shape of custom resources of a version.
    pub(crate) fn for_version(version: &'a Version) -> Self {
        Self::Node { schema: &version.schema, preserves: false, object: true }
    }

    /// How `value` is merged at this place.
    pub(crate) fn form(self, value: Option<&Value>) -> Form<'a> {
        match self {
            Self::Struct { atomic, .. } => Form::Map { atomic },
            Self::Field { kind, merge, patch } => field_form(kind, merge, patch, value),
            Self::Node { schema, preserves, object } => node_form(schema, preserves, object, value),
            Self::Deduced => deduced(value),
        }
    }

    /// The member with a name.
    pub(crate) fn member(self, name: &str) -> Member<'a> {
        match self {
            Self::Struct { id, .. } => match types().field(id, name) {
                Some(field) => {
                    let (kind, merge, patch) = (&field.kind, &field.apply, field.patch);
                    Member::Declared(Self::Field { kind, merge, patch }.resolved())
                }
                None if types().get(id).is_kind && matches!(name, "apiVersion" | "kind") => {
                    Member::Declared(Self::inside(&TEXT))
                }
                None => Member::Unknown,
            },
            Self::Field { kind: FieldKind::Map(inside), .. } => Member::Key(Self::inside(inside)),
            Self::Node { schema, preserves, object } => node_member(schema, preserves, object, name),
            Self::Field { .. } | Self::Deduced => Member::Key(Self::Deduced),
        }
    }

    fn inside(kind: &'static FieldKind) -> Self {
        Self::Field { kind, merge: DEFAULT, patch: PatchMerge::Default }.resolved()
    }

    /// Replaces a field of struct type by its struct.
    fn resolved(self) -> Self {
        match self {
            Self::Field { kind: FieldKind::Struct(id), merge, .. } => {
                Self::Struct { id: *id, atomic: is_atomic(*id, merge) }
            }
            other => other,
        }
    }
}

/// Whether a field of struct type is merged as a whole.
fn is_atomic(id: TypeId, merge: &ApplyMerge) -> bool {
    match merge {
        ApplyMerge::Atomic => true,
        ApplyMerge::Granular => false,
        _ => types().get(id).atomic,
    }
}

fn field_form<'a>(
    kind: &'static FieldKind,
    merge: &'static ApplyMerge,
    patch: PatchMerge,
    value: Option<&Value>,
) -> Form<'a> {
    match kind {
        FieldKind::Struct(id) => Form::Map { atomic: is_atomic(*id, merge) },
        FieldKind::Map(_) => Form::Map { atomic: *merge == ApplyMerge::Atomic },
        FieldKind::List(inside) => {
            let merge = match (merge, patch) {
                (ApplyMerge::Set, _) | (ApplyMerge::Default, PatchMerge::Merge) => ListMerge::Set,
                (ApplyMerge::Map(keys), _) => {
                    let element = if let FieldKind::Struct(id) = **inside { Some(id) } else { None };
                    ListMerge::Map(Keys::Static(keys, element))
                }
                _ => ListMerge::Atomic,
            };
            Form::List(merge, Shape::inside(inside))
        }
        FieldKind::Scalar(scalar) => match scalar {
            Scalar::String | Scalar::Bytes | Scalar::Duration => Form::Scalar(Type::String),
            Scalar::Bool => Form::Scalar(Type::Boolean),
            Scalar::Int32 | Scalar::Int64 | Scalar::Double => Form::Scalar(Type::Numeric),
            Scalar::Quantity | Scalar::IntOrString | Scalar::Time | Scalar::MicroTime => {
                Form::Scalar(Type::Untyped)
            }
            // `RawExtension`
            Scalar::Object => Form::Map { atomic: true },
            Scalar::Json | Scalar::SchemaOrBool | Scalar::SchemaOrArray | Scalar::SchemaOrStrings => {
                deduced(value)
            }
        },
    }
}

fn node_form<'a>(schema: &'a Structural, preserves: bool, object: bool, value: Option<&Value>) -> Form<'a> {
    match schema.types.as_slice() {
        ["array"] => {
            let merge = match schema.list_type {
                ListType::Atomic => ListMerge::Atomic,
                ListType::Set => ListMerge::Set,
                ListType::Map => ListMerge::Map(Keys::Owned(&schema.list_map_keys, schema.items.as_deref())),
            };
            let preserves = preserves || schema.preserve_unknown;
            let items = schema.items.as_deref().map_or(Shape::Deduced, |schema| Shape::Node {
                schema,
                preserves,
                object: schema.embedded_resource,
            });
            Form::List(merge, items)
        }
        ["object"] => Form::Map { atomic: schema.map_atomic },
        ["string"] if schema.checks.format.is_some() => Form::Scalar(Type::Untyped),
        ["string"] => Form::Scalar(Type::String),
        ["integer" | "number"] => Form::Scalar(Type::Numeric),
        ["boolean"] => Form::Scalar(Type::Boolean),
        _ if object || !schema.properties.is_empty() => Form::Map { atomic: schema.map_atomic },
        _ => deduced(value),
    }
}

fn node_member<'a>(schema: &'a Structural, preserves: bool, object: bool, name: &str) -> Member<'a> {
    if object {
        match name {
            "apiVersion" | "kind" => return Member::Declared(Shape::inside(&TEXT)),
            "metadata" => return Member::Declared(*OBJECT_META),
            _ => {}
        }
    }
    let preserves = preserves || schema.preserve_unknown;
    let node = |schema: &'a Structural| Shape::Node { schema, preserves, object: schema.embedded_resource };
    if let Some(schema) = schema.properties.get(name) {
        return Member::Declared(node(schema));
    }
    match &schema.additional {
        Some(Additional::Of(schema)) => Member::Key(node(schema)),
        Some(Additional::Anything) => Member::Key(Shape::Deduced),
        None if preserves || (schema.properties.is_empty() && !object) => Member::Key(Shape::Deduced),
        None => Member::Unknown,
    }
}

static TEXT: FieldKind = FieldKind::Scalar(Scalar::String);

static OBJECT_META: LazyLock<Shape<'static>> = LazyLock::new(|| {
    let id = types().find("meta", "v1", "ObjectMeta");
    id.map_or(Shape::Deduced, |id| Shape::Struct { id, atomic: false })
});

fn deduced<'a>(value: Option<&Value>) -> Form<'a> {
    match value {
        Some(Value::Array(_)) => Form::List(ListMerge::Atomic, Shape::Deduced),
        Some(Value::Object(_) | Value::Null) | None => Form::Map { atomic: false },
        Some(_) => Form::Scalar(Type::Untyped),
    }
}

impl<'a> Keys<'a> {
    pub(crate) fn names(self) -> impl Iterator<Item = &'a str> {
        (0..self.count()).map(move |index| match self {
            Self::Static(keys, _) => keys[index],
            Self::Owned(keys, _) => keys[index].as_str(),
        })
    }

    /// The number of keys.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::Static(keys, _) => keys.len(),
            Self::Owned(keys, _) => keys.len(),
        }
    }

    /// The default of a key. In built-in kinds, keys that Go always writes have a default: the zero of their type.
    pub(crate) fn default(self, key: &str) -> Option<&'a Value> {
        // The only other default in built-in kinds: the protocol of ports of containers and services.
        static PROTOCOL: LazyLock<Value> = LazyLock::new(|| json!("TCP"));
        match self {
            Self::Static(_, _) if key == "protocol" => Some(&*PROTOCOL),
            Self::Static(_, element) => zero_key(types().field(element?, key)?),
            Self::Owned(_, items) => items?.properties.get(key)?.default.as_ref(),
        }
    }
}

/// The zero of a key that Go always writes, or that the OpenAPI document gives as its default.
fn zero_key(field: &Field) -> Option<&'static Value> {
    static ZEROS: LazyLock<[Value; 3]> = LazyLock::new(|| [json!(""), json!(0), json!(false)]);
    let [text, number, flag] = &*ZEROS;
    match field.kind {
        _ if field.zero != Zero::Always && !field.zero_default => None,
        FieldKind::Scalar(Scalar::String) => Some(text),
        FieldKind::Scalar(Scalar::Int32 | Scalar::Int64) => Some(number),
        FieldKind::Scalar(Scalar::Bool) => Some(flag),
        _ => None,
    }
}

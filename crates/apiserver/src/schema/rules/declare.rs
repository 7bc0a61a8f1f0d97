//! The declarations of schemas for expressions (`SchemaDeclType`): types, and how large values may be.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::cel::decl::{Decl, ListEquality, Shape};
use crate::cel::escape::escape;
use crate::schema::structural::{Additional, ListType, Structural};

/// Maximum size of a request, in bytes.
const REQUEST: u64 = 3 << 20;
/// Maximum length of a string: that of a request without the quotes.
const LONGEST: u64 = REQUEST - 2;
/// Maximum lengths of formatted texts, in bytes.
const DURATION: u64 = 32;
const DATE: u64 = 12;
const DATE_TIME: u64 = 32;

/// The declaration of a schema; `None` if expressions cannot use it. `root` marks the schema of a whole
/// object.
pub(crate) fn declare(schema: &Structural, root: bool, name: &str) -> Option<Arc<Decl>> {
    let mut decl = if is_int_or_string(schema) {
        let most = schema.checks.max_length.map_or(LONGEST, |most| most.saturating_mul(4));
        Decl::new(Shape::IntOrString, most, 1)
    } else {
        match kind(schema, root) {
            "array" => list(schema, name)?,
            "object" => object(schema, root, name)?,
            "string" => text(schema),
            "boolean" => Decl::new(Shape::Bool, 0, 4),
            "integer" => Decl::new(Shape::Int, 0, 1),
            "number" => Decl::new(Shape::Double, 0, 1),
            _ => return None,
        }
    };
    decl.nullable = schema.nullable;
    name.clone_into(&mut decl.name);
    Some(Arc::new(decl))
}

fn is_int_or_string(schema: &Structural) -> bool {
    schema.types.len() > 1
}

fn kind(schema: &Structural, root: bool) -> &'static str {
    schema.types.first().copied().unwrap_or(if root { "object" } else { "" })
}

fn list(schema: &Structural, name: &str) -> Option<Decl> {
    let inner = schema.items.as_deref()?;
    let items = declare(inner, inner.embedded_resource, &format!("{name}.@idx"))?;
    // Without the brackets; each element has a comma.
    let most = schema.checks.max_items.unwrap_or(LONGEST / (items.min_size + 1));
    let equality = match schema.list_type {
        ListType::Atomic => ListEquality::Ordered,
        ListType::Set => ListEquality::Set,
        ListType::Map => ListEquality::Map(schema.list_map_keys.clone()),
    };
    Some(Decl::new(Shape::List { items, equality }, most, 2))
}

fn object(schema: &Structural, root: bool, name: &str) -> Option<Decl> {
    if !root && let Some(Additional::Of(inner)) = &schema.additional {
        let values = declare(inner, inner.embedded_resource, &format!("{name}.@elem"))?;
        // Without the braces; each entry has two quotes, a colon, a comma and two characters of a key.
        let most = schema.checks.max_properties.unwrap_or(LONGEST / (values.min_size + 6));
        return Some(Decl::new(Shape::Map { values, longest_key: 0 }, most, 2));
    }
    let mut fields = BTreeMap::new();
    let mut size = 2;
    for (property, inner) in schema.properties.iter() {
        if root && matches!(property.as_str(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        let Some(decl) = declare(inner, inner.embedded_resource, &format!("{name}.{property}")) else {
            continue;
        };
        if schema.required.contains(property) && inner.default.is_none() {
            size += property.len() as u64 + decl.min_size + 4;
        }
        if let Some(identifier) = escape(property) {
            fields.insert(identifier.into_owned(), decl);
        }
    }
    if root {
        fields.extend(of_every_object(name));
    }
    Some(Decl::new(Shape::Object(fields), 0, size))
}

/// The fields of every whole object that expressions see: its type and its name.
fn of_every_object(name: &str) -> BTreeMap<String, Arc<Decl>> {
    let text = || Arc::new(Decl::new(Shape::String, LONGEST, 2));
    let names = BTreeMap::from([("name".to_owned(), text()), ("generateName".to_owned(), text())]);
    let mut metadata = Decl::new(Shape::Object(names), 0, 2);
    metadata.name = format!("{name}.metadata");
    BTreeMap::from([
        ("apiVersion".to_owned(), text()),
        ("kind".to_owned(), text()),
        ("metadata".to_owned(), Arc::new(metadata)),
    ])
}

fn text(schema: &Structural) -> Decl {
    let checks = &schema.checks;
    // Only the usual spelling of a format has a type other than string.
    match checks.format.as_ref().map_or("", |named| named.name.as_str()) {
        "byte" => Decl::new(Shape::Bytes, checks.max_length.unwrap_or(LONGEST), 2),
        "duration" => Decl::new(Shape::Duration, DURATION, 3),
        "date" => Decl::new(Shape::Date, DATE, 12),
        "date-time" => Decl::new(Shape::DateTime, DATE_TIME, 21),
        _ => {
            let longest =
                checks.enumeration.iter().filter_map(Value::as_str).map(|text| text.len() as u64).max();
            let most = match (checks.max_length, longest) {
                (Some(most), _) => most.saturating_mul(4),
                (None, Some(longest)) => longest,
                (None, None) => LONGEST,
            };
            Decl::new(Shape::String, most, 2)
        }
    }
}

/// How often data of a declaration fits into one request (`maxCardinality`).
pub(crate) fn cardinality(decl: &Decl) -> u64 {
    REQUEST / (decl.min_size + 1)
}

//! Which fields the objects of a kind can have, for the checks of paths that users write.

use serde_json::Value;
use windtunnel_core::Resource;

use crate::facts::{FieldKind, Scalar, TypeId, types};

/// One step of a path into an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldStep<'p> {
    /// A field, or a key of a map.
    Name(&'p str),
    /// An element of a list.
    Index,
}

/// The first field of a path that no object of a kind has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField {
    /// The number of steps of the path before it.
    pub depth: usize,
    /// The names of the fields that exist in its place.
    pub known: Vec<String>,
}

/// Returns the first step of a path that no object of this kind has. `definition` is its CustomResourceDefinition. `None`
/// if objects can have the field, or if the kind is unknown here.
pub fn unknown_field(
    resource: &Resource,
    definition: Option<&Value>,
    path: &[FieldStep<'_>],
) -> Option<UnknownField> {
    let mut place = match definition {
        Some(definition) => Place::Schema { schema: schema(definition, &resource.version)?, is_whole: true },
        None => Place::Type(types().find(&resource.group, &resource.version, &resource.kind)?),
    };
    for (depth, step) in path.iter().enumerate() {
        match place.step(*step) {
            Next::Place(next) => place = next,
            Next::Anything => return None,
            Next::Nothing(known) => return Some(UnknownField { depth, known }),
        }
    }
    None
}

/// Returns the schema of a version, or that of the stored one.
fn schema<'d>(definition: &'d Value, version: &str) -> Option<&'d Value> {
    let versions = || definition["spec"]["versions"].as_array().into_iter().flatten();
    let found = versions().find(|found| found["name"] == version);
    let stored = || versions().find(|found| found["storage"] == true);
    found.or_else(stored)?.pointer("/schema/openAPIV3Schema")
}

/// What a path has led to so far.
#[derive(Debug, Clone, Copy)]
enum Place<'d> {
    /// A value with this schema of a CustomResourceDefinition.
    Schema {
        schema: &'d Value,
        /// Whether it is a whole object.
        is_whole: bool,
    },
    /// A struct of a built-in kind.
    Type(TypeId),
    /// A field of a built-in kind.
    Field(&'static FieldKind),
}

/// What the next step leads to.
enum Next<'d> {
    Place(Place<'d>),
    /// The server stores anything there.
    Anything,
    /// There is no such step; these names exist.
    Nothing(Vec<String>),
}

impl<'d> Place<'d> {
    fn step(self, step: FieldStep<'_>) -> Next<'d> {
        match self {
            Self::Schema { schema, is_whole } => step_in_schema(schema, is_whole, step),
            Self::Type(id) => step_in_type(id, step),
            Self::Field(FieldKind::Struct(id)) => step_in_type(*id, step),
            Self::Field(FieldKind::List(inner)) => match step {
                FieldStep::Index => Next::Place(Place::Field(inner)),
                FieldStep::Name(_) => Next::Nothing(Vec::new()),
            },
            Self::Field(FieldKind::Map(inner)) => match step {
                FieldStep::Name(_) => Next::Place(Place::Field(inner)),
                FieldStep::Index => Next::Nothing(Vec::new()),
            },
            Self::Field(FieldKind::Scalar(scalar)) => match scalar {
                Scalar::Object
                | Scalar::Json
                | Scalar::SchemaOrBool
                | Scalar::SchemaOrArray
                | Scalar::SchemaOrStrings => Next::Anything,
                _ => Next::Nothing(Vec::new()),
            },
        }
    }
}

fn step_in_type<'d>(id: TypeId, step: FieldStep<'_>) -> Next<'d> {
    let FieldStep::Name(name) = step else { return Next::Nothing(Vec::new()) };
    if types().get(id).is_kind && ["apiVersion", "kind"].contains(&name) {
        return Next::Place(Place::Field(&FieldKind::Scalar(Scalar::String)));
    }
    match types().field(id, name) {
        Some(field) => Next::Place(Place::Field(&field.kind)),
        None => Next::Nothing(types().fields(id).iter().map(|field| field.name.to_owned()).collect()),
    }
}

fn step_in_schema<'d>(schema: &'d Value, is_whole: bool, step: FieldStep<'_>) -> Next<'d> {
    let is_set = |field: &str| schema[field] == true;
    let inner = |schema: &'d Value| Next::Place(Place::Schema { schema, is_whole: false });
    let name = match step {
        FieldStep::Index if schema["items"].is_object() => return inner(&schema["items"]),
        FieldStep::Index if is_set("x-kubernetes-preserve-unknown-fields") => return Next::Anything,
        FieldStep::Index => return Next::Nothing(Vec::new()),
        FieldStep::Name(name) => name,
    };
    if is_whole || is_set("x-kubernetes-embedded-resource") {
        match (name, types().find("meta", "v1", "ObjectMeta")) {
            ("metadata", Some(id)) => return Next::Place(Place::Type(id)),
            ("apiVersion" | "kind", _) => {
                return Next::Place(Place::Field(&FieldKind::Scalar(Scalar::String)));
            }
            _ => {}
        }
    }
    if schema["properties"][name].is_object() {
        return inner(&schema["properties"][name]);
    }
    match &schema["additionalProperties"] {
        Value::Bool(true) => return Next::Anything,
        more if more.is_object() => return inner(more),
        _ => {}
    }
    if is_set("x-kubernetes-preserve-unknown-fields") {
        return Next::Anything;
    }
    let known = schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys().cloned());
    let whole = if is_whole { &["apiVersion", "kind", "metadata"][..] } else { &[] };
    Next::Nothing(known.chain(whole.iter().map(|name| (*name).to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::{CONFIG_MAPS, NODES};

    use super::FieldStep::{Index, Name};
    use super::*;

    fn depth(resource: &Resource, definition: Option<&Value>, path: &[FieldStep<'_>]) -> Option<usize> {
        unknown_field(resource, definition, path).map(|unknown| unknown.depth)
    }

    #[test]
    fn fields_of_built_in_kinds_are_known() {
        let node = |path: &[FieldStep<'_>]| depth(&NODES, None, path);
        assert_eq!(node(&[Name("status"), Name("conditions"), Index, Name("status")]), None);
        assert_eq!(node(&[Name("metadata"), Name("labels"), Name("any")]), None);
        assert_eq!(node(&[Name("status"), Name("condition")]), Some(1));
        assert_eq!(node(&[Name("status"), Name("conditions"), Name("status")]), Some(2));
        assert_eq!(node(&[Name("spec"), Name("unschedulable"), Name("x")]), Some(2));
        let found = unknown_field(&CONFIG_MAPS, None, &[Name("dat")]).unwrap();
        assert!(found.known.contains(&"data".to_owned()), "{found:?}");
    }

    #[test]
    fn fields_of_custom_kinds_are_those_of_their_schema() {
        let definition = json!({ "spec": { "versions": [{ "name": "v1", "storage": true, "schema": { "openAPIV3Schema": {
            "type": "object",
            "properties": {
                "spec": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                "status": { "type": "object", "properties": {
                    "history": { "type": "array", "items": { "type": "object", "properties": { "state": {} } } },
                    "parts": { "type": "object", "additionalProperties": { "type": "string" } },
                } },
            },
        } } }] } });
        let custom = |path: &[FieldStep<'_>]| depth(&NODES, Some(&definition), path);
        assert_eq!(custom(&[Name("status"), Name("history"), Index, Name("state")]), None);
        assert_eq!(custom(&[Name("spec"), Name("any"), Name("thing")]), None);
        assert_eq!(custom(&[Name("metadata"), Name("generation")]), None);
        assert_eq!(custom(&[Name("status"), Name("parts"), Name("any")]), None);
        assert_eq!(custom(&[Name("status"), Name("histroy"), Index]), Some(1));
        assert_eq!(custom(&[Name("metadata"), Name("label")]), Some(1));
    }
}

//! Schemas of the built-in types.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Form, descriptions, names};
use crate::discovery::entries;
use crate::facts::go::{self, Zero};
use crate::facts::{ApplyMerge, EMBEDDED, Field, FieldKind, PatchMerge, Scalar, Type, TypeId, types};
use crate::kinds::Kind;

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const RAW: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

type Schemas = BTreeMap<String, Value>;

/// Adds a kind, its list, and all types that they refer to.
pub(super) fn add_kind(schemas: &mut Schemas, kind: &Kind, form: Form, minor: u32) {
    let resource = &kind.resource;
    for name in [&*resource.kind, &kind.list_kind] {
        add_named(schemas, &resource.group, &resource.version, name, form);
    }
    for entry in entries(kind, minor) {
        if let Some((group, version, name)) = entry.own_kind {
            add_named(schemas, group, version, name, form);
        }
    }
}

/// Adds a type by name, and marks it as a kind. A type without facts gets a schema that accepts any object.
fn add_named(schemas: &mut Schemas, group: &str, version: &str, name: &str, form: Form) {
    let schema = names::of_builtin(group, version, name);
    match types().find(group, version, name) {
        Some(id) => add(schemas, id, form),
        None => {
            let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
            schemas.entry(schema.clone()).or_insert(open);
        }
    }
    mark(schemas, &schema, group, version, name);
}

/// Marks a schema as that of a kind: with `apiVersion`, `kind`, and the group and version that it belongs to.
fn mark(schemas: &mut Schemas, name: &str, group: &str, version: &str, kind: &str) {
    let Some(schema) = schemas.get_mut(name) else { return };
    for field in ["apiVersion", "kind"] {
        let text = descriptions::of_every_kind(kind, field);
        schema["properties"][field] = json!({ "type": "string", "description": text.unwrap_or_default() });
    }
    let own = json!({ "group": group, "version": version, "kind": kind });
    match schema["x-kubernetes-group-version-kind"].as_array_mut() {
        Some(known) if known.contains(&own) => {}
        Some(known) => known.push(own),
        None => schema["x-kubernetes-group-version-kind"] = json!([own]),
    }
}

/// Adds the schema of the scale subresource, which custom resources may have.
pub(super) fn add_scale(schemas: &mut Schemas, form: Form) {
    add_named(schemas, "autoscaling", "v1", "Scale", form);
}

/// Adds the schemas that operations of all groups use.
pub(super) fn add_shared(schemas: &mut Schemas, form: Form) {
    for name in ["ObjectMeta", "ListMeta", "DeleteOptions", "Status"] {
        if let Some(id) = types().find("meta", "v1", name) {
            add(schemas, id, form);
        }
    }
    for name in ["DeleteOptions", "Status"] {
        mark(schemas, &format!("{}.{name}", names::META), "", "v1", name);
    }
    schemas.insert(format!("{}.Patch", names::META), json!({ "type": "object" }));
}

fn add(schemas: &mut Schemas, id: TypeId, form: Form) {
    let api_type = types().get(id);
    let name = names::schema(api_type);
    if schemas.contains_key(&name) {
        return;
    }
    // Types may be recursive, so reserve the name before adding the fields.
    schemas.insert(name.clone(), Value::Null);
    let fields = types().fields(id);
    let mut schema = json!({ "type": "object" });
    if let Some(text) = descriptions::of_type(api_type) {
        schema["description"] = json!(text);
    }
    if api_type.atomic {
        schema["x-kubernetes-map-type"] = json!("atomic");
    }
    for field in &fields {
        let mut property = property(schemas, field, form);
        if let Some(default) = default(api_type, field).filter(|_| form == Form::V3) {
            property["default"] = default;
        }
        if let Some(text) = descriptions::of_field(api_type, field.name) {
            property["description"] = json!(text);
        }
        schema["properties"][field.name] = property;
    }
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schemas.insert(name, schema);
}

fn property(schemas: &mut Schemas, field: &Field, form: Form) -> Value {
    let mut schema = match (&field.kind, field.name) {
        (FieldKind::Scalar(Scalar::Object), "fieldsV1") => {
            let name = format!("{}.FieldsV1", names::META);
            schemas.insert(name.clone(), json!({ "type": "object" }));
            form.property(&name)
        }
        (kind, _) => value(schemas, kind, form),
    };
    let list = matches!(field.kind, FieldKind::List(_));
    match &field.apply {
        ApplyMerge::Default => {}
        ApplyMerge::Atomic if list => schema["x-kubernetes-list-type"] = json!("atomic"),
        ApplyMerge::Atomic => schema["x-kubernetes-map-type"] = json!("atomic"),
        ApplyMerge::Granular => schema["x-kubernetes-map-type"] = json!("granular"),
        ApplyMerge::Set => schema["x-kubernetes-list-type"] = json!("set"),
        ApplyMerge::Map(keys) => {
            schema["x-kubernetes-list-type"] = json!("map");
            schema["x-kubernetes-list-map-keys"] = json!(keys);
        }
    }
    let strategy = match field.patch {
        PatchMerge::Default => "",
        PatchMerge::Replace => "replace",
        PatchMerge::Merge | PatchMerge::MergeBy(_) => "merge",
    };
    let retained = if field.retain_keys { "retainKeys" } else { "" };
    let strategy: Vec<&str> = [strategy, retained].into_iter().filter(|word| !word.is_empty()).collect();
    if !strategy.is_empty() {
        schema["x-kubernetes-patch-strategy"] = json!(strategy.join(","));
    }
    if let PatchMerge::MergeBy(key) = field.patch {
        schema["x-kubernetes-patch-merge-key"] = json!(key);
    }
    schema
}

fn value(schemas: &mut Schemas, kind: &FieldKind, form: Form) -> Value {
    match kind {
        FieldKind::Struct(id) => {
            add(schemas, *id, form);
            form.property(&names::schema(types().get(*id)))
        }
        FieldKind::List(inside) => json!({ "type": "array", "items": element(schemas, inside, form) }),
        FieldKind::Map(inside) => {
            json!({ "type": "object", "additionalProperties": element(schemas, inside, form) })
        }
        FieldKind::Scalar(scalar) => self::scalar(schemas, *scalar, form),
    }
}

/// The schema of an element, which has no siblings beside a reference.
fn element(schemas: &mut Schemas, kind: &FieldKind, form: Form) -> Value {
    let mut schema = value(schemas, kind, form);
    match schema.get_mut("allOf").and_then(Value::as_array_mut) {
        Some(references) => references.pop().unwrap_or_default(),
        None => schema,
    }
}

/// The default of a field that Go always writes: its zero.
fn default(owner: &Type, field: &Field) -> Option<Value> {
    let owner = declaring(owner, field);
    let zero = go::encoding(owner.group, owner.version, owner.name, field.name).zero;
    let is_always = field.zero_default || zero.map_or(field.required, |zero| zero == Zero::Always);
    match &field.kind {
        FieldKind::Struct(id) if matches!(types().get(*id).name, "ObjectMeta" | "ListMeta") => {
            Some(json!({}))
        }
        _ if !is_always => None,
        FieldKind::Struct(_) => Some(json!({})),
        FieldKind::Scalar(Scalar::String) => Some(json!("")),
        FieldKind::Scalar(Scalar::Bool) => Some(json!(false)),
        FieldKind::Scalar(Scalar::Int32 | Scalar::Int64) => Some(json!(0)),
        _ => None,
    }
}

/// The type that declares a field: the type itself, or a struct that it embeds.
fn declaring<'t>(owner: &'t Type, field: &Field) -> &'t Type {
    let embedded = owner.fields.iter().filter(|own| own.name == EMBEDDED);
    let inner = embedded.filter_map(|own| match &own.kind {
        FieldKind::Struct(id) => Some(*id),
        _ => None,
    });
    let found = inner.into_iter().find(|id| types().field(*id, field.name).is_some());
    found.map_or(owner, |id| declaring(types().get(id), field))
}

fn scalar(schemas: &mut Schemas, scalar: Scalar, form: Form) -> Value {
    let either = |one: &str| match form {
        Form::V2 => json!({ "type": "string" }),
        Form::V3 => json!({ "oneOf": [{ "type": one }, { "type": "string" }] }),
    };
    let mut named = |name: String, schema: Value| {
        let reference = form.property(&name);
        schemas.insert(name, schema);
        reference
    };
    let meta = |name: &str| format!("{}.{name}", names::META);
    match scalar {
        Scalar::String => json!({ "type": "string" }),
        Scalar::Bool => json!({ "type": "boolean" }),
        Scalar::Int32 => json!({ "type": "integer", "format": "int32" }),
        Scalar::Int64 => json!({ "type": "integer", "format": "int64" }),
        Scalar::Double => json!({ "type": "number", "format": "double" }),
        Scalar::Bytes => json!({ "type": "string", "format": "byte" }),
        Scalar::Quantity => named(QUANTITY.to_owned(), either("number")),
        Scalar::IntOrString => {
            let mut schema = either("integer");
            schema["format"] = json!("int-or-string");
            named(INT_OR_STRING.to_owned(), schema)
        }
        Scalar::Time => named(meta("Time"), json!({ "type": "string", "format": "date-time" })),
        Scalar::MicroTime => named(meta("MicroTime"), json!({ "type": "string", "format": "date-time" })),
        Scalar::Duration => named(meta("Duration"), json!({ "type": "string" })),
        Scalar::Object => named(RAW.to_owned(), json!({ "type": "object" })),
        Scalar::Json | Scalar::SchemaOrBool | Scalar::SchemaOrArray | Scalar::SchemaOrStrings => json!({}),
    }
}

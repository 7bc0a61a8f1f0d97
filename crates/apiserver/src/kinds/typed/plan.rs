//! The types of the built-in kinds, prepared for walking an object: fields by name, and how Go writes each of
//! them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::facts::go::{self, Zero};
use crate::facts::{EMBEDDED, FieldKind, Scalar, TypeId, Types, types};

#[derive(Debug)]
pub(super) struct Struct {
    /// Its Go name, without the package.
    pub(super) name: &'static str,
    /// Its Go name with the package, as errors print it.
    pub(super) go: String,
    /// Sorted by [`rank`].
    fields: Vec<Field>,
    /// Indices of the fields in the order of Go's struct.
    order: Vec<usize>,
    /// Indices of the fields that are always written.
    pub(super) always: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// The structs that embed the field one in the other, from the outside to the inside.
    pub(super) via: Vec<&'static str>,
    pub(super) shape: Shape,
    /// Its place in the order of Go's struct.
    pub(super) place: usize,
    pub(super) zero: Zero,
    /// The first minor that has the field.
    pub(super) since: u32,
}

/// The type of a value.
#[derive(Debug)]
pub(super) enum Shape {
    Scalar(Scalar),
    /// A named string type.
    Named(&'static str),
    Struct(usize),
    List(Box<Shape>),
    Map(Box<Shape>),
}

/// All structs of the built-in kinds.
#[derive(Debug)]
pub(super) struct Plan {
    structs: Vec<Struct>,
    index: BTreeMap<TypeId, usize>,
    /// Whether each struct is the metadata of an object, or has such metadata below it.
    embeds_metadata: Vec<bool>,
}

/// The plan of all types, built on first use.
pub(super) fn plan() -> &'static Plan {
    static PLAN: LazyLock<Plan> = LazyLock::new(|| Plan::new(types()));
    &PLAN
}

impl Plan {
    fn new(types: &'static Types) -> Self {
        let mut plan = Self { structs: Vec::new(), index: BTreeMap::new(), embeds_metadata: Vec::new() };
        for id in types.ids() {
            plan.add(types, id);
        }
        plan.find_metadata();
        plan
    }

    /// Marks the structs with metadata of objects, from the inside to the outside.
    fn find_metadata(&mut self) {
        let mut found: Vec<bool> = self.structs.iter().map(|of| of.name == "ObjectMeta").collect();
        loop {
            let outer =
                |of: &Struct| of.fields.iter().any(|field| field.shape.inner().is_some_and(|at| found[at]));
            let next: Vec<bool> =
                self.structs.iter().enumerate().map(|(at, of)| found[at] || outer(of)).collect();
            if next == found {
                break;
            }
            found = next;
        }
        self.embeds_metadata = found;
    }

    /// Whether a struct is the metadata of an object, or has such metadata below it.
    pub(super) fn embeds_metadata(&self, index: usize) -> bool {
        self.embeds_metadata[index]
    }

    fn add(&mut self, types: &'static Types, id: TypeId) -> usize {
        if let Some(at) = self.index.get(&id) {
            return *at;
        }
        let of = types.get(id);
        let at = self.structs.len();
        self.index.insert(id, at);
        let go = format!("{}.{}", of.version, of.name);
        self.structs.push(Struct {
            name: of.name,
            go,
            fields: Vec::new(),
            order: Vec::new(),
            always: Vec::new(),
        });
        let mut planned = Vec::new();
        self.add_fields(types, id, &[], &mut planned);
        let declared: Vec<&str> = planned.iter().map(|field| field.name).collect();
        planned.sort_by_key(|field| rank(field.name));
        let index = |name: &str| planned.binary_search_by_key(&rank(name), |field| rank(field.name)).ok();
        self.structs[at].order = declared.into_iter().filter_map(index).collect();
        let always =
            planned.iter().enumerate().filter(|(_, field)| matches!(field.zero, Zero::Always | Zero::Null));
        self.structs[at].always = always.map(|(index, _)| index).collect();
        self.structs[at].fields = planned;
        at
    }

    /// Plans the fields of a type and of the structs that it embeds.
    fn add_fields(
        &mut self,
        types: &'static Types,
        id: TypeId,
        via: &[&'static str],
        planned: &mut Vec<Field>,
    ) {
        let owner = types.get(id);
        for field in &owner.fields {
            if let (EMBEDDED, FieldKind::Struct(inner)) = (field.name, &field.kind) {
                let via = [via, &[types.get(*inner).name]].concat();
                self.add_fields(types, *inner, &via, planned);
                continue;
            }
            let encoding = go::encoding(owner.group, owner.version, owner.name, field.name);
            let shape = self.shape(types, &field.kind, encoding.named);
            let zero = if is_metadata(types, &field.kind) { Zero::Always } else { field.zero };
            let (place, via, since) = (planned.len(), via.to_vec(), field.since);
            planned.push(Field { name: field.name, via, shape, place, zero, since });
        }
    }

    fn shape(&mut self, types: &'static Types, kind: &FieldKind, named: Option<&'static str>) -> Shape {
        if let (FieldKind::Scalar(Scalar::String), Some(named)) = (kind, named) {
            return Shape::Named(named);
        }
        match kind {
            FieldKind::Scalar(scalar) => Shape::Scalar(*scalar),
            FieldKind::Struct(id) => Shape::Struct(self.add(types, *id)),
            FieldKind::List(inside) => Shape::List(Box::new(self.shape(types, inside, named))),
            FieldKind::Map(inside) => Shape::Map(Box::new(self.shape(types, inside, None))),
        }
    }

    pub(super) fn get(&self, index: usize) -> &Struct {
        &self.structs[index]
    }

    /// The struct of a kind; that of v1 or v2 if the tables lack this version.
    pub(super) fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<usize> {
        let types = types();
        let versions = [version, "v1", "v2"];
        let id = versions.into_iter().find_map(|version| types.find(group, version, kind))?;
        self.index.get(&id).copied()
    }

    /// The zero value of a shape, as Go writes it.
    pub(super) fn zero(&self, shape: &Shape) -> Value {
        match shape {
            Shape::Scalar(scalar) => zero(*scalar),
            Shape::Named(_) => json!(""),
            Shape::Struct(index) => {
                let of = self.get(*index);
                let fields = of.always().map(|field| (field.name.to_owned(), self.zero_of(field)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
            Shape::List(_) | Shape::Map(_) => Value::Null,
        }
    }

    /// The value that Go writes for an absent field.
    pub(super) fn zero_of(&self, field: &Field) -> Value {
        if field.zero == Zero::Null { Value::Null } else { self.zero(&field.shape) }
    }

    /// The Go type of a shape, as decoder errors print it.
    pub(super) fn go_name(&self, shape: &Shape) -> String {
        match shape {
            Shape::Named(name) => (*name).to_owned(),
            Shape::Struct(index) => self.get(*index).go.clone(),
            Shape::List(inside) => format!("[]{}", self.go_name(inside)),
            Shape::Map(inside) if matches!(**inside, Shape::Scalar(Scalar::Quantity)) => {
                "v1.ResourceList".to_owned()
            }
            Shape::Map(inside) => format!("map[string]{}", self.go_name(inside)),
            Shape::Scalar(scalar) => match scalar {
                Scalar::String => "string",
                Scalar::Bool => "bool",
                Scalar::Int32 => "int32",
                Scalar::Int64 => "int64",
                Scalar::Double => "float64",
                Scalar::Bytes => "[]uint8",
                Scalar::Quantity => "resource.Quantity",
                Scalar::IntOrString => "intstr.IntOrString",
                Scalar::Time => "v1.Time",
                Scalar::MicroTime => "v1.MicroTime",
                Scalar::Duration => "v1.Duration",
                Scalar::Object => "runtime.RawExtension",
                Scalar::Json => "v1.JSON",
                Scalar::SchemaOrBool => "v1.JSONSchemaPropsOrBool",
                Scalar::SchemaOrArray => "v1.JSONSchemaPropsOrArray",
                Scalar::SchemaOrStrings => "v1.JSONSchemaPropsOrStringArray",
            }
            .to_owned(),
        }
    }
}

impl Shape {
    /// The struct of the value or of its elements.
    fn inner(&self) -> Option<usize> {
        match self {
            Self::Struct(index) => Some(*index),
            Self::List(inside) | Self::Map(inside) => inside.inner(),
            Self::Scalar(_) | Self::Named(_) => None,
        }
    }
}

/// The sort key of a name. Comparing lengths first mostly avoids comparing letters.
fn rank(name: &str) -> (usize, &str) {
    (name.len(), name)
}

impl Struct {
    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by_key(&rank(name), |field| rank(field.name)).ok()?;
        self.fields.get(at)
    }

    pub(super) fn in_order(&self) -> impl Iterator<Item = &Field> {
        self.order.iter().filter_map(|index| self.fields.get(*index))
    }

    pub(super) fn always(&self) -> impl Iterator<Item = &Field> {
        self.always.iter().filter_map(|index| self.fields.get(*index))
    }
}

fn is_metadata(types: &Types, kind: &FieldKind) -> bool {
    matches!(kind, FieldKind::Struct(id) if matches!(types.get(*id).name, "ObjectMeta" | "ListMeta"))
}

fn zero(scalar: Scalar) -> Value {
    match scalar {
        Scalar::String => json!(""),
        Scalar::Bool => json!(false),
        Scalar::Int32 | Scalar::Int64 | Scalar::Double | Scalar::IntOrString => json!(0),
        Scalar::Quantity => json!("0"),
        Scalar::Duration => json!("0s"),
        _ => Value::Null,
    }
}

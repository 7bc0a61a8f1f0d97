//! Structural schemas of custom resources, as far as a comparison and a generator need them.
//!
//! A node holds all restrictions of one value. Branches of `allOf` that restrict the value itself are merged into the node,
//! because they apply together with its own keywords.

mod limits;
mod parse;
mod path;
mod rule;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

pub(crate) use limits::Limits;
pub(crate) use path::{ENTRY, Path, Place, Spot, Step, get, put};
pub(crate) use rule::Rule;

/// A type of JSON values in schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Kind {
    /// All types with their names in schemas.
    const NAMES: [(Self, &'static str); 6] = [
        (Self::Object, "object"),
        (Self::Array, "array"),
        (Self::String, "string"),
        (Self::Integer, "integer"),
        (Self::Number, "number"),
        (Self::Boolean, "boolean"),
    ];

    /// The name in schemas.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// The merge strategy and uniqueness of a list (`x-kubernetes-list-type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ListType {
    #[default]
    Atomic,
    Set,
    Map,
}

impl ListType {
    /// The value in schemas.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::Set => "set",
            Self::Map => "map",
        }
    }
}

/// A keyword with alternatives: `anyOf`, `oneOf`, `not`, or branches of `allOf` that restrict inner values.
#[derive(Debug, Clone)]
pub(crate) struct Composition {
    pub(crate) keyword: &'static str,
    /// The schema text, to compare it with another.
    pub(crate) raw: Value,
    pub(crate) branches: Vec<Node>,
}

/// The schema of one value.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "these are the flags of the schema language")]
pub(crate) struct Node {
    /// The allowed types; empty if all are.
    pub(crate) types: Vec<Kind>,
    pub(crate) nullable: bool,
    /// Whether unknown fields stay.
    pub(crate) keeps_unknown: bool,
    /// Whether the value is a whole object with `apiVersion`, `kind` and `metadata`.
    pub(crate) is_embedded: bool,
    pub(crate) properties: BTreeMap<String, Node>,
    /// The schema of all other fields.
    pub(crate) additional: Option<Box<Node>>,
    pub(crate) items: Option<Box<Node>>,
    pub(crate) required: BTreeSet<String>,
    pub(crate) default: Option<Value>,
    pub(crate) limits: Limits,
    pub(crate) list_type: ListType,
    pub(crate) list_keys: Vec<String>,
    /// Whether server-side apply replaces the map as a whole.
    pub(crate) is_atomic_map: bool,
    pub(crate) rules: Vec<Rule>,
    pub(crate) compositions: Vec<Composition>,
}

impl Node {
    /// The schema of a field, whether it is named or one of the others.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(self.additional.as_deref())
    }

    /// The default of a field.
    pub(crate) fn default_of(&self, name: &str) -> Option<&Value> {
        self.field(name)?.default.as_ref()
    }

    /// Whether clients may leave out a field.
    pub(crate) fn may_lack(&self, name: &str) -> bool {
        !self.required.contains(name) || self.default_of(name).is_some()
    }

    /// The schema below a step.
    pub(crate) fn below(&self, step: &Step) -> Option<&Self> {
        match step {
            Step::Field(name) => self.field(name),
            Step::Item => self.items.as_deref(),
            Step::Entry => self.additional.as_deref(),
        }
    }

    /// The same, to change it.
    pub(crate) fn below_mut(&mut self, step: &Step) -> Option<&mut Self> {
        match step {
            Step::Field(name) => match self.properties.get_mut(name) {
                Some(node) => Some(node),
                None => self.additional.as_deref_mut(),
            },
            Step::Item => self.items.as_deref_mut(),
            Step::Entry => self.additional.as_deref_mut(),
        }
    }

    /// The schema at a path.
    pub(crate) fn at(&self, path: &[Step]) -> Option<&Self> {
        path.iter().try_fold(self, Self::below)
    }

    /// The same, to change it.
    pub(crate) fn at_mut(&mut self, path: &[Step]) -> Option<&mut Self> {
        path.iter().try_fold(self, |node, step| node.below_mut(step))
    }

    /// Whether the value may have this type.
    pub(crate) fn allows(&self, kind: Kind) -> bool {
        self.types.is_empty()
            || self.types.contains(&kind)
            || kind == Kind::Integer && self.types.contains(&Kind::Number)
    }

    /// Calls `visit` for this node and all nodes below it.
    pub(crate) fn each<'n>(&'n self, visit: &mut impl FnMut(&'n Self)) {
        visit(self);
        let inner = self.properties.values().chain(self.items.as_deref()).chain(self.additional.as_deref());
        inner.for_each(|node| node.each(visit));
    }
}

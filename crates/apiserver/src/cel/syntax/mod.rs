//! The syntax of CEL: from text to a tree, with the macros as nodes of their own.

mod lexer;
mod macros;
mod parser;

use std::sync::Arc;

use regex::Regex;

pub(crate) use parser::{RESERVED, parse};

use super::library::{Function, Overload};

/// A node of an expression.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Number of the node within its expression.
    pub(crate) id: usize,
    /// Characters before the token that errors of this node point at.
    pub(crate) at: usize,
    pub(crate) kind: Kind,
}

/// What a node is.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Literal(Literal),
    /// A name that is not looked up yet.
    Ident(String),
    /// A variable of the environment, by its number.
    Global(usize),
    /// A variable of a macro, by its depth.
    Local(usize),
    /// The name of a type.
    TypeName(String),
    Select {
        operand: Box<Node>,
        field: String,
        how: Access,
    },
    /// A call that is not looked up yet.
    Call {
        function: String,
        target: Option<Box<Node>>,
        args: Vec<Node>,
    },
    /// A call of a known function; a target stands first.
    Apply(Apply),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Conditional(Box<[Node; 3]>),
    List(Vec<Element>),
    Map(Vec<Entry>),
    /// A message by type name and fields.
    Message(String, Vec<(String, Element)>),
    Loop(Box<Loop>),
}

/// A resolved call.
#[derive(Debug, Clone)]
pub(crate) struct Apply {
    pub(crate) function: &'static Function,
    /// What of the function fits the types of the arguments.
    pub(crate) overloads: Vec<&'static Overload>,
    pub(crate) args: Vec<Node>,
    /// The compiled form of a pattern that is a literal.
    pub(crate) regex: Option<Arc<Regex>>,
}

/// How a field is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// `a.b`.
    Value,
    /// `has(a.b)`.
    Presence,
    /// `a.?b`.
    Optional,
}

/// A value of a list, map or message; an optional one may be left out.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) value: Node,
    pub(crate) optional: bool,
}

/// An entry of a map.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: Node,
    pub(crate) value: Element,
}

/// A macro that walks over a list or map.
#[derive(Debug, Clone)]
pub(crate) struct Loop {
    pub(crate) kind: LoopKind,
    pub(crate) range: Node,
    /// One or two variables.
    pub(crate) vars: Vec<String>,
    pub(crate) filter: Option<Node>,
    pub(crate) body: Node,
}

/// What a loop makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopKind {
    All,
    Exists,
    ExistsOne,
    /// `map`, `filter`, `transformList`.
    List,
    /// `transformMap`.
    Values,
    /// `transformMapEntry`.
    Entries,
    /// `sortBy`: the list, by the keys that the body gives.
    Sort,
    /// `optMap`.
    OptionalMap,
    /// `optFlatMap`.
    OptionalFlatMap,
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
}

impl Node {
    /// The dotted name that the node spells, if it is nothing else.
    pub(crate) fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            Kind::Ident(name) => Some(name.clone()),
            Kind::Select { operand, field, how: Access::Value } => {
                Some(format!("{}.{field}", operand.qualified_name()?))
            }
            _ => None,
        }
    }

    pub(crate) fn literal_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Literal(Literal::String(text)) => Some(text),
            _ => None,
        }
    }
}

impl Node {
    /// The nodes right below.
    pub(crate) fn children(&self) -> Vec<&Node> {
        match &self.kind {
            Kind::Select { operand, .. } => vec![operand],
            Kind::Call { target, args, .. } => target.iter().map(AsRef::as_ref).chain(args).collect(),
            Kind::Apply(apply) => apply.args.iter().collect(),
            Kind::And(left, right) | Kind::Or(left, right) => vec![left, right],
            Kind::Conditional(parts) => parts.iter().collect(),
            Kind::List(items) => items.iter().map(|item| &item.value).collect(),
            Kind::Map(entries) => entries.iter().flat_map(|entry| [&entry.key, &entry.value.value]).collect(),
            Kind::Message(_, fields) => fields.iter().map(|(_, element)| &element.value).collect(),
            Kind::Loop(inner) => {
                [&inner.range].into_iter().chain(&inner.filter).chain([&inner.body]).collect()
            }
            Kind::Literal(_) | Kind::Ident(_) | Kind::Global(_) | Kind::Local(_) | Kind::TypeName(_) => {
                Vec::new()
            }
        }
    }
}

//! The syntax of CEL: parses text to a tree, in which macros are nodes of their own.

mod lexer;
mod parser;

use std::sync::Arc;

use regex::Regex;

pub(crate) use parser::parse;

use super::library::{Function, Overload};

#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Number of the node within its expression.
    pub(crate) id: usize,
    /// Position that errors of this node point at, in characters.
    pub(crate) at: usize,
    pub(crate) kind: Kind,
}

/// The kinds of nodes.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Literal(Literal),
    /// An unresolved name.
    Ident(String),
    /// A variable of the environment, by index.
    Global(usize),
    /// A variable of a macro, by depth.
    Local(usize),
    /// The name of a type.
    TypeName(String),
    Select {
        operand: Box<Node>,
        field: String,
        how: Access,
    },
    /// An unresolved call.
    Call {
        function: String,
        target: Option<Box<Node>>,
        args: Vec<Node>,
    },
    /// A call of a known function; the receiver is the first argument.
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

#[derive(Debug, Clone)]
pub(crate) struct Apply {
    pub(crate) function: &'static Function,
    /// The overloads that fit the types of the arguments.
    pub(crate) overloads: Vec<&'static Overload>,
    pub(crate) args: Vec<Node>,
    /// The compiled form of a pattern that is a literal.
    pub(crate) regex: Option<Arc<Regex>>,
}

/// How a field is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// `a.b`.
    Value,
    /// `has(a.b)`.
    Presence,
    /// `a.?b`.
    Optional,
}

/// An element of a list, map or message; an optional one may be absent.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) value: Node,
    pub(crate) optional: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: Node,
    pub(crate) value: Element,
}

/// A macro that iterates over a list or map.
#[derive(Debug, Clone)]
pub(crate) struct Loop {
    pub(crate) kind: LoopKind,
    pub(crate) range: Node,
    /// One or two variables.
    pub(crate) vars: Vec<String>,
    pub(crate) filter: Option<Node>,
    pub(crate) body: Node,
}

/// The kinds of loops, by their result.
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
    /// `sortBy`: the list, sorted by the keys that the body computes.
    Sort,
    /// `optMap`.
    OptionalMap,
    /// `optFlatMap`.
    OptionalFlatMap,
}

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
    /// The dotted name that the node spells, if it is only a name.
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
    /// The direct child nodes.
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

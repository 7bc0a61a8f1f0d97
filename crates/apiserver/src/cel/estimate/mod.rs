//! Estimates the maximum cost of an expression before it runs (cel-go's `checker/cost.go`).
//!
//! Only the maximum cost is kept, because the server compares nothing else with its limits. Sizes keep both
//! bounds: the minimum length of a text bounds how often `replace` can find it.

mod calls;
mod kubernetes;
mod lists;
mod loops;
mod size;

use std::collections::BTreeMap;

use self::size::{Entries, Size};
use super::decl::{Decl, Shape};
use super::eval::{LIST_COST, MAP_COST, MESSAGE_COST};
use super::program::Program;
use super::syntax::{self, Access, Element, Kind, Literal, Node};
use super::types::Type;

/// How sizes are found for a path that does not begin with a variable, such as that of a field of a call's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paths {
    /// The first step is dropped as if it were the first variable (rules of schemas).
    AllFromVariable,
    /// Only paths that begin with a variable have sizes (selectors of devices).
    Checked,
}

/// Estimates the maximum cost of a program, given the declarations of its variables.
pub(crate) fn estimate(program: &Program, variables: &[&Decl], paths: Paths) -> u64 {
    let mut estimator = Estimator {
        types: &program.types,
        variables,
        paths,
        places: BTreeMap::new(),
        sizes: BTreeMap::new(),
        entries: BTreeMap::new(),
        locals: Vec::new(),
    };
    estimator.cost(&program.root)
}

struct Estimator<'p> {
    types: &'p [Type],
    variables: &'p [&'p Decl],
    paths: Paths,
    /// The declared data that a node represents.
    places: BTreeMap<usize, DataSource<'p>>,
    /// Sizes of nodes that are not declared data.
    sizes: BTreeMap<usize, Size>,
    /// Sizes of the elements of lists and maps that the expression builds.
    entries: BTreeMap<usize, Entries>,
    locals: Vec<Local<'p>>,
}

/// The data that a node may represent.
#[derive(Debug, Clone, Copy)]
enum DataSource<'p> {
    Declared(&'p Decl),
    /// A key of a declared map: a text of at most this length; 0 if that is not declared.
    Key(u64),
    /// Undeclared data below declared data.
    Undeclared,
}

/// A variable of a macro.
#[derive(Debug, Clone, Copy, Default)]
struct Local<'p> {
    place: Option<DataSource<'p>>,
    size: Option<Size>,
    entries: Option<Entries>,
}

impl<'p> Estimator<'p> {
    fn type_of(&self, node: &Node) -> &'p Type {
        self.types.get(node.id).unwrap_or(&Type::Dyn)
    }

    fn place(&self, node: &Node) -> Option<DataSource<'p>> {
        match &node.kind {
            Kind::Local(depth) => self.locals.get(*depth).and_then(|local| local.place),
            Kind::Global(number) => self.variables.get(*number).map(|decl| DataSource::Declared(decl)),
            Kind::TypeName(_) => Some(self.first()),
            _ => self.places.get(&node.id).copied(),
        }
    }

    /// The data of a path that does not begin with a variable.
    fn first(&self) -> DataSource<'p> {
        let first = self.variables.first().filter(|_| self.paths == Paths::AllFromVariable);
        first.map_or(DataSource::Undeclared, |decl| DataSource::Declared(decl))
    }

    /// The data one step below a node. The server drops the first step of each path, assuming that it is the
    /// variable. One step below undeclared data it therefore sees the first variable itself.
    fn below(&self, node: &Node, step: impl FnOnce(&'p Decl) -> Option<DataSource<'p>>) -> DataSource<'p> {
        match self.place(node) {
            None => self.first(),
            Some(DataSource::Declared(decl)) => step(decl).unwrap_or(DataSource::Undeclared),
            Some(DataSource::Key(_) | DataSource::Undeclared) => DataSource::Undeclared,
        }
    }

    fn cost(&mut self, node: &Node) -> u64 {
        match &node.kind {
            Kind::Literal(_) | Kind::Call { .. } => 0,
            Kind::Global(_) | Kind::Local(_) | Kind::TypeName(_) | Kind::Ident(_) => 1,
            Kind::Select { operand, field, how } => self.select(node, operand, field, *how),
            Kind::And(left, right) | Kind::Or(left, right) => {
                let left = self.cost(left);
                left.saturating_add(self.cost(right))
            }
            Kind::Conditional(parts) => self.conditional(node, parts),
            Kind::Apply(apply) => self.apply(node, apply),
            Kind::List(items) => self.list(node, items),
            Kind::Map(entries) => self.map(node, entries),
            Kind::Message(_, fields) => {
                self.sum(fields.iter().map(|(_, element)| &element.value)).saturating_add(MESSAGE_COST)
            }
            Kind::Loop(inner) => self.macro_loop(node, inner),
        }
    }

    fn sum<'n>(&mut self, nodes: impl Iterator<Item = &'n Node>) -> u64 {
        nodes.fold(0, |sum: u64, node| sum.saturating_add(self.cost(node)))
    }

    fn select(&mut self, node: &Node, operand: &Node, field: &str, how: Access) -> u64 {
        let mut cost = self.cost(operand);
        if how == Access::Presence {
            return cost;
        }
        if how == Access::Optional || matches!(self.type_of(operand), Type::Map(..) | Type::Object(_)) {
            cost = cost.saturating_add(1);
        }
        if how == Access::Value {
            let place =
                self.below(operand, |decl| decl.selected(field).map(|decl| DataSource::Declared(decl)));
            self.places.insert(node.id, place);
        }
        cost
    }

    fn conditional(&mut self, node: &Node, parts: &[Node; 3]) -> u64 {
        let [condition, yes, no] = parts;
        let condition = self.cost(condition);
        let branches = self.cost(yes).max(self.cost(no));
        let size = self.size(yes).or(self.size(no));
        self.sizes.insert(node.id, size);
        let entries = Entries::union(self.entries(yes), self.entries(no));
        self.keep_entries(node, entries);
        condition.saturating_add(branches)
    }

    fn list(&mut self, node: &Node, items: &[Element]) -> u64 {
        let cost = self.sum(items.iter().map(|item| &item.value));
        let value = Size::including(items.iter().map(|item| self.size(&item.value)));
        self.entries.insert(node.id, Entries::of_list(value));
        cost.saturating_add(LIST_COST)
    }

    fn map(&mut self, node: &Node, entries: &[syntax::Entry]) -> u64 {
        let cost = self.sum(entries.iter().flat_map(|entry| [&entry.key, &entry.value.value]));
        let key = Size::including(entries.iter().map(|entry| self.size(&entry.key)));
        let value = Size::including(entries.iter().map(|entry| self.size(&entry.value.value)));
        self.entries.insert(node.id, Entries::of_map(key, value));
        cost.saturating_add(MAP_COST)
    }

    /// The sizes of the elements of a node, if the expression built it.
    fn entries(&self, node: &Node) -> Option<Entries> {
        self.entries.get(&node.id).copied().or_else(|| match &node.kind {
            Kind::Local(depth) => self.locals.get(*depth).and_then(|local| local.entries),
            _ => None,
        })
    }

    fn keep_entries(&mut self, node: &Node, entries: Option<Entries>) {
        if let Some(entries) = entries {
            self.entries.insert(node.id, entries);
        }
    }

    fn keep_size(&mut self, node: &Node, size: Option<Size>) {
        if let Some(size) = size {
            self.sizes.insert(node.id, size);
        }
    }

    fn size(&self, node: &Node) -> Size {
        self.known_size(node).unwrap_or(Size::UNKNOWN)
    }

    fn known_size(&self, node: &Node) -> Option<Size> {
        if let Some(size) = self.sizes.get(&node.id).copied().or_else(|| size_of_literal(node)) {
            return Some(size);
        }
        if let Some(size) = self.place(node).and_then(declared_size) {
            return Some(size);
        }
        if self.type_of(node).is_scalar() {
            return Some(Size::exactly(1));
        }
        match &node.kind {
            Kind::Local(depth) => self.locals.get(*depth).and_then(|local| local.size),
            _ => None,
        }
    }
}

/// The size of a literal in the expression.
fn size_of_literal(node: &Node) -> Option<Size> {
    let size = match &node.kind {
        Kind::Literal(Literal::String(text)) => text.chars().count(),
        Kind::Literal(Literal::Bytes(bytes)) => bytes.len(),
        Kind::Literal(_) => 1,
        Kind::List(items) => items.len(),
        Kind::Map(entries) => entries.len(),
        _ => return None,
    };
    Some(Size::exactly(size as u64))
}

fn declared_size(place: DataSource<'_>) -> Option<Size> {
    match place {
        DataSource::Declared(decl) => Some(Size::up_to(decl.max_elements)),
        DataSource::Key(longest) => Some(Size::up_to(longest)),
        DataSource::Undeclared => None,
    }
}

/// The elements of a list or the values of a map.
fn element(decl: &Decl) -> Option<DataSource<'_>> {
    decl.element().map(|decl| DataSource::Declared(decl))
}

fn key<'p>(decl: &Decl) -> Option<DataSource<'p>> {
    match decl.shape {
        Shape::Map { longest_key, .. } => Some(DataSource::Key(longest_key)),
        _ => None,
    }
}

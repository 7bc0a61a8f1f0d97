//! How much an expression may cost at most, before it runs (cel-go's `checker/cost.go`).
//!
//! Only upper bounds are kept: nothing that Kubernetes says depends on the lower ones.

mod calls;
mod loops;

use std::collections::BTreeMap;

use super::decl::Decl;
use super::eval::{LIST_COST, MAP_COST, MESSAGE_COST};
use super::program::Program;
use super::syntax::{Access, Kind, Literal, Node};
use super::types::Type;

/// The most that a program may cost, given the declarations of its variables.
pub(crate) fn estimate(program: &Program, variables: &[&Decl]) -> u64 {
    let mut estimator = Estimator {
        types: &program.types,
        variables,
        places: BTreeMap::new(),
        sizes: BTreeMap::new(),
        locals: Vec::new(),
    };
    estimator.cost(&program.root)
}

struct Estimator<'p> {
    types: &'p [Type],
    variables: &'p [&'p Decl],
    /// The declared data that a node stands for.
    places: BTreeMap<usize, Place<'p>>,
    /// Largest sizes of nodes that are no declared data.
    sizes: BTreeMap<usize, u64>,
    locals: Vec<Local<'p>>,
}

/// What a node may stand for.
#[derive(Debug, Clone, Copy)]
enum Place<'p> {
    Declared(&'p Decl),
    /// A key of a declared map: text, of no declared length.
    Key,
    /// Something below declared data that is not declared.
    Lost,
}

/// A variable of a macro.
#[derive(Debug, Clone, Copy)]
struct Local<'p> {
    place: Option<Place<'p>>,
    size: Option<u64>,
}

impl<'p> Estimator<'p> {
    fn type_of(&self, node: &Node) -> &'p Type {
        self.types.get(node.id).unwrap_or(&Type::Dyn)
    }

    fn place(&self, node: &Node) -> Option<Place<'p>> {
        match &node.kind {
            Kind::Local(depth) => self.locals.get(*depth).and_then(|local| local.place),
            Kind::Global(number) => self.variables.get(*number).map(|decl| Place::Declared(decl)),
            Kind::TypeName(_) => Some(self.first()),
            _ => self.places.get(&node.id).copied(),
        }
    }

    /// The first variable.
    fn first(&self) -> Place<'p> {
        self.variables.first().map_or(Place::Lost, |decl| Place::Declared(decl))
    }

    /// What is one step below a node. The server drops the first step of each path, which is meant to be the variable:
    /// one step below what is no declared data, it sees the first variable itself.
    fn below(&self, node: &Node, step: impl FnOnce(&'p Decl) -> Option<Place<'p>>) -> Place<'p> {
        match self.place(node) {
            None => self.first(),
            Some(Place::Declared(decl)) => step(decl).unwrap_or(Place::Lost),
            Some(Place::Key | Place::Lost) => Place::Lost,
        }
    }

    fn declared(&self, node: &Node) -> Option<&'p Decl> {
        match self.place(node) {
            Some(Place::Declared(decl)) => Some(decl),
            _ => None,
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
            Kind::Conditional(parts) => {
                let [condition, yes, no] = &**parts;
                let condition = self.cost(condition);
                let branches = self.cost(yes).max(self.cost(no));
                let size = self.size(yes).max(self.size(no));
                self.sizes.insert(node.id, size);
                condition.saturating_add(branches)
            }
            Kind::Apply(apply) => self.apply(node, apply),
            Kind::List(items) => self.sum(items.iter().map(|item| &item.value)).saturating_add(LIST_COST),
            Kind::Map(entries) => {
                let parts = entries.iter().flat_map(|entry| [&entry.key, &entry.value.value]);
                self.sum(parts).saturating_add(MAP_COST)
            }
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
            let place = self.below(operand, |decl| decl.field(field).map(|decl| Place::Declared(decl)));
            self.places.insert(node.id, place);
        }
        cost
    }

    /// The largest size of a node; without a bound the largest number.
    fn size(&mut self, node: &Node) -> u64 {
        self.known_size(node).unwrap_or(u64::MAX)
    }

    fn known_size(&mut self, node: &Node) -> Option<u64> {
        if let Some(size) = self.sizes.get(&node.id) {
            return Some(*size);
        }
        let literal = match &node.kind {
            Kind::Literal(Literal::String(text)) => Some(text.chars().count() as u64),
            Kind::Literal(Literal::Bytes(bytes)) => Some(bytes.len() as u64),
            Kind::Literal(_) => Some(1),
            Kind::List(items) => Some(items.len() as u64),
            Kind::Map(entries) => Some(entries.len() as u64),
            _ => None,
        };
        if literal.is_some() {
            return literal;
        }
        match self.place(node) {
            Some(Place::Declared(decl)) => return Some(decl.max_elements),
            Some(Place::Key) => return Some(0),
            Some(Place::Lost) | None => {}
        }
        if self.type_of(node).is_scalar() {
            return Some(1);
        }
        match &node.kind {
            Kind::Local(depth) => self.locals.get(*depth).and_then(|local| local.size),
            _ => None,
        }
    }
}

/// The elements of a list or the values of a map.
fn element(decl: &Decl) -> Option<Place<'_>> {
    decl.element().map(|decl| Place::Declared(decl))
}

/// A size times a factor, rounded up.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are rounded, and casts saturate"
)]
fn times(size: u64, by: f64) -> u64 {
    (size as f64 * by).ceil() as u64
}

//! Cost estimates of macros, as the comprehensions that they expand to.

use super::size::{Entries, Size};
use super::{DataSource, Estimator, LIST_COST, Local, MAP_COST, element, key, lists};
use crate::cel::syntax::{Loop, LoopKind, Node};
use crate::cel::types::Type;

impl<'p> Estimator<'p> {
    pub(super) fn macro_loop(&mut self, node: &Node, inner: &Loop) -> u64 {
        let range = self.cost(&inner.range);
        match inner.kind {
            LoopKind::OptionalMap | LoopKind::OptionalFlatMap => self.optional(range, inner),
            LoopKind::Sort => range.saturating_add(self.sort_by(node, inner)),
            _ => range.saturating_add(self.walk(node, inner)),
        }
    }

    /// `optMap` checks for a value, binds it to a name and creates a new optional. It does not iterate.
    fn optional(&mut self, range: u64, inner: &Loop) -> u64 {
        // The value is the result of a call, so it has no schema node.
        let value = match self.type_of(&inner.range).unwrap_optional() {
            (value, true) if value.is_scalar() => Some(Size::exactly(1)),
            _ => None,
        };
        let body = self.within(vec![Local { size: value, ..Local::default() }], &inner.body);
        let calls = if inner.kind == LoopKind::OptionalMap { 3 } else { 2 };
        range.saturating_mul(2).saturating_add(LIST_COST + calls).saturating_add(body)
    }

    /// `sortBy` binds the list to a name, computes the keys of its elements and sorts by them.
    fn sort_by(&mut self, node: &Node, inner: &Loop) -> u64 {
        let variables = self.variables_of(inner);
        let body = self.within(variables, &inner.body);
        let count = self.size(&inner.range);
        let keys = count.max.saturating_mul(body.saturating_add(LIST_COST + 2)).saturating_add(LIST_COST + 2);
        let (sorting, size) = lists::sorting(count, self.type_of(&inner.body));
        self.keep_size(node, size);
        // The list that the binding iterates over, and the list itself.
        keys.saturating_add(LIST_COST + 1).saturating_add(sorting)
    }

    fn walk(&mut self, node: &Node, inner: &Loop) -> u64 {
        let variables = self.variables_of(inner);
        let outer = self.locals.len();
        self.locals.extend(variables);
        let filter = inner.filter.as_ref().map_or(0, |filter| self.cost(filter));
        let body = self.cost(&inner.body);
        let value = self.size(&inner.body);
        self.locals.truncate(outer);
        let count = self.size(&inner.range);
        let (start, step, result) = match inner.kind {
            LoopKind::All => (0, 3, 1),
            LoopKind::Exists => (0, 4, 1),
            LoopKind::ExistsOne => (0, 2, 2),
            LoopKind::Values => (MAP_COST, 3, 1),
            LoopKind::Entries => (MAP_COST, 2, 1),
            _ => (LIST_COST, LIST_COST + 2, 1),
        };
        match inner.kind {
            LoopKind::List => {
                self.sizes.insert(node.id, count);
                self.entries.insert(node.id, Entries::of_list(Size::up_to(value.max)));
            }
            LoopKind::Values | LoopKind::Entries => {
                self.sizes.insert(node.id, count);
            }
            _ => {}
        }
        let step = body.saturating_add(filter).saturating_add(step);
        count.max.saturating_mul(step).saturating_add(start + result)
    }

    /// The cost of a node in the scope of additional variables.
    fn within(&mut self, variables: Vec<Local<'p>>, node: &Node) -> u64 {
        let outer = self.locals.len();
        self.locals.extend(variables);
        let cost = self.cost(node);
        self.locals.truncate(outer);
        cost
    }

    /// The data that the variables of a loop represent.
    fn variables_of(&self, inner: &Loop) -> Vec<Local<'p>> {
        let entries = self.entries(&inner.range);
        let is_list = match entries {
            Some(entries) => entries.is_list,
            None => matches!(self.type_of(&inner.range), Type::List(_)),
        };
        let local =
            |place: DataSource<'p>, size: Option<Size>| Local { place: Some(place), size, entries: None };
        let value = local(self.below(&inner.range, element), entries.map(|entries| entries.value));
        let index = if is_list { self.below(&inner.range, |_| None) } else { self.below(&inner.range, key) };
        let index = local(index, entries.map(|entries| entries.key));
        match (inner.vars.len(), is_list) {
            (2, _) => vec![index, value],
            (_, true) => vec![value],
            (_, false) => vec![index],
        }
    }
}

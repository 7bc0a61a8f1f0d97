//! Macros, as the comprehensions that they stand for.

use super::{Estimator, LIST_COST, Local, MAP_COST, Place, element};
use crate::apiserver::cel::decl::Shape;
use crate::apiserver::cel::syntax::{Kind, Loop, LoopKind, Node};
use crate::apiserver::cel::types::Type;

impl<'p> Estimator<'p> {
    pub(super) fn macro_loop(&mut self, node: &Node, inner: &Loop) -> u64 {
        let range = self.cost(&inner.range);
        let outer = self.locals.len();
        let variables = self.variables_of(inner);
        self.locals.extend(variables);
        let filter = inner.filter.as_ref().map(|filter| self.cost(filter));
        let body = self.cost(&inner.body);
        self.locals.truncate(outer);
        let count = self.size(&inner.range);
        let filtered = filter.unwrap_or(0);
        let step = |own: u64| own.saturating_add(body).saturating_add(filtered);
        let (start, step, result) = match inner.kind {
            LoopKind::All => (0, step(3), 1),
            LoopKind::Exists => (0, step(4), 1),
            LoopKind::ExistsOne => (0, step(2), 2),
            LoopKind::List => (LIST_COST, step(LIST_COST + 2), 1),
            LoopKind::Values | LoopKind::Entries => (MAP_COST, step(2), 1),
            LoopKind::Sort => (LIST_COST, step(LIST_COST + 2), 2),
            // The value, whether there is one, and a new optional: no walk.
            LoopKind::OptionalMap | LoopKind::OptionalFlatMap => {
                return range.saturating_mul(2).saturating_add(LIST_COST + 4).saturating_add(body);
            }
        };
        if matches!(inner.kind, LoopKind::List | LoopKind::Values | LoopKind::Entries | LoopKind::Sort) {
            self.sizes.insert(node.id, count);
        }
        range.saturating_add(start).saturating_add(result).saturating_add(count.saturating_mul(step))
    }

    /// What the variables of a loop stand for.
    fn variables_of(&mut self, inner: &Loop) -> Vec<Local<'p>> {
        let declared = self.declared(&inner.range);
        let is_list = match declared {
            Some(decl) => matches!(decl.shape, Shape::List { .. }),
            None => !matches!(self.type_of(&inner.range), Type::Map(..)),
        };
        let size = self.sizes_within(&inner.range);
        let value = Local { place: Some(self.below(&inner.range, element)), size };
        let index = Local { place: Some(self.below(&inner.range, |_| None)), size: Some(1) };
        let key = Local { place: Some(self.below(&inner.range, |_| Some(Place::Key))), size: None };
        match (inner.vars.len(), is_list) {
            (2, true) => vec![index, value],
            (2, false) => vec![key, value],
            (_, true) => vec![value],
            (_, false) => vec![key],
        }
    }

    /// The largest size of the elements of a list that is spelled out.
    fn sizes_within(&mut self, range: &Node) -> Option<u64> {
        let Kind::List(items) = &range.kind else { return None };
        items.iter().map(|item| self.known_size(&item.value)).max().flatten()
    }
}

//! Cost estimates of calls by the rules of cel-go. Functions of libraries take precedence.

use super::size::{Entries, Size};
use super::{Estimator, element};
use crate::cel::library::Overload;
use crate::cel::syntax::{Apply, Node};
use crate::cel::types::Type;

/// The cost of a call without its arguments, and the size of its result if that is known.
pub(super) type Estimate = (u64, Option<Size>);

/// A call with one of its candidate overloads.
pub(super) struct Call<'c> {
    pub(super) name: &'c str,
    pub(super) overload: &'c Overload,
    /// The receiver of a method call.
    pub(super) target: Option<&'c Node>,
    pub(super) args: &'c [Node],
}

impl Estimator<'_> {
    pub(super) fn apply(&mut self, node: &Node, apply: &Apply) -> u64 {
        let arguments = self.sum(apply.args.iter());
        let name = apply.function.name.as_str();
        if name == "dyn" {
            self.copy_sizes(node, &apply.args);
            return arguments.saturating_add(1);
        }
        let (mut most, mut size) = (0, None);
        for overload in &apply.overloads {
            let (target, args) = match &apply.args[..] {
                [target, args @ ..] if overload.member => (Some(target), args),
                args => (None, args),
            };
            let call = Call { name, overload, target, args };
            let (cost, result) = self.call(&call);
            most = most.max(cost);
            size = match (size, result) {
                (Some(before), Some(result)) => Some(Size::or(before, result)),
                (before, result) => before.or(result),
            };
            self.keep_parts(node, &call);
            size = if is_index(&call) { self.index(node, args) } else { size };
            size = size.or_else(|| self.known_size(node));
        }
        self.keep_size(node, size);
        arguments.saturating_add(most)
    }

    /// `dyn()` changes only the type of its argument, so sizes stay the same.
    fn copy_sizes(&mut self, node: &Node, args: &[Node]) {
        let Some(arg) = args.first() else { return };
        self.keep_size(node, self.known_size(arg));
        self.keep_entries(node, self.entries(arg));
    }

    /// Records the element sizes of a concatenation, which has the elements of both lists.
    fn keep_parts(&mut self, node: &Node, call: &Call<'_>) {
        if let ("_+_", [left, right]) = (call.name, call.args) {
            let entries = Entries::union(self.entries(left), self.entries(right));
            self.keep_entries(node, entries);
        }
    }

    /// Records the declaration of an indexed element. Returns the size of an element that the expression
    /// built.
    fn index(&mut self, node: &Node, args: &[Node]) -> Option<Size> {
        let container = args.first()?;
        self.places.insert(node.id, self.below(container, element));
        self.entries(container).map(|entries| entries.value)
    }

    fn call(&self, call: &Call<'_>) -> Estimate {
        let known = self.list_function(call).or_else(|| self.kubernetes_function(call));
        known.or_else(|| self.standard_method(call)).unwrap_or_else(|| self.standard_function(call))
    }

    fn standard_method(&self, call: &Call<'_>) -> Option<Estimate> {
        let target = self.size(call.target?);
        if !matches!(call.overload.params.first(), Some(Type::String)) {
            return None;
        }
        let arg = call.args.first().map_or(Size::UNKNOWN, |arg| self.size(arg));
        let cost = match call.name {
            "matches" => target.match_cost(arg),
            "contains" => target.read_cost(1).saturating_mul(arg.read_cost(1)),
            "startsWith" | "endsWith" => arg.read_cost(1),
            // The size of the result is unbounded.
            "format" => target.read_cost(1),
            _ => return None,
        };
        Some((cost, None))
    }

    /// Estimates functions and operators. `matches` as a function costs 1: cel-go estimates only the method.
    fn standard_function(&self, call: &Call<'_>) -> Estimate {
        let size = |index: usize| call.args.get(index).map_or(Size::UNKNOWN, |arg| self.size(arg));
        let (left, right) = (size(0), size(1));
        match (call.name, call.overload.params.as_slice()) {
            ("bytes", [Type::String]) => {
                (left.read_cost(1), Some(Size { min: left.min, max: left.max.wrapping_mul(4) }))
            }
            ("string", [Type::Bytes]) => (left.read_cost(1), Some(Size { min: left.min / 4, max: left.max })),
            ("strings.quote", _) => {
                let max = left.max.wrapping_mul(2).wrapping_add(2);
                (left.read_cost(1), Some(Size { min: left.min.saturating_add(2), max }))
            }
            ("@in", [_, Type::List(_)]) => (right.max, None),
            ("_+_", [Type::String | Type::Bytes, _]) => {
                let size = left.plus(right);
                (size.read_cost(1), Some(size))
            }
            ("_+_", [Type::List(_), _]) => (1, Some(left.plus(right))),
            ("_==_" | "_!=_", _) | ("_<_" | "_<=_" | "_>_" | "_>=_", [Type::String | Type::Bytes, _]) => {
                (Size::up_to(left.max.min(right.max)).read_cost(1), None)
            }
            _ => (1, None),
        }
    }
}

/// Whether a call indexes a list or map that is not optional.
fn is_index(call: &Call<'_>) -> bool {
    call.name == "_[_]" && matches!(call.overload.params.first(), Some(Type::List(_) | Type::Map(..)))
}

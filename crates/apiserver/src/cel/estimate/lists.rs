//! Cost estimates of the list and set functions that cel-go adds to CEL (`ext/lists.go`, `ext/sets.go`).

use super::calls::{Call, Estimate};
use super::size::{Size, scaled};
use super::{Estimator, LIST_COST};
use crate::cel::eval::cost::PER_CHARACTER;
use crate::cel::syntax::{Kind, Literal, Node};
use crate::cel::types::Type;

impl Estimator<'_> {
    pub(super) fn list_function(&self, call: &Call<'_>) -> Option<Estimate> {
        let target = call.target.map(|target| self.size(target));
        let size = |index: usize| call.args.get(index).map_or(Size::UNKNOWN, |arg| self.size(arg));
        let element = || match call.overload.params.first() {
            Some(Type::List(element)) => element,
            _ => &Type::Dyn,
        };
        Some(match (call.name, target) {
            ("slice", Some(list)) => {
                let from = literal(call.args.first()).unwrap_or(0);
                let to = literal(call.args.get(1)).unwrap_or(list.max);
                let size = Size::exactly(to.wrapping_sub(from));
                new_list(size.max, size)
            }
            ("reverse", Some(list)) => new_list(list.max, list),
            ("distinct", Some(list)) => all_pairs(list, 2.0),
            ("sort", Some(list)) => sorting(list, element()),
            ("flatten", Some(list)) => {
                let depth = call.args.first().map_or(Some(1), |depth| literal(Some(depth)));
                new_list(list.max.saturating_mul(depth.unwrap_or(u64::MAX)), list)
            }
            ("lists.range", None) => {
                let size = Size::exactly(literal(call.args.first()).unwrap_or(u64::MAX));
                new_list(size.max, size)
            }
            ("sets.contains" | "sets.intersects", None) => (pairs(1.0, size(0), size(1)), None),
            ("sets.equivalent", None) => (pairs(2.0, size(0), size(1)), None),
            _ => return None,
        })
    }
}

/// Estimates sorting a list by keys of the given type.
pub(super) fn sorting(list: Size, keys: &Type) -> Estimate {
    let comparison = match keys {
        Type::String | Type::Bytes | Type::Dyn => 2.0 + PER_CHARACTER,
        _ => 2.0,
    };
    all_pairs(list, comparison)
}

/// Estimates comparing every pair of elements. cel-go uses the number of comparisons as the size of the
/// result.
fn all_pairs(list: Size, comparison: f64) -> Estimate {
    let pairs = list.times(list);
    new_list(scaled(pairs.max, comparison), pairs)
}

/// Estimates a call that creates a list of this size.
fn new_list(cost: u64, size: Size) -> Estimate {
    (cost.saturating_add(1 + LIST_COST), Some(size))
}

/// The cost of comparing all elements of one list with all of another.
fn pairs(comparison: f64, left: Size, right: Size) -> u64 {
    scaled(left.times(right).max, comparison).saturating_add(1)
}

/// The value of an argument that is an integer literal; a negative one counts as zero.
fn literal(arg: Option<&Node>) -> Option<u64> {
    match arg.map(|arg| &arg.kind) {
        Some(Kind::Literal(Literal::Int(number))) => Some(u64::try_from(*number).unwrap_or(0)),
        _ => None,
    }
}

//! Cost estimates of the functions that Kubernetes adds to CEL, and of the CEL functions that it estimates
//! itself (`CostEstimator` in `k8s.io/apiserver/pkg/cel/library`). Accessors that cost 1 are not listed,
//! because unknown calls cost 1 as well.

use super::calls::{Call, Estimate};
use super::size::{Size, scaled};
use super::{DataSource, Estimator, LIST_COST, declared_size, element};
use crate::cel::eval::MESSAGE_COST;
use crate::cel::eval::cost::PER_PATTERN_CHARACTER;
use crate::cel::syntax::{Kind, Literal, Node};
use crate::cel::types::Type;

/// The cost of an authorizer check.
const AUTHORIZATION: u64 = 350_000;
/// Length of the longest pattern of a named format, in characters.
const FORMAT_PATTERN: f64 = 128.0;
/// Length of the longest name of a named format, in characters.
const FORMAT_NAME: Size = Size::up_to(64);
/// Length of an IP address, in bytes.
const ADDRESS: Size = Size { min: 4, max: 16 };

impl Estimator<'_> {
    pub(super) fn kubernetes_function(&self, call: &Call<'_>) -> Option<Estimate> {
        if let Some(target) = call.target
            && let Some(estimate) = self.method(call, target)
        {
            return Some(estimate);
        }
        let first = self.size(call.args.first()?);
        Some(match call.name {
            "url" | "jsonpatch.escapeKey" => (first.read_cost(1), Some(first)),
            "ip" if call.target.is_some() => return None,
            "ip" | "isIP" | "cidr" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
                (first.read_cost(1), None)
            }
            "ip.isCanonical" => (first.read_cost(2), None),
            "_==_" => (self.equality(call.args)?, None),
            _ => return None,
        })
    }

    fn method(&self, call: &Call<'_>, target: &Node) -> Option<Estimate> {
        let text = self.size(target);
        let size = |index: usize| call.args.get(index).map_or(Size::UNKNOWN, |arg| self.size(arg));
        Some(match call.name {
            "check" => (AUTHORIZATION, None),
            "fieldSelector" | "labelSelector" => (selector(size(0)), None),
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => (self.walk_cost(target), None),
            "lowerAscii" | "upperAscii" | "substring" | "trim" => (text.read_cost(1), Some(text)),
            "replace" => (text.read_cost(2), Some(replaced(text, size(0), size(1)))),
            "split" => (text.read_cost(2), Some(parts(text, call.args.get(1)))),
            "join" => {
                let joined = self.joined(target, call.args.first());
                (joined.read_cost(1), Some(joined))
            }
            "find" | "findAll" => (text.match_cost(size(0)), Some(Size::up_to(text.max))),
            "containsIP" | "containsCIDR" => (self.contains_cost(call), None),
            "validate" => {
                let reading = size(0).read_cost(1);
                (scaled(reading, FORMAT_PATTERN * PER_PATTERN_CHARACTER), None)
            }
            _ => return None,
        })
    }

    /// The cost of traversing a list, or of reading a text once.
    fn walk_cost(&self, target: &Node) -> u64 {
        let size = self.size(target);
        match self.type_of(target).parameters().first() {
            None => size.read_cost(1),
            Some(Type::String | Type::Bytes) => {
                let comparison = self.element_size(target).read_cost(1).saturating_add(1);
                size.max.saturating_mul(comparison)
            }
            Some(_) => size.max,
        }
    }

    /// The size of the elements of a declared list.
    fn element_size(&self, list: &Node) -> Size {
        let element = match self.place(list) {
            Some(DataSource::Declared(decl)) => element(decl),
            _ => None,
        };
        element.and_then(declared_size).unwrap_or(Size::UNKNOWN)
    }

    fn joined(&self, list: &Node, separator: Option<&Node>) -> Size {
        let count = self.size(list);
        let elements = match self.type_of(list).parameters().first() {
            Some(_) => count.times(self.element_size(list)),
            None => Size::exactly(0),
        };
        let Some(separator) = separator else { return elements };
        let between = Size { min: count.min.saturating_sub(1), max: count.max.saturating_sub(1) };
        elements.plus(self.size(separator).times(between))
    }

    fn contains_cost(&self, call: &Call<'_>) -> u64 {
        let mut cost = ADDRESS.plus(ADDRESS).read_cost(1);
        if call.name == "containsCIDR" {
            cost += ADDRESS.read_cost(1) + 1;
        }
        match (call.overload.params.get(1), call.args.first()) {
            (Some(Type::String), Some(text)) => cost.saturating_add(self.size(text).read_cost(1)),
            _ => cost,
        }
    }

    /// The cost of comparing two values of one library type.
    fn equality(&self, args: &[Node]) -> Option<u64> {
        let [left, right] = args else { return None };
        let (Type::Opaque(name, _), Type::Opaque(other, _)) = (self.type_of(left), self.type_of(right))
        else {
            return None;
        };
        match *name {
            _ if name != other => None,
            // A URL is as long as its text. The server considers only the right operand.
            "kubernetes.URL" => Some(self.known_size(right).unwrap_or(Size::exactly(1)).read_cost(1)),
            "kubernetes.NamedFormat" => Some(FORMAT_NAME.read_cost(1)),
            name if name.starts_with("kubernetes.") || name.starts_with("net.") => Some(1),
            _ => None,
        }
    }
}

/// The cost of parsing a selector of this size. Each requirement takes at least two characters.
fn selector(size: Size) -> u64 {
    let requirements = scaled(size.max, 0.5);
    let requirements = requirements.saturating_mul(LIST_COST + MESSAGE_COST);
    LIST_COST.saturating_add(size.read_cost(1)).saturating_add(requirements)
}

/// The size of a text after replacing `from` by `to`.
fn replaced(text: Size, from: Size, to: Size) -> Size {
    // The number of replacements, and the size of the text that remains.
    let (max_count, max_rest) = match from.min {
        0 => (text.max.saturating_add(1), text.max),
        shortest if to.max <= shortest => (0, text.max),
        shortest => (text.max.div_ceil(shortest), 0),
    };
    let (min_count, min_rest) = match from.max {
        0 => (text.min.saturating_add(1), text.min),
        longest if longest <= to.min => (0, text.min),
        longest => (text.min.div_ceil(longest), 0),
    };
    Size { min: min_count, max: max_count }.times(to).plus(Size { min: min_rest, max: max_rest })
}

/// The number of parts of a split text: one per character, unless a limit is given.
fn parts(text: Size, limit: Option<&Node>) -> Size {
    match limit.map(|limit| &limit.kind) {
        Some(Kind::Literal(Literal::Int(limit))) => Size::up_to(limit.cast_unsigned()),
        _ => Size::up_to(text.max),
    }
}

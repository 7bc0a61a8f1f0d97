//! Calls, by the rules of cel-go and of `CostEstimator` in `k8s.io/apiserver/pkg/cel/library`.

use super::{Estimator, element, times};
use crate::apiserver::cel::eval::cost::{PER_CHARACTER, PER_PATTERN_CHARACTER};
use crate::apiserver::cel::library::Overload;
use crate::apiserver::cel::syntax::{Apply, Kind, Literal, Node};
use crate::apiserver::cel::types::Type;

/// Accessors that cost one whatever they are called on.
const NOMINAL: [&str; 29] = [
    "serviceAccount",
    "path",
    "group",
    "resource",
    "subresource",
    "namespace",
    "name",
    "allowed",
    "reason",
    "error",
    "errored",
    "masked",
    "prefixLength",
    "family",
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "sign",
    "asInteger",
    "isInteger",
    "asApproximateFloat",
    "isGreaterThan",
    "isLessThan",
    "compareTo",
    "add",
    "sub",
    "fieldSelector",
    "labelSelector",
];
/// Characters of the longest pattern of a named format.
const FORMAT_PATTERN: u64 = 128;

/// Characters of the longest name of one.
const FORMAT_NAME: u64 = 64;

/// What a call costs, and the largest size of its result.
type Estimate = (u64, Option<u64>);

impl Estimator<'_> {
    pub(super) fn apply(&mut self, node: &Node, apply: &Apply) -> u64 {
        let arguments = self.sum(apply.args.iter());
        let name = apply.function.name.as_str();
        if name == "dyn" {
            if let Some(arg) = apply.args.first()
                && let Some(size) = self.known_size(arg)
            {
                self.sizes.insert(node.id, size);
            }
            return arguments.saturating_add(1);
        }
        let mut most = 0;
        let mut size = None;
        for overload in &apply.overloads {
            let (cost, result) = self.call(name, overload, &apply.args);
            most = most.max(cost);
            size = size.max(result);
            self.track_index(node, name, overload, &apply.args);
        }
        if let Some(size) = size {
            self.sizes.insert(node.id, size);
        }
        arguments.saturating_add(most)
    }

    /// An index into declared data is declared data.
    fn track_index(&mut self, node: &Node, name: &str, overload: &Overload, args: &[Node]) {
        let plain = matches!(overload.params.first(), Some(Type::List(_) | Type::Map(..)));
        if name == "_[_]"
            && plain
            && let Some(container) = args.first()
        {
            let place = self.below(container, element);
            self.places.insert(node.id, place);
        }
    }

    fn call(&mut self, name: &str, overload: &Overload, args: &[Node]) -> Estimate {
        let first = overload.params.first().unwrap_or(&Type::Dyn);
        if NOMINAL.contains(&name) {
            return (1, None);
        }
        if name == "check" {
            return (350_000, None);
        }
        if overload.member
            && let Some(estimate) = self.method(name, first, overload, args)
        {
            return estimate;
        }
        self.function(name, first, args)
    }

    fn arg(&mut self, args: &[Node], index: usize) -> u64 {
        args.get(index).map_or(u64::MAX, |arg| self.size(arg))
    }

    fn method(&mut self, name: &str, first: &Type, overload: &Overload, args: &[Node]) -> Option<Estimate> {
        let target = self.arg(args, 0);
        let read = times(target, PER_CHARACTER);
        Some(match name {
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => match first {
                Type::String => (read, None),
                _ => (target.saturating_mul(self.element_cost(args)), None),
            },
            "lowerAscii" | "upperAscii" | "substring" | "trim" => (read, Some(target)),
            "replace" => {
                let (from, to) = (self.arg(args, 1), self.arg(args, 2));
                (times(target, 2.0 * PER_CHARACTER), Some(replaced(target, from, to, args)))
            }
            "split" => (times(target, 2.0 * PER_CHARACTER), Some(parts(target, args))),
            "join" => {
                let joined = self.joined(target, args);
                (times(joined, PER_CHARACTER), Some(joined))
            }
            "find" | "findAll" => (self.pattern_cost(target, args), Some(target)),
            "matches" => (self.pattern_cost(target, args), None),
            "containsIP" | "containsCIDR" => (self.contains_cost(name, overload, args), None),
            "validate" => {
                let text = times(self.arg(args, 1), PER_CHARACTER);
                (text.saturating_mul(times(FORMAT_PATTERN, PER_PATTERN_CHARACTER)), None)
            }
            "format" => (read, Some(target.saturating_add(self.arg(args, 1)))),
            "startsWith" | "endsWith" => (times(self.arg(args, 1), PER_CHARACTER), None),
            "contains" => (read.saturating_mul(times(self.arg(args, 1), PER_CHARACTER)), None),
            _ => return None,
        })
    }

    /// Comparing one element of a list with another.
    fn element_cost(&mut self, args: &[Node]) -> u64 {
        let Some(list) = args.first() else { return 1 };
        match self.type_of(list).parameters().first() {
            Some(Type::String | Type::Bytes) => {
                let size = self.declared(list).and_then(|decl| decl.element()).map(|decl| decl.max_elements);
                1_u64.saturating_add(times(size.unwrap_or(u64::MAX), PER_CHARACTER))
            }
            _ => 1,
        }
    }

    fn pattern_cost(&mut self, target: u64, args: &[Node]) -> u64 {
        let text = times(target.saturating_add(1), PER_CHARACTER);
        text.saturating_mul(times(self.arg(args, 1), PER_PATTERN_CHARACTER))
    }

    fn joined(&mut self, count: u64, args: &[Node]) -> u64 {
        let declared = args.first().and_then(|list| self.declared(list)).and_then(|decl| decl.element());
        let element = declared.map_or(u64::MAX, |decl| decl.max_elements);
        let separators = match args.get(1) {
            Some(separator) => self.size(separator).saturating_mul(count.saturating_sub(1)),
            None => 0,
        };
        count.saturating_mul(element).saturating_add(separators)
    }

    fn contains_cost(&mut self, name: &str, overload: &Overload, args: &[Node]) -> u64 {
        // The bytes of the longest address.
        const ADDRESS: u64 = 16;
        let mut cost = times(2 * ADDRESS, PER_CHARACTER);
        if name == "containsCIDR" {
            cost += times(ADDRESS, PER_CHARACTER) + 1;
        }
        if matches!(overload.params.get(1), Some(Type::String)) {
            cost = cost.saturating_add(times(self.arg(args, 1), PER_CHARACTER));
        }
        cost
    }

    /// The same for the arguments of a comparison, if both are of one such type.
    fn same_opaque(&mut self, args: &[Node]) -> Option<u64> {
        let size = self.arg(args, 0).max(self.arg(args, 1));
        match (self.type_of(args.first()?), self.type_of(args.get(1)?)) {
            (Type::Opaque(one, _), Type::Opaque(other, _)) if one == other => of_opaque(one, size),
            _ => None,
        }
    }

    fn function(&mut self, name: &str, first: &Type, args: &[Node]) -> Estimate {
        if name == "_==_"
            && let Some(cost) = self.same_opaque(args)
        {
            return (cost, None);
        }
        let (left, right) = (self.arg(args, 0), self.arg(args, 1));
        match (name, first) {
            ("ip" | "isIP" | "cidr" | "isCIDR" | "quantity" | "isQuantity", Type::String) => {
                (times(left, PER_CHARACTER), None)
            }
            ("ip.isCanonical", Type::String) => (times(left, 2.0 * PER_CHARACTER), None),
            ("matches", _) => (self.pattern_cost(left, args), None),
            ("bytes", Type::String) => (times(left, PER_CHARACTER), Some(left.saturating_mul(4))),
            ("url", _) | ("string", Type::Bytes) => (times(left, PER_CHARACTER), Some(left)),
            ("strings.quote", _) => {
                (times(left, PER_CHARACTER), Some(left.saturating_mul(2).saturating_add(2)))
            }
            ("@in", _)
                if matches!(args.get(1).map(|arg| self.type_of(arg)), Some(Type::List(_) | Type::Dyn)) =>
            {
                (right, None)
            }
            ("_+_", Type::String | Type::Bytes) => {
                let size = left.saturating_add(right);
                (times(size, PER_CHARACTER), Some(size))
            }
            ("_+_", Type::List(_)) => (1, Some(left.saturating_add(right))),
            ("_==_" | "_!=_", _) | ("_<_" | "_<=_" | "_>_" | "_>=_", Type::String | Type::Bytes) => {
                (times(left.min(right), PER_CHARACTER), None)
            }
            ("sets.contains" | "sets.intersects", _) => (left.saturating_mul(right).saturating_add(1), None),
            ("sets.equivalent", _) => (left.saturating_mul(right).saturating_mul(2).saturating_add(1), None),
            _ => (1, None),
        }
    }
}

/// What comparing two values of a library type costs; a URL is as long as its text.
fn of_opaque(name: &str, size: u64) -> Option<u64> {
    match name {
        "net.IP" | "net.CIDR" | "kubernetes.Quantity" => Some(1),
        "kubernetes.URL" => Some(times(size, PER_CHARACTER)),
        "kubernetes.NamedFormat" => Some(times(FORMAT_NAME, PER_CHARACTER)),
        _ => None,
    }
}

/// The largest size of a text once something in it was replaced.
fn replaced(target: u64, from: u64, to: u64, args: &[Node]) -> u64 {
    let literal = args.get(1).is_some_and(|arg| arg.literal_text().is_some());
    let shortest = if literal { from } else { 0 };
    if shortest == 0 {
        return target.saturating_add(1).saturating_mul(to).saturating_add(target);
    }
    if to <= shortest {
        return target;
    }
    target.div_ceil(shortest).saturating_mul(to)
}

fn parts(target: u64, args: &[Node]) -> u64 {
    match args.get(2).map(|limit| &limit.kind) {
        Some(Kind::Literal(Literal::Int(limit))) => u64::try_from(*limit).unwrap_or(target),
        _ => target,
    }
}

//! Type unification: decides whether one type is assignable to another, and infers type parameters.

use std::collections::BTreeMap;

use super::types::Type;

/// The type parameters inferred so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Mapping {
    known: BTreeMap<u32, Type>,
    next: u32,
}

impl Mapping {
    /// Creates a type parameter.
    pub(super) fn fresh(&mut self) -> Type {
        self.next += 1;
        Type::Param(self.next - 1)
    }

    /// Replaces inferred type parameters by their types. `finally` replaces the others by `dyn`.
    pub(super) fn substitute(&self, ty: &Type, finally: bool) -> Type {
        match ty {
            Type::Param(number) => match self.known.get(number) {
                Some(known) => self.substitute(known, finally),
                None if finally => Type::Dyn,
                None => ty.clone(),
            },
            other => other.rebuilt(|inner| self.substitute(inner, finally)),
        }
    }

    /// Whether all of `given` are assignable to `wanted`. Keeps the inferred type parameters only if so.
    pub(super) fn assign(&mut self, given: &[Type], wanted: &[Type]) -> bool {
        if given.len() != wanted.len() {
            return false;
        }
        let mut trial = self.clone();
        let fits = given.iter().zip(wanted).all(|(given, wanted)| trial.assignable(given, wanted));
        if fits {
            *self = trial;
        }
        fits
    }

    fn assignable(&mut self, a: &Type, b: &Type) -> bool {
        if let Type::Param(number) = b {
            let (valid, known) = self.substitution(a, *number);
            if valid || known {
                return valid;
            }
        }
        if let Type::Param(number) = a {
            return self.substitution(b, *number).0;
        }
        if a.is_dyn_or_error() || b.is_dyn_or_error() {
            return true;
        }
        match (a, b) {
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::Type(_), Type::Type(_)) => true,
            _ => {
                a.same_head(b)
                    && a.parameters().iter().zip(b.parameters()).all(|(a, b)| self.assignable(a, b))
            }
        }
    }

    /// Whether a type parameter can be the given type, and whether it was inferred before.
    fn substitution(&mut self, given: &Type, parameter: u32) -> (bool, bool) {
        if let Some(known) = self.known.get(&parameter).cloned() {
            if known.same(given) {
                return (true, true);
            }
            let fits = self.assignable(given, &known);
            if fits {
                self.known.insert(parameter, most_general(given, &known));
            }
            return (fits, true);
        }
        let free = !self.mentions(given, parameter);
        if free {
            self.known.insert(parameter, given.clone());
        }
        (free, false)
    }

    fn mentions(&self, within: &Type, parameter: u32) -> bool {
        match within {
            Type::Param(number) if *number == parameter => true,
            Type::Param(number) => {
                self.known.get(number).is_some_and(|known| self.mentions(known, parameter))
            }
            other => other.parameters().into_iter().any(|inner| self.mentions(inner, parameter)),
        }
    }
}

fn is_nullable(ty: &Type) -> bool {
    matches!(ty, Type::Opaque(..) | Type::Object(_) | Type::Null | Type::Timestamp | Type::Duration)
}

/// The more general of two compatible types.
pub(super) fn most_general(a: &Type, b: &Type) -> Type {
    if is_less_specific(a, b) { a.clone() } else { b.clone() }
}

fn is_less_specific(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Any | Type::Param(_), _) | (Type::Type(_), Type::Type(_)) => true,
        (_, Type::Dyn | Type::Any | Type::Param(_)) => false,
        _ => a.same_head(b) && a.parameters().iter().zip(b.parameters()).all(|(a, b)| is_less_specific(a, b)),
    }
}

//! The variables of an environment.

use std::collections::BTreeMap;

use crate::cel::types::Type;

/// The types of variables by number, and their numbers by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables {
    types: Vec<Type>,
    numbers: BTreeMap<String, usize>,
}

impl Variables {
    /// Adds a variable, whose name may be dotted. Of several with one name, expressions see the first.
    pub(crate) fn declare(&mut self, name: impl Into<String>, variable_type: Type) {
        self.numbers.entry(name.into()).or_insert(self.types.len());
        self.types.push(variable_type);
    }

    /// Adds a variable that no expression sees, so that later ones keep their numbers.
    pub(crate) fn skip(&mut self) {
        self.types.push(Type::Dyn);
    }

    /// Changes the type of a variable, if there is one with this name.
    pub(crate) fn set_type(&mut self, name: &str, variable_type: Type) {
        if let Some(known) = self.numbers.get(name).and_then(|number| self.types.get_mut(*number)) {
            *known = variable_type;
        }
    }

    /// Hides a variable from expressions. Its number stays taken.
    pub(crate) fn hide(&mut self, name: &str) {
        self.numbers.remove(name);
    }

    /// The number and the type of a variable.
    pub(super) fn find(&self, name: &str) -> Option<(usize, &Type)> {
        let number = *self.numbers.get(name)?;
        Some((number, self.types.get(number)?))
    }
}

impl<const N: usize> From<[(&str, Type); N]> for Variables {
    fn from(given: [(&str, Type); N]) -> Self {
        let mut variables = Self::default();
        for (name, variable_type) in given {
            variables.declare(name, variable_type);
        }
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_when_variables_are_skipped_hidden_or_declared_again() {
        let mut variables = Variables::from([("a", Type::Int)]);
        variables.skip();
        variables.declare("b.c", Type::Bool);
        variables.declare("a", Type::String);
        variables.declare("d", Type::Dyn);
        variables.set_type("d", Type::Bytes);
        variables.set_type("e", Type::Bytes);
        variables.hide("b.c");
        let find = |name| variables.find(name).map(|(number, found)| (number, found.to_string()));
        assert_eq!(find("a"), Some((0, "int".to_owned())));
        assert_eq!(find("d"), Some((4, "bytes".to_owned())));
        assert_eq!([find("b.c"), find("e"), find("")], [None, None, None]);
    }
}

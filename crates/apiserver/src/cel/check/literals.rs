//! Rules about literals of a checked expression (cel-go's `ASTValidators`): the elements of a list or map
//! have one type, and a format string fits its arguments.

use super::format;
use crate::cel::expression_error::ExpressionError;
use crate::cel::syntax::{Element, Entry, Kind, Node};
use crate::cel::types::Type;

/// The function whose argument may be a list of mixed types.
const FORMAT: &str = "format";

/// Returns all mistakes in the literals of an expression. `types` holds the type of each node, indexed by
/// node id.
pub(super) fn check(root: &Node, types: &[Type]) -> Vec<ExpressionError> {
    let mut literals = Literals { types, errors: Vec::new() };
    literals.visit(root, false);
    literals.errors
}

struct Literals<'t> {
    types: &'t [Type],
    errors: Vec<ExpressionError>,
}

impl<'t> Literals<'t> {
    fn visit(&mut self, node: &Node, mixed: bool) {
        let mut mixed = mixed;
        match &node.kind {
            Kind::List(items) if !mixed => self.list(items),
            Kind::Map(entries) if !mixed => self.map(entries),
            Kind::Apply(apply) if apply.function.name == FORMAT => {
                mixed = true;
                if let [target, Node { kind: Kind::List(args), .. }] = &apply.args[..]
                    && let Some(text) = target.literal_text()
                {
                    self.errors.extend(format::check(node.at, text, args, self.types));
                }
            }
            _ => {}
        }
        for child in node.children() {
            self.visit(child, mixed);
        }
    }

    fn type_of(&self, node: &Node) -> &'t Type {
        self.types.get(node.id).unwrap_or(&Type::Dyn)
    }

    /// The type of an element; an optional one has the type of its value.
    fn element_type(&self, element: &Element) -> Type {
        let found = self.type_of(&element.value);
        if element.optional { found.unwrap_optional().0 } else { found.clone() }
    }

    fn list(&mut self, items: &[Element]) {
        let Some((first, rest)) = items.split_first() else { return };
        let wanted = self.element_type(first);
        let mismatch = rest.iter().find(|item| !self.element_type(item).same(&wanted));
        if let Some(item) = mismatch {
            self.mismatch(item.value.at, &wanted, &self.element_type(item));
        }
    }

    fn map(&mut self, entries: &[Entry]) {
        let Some((first, rest)) = entries.split_first() else { return };
        let (keys, values) = (self.type_of(&first.key), self.element_type(&first.value));
        for entry in rest {
            let (key, value) = (self.type_of(&entry.key), self.element_type(&entry.value));
            if !key.same(keys) {
                self.mismatch(entry.key.at, keys, key);
            }
            if !value.same(&values) {
                self.mismatch(entry.value.value.at, &values, &value);
            }
        }
    }

    fn mismatch(&mut self, at: usize, wanted: &Type, found: &Type) {
        self.errors.push(ExpressionError::new(at, format!("expected type '{wanted}' but found '{found}'")));
    }
}

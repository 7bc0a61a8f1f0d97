//! Compiled expressions.

use super::check::{self, Environment};
use super::eval::{self, Evaluated};
use super::expression_error::{self, ExpressionError};
use super::syntax::{Kind, Node, parse};
use super::types::Type;
use super::value::{EvalError, Value};

/// A parsed and checked expression.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(super) root: Node,
    pub(super) types: Vec<Type>,
}

/// Why an expression cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CompileError {
    /// All mistakes of the text and the types, as cel-go prints them.
    #[error("compilation failed: {0}")]
    Expression(String),
    /// A call with constants fails.
    #[error("program instantiation failed: {0}")]
    Constants(String),
    /// The result has the wrong type.
    #[error("{0}")]
    Result(String),
}

impl Program {
    /// Compiles an expression.
    ///
    /// # Errors
    /// The expression is wrong, or always fails.
    pub(crate) fn compile(source: &str, env: &Environment) -> Result<Self, CompileError> {
        let wrong =
            |errors: Vec<ExpressionError>| CompileError::Expression(expression_error::show(source, &errors));
        let (mut root, nodes) = parse(source).map_err(wrong)?;
        let types = check::check(&mut root, nodes, env).map_err(wrong)?;
        check::constants::check(&root).map_err(CompileError::Constants)?;
        Ok(Self { root, types })
    }

    /// The type of the result.
    pub(crate) fn result(&self) -> &Type {
        self.types.get(self.root.id).unwrap_or(&Type::Dyn)
    }

    /// Finds a constructed object whose type name does not match its field path. Returns its name and the
    /// expected one.
    pub(crate) fn find_misnamed_object(&self) -> Option<(String, String)> {
        misnamed_below(&self.root, None)
    }

    /// Whether the expression uses the variable with this index.
    pub(crate) fn uses(&self, variable: usize) -> bool {
        uses(&self.root, variable)
    }

    /// Evaluates the expression and counts the cost. Fails if the cost exceeds `limit`.
    pub(crate) fn run<'a>(&'a self, variables: &[Result<Value<'a>, EvalError>], limit: u64) -> Evaluated<'a> {
        eval::run(&self.root, variables, limit)
    }
}

/// Finds such an object below a node (`CheckTypeNamesMatchFieldPathNames`). `expected` is the name that the
/// node must have, if any.
fn misnamed_below(node: &Node, expected: Option<&str>) -> Option<(String, String)> {
    match &node.kind {
        Kind::Message(name, fields) => {
            if let Some(expected) = expected.filter(|expected| expected != name) {
                return Some((name.clone(), expected.to_owned()));
            }
            let of_object = name == "Object" || name.starts_with("Object.");
            fields.iter().find_map(|(field, element)| {
                let expected = of_object.then(|| format!("{name}.{field}"));
                misnamed_below(&element.value, expected.as_deref())
            })
        }
        // Elements of a list have the type name of its field.
        Kind::List(items) => items.iter().find_map(|item| misnamed_below(&item.value, expected)),
        _ => node.children().into_iter().find_map(|child| misnamed_below(child, None)),
    }
}

fn uses(node: &Node, variable: usize) -> bool {
    matches!(node.kind, Kind::Global(number) if number == variable)
        || node.children().into_iter().any(|child| uses(child, variable))
}

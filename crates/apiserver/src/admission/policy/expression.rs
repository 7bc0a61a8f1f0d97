//! The expressions of a policy, and the variables that they may use.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{list, text};
use crate::cel::Variables;
use crate::cel::decl::{Decl, Shape};
use crate::cel::types::Type;
use crate::cel::value::authorization::{AUTHORIZER, RESOURCE};
use crate::cel::value::{EvalError, Value};
use crate::cel::{CompileError, Environment, JSON_PATCH, OBJECT, Program};
use crate::field::FieldError;

/// The value of a variable, or the error of its evaluation.
pub(super) type Given<'a> = Result<Value<'a>, EvalError>;

/// The variables of expressions, in the order of their values.
const VARIABLES: [&str; 7] = [
    "object",
    "oldObject",
    "params",
    "request",
    "namespaceObject",
    "authorizer",
    "authorizer.requestResource",
];
/// The minor of stored policies, which may use functions of any minor.
pub(in crate::admission) const ANY_MINOR: u32 = u32::MAX;

/// An expression with its source. One that does not compile fails when it is evaluated.
#[derive(Debug, Clone)]
pub(in crate::admission) struct Condition {
    pub(in crate::admission) source: String,
    pub(in crate::admission) program: Result<Program, CompileError>,
}

/// The environment, variables and conditions of a policy.
#[derive(Debug, Clone)]
pub(in crate::admission) struct Expressions {
    environment: Environment,
    /// In order: each may use the ones before it.
    pub(in crate::admission) variables: Vec<Condition>,
    pub(in crate::admission) conditions: Vec<Condition>,
}

/// The optional variables that are declared (`OptionalVariableDeclarations`).
#[derive(Debug, Clone, Copy)]
pub(in crate::admission) struct Declared {
    pub(in crate::admission) params: bool,
    pub(in crate::admission) authorizer: bool,
    /// Whether expressions may construct objects.
    pub(in crate::admission) objects: bool,
}

impl Declared {
    pub(in crate::admission) const ALL: Self = Self { params: true, authorizer: true, objects: false };

    fn has(self, name: &str) -> bool {
        match name {
            "params" => self.params,
            "authorizer" | "authorizer.requestResource" => self.authorizer,
            _ => true,
        }
    }
}

/// The environment of expressions, without the policy's own variables. Variables that are not declared keep their
/// position, so that positions of values are the same everywhere, but have no name.
pub(in crate::admission) fn environment(minor: u32, declared: Declared) -> Environment {
    let mut variables = Variables::default();
    for name in VARIABLES {
        match name {
            _ if !declared.has(name) => variables.skip(),
            "authorizer" => variables.declare(name, Type::Opaque(AUTHORIZER, Vec::new())),
            "authorizer.requestResource" => variables.declare(name, Type::Opaque(RESOURCE, Vec::new())),
            _ => variables.declare(name, Type::Dyn),
        }
    }
    Environment { variables, minor, makes_objects: declared.objects }
}

/// The required type of an expression's result.
#[derive(Debug, Clone, Copy)]
pub(in crate::admission) enum Wanted {
    Any,
    Bool,
    Text,
    TextOrNull,
    /// An object to apply.
    Object,
    /// Operations of a JSON patch.
    Operations,
}

impl Wanted {
    /// The error if a type is not the required one (`ReturnTypes`). A type that is only known at run time is an error
    /// too.
    fn type_error(self, found: &Type) -> Option<String> {
        let wrong = |wanted: &str| Some(format!("must evaluate to {wanted} but got {found}"));
        match (self, found) {
            (Self::Any, _)
            | (Self::Bool, Type::Bool)
            | (Self::Text | Self::TextOrNull, Type::String)
            | (Self::TextOrNull, Type::Null)
            | (Self::Object, Type::Opaque(OBJECT, _)) => None,
            (Self::Operations, Type::List(items)) if matches!(**items, Type::Opaque(JSON_PATCH, _)) => None,
            (Self::Object, _) => wrong("Object"),
            (Self::Operations, _) => wrong("list(JSONPatch)"),
            (Self::Bool, _) => wrong("bool"),
            (Self::Text, _) => wrong("string"),
            (Self::TextOrNull, _) => wrong("one of [string null_type]"),
        }
    }
}

/// Compiles an expression of an object to store (`CompileCELExpression`).
///
/// # Errors
/// The message of the compilation or type error.
pub(in crate::admission) fn compile_new(
    source: &str,
    environment: &Environment,
    wanted: Wanted,
) -> Result<Program, CompileError> {
    let program = Program::compile(source, environment)?;
    match wanted.type_error(program.result()) {
        Some(why) => Err(CompileError::Result(why)),
        None => Ok(program),
    }
}

/// The error of an expression in a field (`convertCELErrorToValidationError`).
pub(in crate::admission) fn field_error(at: &str, source: &str, error: &CompileError) -> FieldError {
    match error {
        CompileError::Constants(_) => FieldError::internal(at, error.to_string()),
        _ => FieldError::invalid(at, source, error.to_string()),
    }
}

/// Adds a variable of a policy to an environment.
pub(in crate::admission) fn declare(
    environment: &mut Environment,
    name: &str,
    program: &Result<Program, CompileError>,
) {
    let variable_type = program.as_ref().map_or(Type::Dyn, |program| program.result().clone());
    environment.variables.declare(format!("variables.{name}"), variable_type);
}

/// Declares that there are no variables of the policy but those that are declared one by one. Only for validation: a program with
/// this declaration does not run.
pub(in crate::admission) fn declare_no_others(environment: &mut Environment) {
    let none = Decl::new(Shape::Object(BTreeMap::new()), 0, 0);
    environment.variables.declare("variables", Type::Object(Arc::new(none)));
}

/// The conditions of a policy or a webhook (`matchConditions`).
pub(in crate::admission) fn conditions(object: &Json) -> Vec<Condition> {
    let plain = environment(ANY_MINOR, Declared::ALL);
    let conditions = list(&object["matchConditions"]).iter();
    conditions.map(|condition| compile(&condition["expression"], &plain)).collect()
}

fn compile(source: &Json, environment: &Environment) -> Condition {
    let source = text(source);
    let program = Program::compile(source.trim(), environment);
    Condition { source: source.trim().to_owned(), program }
}

impl Expressions {
    pub(in crate::admission) fn read(spec: &Json) -> Self {
        let plain = environment(ANY_MINOR, Declared { objects: true, ..Declared::ALL });
        let mut all = Self { conditions: conditions(spec), environment: plain, variables: Vec::new() };
        for variable in list(&spec["variables"]) {
            let compiled = all.condition(&variable["expression"]);
            declare(&mut all.environment, &text(&variable["name"]), &compiled.program);
            all.variables.push(compiled);
        }
        all
    }

    pub(in crate::admission) fn condition(&self, source: &Json) -> Condition {
        compile(source, &self.environment)
    }

    /// The program of an optional expression; `None` if it is absent or does not compile.
    pub(in crate::admission) fn optional(&self, source: &Json) -> Option<Program> {
        source.as_str().filter(|text| !text.trim().is_empty())?;
        self.condition(source).program.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_a_policy_lacks_are_undefined_fields() {
        let mut known = environment(ANY_MINOR, Declared::ALL);
        known.variables.declare("variables.v", Type::Dyn);
        declare_no_others(&mut known);
        let error = |source: &str| {
            compile_new(source, &known, Wanted::Any).map_or_else(|error| error.to_string(), |_| String::new())
        };
        assert_eq!(error("variables.v == 'x'"), "");
        assert!(error("variables.w == 'x'").contains("undefined field 'w'"), "{}", error("variables.w"));
    }
}

//! The expressions of a policy, and what they may refer to.

use serde_json::Value;

use super::{list, text};
use crate::apiserver::cel::types::Type;
use crate::apiserver::cel::{Environment, Program};

/// Variables of every expression, in the order of their values.
pub(in crate::apiserver::admission) const VARIABLES: [&str; 5] =
    ["object", "oldObject", "params", "request", "namespaceObject"];
/// Stored policies may use any function.
pub(in crate::apiserver::admission) const ANY_MINOR: u32 = u32::MAX;

/// An expression with its text; one that does not compile fails when it is asked.
#[derive(Debug)]
pub(in crate::apiserver::admission) struct Condition {
    pub(in crate::apiserver::admission) source: String,
    pub(in crate::apiserver::admission) program: Result<Program, String>,
}

/// What the expressions of a policy share.
#[derive(Debug)]
pub(in crate::apiserver::admission) struct Expressions {
    environment: Environment,
    /// In their order: each may use those before it.
    pub(in crate::apiserver::admission) variables: Vec<Condition>,
    pub(in crate::apiserver::admission) conditions: Vec<Condition>,
}

/// What expressions may refer to that come before any variables of the policy.
pub(in crate::apiserver::admission) fn environment(minor: u32) -> Environment {
    let variables = VARIABLES.iter().map(|name| ((*name).to_owned(), Type::Dyn)).collect();
    Environment { variables, minor }
}

/// Adds a variable of a policy.
pub(in crate::apiserver::admission) fn declare(
    environment: &mut Environment,
    name: &str,
    program: &Result<Program, String>,
) {
    let of = program.as_ref().map_or(Type::Dyn, |program| program.result().clone());
    environment.variables.push((format!("variables.{name}"), of));
}

/// The conditions of a policy or a webhook (`matchConditions`).
pub(in crate::apiserver::admission) fn conditions(object: &Value) -> Vec<Condition> {
    let plain = environment(ANY_MINOR);
    list(&object["matchConditions"]).iter().map(|one| compile(&one["expression"], &plain)).collect()
}

fn compile(source: &Value, environment: &Environment) -> Condition {
    let source = text(source);
    let program = Program::compile(source.trim(), environment);
    Condition { source: source.trim().to_owned(), program }
}

impl Expressions {
    pub(in crate::apiserver::admission) fn read(spec: &Value) -> Self {
        let plain = environment(ANY_MINOR);
        let mut all = Self { conditions: conditions(spec), environment: plain, variables: Vec::new() };
        for variable in list(&spec["variables"]) {
            let compiled = all.condition(&variable["expression"]);
            declare(&mut all.environment, &text(&variable["name"]), &compiled.program);
            all.variables.push(compiled);
        }
        all
    }

    pub(in crate::apiserver::admission) fn condition(&self, source: &Value) -> Condition {
        compile(source, &self.environment)
    }

    /// The program of an expression that may be absent, and counts for nothing if it does not compile.
    pub(in crate::apiserver::admission) fn optional(&self, source: &Value) -> Option<Program> {
        source.as_str().filter(|text| !text.trim().is_empty())?;
        self.condition(source).program.ok()
    }
}

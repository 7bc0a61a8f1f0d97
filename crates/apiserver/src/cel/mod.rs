//! The Common Expression Language as Kubernetes uses it: syntax, types, evaluation and costs.
//!
//! An expression is parsed ([`syntax`]), type-checked and resolved ([`check`]), and evaluated any number of
//! times ([`eval`]). JSON is converted only where the expression reads it ([`json`]). [`estimate`] computes
//! the maximum cost beforehand. [`library`] defines the functions, with one file for each library of
//! Kubernetes. Error messages are those of cel-go.

pub(crate) mod check;
pub(crate) mod decl;
mod equal;
pub(crate) mod escape;
pub(crate) mod estimate;
mod eval;
mod expression_error;
pub(crate) mod json;
#[expect(clippy::unnecessary_wraps, reason = "functions of libraries have one type")]
pub(crate) mod library;
mod program;
mod syntax;
pub(crate) mod time;
pub(crate) mod types;
mod unify;
pub(crate) mod value;

pub(crate) use check::variables::Variables;
pub(crate) use check::{Environment, JSON_PATCH, OBJECT};
pub(crate) use program::{CompileError, Program};

#[cfg(test)]
mod tests;

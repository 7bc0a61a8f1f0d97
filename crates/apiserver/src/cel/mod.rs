//! The Common Expression Language as Kubernetes has it: syntax, types, evaluation, and what expressions cost.
//!
//! An expression is parsed ([`syntax`]), its types are checked and its names looked up ([`check`]), and it is evaluated
//! as often as wanted ([`eval`]) over JSON that is read where the expression looks ([`json`]). [`estimate`] says before
//! that how much it may cost at most. Functions stand in [`library`], one file for each library of Kubernetes. Texts of
//! errors are those of cel-go.

pub(crate) mod check;
pub(crate) mod decl;
mod equal;
pub(crate) mod escape;
pub(crate) mod estimate;
mod eval;
mod issue;
pub(crate) mod json;
#[expect(clippy::unnecessary_wraps, reason = "functions of libraries have one type")]
pub(crate) mod library;
mod program;
mod syntax;
pub(crate) mod types;
mod unify;
pub(crate) mod value;

pub(crate) use check::{Environment, JSON_PATCH, OBJECT};
pub(crate) use program::Program;

#[cfg(test)]
mod tests;

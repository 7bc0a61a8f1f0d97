//! The part of PromQL that the update risks of OpenShift are written in, evaluated for one moment.
//!
//! Selectors with matchers, arithmetic and comparisons, `and`, `or` and `unless`, matching by `on` or `ignoring` with
//! `group_left` and `group_right`, aggregations, `label_replace`, and `max_over_time`, for which the metrics of this
//! moment stand for those of the whole range.

mod aggregate;
mod binary;
mod evaluate;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use regex::Regex;

pub use evaluate::evaluate;
pub use parser::parse;

/// Labels by name; `__name__` is the metric's.
pub type Labels = BTreeMap<String, String>;

/// One value with its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// What it is a value of.
    pub labels: Labels,
    /// The value.
    pub value: f64,
}

/// What an expression comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number without labels.
    Scalar(f64),
    /// Samples; no two have the same labels.
    Vector(Vec<Sample>),
}

/// A parsed expression.
#[derive(Debug, Clone)]
pub enum Expr {
    /// A number.
    Number(f64),
    /// A text, as an argument.
    Text(String),
    /// The series of a metric whose labels fit.
    Select(Selector),
    /// Two sides and what makes one of them.
    Binary(Box<Binary>),
    /// Samples in groups, each made one, or fewer.
    Aggregate(Box<Aggregate>),
    /// A function's name and its arguments.
    Call(String, Vec<Expr>),
    /// The opposite number.
    Negative(Box<Expr>),
}

/// A metric with matchers; `range` where it is asked for over time.
#[derive(Debug, Clone)]
pub struct Selector {
    metric: String,
    matchers: Vec<Matcher>,
    range: bool,
}

#[derive(Debug, Clone)]
struct Matcher {
    label: String,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    Equal(String),
    Differs(String),
    Fits(Regex),
    FitsNot(Regex),
}

/// An operator between two expressions.
#[derive(Debug, Clone)]
pub struct Binary {
    operator: String,
    left: Expr,
    right: Expr,
    returns_bool: bool,
    matching: Matching,
}

/// Which samples of two sides belong together.
#[derive(Debug, Clone, Default)]
struct Matching {
    /// Whether `labels` are those that count, or those that do not.
    on: bool,
    labels: Vec<String>,
    /// Labels that the many take from the one; `None`: there is one on either side.
    group_left: Option<Vec<String>>,
    group_right: Option<Vec<String>>,
}

/// An aggregation.
#[derive(Debug, Clone)]
pub struct Aggregate {
    operator: String,
    parameter: Option<Expr>,
    of: Expr,
    /// Whether `labels` are dropped rather than kept.
    without: bool,
    labels: Vec<String>,
}

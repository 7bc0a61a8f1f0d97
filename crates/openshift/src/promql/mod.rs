//! The part of PromQL that the update risks and the alerts of OpenShift are written in, evaluated for one moment.
//!
//! Selectors with matchers, arithmetic and comparisons, `and`, `or` and `unless`, matching by `on` or `ignoring` with
//! `group_left` and `group_right`, aggregations, and a few functions.

mod aggregate;
mod binary;
mod evaluate;
mod lexer;
mod parser;
mod standing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use regex::Regex;
use windtunnel_core::clock::Time;

pub use evaluate::{NAME, Taken, evaluate};
pub use parser::parse;
pub use standing::stands_until;

/// Where samples come from.
pub trait Metrics {
    /// Hands out the samples that a metric has at this moment; none of a metric that nobody exports.
    fn collect(&self, metric: &str, taken: &mut Taken<'_>);

    /// The samples that earlier scrapes of the last `span` found, oldest first. Where nothing is remembered, the present
    /// stands for all of it.
    fn earlier(&self, _metric: &str, _span: SignedDuration) -> Vec<&[Sample]> {
        Vec::new()
    }

    /// The moment.
    fn now(&self) -> Time;
}

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

impl Expr {
    /// What it selects.
    pub fn selectors(&self) -> Vec<&Selector> {
        match self {
            Self::Number(_) | Self::Text(_) => Vec::new(),
            Self::Select(selector) => vec![selector],
            Self::Binary(binary) => [binary.left.selectors(), binary.right.selectors()].concat(),
            Self::Aggregate(of) => of.of.selectors(),
            Self::Call(_, arguments) => arguments.iter().flat_map(Self::selectors).collect(),
            Self::Negative(of) => of.selectors(),
        }
    }

    /// Whether it selects something for which this holds.
    pub fn selects(&self, holds: &impl Fn(&Selector) -> bool) -> bool {
        self.has(&|part| matches!(part, Self::Select(selector) if holds(selector)))
    }

    /// Whether this holds for something that it selects, given with the labels that alone count of it where it only groups by them.
    pub fn reads(&self, holds: &impl Fn(&Selector, Option<&[String]>) -> bool) -> bool {
        match self {
            Self::Number(_) | Self::Text(_) => false,
            Self::Select(selector) => holds(selector, None),
            Self::Binary(binary) => binary.left.reads(holds) || binary.right.reads(holds),
            Self::Aggregate(of) => match of.grouped() {
                Some(selector) => holds(selector, Some(&of.labels)),
                None => of.of.reads(holds),
            },
            Self::Call(_, arguments) => arguments.iter().any(|argument| argument.reads(holds)),
            Self::Negative(of) => of.reads(holds),
        }
    }

    /// Whether it may come to something else although no metric changed: it looks at the time, or back.
    pub fn depends_on_time(&self) -> bool {
        self.has(&|part| match part {
            Self::Select(selector) => selector.range.is_some(),
            Self::Call(name, _) => name == "time",
            _ => false,
        })
    }

    /// Whether this holds for it or something in it.
    fn has(&self, holds: &impl Fn(&Self) -> bool) -> bool {
        holds(self)
            || match self {
                Self::Number(_) | Self::Text(_) | Self::Select(_) => false,
                Self::Binary(binary) => binary.left.has(holds) || binary.right.has(holds),
                Self::Aggregate(of) => of.of.has(holds),
                Self::Call(_, arguments) => arguments.iter().any(|argument| argument.has(holds)),
                Self::Negative(of) => of.has(holds),
            }
    }
}

impl Aggregate {
    /// The selector of which it keeps these labels alone.
    fn grouped(&self) -> Option<&Selector> {
        match &self.of {
            Expr::Select(selector) if self.operator == "group" && !self.without => Some(selector),
            _ => None,
        }
    }
}

/// A metric with matchers; `range` where it is asked for over time.
#[derive(Debug, Clone)]
pub struct Selector {
    metric: String,
    matchers: Vec<Matcher>,
    range: Option<SignedDuration>,
}

impl Selector {
    /// The metric's name.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// How long it looks back; `None` where it takes one moment.
    pub fn range(&self) -> Option<SignedDuration> {
        self.range
    }

    /// The labels of the one series that it names, its metric among them; `None` where it stands for several.
    pub fn series(&self) -> Option<Labels> {
        let label = |matcher: &Matcher| match &matcher.test {
            Test::Equal(value) => Some((matcher.label.clone(), value.clone())),
            _ => None,
        };
        let mut labels: Labels = self.matchers.iter().map(label).collect::<Option<_>>()?;
        labels.insert(NAME.to_owned(), self.metric.clone());
        self.range.is_none().then_some(labels)
    }
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

//! The subset of PromQL that OpenShift's update risks and alerts use, evaluated at one time.
//!
//! Supports selectors with matchers, arithmetic and comparisons, `and`, `or` and `unless`, matching by `on`
//! or `ignoring` with `group_left` and `group_right`, aggregations, and a few functions.

mod aggregate;
mod binary;
mod evaluate;
mod lexer;
mod missing;
mod parse_error;
mod parser;
mod sample;
#[cfg(test)]
mod tests;
mod validity;

use jiff::SignedDuration;
use regex::Regex;
use windtunnel_core::clock::Time;

pub use evaluate::{SampleCollector, evaluate};
pub use missing::{is_zero_or_empty, missing_metrics};
pub use parse_error::ParseError;
pub use parser::parse;
pub use sample::{Labels, NAME, Sample, Value};
pub use validity::valid_until;

/// A source of samples.
pub trait Metrics {
    /// Adds the current samples of a metric to `taken`; none for an unknown metric.
    fn collect(&self, metric: &str, taken: &mut SampleCollector<'_>);

    /// Returns the samples of earlier scrapes within the last `span`, oldest first. Without earlier scrapes,
    /// the current samples count as constant over the range.
    fn earlier(&self, _metric: &str, _span: SignedDuration) -> Vec<&[Sample]> {
        Vec::new()
    }

    /// Returns the evaluation time.
    fn now(&self) -> Time;
}

/// A parsed expression.
#[derive(Debug, Clone)]
pub enum Expr {
    /// A number.
    Number(f64),
    /// A string argument.
    Text(String),
    /// The series of a metric with matching labels.
    Select(Selector),
    /// A binary operator.
    Binary(Box<Binary>),
    /// An aggregation.
    Aggregate(Box<Aggregate>),
    /// A function's name and its arguments.
    Call(String, Vec<Expr>),
    /// A negation.
    Negative(Box<Expr>),
}

impl Expr {
    /// Returns all selectors in it.
    pub fn selectors(&self) -> Vec<&Selector> {
        match self {
            Self::Number(_) | Self::Text(_) => Vec::new(),
            Self::Select(selector) => vec![selector],
            Self::Binary(binary) => [binary.left.selectors(), binary.right.selectors()].concat(),
            Self::Aggregate(aggregate) => aggregate.operand.selectors(),
            Self::Call(_, arguments) => arguments.iter().flat_map(Self::selectors).collect(),
            Self::Negative(operand) => operand.selectors(),
        }
    }

    /// Returns whether `holds` applies to any selector in it.
    pub fn selects(&self, holds: &impl Fn(&Selector) -> bool) -> bool {
        self.has(&|part| matches!(part, Self::Select(selector) if holds(selector)))
    }

    /// Like [`Self::selects`], but passes the grouping labels if only they matter.
    pub fn any_selector_with_labels(&self, holds: &impl Fn(&Selector, Option<&[String]>) -> bool) -> bool {
        match self {
            Self::Number(_) | Self::Text(_) => false,
            Self::Select(selector) => holds(selector, None),
            Self::Binary(binary) => {
                binary.left.any_selector_with_labels(holds) || binary.right.any_selector_with_labels(holds)
            }
            Self::Aggregate(aggregate) => match aggregate.grouped() {
                Some(selector) => holds(selector, Some(&aggregate.labels)),
                None => aggregate.operand.any_selector_with_labels(holds),
            },
            Self::Call(_, arguments) => {
                arguments.iter().any(|argument| argument.any_selector_with_labels(holds))
            }
            Self::Negative(operand) => operand.any_selector_with_labels(holds),
        }
    }

    /// Returns whether its value may change although no metric changes: it uses the current time or a range.
    pub fn depends_on_time(&self) -> bool {
        self.has(&|part| match part {
            Self::Select(selector) => selector.range.is_some(),
            Self::Call(name, _) => name == "time",
            _ => false,
        })
    }

    /// Returns whether `holds` applies to it or a part of it.
    fn has(&self, holds: &impl Fn(&Self) -> bool) -> bool {
        holds(self)
            || match self {
                Self::Number(_) | Self::Text(_) | Self::Select(_) => false,
                Self::Binary(binary) => binary.left.has(holds) || binary.right.has(holds),
                Self::Aggregate(aggregate) => aggregate.operand.has(holds),
                Self::Call(_, arguments) => arguments.iter().any(|argument| argument.has(holds)),
                Self::Negative(operand) => operand.has(holds),
            }
    }
}

impl Aggregate {
    /// Returns the selector whose result depends only on these labels.
    fn grouped(&self) -> Option<&Selector> {
        match &self.operand {
            Expr::Select(selector) if self.operator == "group" && !self.without => Some(selector),
            _ => None,
        }
    }
}

/// A metric with matchers, optionally over a range.
#[derive(Debug, Clone)]
pub struct Selector {
    metric: String,
    matchers: Vec<Matcher>,
    range: Option<SignedDuration>,
}

impl Selector {
    /// Returns the metric's name.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// Returns how far it looks back; `None` for an instant selector.
    pub fn range(&self) -> Option<SignedDuration> {
        self.range
    }

    /// Returns the value that a label must be equal to; `None` if several values can match.
    pub fn equal_to(&self, label: &str) -> Option<&str> {
        self.matchers.iter().find_map(|matcher| match &matcher.test {
            Test::Equal(value) if matcher.label == label => Some(value.as_str()),
            _ => None,
        })
    }

    /// Returns the labels of the single series that it selects, including the metric's name; `None` if it can
    /// match several.
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

/// A binary operator with its two sides.
#[derive(Debug, Clone)]
pub struct Binary {
    operator: String,
    left: Expr,
    right: Expr,
    returns_bool: bool,
    matching: Matching,
}

/// Which samples of the two sides match.
#[derive(Debug, Clone, Default)]
struct Matching {
    /// Whether to match by `labels` instead of ignoring them.
    on: bool,
    labels: Vec<String>,
    /// Labels to copy from the "one" side. In one-to-one matching, both are `None`.
    group_left: Option<Vec<String>>,
    group_right: Option<Vec<String>>,
}

/// An aggregation.
#[derive(Debug, Clone)]
pub struct Aggregate {
    operator: String,
    parameter: Option<Expr>,
    operand: Expr,
    /// Whether to group by all labels except `labels`.
    without: bool,
    labels: Vec<String>,
}

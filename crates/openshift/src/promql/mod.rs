//! PromQL, the query language of Prometheus, as OpenShift's update risks and alerts use it.
//!
//! Supports everything in Prometheus' documentation except native histograms, experimental functions and modifiers, and
//! selectors without the name of a metric.

mod aggregate;
mod binary;
mod evaluate;
mod functions;
mod lexer;
mod missing;
mod parse_error;
mod parser;
mod ranges;
mod sample;
mod selection;
#[cfg(test)]
mod tests;
mod types;
mod validity;

use jiff::SignedDuration;
use regex::Regex;
use windtunnel_core::clock::Time;

pub use evaluate::{evaluate, evaluate_range};
pub use functions::is_label_name;
pub use lexer::duration as parse_duration;
pub use missing::{is_zero_or_empty, missing_metrics};
pub use parse_error::ParseError;
pub use parser::parse;
pub use ranges::series_between;
pub use sample::{Labels, NAME, Sample, Series, Value};
pub use selection::SampleCollector;
pub use types::unfit_for_range_query;
pub use validity::valid_until;

/// The interval of scrapes, and the default step of subqueries.
pub const SCRAPE_INTERVAL: SignedDuration = SignedDuration::from_millis(sample::INTERVAL_MS);

/// How far a selector with a fixed time (`@ 1700000000`) looks back at most.
const PINNED_REACH: SignedDuration = SignedDuration::from_hours(24);

/// A source of samples.
pub trait Metrics {
    /// Adds the current samples of a metric to `taken`; none for an unknown metric.
    fn collect(&self, metric: &str, taken: &mut SampleCollector<'_>);

    /// Returns the samples of scrapes before now that are later than `after` and not later than `until`, oldest first.
    /// `None` if no scrapes of the metric are known: then the current samples count as those of all times.
    fn scrapes(&self, _metric: &str, _after: Time, _until: Time) -> Option<Vec<Scrapes<'_>>> {
        None
    }

    /// Returns the time of the current samples.
    fn now(&self) -> Time;
}

/// Scrapes in a row with the same samples.
#[derive(Debug, Clone, Copy)]
pub struct Scrapes<'a> {
    /// The time of the first scrape.
    pub first: Time,
    /// The time of the last one, a multiple of [`SCRAPE_INTERVAL`] later.
    pub last: Time,
    /// The samples, without the metric's name.
    pub samples: &'a [Sample],
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
    /// An expression evaluated at several moments.
    Subquery(Box<Subquery>),
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
    /// Returns its direct parts.
    fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Number(_) | Self::Text(_) | Self::Select(_) => Vec::new(),
            Self::Subquery(subquery) => vec![&subquery.operand],
            Self::Binary(binary) => vec![&binary.left, &binary.right],
            Self::Aggregate(aggregate) => aggregate.parameter.iter().chain([&aggregate.operand]).collect(),
            Self::Call(_, arguments) => arguments.iter().collect(),
            Self::Negative(operand) => vec![operand],
        }
    }

    /// Returns whether it is a range selector or a subquery.
    fn is_range(&self) -> bool {
        match self {
            Self::Select(selector) => selector.range.is_some(),
            Self::Subquery(_) => true,
            _ => false,
        }
    }

    /// Returns all selectors in it.
    pub fn selectors(&self) -> Vec<&Selector> {
        match self {
            Self::Select(selector) => vec![selector],
            _ => self.parts().into_iter().flat_map(Self::selectors).collect(),
        }
    }

    /// Returns the metrics of which it needs samples of the past, with how far it looks back.
    pub fn reaches(&self) -> Vec<(&str, SignedDuration)> {
        match self {
            Self::Select(selector) => {
                let reach = selector.range.unwrap_or_default() + selector.shift.reach();
                if reach > SignedDuration::ZERO { vec![(&selector.metric, reach)] } else { Vec::new() }
            }
            Self::Subquery(subquery) => {
                let outer = subquery.range + subquery.shift.reach();
                let inner = subquery.operand.reaches();
                let of = |selector: &Selector| {
                    let further = inner.iter().filter(|(metric, _)| *metric == selector.metric);
                    outer + further.map(|(_, reach)| *reach).max().unwrap_or_default()
                };
                subquery.operand.selectors().into_iter().map(|one| (one.metric(), of(one))).collect()
            }
            _ => self.parts().into_iter().flat_map(Self::reaches).collect(),
        }
    }

    /// Returns whether `holds` applies to any selector in it.
    pub fn selects(&self, holds: &impl Fn(&Selector) -> bool) -> bool {
        self.has(&|part| matches!(part, Self::Select(selector) if holds(selector)))
    }

    /// Like [`Self::selects`], but passes the grouping labels if only they matter.
    pub fn any_selector_with_labels(&self, holds: &impl Fn(&Selector, Option<&[String]>) -> bool) -> bool {
        match self {
            Self::Select(selector) => holds(selector, None),
            Self::Aggregate(aggregate) if let Some(selector) = aggregate.grouped() => {
                holds(selector, Some(&aggregate.labels))
            }
            _ => self.any_part(|part| part.any_selector_with_labels(holds)),
        }
    }

    /// Returns whether its value may change although no metric changes: it uses the current time or the past.
    pub fn depends_on_time(&self) -> bool {
        self.uses_clock() || !self.reaches().is_empty()
    }

    /// Returns whether it uses the current time.
    pub fn uses_clock(&self) -> bool {
        self.has(&|part| match part {
            Self::Call(name, arguments) => {
                let is_date = matches!(
                    name.as_str(),
                    "day_of_month"
                        | "day_of_week"
                        | "day_of_year"
                        | "days_in_month"
                        | "hour"
                        | "minute"
                        | "month"
                        | "year"
                );
                matches!(name.as_str(), "time" | "timestamp") || is_date && arguments.is_empty()
            }
            _ => false,
        })
    }

    /// Returns whether `holds` applies to it or a part of it.
    fn has(&self, holds: &impl Fn(&Self) -> bool) -> bool {
        holds(self) || self.any_part(|part| part.has(holds))
    }

    /// Returns whether `holds` applies to any of its direct parts. Allocates nothing, since rules ask it at each change.
    fn any_part(&self, holds: impl Fn(&Self) -> bool) -> bool {
        match self {
            Self::Number(_) | Self::Text(_) | Self::Select(_) => false,
            Self::Subquery(subquery) => holds(&subquery.operand),
            Self::Binary(binary) => holds(&binary.left) || holds(&binary.right),
            Self::Aggregate(aggregate) => {
                aggregate.parameter.as_ref().is_some_and(&holds) || holds(&aggregate.operand)
            }
            Self::Call(_, arguments) => arguments.iter().any(holds),
            Self::Negative(operand) => holds(operand),
        }
    }
}

impl Aggregate {
    /// Returns the selector whose result depends only on these labels.
    fn grouped(&self) -> Option<&Selector> {
        match &self.operand {
            Expr::Select(selector)
                if self.operator == "group" && !self.without && selector.shift.is_none() =>
            {
                Some(selector)
            }
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
    shift: Shift,
}

/// An expression that is evaluated at several moments, such as `[1h:5m]`.
#[derive(Debug, Clone)]
pub struct Subquery {
    operand: Expr,
    range: SignedDuration,
    step: Option<SignedDuration>,
    shift: Shift,
}

/// The modifiers `offset` and `@`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Shift {
    offset: Option<SignedDuration>,
    at: Option<Moment>,
}

impl Shift {
    fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Returns how far it looks back.
    fn reach(self) -> SignedDuration {
        let pinned =
            if matches!(self.at, Some(Moment::Fixed(_))) { PINNED_REACH } else { SignedDuration::ZERO };
        pinned + self.offset.unwrap_or_default().max(SignedDuration::ZERO)
    }
}

/// A moment that does not depend on the step of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Moment {
    /// Milliseconds since the epoch.
    Fixed(i64),
    /// The first step.
    Start,
    /// The last step.
    End,
}

impl Selector {
    /// Returns the metric's name.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// Returns whether it selects the samples of the evaluation time.
    fn is_instant(&self) -> bool {
        self.range.is_none() && self.shift.is_none()
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
        self.is_instant().then_some(labels)
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

//! Evaluates expressions.

use std::cell::Cell;

use super::ranges::{Collected, samples_at, series};
use super::sample::{INTERVAL_MS, Run, distinct, nameless, vector};
use super::selection::select;
use super::{
    Binary, Expr, Labels, Metrics, Moment, NAME, Sample, Selector, Series, Shift, Subquery, Test, Value,
    aggregate, binary, functions,
};

/// Evaluates an expression at the time of the current samples.
///
/// # Errors
/// Why the expression has no value, such as an ambiguous match.
pub fn evaluate(expr: &Expr, metrics: &dyn Metrics) -> Result<Value, String> {
    let now = metrics.now().as_millisecond();
    Context { metrics, at: now, start: now, end: now, steps_left: &Cell::new(STEPS_MAX) }.evaluate(expr)
}

/// Evaluates an expression at each step from `start` to `end`, in milliseconds since the epoch. The result has a series
/// per set of labels.
///
/// # Errors
/// The error of a step, or the expression is neither a scalar nor a vector.
pub fn evaluate_range(
    expr: &Expr,
    metrics: &dyn Metrics,
    (start, end): (i64, i64),
    step: i64,
) -> Result<Vec<Series>, String> {
    Context { metrics, at: start, start, end, steps_left: &Cell::new(STEPS_MAX) }
        .steps(expr, start, end, step)
}

/// The samples and the moment of an evaluation. Times are in milliseconds since the epoch.
#[derive(Clone, Copy)]
struct Context<'a> {
    metrics: &'a dyn Metrics,
    at: i64,
    /// The first and last step of the query.
    start: i64,
    end: i64,
    /// How many steps of subqueries and range queries may still be evaluated.
    steps_left: &'a Cell<u32>,
}

/// Maximum number of evaluations by subqueries and range queries, also nested ones.
const STEPS_MAX: u32 = 200_000;

impl Context<'_> {
    fn is_now(&self) -> bool {
        self.at == self.metrics.now().as_millisecond()
    }

    fn evaluate(&self, expr: &Expr) -> Result<Value, String> {
        match expr {
            Expr::Number(number) => Ok(Value::Scalar(*number)),
            Expr::Text(text) => Ok(Value::Text(text.clone())),
            Expr::Select(selector) => Ok(match selector.range {
                Some(_) => {
                    let (start, end) = self.window(expr);
                    Value::Range(series(selector, start, end, self.metrics))
                }
                None => Value::Vector(samples_at(selector, self.moment(selector.shift), self.metrics)),
            }),
            Expr::Subquery(subquery) => {
                let (start, end) = self.window(expr);
                self.subquery(subquery, start, end).map(Value::Range)
            }
            Expr::Negative(operand) => match self.evaluate(operand)? {
                Value::Scalar(number) => Ok(Value::Scalar(-number)),
                other => Ok(Value::Vector(nameless(vector(other)?, |value| -value)?)),
            },
            Expr::Binary(binary) => self.binary(binary),
            Expr::Aggregate(aggregation) => {
                let samples = vector(self.evaluate(&aggregation.operand)?)?;
                let parameter = aggregation.parameter.as_ref().map(|expr| self.evaluate(expr)).transpose()?;
                aggregate::aggregate(aggregation, parameter, samples).map(Value::Vector)
            }
            Expr::Call(name, arguments) => self.call(name, arguments),
        }
    }

    fn binary(&self, binary: &Binary) -> Result<Value, String> {
        if self.is_now() {
            if let Some(filtered) = filtered(binary, self.metrics) {
                return distinct(filtered).map(Value::Vector);
            }
            if self.counts_no_change(binary) {
                return Ok(Value::Vector(Vec::new()));
            }
        }
        let left = self.evaluate(&binary.left)?;
        if binary.operator == "and" && matches!(&left, Value::Vector(samples) if samples.is_empty()) {
            return Ok(left);
        }
        binary::combine(binary, left, self.evaluate(&binary.right)?)
    }

    /// Returns the moment that modifiers move the evaluation to.
    fn moment(&self, shift: Shift) -> i64 {
        let at = match shift.at {
            None => self.at,
            Some(Moment::Fixed(at)) => at,
            Some(Moment::Start) => self.start,
            Some(Moment::End) => self.end,
        };
        at.saturating_sub(milliseconds(shift.offset.unwrap_or_default()))
    }

    /// Returns start and end of a range selector or a subquery.
    fn window(&self, expr: &Expr) -> (i64, i64) {
        let (range, shift) = match expr {
            Expr::Select(selector) => (selector.range, selector.shift),
            Expr::Subquery(subquery) => (Some(subquery.range), subquery.shift),
            _ => (None, Shift::default()),
        };
        let end = self.moment(shift);
        (end.saturating_sub(milliseconds(range.unwrap_or_default())), end)
    }

    /// Evaluates a subquery at the multiples of its step that are later than `start` and not later than `end`.
    fn subquery(&self, subquery: &Subquery, start: i64, end: i64) -> Result<Vec<Series>, String> {
        let step = subquery.step.map_or(INTERVAL_MS, milliseconds).max(1);
        let first = start.div_euclid(step).saturating_add(1).saturating_mul(step);
        self.steps(&subquery.operand, first, end, step)
    }

    fn steps(&self, expr: &Expr, first: i64, last: i64, step: i64) -> Result<Vec<Series>, String> {
        let mut steps = Vec::new();
        let mut at = first;
        while at <= last {
            let left = self.steps_left.get().checked_sub(1);
            self.steps_left.set(
                left.ok_or("query processing would load too many samples into memory in query execution")?,
            );
            let samples = match (Self { at, ..*self }).evaluate(expr)? {
                Value::Scalar(value) => vec![Sample { labels: Labels::new(), value }],
                other => vector(other)?,
            };
            steps.push((at, samples));
            at = at.saturating_add(step);
        }
        let mut collected = Collected::default();
        for (at, samples) in &steps {
            collected.add(samples.iter(), |value| Some(Run::single(*at, value)));
        }
        Ok(collected.into_series(|_| ()))
    }

    fn call(&self, name: &str, arguments: &[Expr]) -> Result<Value, String> {
        if name == "timestamp"
            && let [Expr::Select(selector)] = arguments
        {
            return self.timestamps(selector);
        }
        let values = arguments.iter().map(|argument| self.evaluate(argument));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        match (name, arguments, values.as_slice()) {
            ("absent", [operand], [Value::Vector(samples)]) => Ok(absent(operand, samples.is_empty())),
            ("absent_over_time", [operand], [Value::Range(series)]) => Ok(absent(operand, series.is_empty())),
            ("timestamp", _, [Value::Vector(samples)]) => {
                let now = functions::seconds(self.at);
                nameless(samples.clone(), |_| now).map(Value::Vector)
            }
            _ => {
                let range = arguments.iter().find(|one| one.is_range());
                let window = range.map_or((self.at, self.at), |range| self.window(range));
                functions::call(name, values, functions::Call { now: self.at, window })
            }
        }
    }

    /// Returns when the samples of a selector were scraped.
    fn timestamps(&self, selector: &Selector) -> Result<Value, String> {
        let (now, at) = (self.metrics.now().as_millisecond(), self.moment(selector.shift));
        let scraped = if at >= now { now } else { at.div_euclid(INTERVAL_MS) * INTERVAL_MS };
        let samples = samples_at(selector, at, self.metrics);
        nameless(samples, |_| functions::seconds(scraped)).map(Value::Vector)
    }

    /// Returns whether the expression compares `changes` with a number, and all series have kept the same value
    /// over the range. The result is empty then, without computing the labels of all series.
    fn counts_no_change(&self, binary: &Binary) -> bool {
        let (Expr::Call(name, arguments), Expr::Number(number)) = (&binary.left, &binary.right) else {
            return false;
        };
        let [operand @ Expr::Select(selector)] = arguments.as_slice() else { return false };
        let counts = name == "changes" && binary.operator == ">" && *number >= 0.0 && !binary.returns_bool;
        if !counts || !selector.shift.is_none() {
            return false;
        }
        let window = self.window(operand);
        let [start, end] = [window.0, window.1].map(|at| jiff::Timestamp::from_millisecond(at).ok());
        let (Some(start), Some(end)) = (start, end) else { return false };
        let Some(earlier) = self.metrics.scrapes(&selector.metric, start, end) else { return true };
        let mut values = earlier.iter().flat_map(|scrapes| scrapes.samples).map(|sample| sample.value);
        let Some(value) = values.next() else { return true };
        values.all(|other| other.to_bits() == value.to_bits())
            && select(selector, Some(("!=", value)), self.metrics).is_empty()
    }
}

fn milliseconds(span: jiff::SignedDuration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// Returns one sample with the labels of the equality matchers if there are no samples. A label with several matchers
/// is missing.
fn absent(operand: &Expr, is_absent: bool) -> Value {
    let matchers = match operand {
        Expr::Select(selector) => selector.matchers.as_slice(),
        _ => &[],
    };
    let is_single = |label: &String| matchers.iter().filter(|other| other.label == *label).count() == 1;
    let labels = matchers.iter().filter_map(|matcher| match &matcher.test {
        Test::Equal(value) if !value.is_empty() && is_single(&matcher.label) => {
            Some((matcher.label.clone(), value.clone()))
        }
        _ => None,
    });
    let labels: Labels = labels.filter(|(label, _)| label != NAME).collect();
    Value::Vector(if is_absent { vec![Sample { labels, value: 1.0 }] } else { Vec::new() })
}

/// Returns the samples that remain of a comparison between a metric and a number. Usually these are few, and
/// the others are never built.
fn filtered(binary: &Binary, metrics: &dyn Metrics) -> Option<Vec<Sample>> {
    let (Expr::Select(selector), Expr::Number(number)) = (&binary.left, &binary.right) else { return None };
    let filters = binary::is_comparison(&binary.operator) && !binary.returns_bool && selector.is_instant();
    filters.then(|| select(selector, Some((&binary.operator, *number)), metrics))
}

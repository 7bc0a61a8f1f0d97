//! Expressions to values.

use std::collections::BTreeSet;

use super::parser::anchored;
use super::{Expr, Labels, Matcher, Sample, Selector, Test, Value, aggregate, binary};

/// The label that holds a metric's name.
pub(super) const NAME: &str = "__name__";

/// Where the samples of a metric come from, by its name.
pub(super) type Metrics<'a> = &'a dyn Fn(&str) -> Vec<Sample>;

/// What an expression comes to by these metrics.
///
/// # Errors
/// It cannot be evaluated with what the metrics are.
pub fn evaluate(expr: &Expr, metrics: Metrics<'_>) -> Result<Value, String> {
    match expr {
        Expr::Number(number) => Ok(Value::Scalar(*number)),
        Expr::Text(_) => Err("a text is no value".to_owned()),
        Expr::Select(selector) if selector.range => Err("a range is no value of one moment".to_owned()),
        Expr::Select(selector) => Ok(Value::Vector(select(selector, metrics))),
        Expr::Negative(of) => Ok(match evaluate(of, metrics)? {
            Value::Scalar(number) => Value::Scalar(-number),
            Value::Vector(samples) => Value::Vector(nameless(samples, |value| -value)?),
        }),
        Expr::Binary(binary) => {
            let left = evaluate(&binary.left, metrics)?;
            binary::combine(binary, left, evaluate(&binary.right, metrics)?)
        }
        Expr::Aggregate(of) => {
            let samples = vector(evaluate(&of.of, metrics)?)?;
            let parameter = match &of.parameter {
                None => None,
                Some(expr) => match evaluate(expr, metrics)? {
                    Value::Scalar(number) => Some(number),
                    Value::Vector(_) => return Err(format!("{} needs a number", of.operator)),
                },
            };
            Ok(Value::Vector(aggregate::aggregate(of, parameter, samples)))
        }
        Expr::Call(name, arguments) if name == "max_over_time" => match &arguments[0] {
            Expr::Select(selector) => Ok(Value::Vector(nameless(select(selector, metrics), |value| value)?)),
            _ => Err(format!("{name} needs a range")),
        },
        Expr::Call(_, arguments) => {
            let samples = vector(evaluate(&arguments[0], metrics)?)?;
            label_replace(samples, &arguments[1..]).map(Value::Vector)
        }
    }
}

pub(super) fn vector(value: Value) -> Result<Vec<Sample>, String> {
    match value {
        Value::Vector(samples) => Ok(samples),
        Value::Scalar(_) => Err("expected type instant vector, got scalar".to_owned()),
    }
}

fn select(selector: &Selector, metrics: Metrics<'_>) -> Vec<Sample> {
    let mut samples = metrics(&selector.metric);
    samples.retain(|sample| selector.matchers.iter().all(|matcher| fits(matcher, &sample.labels)));
    for sample in &mut samples {
        sample.labels.insert(NAME.to_owned(), selector.metric.clone());
    }
    samples
}

/// A label that is missing is as good as an empty one.
fn fits(matcher: &Matcher, labels: &Labels) -> bool {
    let value = labels.get(&matcher.label).map_or("", String::as_str);
    match &matcher.test {
        Test::Equal(wanted) => value == wanted,
        Test::Differs(other) => value != other,
        Test::Fits(pattern) => pattern.is_match(value),
        Test::FitsNot(pattern) => !pattern.is_match(value),
    }
}

/// The samples with other values, which are those of no metric any more.
pub(super) fn nameless(samples: Vec<Sample>, change: impl Fn(f64) -> f64) -> Result<Vec<Sample>, String> {
    let changed = samples.into_iter().map(|mut sample| {
        sample.labels.remove(NAME);
        Sample { value: change(sample.value), ..sample }
    });
    distinct(changed.collect())
}

/// No two samples may have the same labels.
pub(super) fn distinct(samples: Vec<Sample>) -> Result<Vec<Sample>, String> {
    let labels: BTreeSet<&Labels> = samples.iter().map(|sample| &sample.labels).collect();
    if labels.len() == samples.len() {
        return Ok(samples);
    }
    Err("vector cannot contain metrics with the same labelset".to_owned())
}

fn label_replace(samples: Vec<Sample>, arguments: &[Expr]) -> Result<Vec<Sample>, String> {
    let text = |at: usize| match arguments.get(at) {
        Some(Expr::Text(text)) => Ok(text.as_str()),
        _ => Err("label_replace needs texts".to_owned()),
    };
    let (to, replacement, from, pattern) = (text(0)?, text(1)?, text(2)?, anchored(text(3)?)?);
    let replaced = samples.into_iter().map(|mut sample| {
        let value = sample.labels.get(from).map_or("", String::as_str);
        if let Some(found) = pattern.captures(value) {
            let mut new = String::new();
            found.expand(replacement, &mut new);
            if new.is_empty() {
                sample.labels.remove(to);
            } else {
                sample.labels.insert(to.to_owned(), new);
            }
        }
        sample
    });
    distinct(replaced.collect())
}

//! The functions of PromQL, but for those of native histograms and the experimental ones.

mod dates;
mod histogram;
mod instant;
mod labels;
mod ranges;
mod rates;
mod signatures;
#[cfg(test)]
mod tests;

use super::sample::vector;
use super::{Sample, Value};
pub use labels::is_label_name;
pub(super) use signatures::{Kind, Signature, signature};

/// The evaluation of a call, besides its arguments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// The evaluation time, in milliseconds since the epoch.
    pub(super) now: i64,
    /// The first and the last moment of the range argument, in milliseconds since the epoch.
    pub(super) window: (i64, i64),
}

/// Returns the value of a function that needs nothing but the values of its arguments. The parser has checked their
/// number and types.
///
/// # Errors
/// Invalid texts, or equal labels in the result.
pub(super) fn call(name: &str, arguments: Vec<Value>, call: Call) -> Result<Value, String> {
    if let Some(samples) = ranges::call(name, &arguments, call) {
        return super::sample::distinct(samples).map(Value::Vector);
    }
    let mut arguments = arguments.into_iter();
    let first = arguments.next();
    let rest: Vec<Value> = arguments.collect();
    match (name, first) {
        ("time", _) => Ok(Value::Scalar(seconds(call.now))),
        ("pi", _) => Ok(Value::Scalar(std::f64::consts::PI)),
        ("scalar", Some(Value::Vector(samples))) => Ok(Value::Scalar(match samples.as_slice() {
            [one] => one.value,
            _ => f64::NAN,
        })),
        ("vector", Some(Value::Scalar(value))) => {
            Ok(Value::Vector(vec![Sample { labels: super::Labels::new(), value }]))
        }
        ("label_replace", Some(of)) => labels::replace(vector(of)?, &rest).map(Value::Vector),
        ("label_join", Some(of)) => labels::join(vector(of)?, &rest).map(Value::Vector),
        ("histogram_quantile", Some(Value::Scalar(phi))) => match rest.into_iter().next() {
            Some(of) => Ok(Value::Vector(histogram::quantiles(phi, vector(of)?))),
            None => Err("histogram_quantile expects two arguments".to_owned()),
        },
        (_, first) if dates::PARTS.contains(&name) => dates::call(name, first, call.now).map(Value::Vector),
        (_, Some(of)) => instant::call(name, vector(of)?, &rest).map(Value::Vector),
        (_, None) => Err(format!("{name} does not support these arguments")),
    }
}

/// Converts milliseconds to seconds.
#[expect(clippy::cast_precision_loss, reason = "milliseconds since the epoch are far below 2^52")]
pub(super) fn seconds(milliseconds: i64) -> f64 {
    milliseconds as f64 / 1000.0
}

/// Returns the numbers among the values.
fn numbers(values: &[Value]) -> Vec<f64> {
    let number = |value: &Value| match value {
        Value::Scalar(number) => Some(*number),
        _ => None,
    };
    values.iter().filter_map(number).collect()
}

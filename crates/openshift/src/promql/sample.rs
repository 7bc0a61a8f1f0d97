//! Samples with their labels, and the values of expressions.

use std::collections::{BTreeMap, BTreeSet};

/// The label with a metric's name.
pub const NAME: &str = "__name__";

/// Labels by name; `__name__` is the metric's name.
pub type Labels = BTreeMap<String, String>;

/// One value with its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The labels.
    pub labels: Labels,
    /// The value.
    pub value: f64,
}

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number without labels.
    Scalar(f64),
    /// Samples; no two have the same labels.
    Vector(Vec<Sample>),
}

/// Returns the samples of a vector.
///
/// # Errors
/// The value is a scalar.
pub(super) fn vector(value: Value) -> Result<Vec<Sample>, String> {
    match value {
        Value::Vector(samples) => Ok(samples),
        Value::Scalar(_) => Err("expected type instant vector, got scalar".to_owned()),
    }
}

/// Returns the samples if no two have the same labels.
///
/// # Errors
/// Two samples have the same labels.
pub(super) fn distinct(samples: Vec<Sample>) -> Result<Vec<Sample>, String> {
    let labels: BTreeSet<&Labels> = samples.iter().map(|sample| &sample.labels).collect();
    if labels.len() == samples.len() {
        return Ok(samples);
    }
    Err("vector cannot contain metrics with the same labelset".to_owned())
}

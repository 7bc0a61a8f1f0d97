//! The monitoring stack, as far as others ask it: metrics of the cluster's objects, and queries of them.
//!
//! It is no actor, since nothing of it is in the API: what it knows at a moment follows from the objects of that moment.

mod metrics;
#[cfg(test)]
mod tests;

use crate::model::View;
use crate::model::promql::{self, Value};

/// Whether a query, which must come to one sample, comes to 1 or to 0.
///
/// # Errors
/// What the operator says of queries that do neither.
pub(super) fn is_true(query: &str, view: &View) -> Result<bool, String> {
    let expr = promql::parse(query)
        .map_err(|error| format!("bad_data: invalid parameter \"query\": parse error: {error}"))?;
    let value = promql::evaluate(&expr, &|metric| metrics::of(metric, view));
    let samples = match value.map_err(|error| format!("execution: {error}"))? {
        Value::Vector(samples) => samples,
        Value::Scalar(_) => return Err("invalid PromQL result type is scalar, not vector".to_owned()),
    };
    match samples.as_slice() {
        [sample] if sample.value.to_bits() == 1.0_f64.to_bits() => Ok(true),
        [sample] if sample.value == 0.0 => Ok(false),
        [sample] => Err(format!("invalid PromQL result (must be 0 or 1): {}", sample.value)),
        several => Err(format!("invalid PromQL result length must be one, but is {}", several.len())),
    }
}

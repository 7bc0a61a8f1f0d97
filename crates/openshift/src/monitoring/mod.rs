//! The monitoring stack: metrics of the cluster's objects, queries of them, and alerts.
//!
//! What a metric is at a moment follows from the objects of that moment, so that queries need nobody to be asked. Alerts
//! have a past; they are an actor's ([`Prometheus`]).

mod metrics;
mod prometheus;
mod rules;
mod scrapes;
#[cfg(test)]
mod tests;

use windtunnel_core::View;
use windtunnel_core::clock::Time;

use self::metrics::Moment;
use crate::promql;
use crate::promql::Value;
use crate::world::World;
pub(super) use metrics::{CERTIFICATE, PAYLOAD, PAYLOAD_ERRORS, SERVING_CERTIFICATE};
pub use metrics::{Counted, EXPOSITION, Transitions, exposition};
pub use prometheus::Prometheus;

/// What a query comes to at a moment, by the objects of that moment, what was counted up to it, and what others export in this
/// world.
///
/// # Errors
/// It cannot be evaluated.
pub fn query(
    expr: &promql::Expr,
    world: &World,
    view: &View,
    counted: Counted<'_>,
    now: Time,
) -> Result<Value, String> {
    promql::evaluate(expr, &Moment { given: &world.metrics, ..Moment::scraped(view, now, counted) })
}

/// Whether a query of the cluster-version operator, which must come to one sample, comes to 1 or to 0.
///
/// # Errors
/// What the operator says of queries that do neither.
pub(super) fn is_true(query: &str, world: &World, view: &View, now: Time) -> Result<bool, String> {
    let expr = promql::parse(query)
        .map_err(|error| format!("bad_data: invalid parameter \"query\": parse error: {error}"))?;
    let moment = Moment { operator_runs: true, given: &world.metrics, ..Moment::of(view, now) };
    let value = promql::evaluate(&expr, &moment);
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

//! The monitoring stack: metrics of the cluster's objects, PromQL queries, and alerts.
//!
//! Metrics are computed from the objects of a moment, so queries need no server. Alerts depend on the past,
//! so an actor keeps them ([`Prometheus`]).
//!
//! `http_api/` answers clients of Prometheus, `exposure.rs` says which metrics a dump can have. The alert rules are in
//! `manifests/payload/` and in `manifests/base/alerts.yaml`, `template/` expands their texts.

mod exposure;
pub mod http_api;
mod metrics;
mod prometheus;
mod rules;
mod scrapes;
mod template;
#[cfg(test)]
mod tests;

use windtunnel_core::View;
use windtunnel_core::clock::Time;

use self::metrics::Moment;
use crate::environment::Environment;
use crate::promql::{self, Value};
pub use exposure::{Cluster, Exposure, History};
pub(super) use metrics::{CERTIFICATE, PAYLOAD, PAYLOAD_ERRORS, SERVING_CERTIFICATE};
pub use metrics::{Counted, EXPOSITION, Transitions, exposition};
pub use prometheus::Prometheus;

/// Evaluates a query at a moment, with the objects and counters of that moment and the samples in `environment`.
///
/// # Errors
/// The error of the evaluation.
pub fn query(
    expr: &promql::Expr,
    environment: &Environment,
    view: &View,
    counted: Counted<'_>,
    now: Time,
) -> Result<Value, String> {
    promql::evaluate(expr, &Moment { given: &environment.metrics, ..Moment::scraped(view, now, counted) })
}

/// Returns the names of all metrics: those that windtunnel computes, and those of the given samples.
pub fn metric_names(given: &[promql::Sample]) -> std::collections::BTreeSet<String> {
    metrics::names(given)
}

/// Evaluates a query of the cluster-version operator, which must result in one sample with value 1 or 0.
///
/// # Errors
/// The operator's message about any other result.
pub(super) fn is_true(
    query: &str,
    environment: &Environment,
    view: &View,
    now: Time,
) -> Result<bool, String> {
    let expr = promql::parse(query).map_err(|error| {
        let (line, column) = error.position(query);
        format!("bad_data: invalid parameter \"query\": {line}:{column}: parse error: {error}")
    })?;
    let moment = Moment { operator_runs: true, given: &environment.metrics, ..Moment::of(view, now) };
    one_or_zero(promql::evaluate(&expr, &moment))
}

/// Returns whether the result of a query is one sample with value 1.
///
/// # Errors
/// The operator's message about a result that is not one sample with value 1 or 0.
fn one_or_zero(value: Result<Value, String>) -> Result<bool, String> {
    let samples = match value.map_err(|error| format!("execution: {error}"))? {
        Value::Vector(samples) => samples,
        other => return Err(format!("invalid PromQL result type is {}, not vector", other.result_type())),
    };
    match samples.as_slice() {
        [sample] if sample.value.to_bits() == 1.0_f64.to_bits() => Ok(true),
        [sample] if sample.value == 0.0 => Ok(false),
        [sample] => Err(format!("invalid PromQL result (must be 0 or 1): {}", sample.value)),
        several => Err(format!("invalid PromQL result length must be one, but is {}", several.len())),
    }
}

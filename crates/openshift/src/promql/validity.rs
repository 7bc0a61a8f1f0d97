//! Determines how long the result of a time-dependent expression stays valid. Most such expressions only
//! compare an age with a minimum.

use windtunnel_core::clock::Time;

use super::sample::vector;
use super::{Binary, Expr, Metrics, evaluate};

/// Aggregations that return one sample per group, whatever its values.
const OF_ANY_VALUE: [&str; 6] = ["avg", "count", "group", "max", "min", "sum"];

/// Returns the time up to which the expression keeps the labels of its current result, as long as the metrics
/// do not change; `None` if this is unknown without a new evaluation. The values may still change. Supports
/// comparisons `time() - <metric> >= <number>`, also in aggregations and combined with others.
pub fn valid_until(expr: &Expr, metrics: &dyn Metrics) -> Option<Time> {
    if !expr.depends_on_time() {
        return Some(Time::MAX);
    }
    match expr {
        Expr::Binary(binary) if matches!(binary.operator.as_str(), "and" | "or" | "unless") => {
            Some(valid_until(&binary.left, metrics)?.min(valid_until(&binary.right, metrics)?))
        }
        Expr::Binary(binary) => is_old_at(binary, metrics),
        Expr::Aggregate(aggregation) if OF_ANY_VALUE.contains(&aggregation.operator.as_str()) => {
            valid_until(&aggregation.operand, metrics)
        }
        _ => None,
    }
}

/// Returns when the next sample reaches the age of a comparison. Older samples stay in the result.
fn is_old_at(binary: &Binary, metrics: &dyn Metrics) -> Option<Time> {
    let (Expr::Binary(age), Expr::Number(least)) = (&binary.left, &binary.right) else { return None };
    let waits = matches!(binary.operator.as_str(), ">" | ">=") && !binary.returns_bool;
    let is_age = age.operator == "-" && matches!(&age.left, Expr::Call(name, _) if name == "time");
    if !waits || !is_age || age.right.depends_on_time() {
        return None;
    }
    let start_times = vector(evaluate(&age.right, metrics).ok()?).ok()?;
    let old_at = start_times.into_iter().map(|sample| sample.value + least);
    let times: Option<Vec<Time>> = old_at.map(moment).collect();
    Some(times?.into_iter().filter(|at| *at >= metrics.now()).min().unwrap_or(Time::MAX))
}

/// Converts seconds since the Unix epoch to a time, rounded down to whole seconds.
fn moment(seconds: f64) -> Option<Time> {
    #[expect(clippy::cast_possible_truncation, reason = "`from_second` rejects times out of range")]
    Time::from_second(seconds.floor() as i64).ok().filter(|_| seconds.is_finite())
}

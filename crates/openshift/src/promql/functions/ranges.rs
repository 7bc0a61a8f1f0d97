//! Functions that combine the samples of each series in a range into one.

use super::{Call, rates};
use crate::promql::sample::{extreme, quantile, spread, total};
use crate::promql::{NAME, Sample, Series, Value};

/// Returns the result of a function of a range; `None` for another function. `absent_over_time` is not among them,
/// since its labels depend on the expression.
pub(super) fn call(name: &str, arguments: &[Value], call: Call) -> Option<Vec<Sample>> {
    let of = |value: &Value| match value {
        Value::Range(series) => Some(series.clone()),
        _ => None,
    };
    let series = arguments.iter().find_map(of)?;
    let parameter = super::numbers(arguments).first().copied().unwrap_or(f64::NAN);
    let result = |series: Series| {
        let value = combined(name, &series, parameter, call)?;
        let mut labels = series.labels;
        if name != "last_over_time" {
            labels.remove(NAME);
        }
        Some(Sample { labels, value })
    };
    Some(series.into_iter().filter_map(result).collect())
}

/// Returns the value for a series; `None` if it has too few samples.
#[expect(clippy::cast_precision_loss, reason = "far fewer samples than 2^52")]
fn combined(name: &str, series: &Series, parameter: f64, call: Call) -> Option<f64> {
    let values = || -> Vec<f64> { series.points().map(|(_, value)| value).collect() };
    let count = || series.points().count() as f64;
    Some(match name {
        "avg_over_time" => total(values().into_iter()) / count(),
        "count_over_time" => count(),
        "last_over_time" => series.distinct_values().last()?,
        "max_over_time" => extreme(series.distinct_values(), true),
        "min_over_time" => extreme(series.distinct_values(), false),
        "present_over_time" => 1.0,
        "quantile_over_time" => quantile(parameter, values()),
        "stddev_over_time" => spread(&values()).1.sqrt(),
        "stdvar_over_time" => spread(&values()).1,
        "sum_over_time" => total(values().into_iter()),
        "changes" => pairs(series, |before, after| {
            before.to_bits() != after.to_bits() && !(before.is_nan() && after.is_nan())
        }),
        "resets" => pairs(series, |before, after| after < before),
        "rate" | "increase" | "delta" => {
            rates::extrapolated(series, call.window, name != "delta", name == "rate")?
        }
        "irate" | "idelta" => rates::instant(series, name == "irate")?,
        "deriv" => rates::line(series, series.points().next()?.0)?.0,
        "predict_linear" => {
            let (slope, at_now) = rates::line(series, call.now)?;
            slope * parameter + at_now
        }
        _ => return None,
    })
}

/// Counts the samples that differ in this way from the one before.
fn pairs(series: &Series, differs: impl Fn(f64, f64) -> bool) -> f64 {
    let values: Vec<f64> = series.distinct_values().collect();
    values.windows(2).filter(|pair| differs(pair[0], pair[1])).fold(0.0, |count, _| count + 1.0)
}

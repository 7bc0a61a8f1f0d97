//! Aggregations: each group of samples becomes one sample, or fewer.

use std::collections::BTreeMap;

use super::sample::{extreme, quantile, spread, total};
use super::{Aggregate, Labels, NAME, Sample, Value};

/// # Errors
/// The parameter has another type than the aggregation needs.
pub(super) fn aggregate(
    aggregate: &Aggregate,
    parameter: Option<Value>,
    samples: Vec<Sample>,
) -> Result<Vec<Sample>, String> {
    let operator = aggregate.operator.as_str();
    if let ("count_values", Some(Value::Text(label))) = (operator, &parameter) {
        return Ok(count_values(aggregate, label, samples));
    }
    let parameter = match parameter {
        None => f64::NAN,
        Some(Value::Scalar(number)) => number,
        Some(other) => return Err(format!("{operator} expects a scalar, found {}", other.kind())),
    };
    let mut groups: BTreeMap<Labels, Vec<Sample>> = BTreeMap::new();
    for sample in samples {
        groups.entry(group(aggregate, &sample.labels)).or_default().push(sample);
    }
    if matches!(operator, "topk" | "bottomk") {
        let groups = groups.into_values();
        return Ok(groups.flat_map(|group| best(group, parameter, operator == "topk")).collect());
    }
    let combine = |(labels, group): (Labels, Vec<Sample>)| {
        let values: Vec<f64> = group.iter().map(|sample| sample.value).collect();
        Sample { labels, value: combined(operator, parameter, values) }
    };
    Ok(groups.into_iter().map(combine).collect())
}

#[expect(clippy::cast_precision_loss, reason = "far fewer samples than 2^52")]
fn combined(operator: &str, parameter: f64, values: Vec<f64>) -> f64 {
    let count = values.len() as f64;
    match operator {
        "max" => extreme(values.into_iter(), true),
        "min" => extreme(values.into_iter(), false),
        "sum" => total(values.into_iter()),
        "avg" => total(values.into_iter()) / count,
        "count" => count,
        "stddev" => spread(&values).1.sqrt(),
        "stdvar" => spread(&values).1,
        "quantile" => quantile(parameter, values),
        _ => 1.0,
    }
}

/// Counts the samples with the same value. The value becomes a label.
fn count_values(aggregate: &Aggregate, label: &str, samples: Vec<Sample>) -> Vec<Sample> {
    let mut counts: BTreeMap<Labels, f64> = BTreeMap::new();
    for sample in samples {
        let mut labels = group(aggregate, &sample.labels);
        labels.insert(label.to_owned(), plain(sample.value));
        *counts.entry(labels).or_default() += 1.0;
    }
    counts.into_iter().map(|(labels, value)| Sample { labels, value }).collect()
}

/// Formats a number without an exponent, as Go does with the verb `f`.
fn plain(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    value.to_string()
}

/// Returns the labels that identify the group of a sample.
fn group(aggregate: &Aggregate, labels: &Labels) -> Labels {
    let group = labels.iter().filter(|(name, _)| {
        let named = aggregate.labels.contains(name);
        if aggregate.without { !named && *name != NAME } else { named }
    });
    group.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns the `count` highest or lowest samples; equal values are ordered by their labels, and NaN is last.
fn best(mut samples: Vec<Sample>, count: f64, highest: bool) -> Vec<Sample> {
    samples.sort_by(|a, b| {
        let order = a.value.total_cmp(&b.value);
        let order = if highest { order.reverse() } else { order };
        a.value.is_nan().cmp(&b.value.is_nan()).then(order).then_with(|| a.labels.cmp(&b.labels))
    });
    let mut left = count;
    samples.retain(|_| {
        left -= 1.0;
        left >= 0.0
    });
    samples
}

//! Aggregations: each group of samples becomes one sample, or fewer.

use std::collections::BTreeMap;

use super::{Aggregate, Labels, NAME, Sample};

pub(super) fn aggregate(aggregate: &Aggregate, parameter: Option<f64>, samples: Vec<Sample>) -> Vec<Sample> {
    let mut groups: BTreeMap<Labels, Vec<Sample>> = BTreeMap::new();
    for sample in samples {
        groups.entry(group(aggregate, &sample.labels)).or_default().push(sample);
    }
    if let Some(count) = parameter {
        return groups
            .into_values()
            .flat_map(|group| best(group, count, aggregate.operator == "topk"))
            .collect();
    }
    let combine = |(labels, group): (Labels, Vec<Sample>)| {
        let values = group.iter().map(|sample| sample.value);
        let value = match aggregate.operator.as_str() {
            "max" => values.fold(f64::NEG_INFINITY, f64::max),
            "min" => values.fold(f64::INFINITY, f64::min),
            "sum" => values.sum(),
            "avg" => values.clone().sum::<f64>() / values.map(|_| 1.0).sum::<f64>(),
            "count" => values.map(|_| 1.0).sum(),
            _ => 1.0,
        };
        Sample { labels, value }
    };
    groups.into_iter().map(combine).collect()
}

/// Returns the labels that identify the group of a sample.
fn group(aggregate: &Aggregate, labels: &Labels) -> Labels {
    let group = labels.iter().filter(|(name, _)| {
        let named = aggregate.labels.contains(name);
        if aggregate.without { !named && *name != NAME } else { named }
    });
    group.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns the `count` highest or lowest samples; equal values are ordered by their labels.
fn best(mut samples: Vec<Sample>, count: f64, highest: bool) -> Vec<Sample> {
    samples.sort_by(|a, b| {
        let order = a.value.total_cmp(&b.value);
        let order = if highest { order.reverse() } else { order };
        order.then_with(|| a.labels.cmp(&b.labels))
    });
    let mut left = count;
    samples.retain(|_| {
        left -= 1.0;
        left >= 0.0
    });
    samples
}

//! `histogram_quantile` of classic histograms: series with the label `le`.

use std::collections::BTreeMap;

use crate::promql::{Labels, NAME, Sample};

/// A bucket: the number of observations up to a bound.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    bound: f64,
    count: f64,
}

/// Returns the quantile of each histogram. Samples without a number in `le` are not buckets.
pub(super) fn quantiles(phi: f64, samples: Vec<Sample>) -> Vec<Sample> {
    let mut histograms: BTreeMap<Labels, Vec<Bucket>> = BTreeMap::new();
    for mut sample in samples {
        let bound = sample.labels.remove("le").and_then(|le| le.parse::<f64>().ok());
        let Some(bound) = bound else { continue };
        sample.labels.remove(NAME);
        histograms.entry(sample.labels).or_default().push(Bucket { bound, count: sample.value });
    }
    let of = |(labels, buckets)| Sample { labels, value: quantile(phi, buckets) };
    histograms.into_iter().map(of).collect()
}

/// NaN without observations or without a bucket for all of them.
fn quantile(phi: f64, mut buckets: Vec<Bucket>) -> f64 {
    if phi.is_nan() {
        return f64::NAN;
    }
    if !(0.0..=1.0).contains(&phi) {
        return if phi < 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    buckets.sort_by(|a, b| a.bound.total_cmp(&b.bound));
    let buckets = monotonic(merged(buckets));
    let [.., before_last, last] = buckets.as_slice() else { return f64::NAN };
    if last.bound != f64::INFINITY || last.count == 0.0 || last.count.is_nan() {
        return f64::NAN;
    }
    let rank = phi * last.count;
    let finite = &buckets[..buckets.len() - 1];
    let place = finite.iter().position(|bucket| bucket.count >= rank);
    // The last bucket has no upper bound to interpolate to.
    let Some(place) = place else { return before_last.bound };
    let bucket = finite[place];
    match place.checked_sub(1).map(|before| finite[before]) {
        None if bucket.bound <= 0.0 => bucket.bound,
        None => bucket.bound * (rank / bucket.count),
        Some(before) => {
            let share = (rank - before.count) / (bucket.count - before.count);
            before.bound + (bucket.bound - before.bound) * share
        }
    }
}

/// Adds the counts of buckets with the same bound.
#[expect(clippy::float_cmp, reason = "bounds with the same text are the same number")]
fn merged(buckets: Vec<Bucket>) -> Vec<Bucket> {
    let mut merged: Vec<Bucket> = Vec::new();
    for bucket in buckets {
        match merged.last_mut().filter(|last| last.bound == bucket.bound) {
            Some(last) => last.count += bucket.count,
            None => merged.push(bucket),
        }
    }
    merged
}

/// Raises counts that are below those of smaller bounds, since buckets may be scraped at different moments.
fn monotonic(mut buckets: Vec<Bucket>) -> Vec<Bucket> {
    let mut highest = f64::NEG_INFINITY;
    for bucket in &mut buckets {
        highest = highest.max(bucket.count);
        bucket.count = highest;
    }
    buckets
}

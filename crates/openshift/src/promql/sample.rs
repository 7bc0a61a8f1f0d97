//! Samples and the values of expressions.

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

/// The samples of one series in a range of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The labels.
    pub labels: Labels,
    /// Its samples, oldest first.
    pub(super) runs: Vec<Run>,
}

impl Series {
    /// Returns the times in milliseconds since the epoch with their values, oldest first.
    pub fn points(&self) -> impl Iterator<Item = (i64, f64)> {
        self.runs
            .iter()
            .flat_map(|run| (0..run.count).map(|place| (run.first + place * INTERVAL_MS, run.value)))
    }

    /// Returns the values of the runs. Equal values in a row may be fewer than the samples.
    pub(super) fn distinct_values(&self) -> impl Iterator<Item = f64> {
        self.runs.iter().map(|run| run.value)
    }
}

/// The interval of scrapes in milliseconds.
pub(super) const INTERVAL_MS: i64 = 30_000;

/// Samples with the same value, one at each scrape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Run {
    /// The time of the first sample, in milliseconds since the epoch.
    pub(super) first: i64,
    /// The number of samples, [`INTERVAL_MS`] apart.
    pub(super) count: i64,
    pub(super) value: f64,
}

impl Run {
    /// A single sample.
    pub(super) fn single(first: i64, value: f64) -> Self {
        Self { first, count: 1, value }
    }

    /// The samples from `first` to `last` that are later than `start` and not later than `end`; `None` if there are none.
    pub(super) fn within(first: i64, last: i64, value: f64, start: i64, end: i64) -> Option<Self> {
        let skipped = start.saturating_sub(first).div_euclid(INTERVAL_MS).saturating_add(1).max(0);
        let first = first + skipped * INTERVAL_MS;
        let count = (last.min(end) - first).div_euclid(INTERVAL_MS) + 1;
        (count > 0).then_some(Self { first, count, value })
    }
}

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number without labels.
    Scalar(f64),
    /// Samples; no two have the same labels.
    Vector(Vec<Sample>),
    /// Series in a range of time; no two have the same labels.
    Range(Vec<Series>),
    /// A string.
    Text(String),
}

impl Value {
    /// The name of its type in results of Prometheus.
    pub fn result_type(&self) -> &'static str {
        match self {
            Self::Scalar(_) => "scalar",
            Self::Vector(_) => "vector",
            Self::Range(_) => "matrix",
            Self::Text(_) => "string",
        }
    }

    /// The name of its type in error messages of Prometheus.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Scalar(_) => "scalar",
            Self::Vector(_) => "instant vector",
            Self::Range(_) => "range vector",
            Self::Text(_) => "string",
        }
    }
}

/// Returns the samples of a vector.
///
/// # Errors
/// The value is no vector.
pub(super) fn vector(value: Value) -> Result<Vec<Sample>, String> {
    match value {
        Value::Vector(samples) => Ok(samples),
        other => Err(format!("expected type instant vector, got {}", other.kind())),
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

/// Changes the values of samples, and removes the metric's name.
pub(super) fn nameless(samples: Vec<Sample>, change: impl Fn(f64) -> f64) -> Result<Vec<Sample>, String> {
    let changed = samples.into_iter().map(|mut sample| {
        sample.labels.remove(NAME);
        Sample { value: change(sample.value), ..sample }
    });
    distinct(changed.collect())
}

/// Returns the sum with the rounding error of each addition added at the end, as Prometheus does (Kahan and Neumaier).
pub(super) fn total(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, lost) = values.fold((0.0_f64, 0.0_f64), |(sum, lost), value| {
        let next = sum + value;
        let error = if next.is_infinite() {
            0.0
        } else if sum.abs() >= value.abs() {
            (sum - next) + value
        } else {
            (value - next) + sum
        };
        (next, lost + error)
    });
    if sum.is_infinite() { sum } else { sum + lost }
}

/// Returns the larger or smaller number; NaN only if there is nothing else.
pub(super) fn extreme(values: impl Iterator<Item = f64>, highest: bool) -> f64 {
    let choose = |best: f64, value: f64| {
        let is_better = if highest { value > best } else { value < best };
        if is_better || best.is_nan() { value } else { best }
    };
    values.fold(f64::NAN, choose)
}

/// Returns the mean and the population variance.
pub(super) fn spread(values: &[f64]) -> (f64, f64) {
    #[expect(clippy::cast_precision_loss, reason = "far fewer samples than 2^52")]
    let count = values.len() as f64;
    let mean = total(values.iter().copied()) / count;
    (mean, total(values.iter().map(|value| (value - mean).powi(2))) / count)
}

/// Returns a quantile, interpolated between the two nearest values; NaN without values.
pub(super) fn quantile(phi: f64, mut values: Vec<f64>) -> f64 {
    if values.is_empty() || phi.is_nan() {
        return f64::NAN;
    }
    if !(0.0..=1.0).contains(&phi) {
        return if phi < 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    // NaN counts as the smallest value.
    values.sort_by(|a, b| b.is_nan().cmp(&a.is_nan()).then(a.total_cmp(b)));
    #[expect(clippy::cast_precision_loss, reason = "far fewer samples than 2^52")]
    let rank = phi * (values.len() - 1) as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the number of values"
    )]
    let lower = rank.floor() as usize;
    let upper = (lower + 1).min(values.len() - 1);
    let weight = rank - rank.floor();
    values[lower] * (1.0 - weight) + values[upper] * weight
}

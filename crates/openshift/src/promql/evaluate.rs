//! Evaluates expressions.

use std::collections::BTreeMap;

use super::parser::anchored;
use super::sample::{distinct, vector};
use super::{Binary, Expr, Labels, Matcher, Metrics, NAME, Sample, Selector, Test, Value, aggregate, binary};

/// Collects the samples of a metric that match a selector.
#[derive(Debug)]
pub struct SampleCollector<'a> {
    matchers: &'a [Matcher],
    /// The comparison that samples must satisfy, and its number.
    filter: Option<(&'a str, f64)>,
    samples: Vec<Sample>,
}

impl<'a> SampleCollector<'a> {
    /// Collects the samples that match all matchers.
    fn by(matchers: &'a [Matcher]) -> Self {
        Self { matchers, filter: None, samples: Vec::new() }
    }

    /// Collects the samples that match a selector.
    pub fn for_selector(selector: &'a Selector) -> Self {
        Self::by(&selector.matchers)
    }

    /// Collects all samples.
    pub fn all() -> Self {
        Self::by(&[])
    }

    /// Adds a sample if it matches. Labels with empty values count as missing; no label may occur twice.
    pub fn add(&mut self, labels: &[(&str, &str)], value: f64) {
        self.add_for_target(labels, &[], value);
    }

    /// Returns whether a sample with this value can match, so that callers can avoid computing labels for
    /// others.
    pub fn wants(&self, value: f64) -> bool {
        self.filter.is_none_or(|(operator, number)| binary::compute(operator, value, number) != 0.0)
    }

    /// Adds a matching sample with the labels of its scrape target.
    pub fn add_for_target(&mut self, labels: &[(&str, &str)], target: &[(&str, &str)], value: f64) {
        if !self.wants(value) {
            return;
        }
        let all = || labels.iter().chain(target);
        let value_of = |name: &str| all().find(|(label, _)| *label == name).map_or("", |(_, value)| value);
        if self.matchers.iter().all(|matcher| fits(matcher, value_of(&matcher.label))) {
            let labels = all().filter(|(_, value)| !value.is_empty());
            let labels = labels.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            self.samples.push(Sample { labels, value });
        }
    }

    /// Returns the collected samples.
    pub fn into_samples(self) -> Vec<Sample> {
        self.samples
    }
}

/// Evaluates an expression with these metrics.
///
/// # Errors
/// Why the expression has no value, such as a missing match or unsupported arguments.
pub fn evaluate(expr: &Expr, metrics: &dyn Metrics) -> Result<Value, String> {
    match expr {
        Expr::Number(number) => Ok(Value::Scalar(*number)),
        Expr::Text(_) => Err("a string is only supported as an argument".to_owned()),
        Expr::Select(selector) if selector.range.is_some() => {
            Err("a range is only supported as an argument".to_owned())
        }
        Expr::Select(selector) => Ok(Value::Vector(select(selector, None, metrics))),
        Expr::Negative(operand) => Ok(match evaluate(operand, metrics)? {
            Value::Scalar(number) => Value::Scalar(-number),
            Value::Vector(samples) => Value::Vector(nameless(samples, |value| -value)?),
        }),
        Expr::Binary(binary) => {
            if let Some(filtered) = filtered(binary, metrics) {
                return distinct(filtered).map(Value::Vector);
            }
            if counts_no_change(binary, metrics) {
                return Ok(Value::Vector(Vec::new()));
            }
            let left = evaluate(&binary.left, metrics)?;
            if binary.operator == "and" && matches!(&left, Value::Vector(samples) if samples.is_empty()) {
                return Ok(left);
            }
            binary::combine(binary, left, evaluate(&binary.right, metrics)?)
        }
        Expr::Aggregate(aggregation) => {
            let samples = vector(evaluate(&aggregation.operand, metrics)?)?;
            let parameter = match &aggregation.parameter {
                None => None,
                Some(expr) => match evaluate(expr, metrics)? {
                    Value::Scalar(number) => Some(number),
                    Value::Vector(_) => return Err(format!("{} expects a number", aggregation.operator)),
                },
            };
            Ok(Value::Vector(aggregate::aggregate(aggregation, parameter, samples)))
        }
        Expr::Call(name, arguments) => call(name, arguments, metrics),
    }
}

fn call(name: &str, arguments: &[Expr], metrics: &dyn Metrics) -> Result<Value, String> {
    match (name, arguments) {
        #[expect(clippy::cast_precision_loss, reason = "seconds are far below 2^52")]
        ("time", _) => Ok(Value::Scalar(metrics.now().as_second() as f64)),
        ("max_over_time", [Expr::Select(selector)]) => {
            over_time(selector, metrics, |values| values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        }
        ("changes", [Expr::Select(selector)]) => over_time(selector, metrics, |values| {
            let changed = values.windows(2).filter(|pair| pair[0].to_bits() != pair[1].to_bits());
            changed.fold(0.0, |count, _| count + 1.0)
        }),
        ("absent", [operand]) => Ok(Value::Vector(absent(operand, &vector(evaluate(operand, metrics)?)?))),
        ("label_replace", [operand, texts @ ..]) => {
            label_replace(vector(evaluate(operand, metrics)?)?, texts).map(Value::Vector)
        }
        _ => Err(format!("{name} does not support these arguments")),
    }
}

/// Returns one sample with the labels of the equality matchers if there are no samples.
fn absent(operand: &Expr, samples: &[Sample]) -> Vec<Sample> {
    if !samples.is_empty() {
        return Vec::new();
    }
    let matchers = match operand {
        Expr::Select(selector) => selector.matchers.as_slice(),
        _ => &[],
    };
    let labels = matchers.iter().filter_map(|matcher| match &matcher.test {
        Test::Equal(value) => Some((matcher.label.clone(), value.clone())),
        _ => None,
    });
    vec![Sample { labels: labels.collect(), value: 1.0 }]
}

/// The values of each series over several scrapes.
#[derive(Default)]
struct Series<'a> {
    places: BTreeMap<&'a Labels, usize>,
    values: Vec<(&'a Labels, Vec<f64>)>,
}

impl<'a> Series<'a> {
    /// Adds the samples of a scrape. Most series have the same place as in the previous scrape.
    fn add(&mut self, scrape: impl Iterator<Item = &'a Sample>) {
        for (place, Sample { labels, value }) in scrape.enumerate() {
            let stays = self.values.get(place).is_some_and(|(known, _)| *known == labels);
            let known = if stays { Some(place) } else { self.places.get(labels).copied() };
            match known.and_then(|place| self.values.get_mut(place)) {
                Some((_, values)) => values.push(*value),
                None => {
                    self.places.insert(labels, self.values.len());
                    self.values.push((labels, vec![*value]));
                }
            }
        }
    }

    fn in_order(self) -> impl Iterator<Item = (&'a Labels, Vec<f64>)> {
        let mut values = self.values;
        values.sort_unstable_by_key(|(labels, _)| *labels);
        values.into_iter()
    }
}

/// Combines the values of each series in a range into one.
fn over_time(
    selector: &Selector,
    metrics: &dyn Metrics,
    make: impl Fn(&[f64]) -> f64,
) -> Result<Value, String> {
    let span = selector.range.unwrap_or_default();
    let wanted = |sample: &&Sample| {
        let value_of = |matcher: &Matcher| sample.labels.get(&matcher.label).map_or("", String::as_str);
        selector.matchers.iter().all(|matcher| fits(matcher, value_of(matcher)))
    };
    let mut now = select(selector, None, metrics);
    for sample in &mut now {
        sample.labels.remove(NAME);
    }
    let mut series = Series::default();
    for scrape in metrics.earlier(&selector.metric, span) {
        series.add(scrape.iter().filter(wanted));
    }
    series.add(now.iter());
    let combined =
        series.in_order().map(|(labels, values)| Sample { labels: labels.clone(), value: make(&values) });
    distinct(combined.collect()).map(Value::Vector)
}

/// Returns the samples that remain of a comparison between a metric and a number. Usually these are few, and
/// the others are never built.
fn filtered(binary: &Binary, metrics: &dyn Metrics) -> Option<Vec<Sample>> {
    let (Expr::Select(selector), Expr::Number(number)) = (&binary.left, &binary.right) else { return None };
    let filters = binary::is_comparison(&binary.operator) && !binary.returns_bool && selector.range.is_none();
    filters.then(|| select(selector, Some((&binary.operator, *number)), metrics))
}

/// Returns whether the expression compares `changes` with a number, and all series have kept the same value
/// over the range. The result is empty then, without computing the labels of all series.
fn counts_no_change(binary: &Binary, metrics: &dyn Metrics) -> bool {
    let (Expr::Call(name, arguments), Expr::Number(number)) = (&binary.left, &binary.right) else {
        return false;
    };
    let [Expr::Select(selector)] = arguments.as_slice() else { return false };
    if name != "changes" || binary.operator != ">" || *number < 0.0 || binary.returns_bool {
        return false;
    }
    let earlier = metrics.earlier(&selector.metric, selector.range.unwrap_or_default());
    let mut values = earlier.into_iter().flatten().map(|sample| sample.value);
    let Some(value) = values.next() else { return true };
    values.all(|other| other.to_bits() == value.to_bits())
        && select(selector, Some(("!=", value)), metrics).is_empty()
}

fn select<'a>(selector: &'a Selector, filter: Option<(&'a str, f64)>, metrics: &dyn Metrics) -> Vec<Sample> {
    let mut collector = SampleCollector { filter, ..SampleCollector::by(&selector.matchers) };
    metrics.collect(&selector.metric, &mut collector);
    for sample in &mut collector.samples {
        sample.labels.insert(NAME.to_owned(), selector.metric.clone());
    }
    collector.samples
}

/// Returns whether a label value satisfies a matcher; the value of a missing label is empty.
fn fits(matcher: &Matcher, value: &str) -> bool {
    match &matcher.test {
        Test::Equal(wanted) => value == wanted,
        Test::Differs(other) => value != other,
        Test::Fits(pattern) => pattern.is_match(value),
        Test::FitsNot(pattern) => !pattern.is_match(value),
    }
}

/// Changes the values of samples, and removes the metric's name.
pub(super) fn nameless(samples: Vec<Sample>, change: impl Fn(f64) -> f64) -> Result<Vec<Sample>, String> {
    let changed = samples.into_iter().map(|mut sample| {
        sample.labels.remove(NAME);
        Sample { value: change(sample.value), ..sample }
    });
    distinct(changed.collect())
}

fn label_replace(samples: Vec<Sample>, arguments: &[Expr]) -> Result<Vec<Sample>, String> {
    let text = |at: usize| match arguments.get(at) {
        Some(Expr::Text(text)) => Ok(text.as_str()),
        _ => Err("label_replace expects strings".to_owned()),
    };
    let (to, replacement, from, pattern) = (text(0)?, text(1)?, text(2)?, anchored(text(3)?)?);
    let replaced = samples.into_iter().map(|mut sample| {
        let value = sample.labels.get(from).map_or("", String::as_str);
        if let Some(found) = pattern.captures(value) {
            let mut new = String::new();
            found.expand(replacement, &mut new);
            if new.is_empty() {
                sample.labels.remove(to);
            } else {
                sample.labels.insert(to.to_owned(), new);
            }
        }
        sample
    });
    distinct(replaced.collect())
}

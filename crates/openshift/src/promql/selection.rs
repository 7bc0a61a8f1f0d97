//! Selects the samples of a metric by labels.

use super::binary::compute;
use super::{Matcher, Metrics, NAME, Sample, Selector, Test};

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
        self.filter.is_none_or(|(operator, number)| compute(operator, value, number) != 0.0)
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

/// Returns the current samples of a selector with the metric's name, only those that satisfy the comparison with the
/// number of the filter.
pub(super) fn select<'a>(
    selector: &'a Selector,
    filter: Option<(&'a str, f64)>,
    metrics: &dyn Metrics,
) -> Vec<Sample> {
    let mut collector = SampleCollector { filter, ..SampleCollector::for_selector(selector) };
    metrics.collect(&selector.metric, &mut collector);
    for sample in &mut collector.samples {
        sample.labels.insert(NAME.to_owned(), selector.metric.clone());
    }
    collector.samples
}

/// Returns whether a sample matches all matchers of a selector.
pub(super) fn is_selected(selector: &Selector, sample: &Sample) -> bool {
    let value_of = |matcher: &Matcher| sample.labels.get(&matcher.label).map_or("", String::as_str);
    selector.matchers.iter().all(|matcher| fits(matcher, value_of(matcher)))
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

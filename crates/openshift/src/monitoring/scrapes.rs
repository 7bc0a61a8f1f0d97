//! Samples of earlier scrapes, for metrics that rules look back at.

use std::collections::{BTreeMap, VecDeque};

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};

use super::metrics::Moment;
use crate::promql::{Metrics, Sample, SampleCollector};

/// The interval of scrapes and rule evaluations.
pub(super) const INTERVAL: SignedDuration = SignedDuration::from_secs(30);

/// Samples of some metrics, stored only at scrapes after a change. Scrapes in between had the same samples.
#[derive(Debug, Clone, Default)]
pub(super) struct Scrapes {
    by_metric: BTreeMap<String, VecDeque<(Time, Vec<Sample>)>>,
}

impl Scrapes {
    /// Stores the current samples of these metrics, and removes those that are older than `range`.
    pub(super) fn remember<'a>(
        &mut self,
        metrics: impl Iterator<Item = &'a str>,
        moment: &Moment<'_>,
        range: SignedDuration,
    ) {
        for metric in metrics {
            let mut taken = SampleCollector::all();
            moment.collect(metric, &mut taken);
            let scrapes = self.by_metric.entry(metric.to_owned()).or_default();
            // The oldest entry may represent scrapes within the range.
            while scrapes.get(1).is_some_and(|(at, _)| after(*at, range) < moment.now) {
                scrapes.pop_front();
            }
            if scrapes.back().is_none_or(|(at, _)| *at < moment.now) {
                scrapes.push_back((moment.now, taken.into_samples()));
            }
        }
    }

    /// The samples of scrapes before `now` that are not older than `span`.
    fn within(&self, metric: &str, span: SignedDuration, now: Time) -> Vec<&[Sample]> {
        let Some(scrapes) = self.by_metric.get(metric) else { return Vec::new() };
        let ends = scrapes.iter().skip(1).map(|(at, _)| *at).chain([now]);
        let found = scrapes
            .iter()
            .zip(ends)
            .filter(|((at, _), next)| *at < now && after(after(*next, -INTERVAL), span) > now);
        found.map(|((_, samples), _)| samples.as_slice()).collect()
    }
}

/// The metrics of one moment, with earlier scrapes.
#[derive(Debug)]
pub(super) struct Scraped<'a> {
    pub(super) moment: Moment<'a>,
    pub(super) scrapes: &'a Scrapes,
}

impl Metrics for Scraped<'_> {
    fn collect(&self, metric: &str, taken: &mut SampleCollector<'_>) {
        self.moment.collect(metric, taken);
    }

    fn earlier(&self, metric: &str, span: SignedDuration) -> Vec<&[Sample]> {
        self.scrapes.within(metric, span, self.moment.now)
    }

    fn now(&self) -> Time {
        self.moment.now
    }
}

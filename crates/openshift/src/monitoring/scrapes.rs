//! Samples of earlier scrapes, for metrics that rules look back at.

use std::collections::{BTreeMap, VecDeque};

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};

use super::metrics::Moment;
use crate::promql::{Metrics, SCRAPE_INTERVAL, Sample, SampleCollector, Scrapes as Same};

/// The interval of scrapes and rule evaluations.
pub(super) const INTERVAL: SignedDuration = SCRAPE_INTERVAL;

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
            let samples = taken.into_samples();
            if scrapes.back().is_none_or(|(at, last)| *at < moment.now && *last != samples) {
                scrapes.push_back((moment.now, samples));
            }
        }
    }

    /// The scrapes before `now` that are later than `after` and not later than `until`; `None` if the metric is not stored.
    fn between(&self, metric: &str, (after, until): (Time, Time), now: Time) -> Option<Vec<Same<'_>>> {
        let scrapes = self.by_metric.get(metric)?;
        // The last scrape before now.
        let newest = next_scrape(now - SignedDuration::from_nanos(1)) - INTERVAL;
        let ends = scrapes.iter().skip(1).map(|(at, _)| *at - INTERVAL).chain([newest]);
        let found = scrapes.iter().zip(ends).filter_map(|((first, samples), last)| {
            let last = last.max(*first);
            let is_within = *first < now && last > after && *first <= until;
            is_within.then_some(Same { first: *first, last, samples })
        });
        Some(found.collect())
    }

    /// Returns whether all stored scrapes of a metric have no samples.
    pub(super) fn are_empty(&self, metric: &str) -> bool {
        self.by_metric
            .get(metric)
            .is_some_and(|scrapes| scrapes.iter().all(|(_, samples)| samples.is_empty()))
    }
}

/// The first scrape after this time.
pub(super) fn next_scrape(at: Time) -> Time {
    let into = at.as_second().rem_euclid(INTERVAL.as_secs());
    Time::from_second(at.as_second() - into + INTERVAL.as_secs()).unwrap_or(Time::MAX)
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

    fn scrapes(&self, metric: &str, after: Time, until: Time) -> Option<Vec<Same<'_>>> {
        self.scrapes.between(metric, (after, until), self.moment.now)
    }

    fn now(&self) -> Time {
        self.moment.now
    }
}

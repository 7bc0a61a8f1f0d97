//! Samples of the past: those of a selector in a range of time, or at another moment than now.

use std::collections::BTreeMap;

use windtunnel_core::clock::Time;

use super::sample::{INTERVAL_MS, Run};
use super::selection::{is_selected, select};
use super::{Expr, Labels, Metrics, NAME, Sample, Scrapes, Selector, Series};

/// How long a sample counts as the latest one if no other follows, in milliseconds (`lookback-delta`). A series that a
/// scrape lacks ends at once.
const LOOKBACK: i64 = 300_000;

/// How long Prometheus keeps samples by default, in milliseconds. Samples that count as those of all times are not older.
const RETENTION: i64 = 15 * 86_400_000;

/// Converts milliseconds since the epoch to a time. Times out of range become the nearest one.
fn time(at: i64) -> Time {
    Time::from_millisecond(at).unwrap_or(if at < 0 { Time::MIN } else { Time::MAX })
}

/// Returns the samples that a selector has at a moment, in milliseconds since the epoch.
pub(super) fn samples_at(selector: &Selector, at: i64, metrics: &dyn Metrics) -> Vec<Sample> {
    let now = metrics.now().as_millisecond();
    if at >= now {
        return if at - now < LOOKBACK { select(selector, None, metrics) } else { Vec::new() };
    }
    let Some(scrapes) = metrics.scrapes(&selector.metric, time(at - LOOKBACK), time(at)) else {
        return select(selector, None, metrics);
    };
    let Some(latest) = scrapes.last() else { return Vec::new() };
    let selected = latest.samples.iter().filter(|sample| is_selected(selector, sample)).cloned();
    selected
        .map(|mut sample| {
            sample.labels.insert(NAME.to_owned(), selector.metric.clone());
            sample
        })
        .collect()
}

/// Returns the series of a selector in a range: later than `start` and not later than `end`, in milliseconds since the
/// epoch.
pub(super) fn series(selector: &Selector, start: i64, end: i64, metrics: &dyn Metrics) -> Vec<Series> {
    let now = metrics.now().as_millisecond();
    let mut collected = Collected::default();
    let scrapes = metrics.scrapes(&selector.metric, time(start), time(end.min(now)));
    for Scrapes { first, last, samples } in scrapes.iter().flatten() {
        let (first, last) = (first.as_millisecond(), last.as_millisecond());
        let selected = samples.iter().filter(|sample| is_selected(selector, sample));
        collected.add(selected, |value| Run::within(first, last, value, start, end));
    }
    let mut current = Vec::new();
    // Without known scrapes, the current samples count as those of all times.
    let (first, last) = match scrapes {
        Some(_) => (now, now),
        None => (end - end.saturating_sub(start).min(RETENTION).div_euclid(INTERVAL_MS) * INTERVAL_MS, end),
    };
    if last > start && first <= end {
        current = select(selector, None, metrics);
    }
    for sample in &mut current {
        sample.labels.remove(NAME);
    }
    collected.add(current.iter(), |value| Run::within(first, last, value, start, end));
    collected.into_series(|labels| {
        labels.insert(NAME.to_owned(), selector.metric.clone());
    })
}

/// Returns the series that an instant selector has in a range: later than `start` and not later than `end`, in
/// milliseconds since the epoch. `None` for another expression.
pub fn series_between(expr: &Expr, metrics: &dyn Metrics, start: i64, end: i64) -> Option<Vec<Series>> {
    match expr {
        Expr::Select(selector) if selector.is_instant() => Some(series(selector, start, end, metrics)),
        _ => None,
    }
}

/// The samples of each series, from several scrapes.
#[derive(Default)]
pub(super) struct Collected<'a> {
    places: BTreeMap<&'a Labels, usize>,
    runs: Vec<(&'a Labels, Vec<Run>)>,
}

impl<'a> Collected<'a> {
    /// Adds the samples of scrapes. Most series have the same place as in the scrapes before.
    pub(super) fn add(
        &mut self,
        samples: impl Iterator<Item = &'a Sample>,
        run: impl Fn(f64) -> Option<Run>,
    ) {
        for (place, Sample { labels, value }) in samples.enumerate() {
            let Some(run) = run(*value) else { continue };
            let stays = self.runs.get(place).is_some_and(|(known, _)| *known == labels);
            let known = if stays { Some(place) } else { self.places.get(labels).copied() };
            match known.and_then(|place| self.runs.get_mut(place)) {
                Some((_, runs)) => runs.push(run),
                None => {
                    self.places.insert(labels, self.runs.len());
                    self.runs.push((labels, vec![run]));
                }
            }
        }
    }

    /// Returns the series in the order of their labels, which `change` may complete.
    pub(super) fn into_series(self, change: impl Fn(&mut Labels)) -> Vec<Series> {
        let mut found = self.runs;
        found.sort_unstable_by_key(|(labels, _)| *labels);
        let of = |(labels, runs): (&Labels, Vec<Run>)| {
            let mut labels = labels.clone();
            change(&mut labels);
            Series { labels, runs }
        };
        found.into_iter().map(of).collect()
    }
}

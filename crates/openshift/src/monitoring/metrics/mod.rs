//! Metrics by name, made of the objects of a cluster.

mod certificates;
mod compared;
mod exposition;
mod machine_config;
mod objects;
mod operator;
mod transitions;

use windtunnel_controllers::counter::Counter;
use windtunnel_core::clock::Time;
use windtunnel_core::{Key, View};

use crate::promql::{Metrics, NAME, Sample, Selector, Taken};
pub(super) use certificates::certificates_served;
pub(crate) use certificates::{CERTIFICATE, SERVING_CERTIFICATE};
pub(super) use compared::Compared;
pub use exposition::{EXPOSITION, exposition};
pub(super) use machine_config::{COUNTED, counters, is_counted};
pub(super) use operator::is_exported;
pub(crate) use operator::{PAYLOAD, PAYLOAD_ERRORS};
pub use transitions::Transitions;

/// The metrics of a cluster at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment<'a> {
    /// The cluster's objects.
    pub(super) view: &'a View,
    /// The moment.
    pub(super) now: Time,
    /// Whether the cluster-version operator runs, and so exports metrics.
    pub(super) operator_runs: bool,
    /// Whether it is trusted by who asks it for them.
    pub(super) is_trusted: bool,
    /// What was counted.
    pub(super) counted: Counted<'a>,
    /// What others export.
    pub(super) given: &'a [Sample],
}

/// What was counted up to a moment, which objects do not tell.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counted<'a> {
    /// Transitions of conditions, where they are known.
    pub transitions: Option<&'a Transitions>,
    /// What components have counted themselves.
    pub counters: &'a [Counter],
}

impl Counted<'_> {
    /// Hands out what components keep in their memory of one metric; a scrape adds the labels of the target.
    fn collect(&self, metric: &str, target: &[(&str, &str)], taken: &mut Taken<'_>) {
        for counter in self.counters.iter().filter(|counter| counter.metric == metric) {
            let labels: Vec<(&str, &str)> =
                counter.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            taken.offer_of(&labels, target, number(i64::try_from(counter.count).unwrap_or(i64::MAX)));
        }
    }
}

impl<'a> Moment<'a> {
    /// A moment of a cluster.
    pub(super) fn of(view: &'a View, now: Time) -> Self {
        let (counted, given) = (Counted::default(), &[]);
        Self { view, now, operator_runs: operator::runs(view), is_trusted: true, counted, given }
    }

    /// As Prometheus sees it: what was counted, and whether who tells that is trusted.
    pub(super) fn scraped(view: &'a View, now: Time, counted: Counted<'a>) -> Self {
        let mut moment = Self { counted, ..Self::of(view, now) };
        moment.is_trusted = certificates::is_trusted(view, counted.counters);
        moment.operator_runs &= moment.is_trusted;
        moment
    }
}

impl Metrics for Moment<'_> {
    fn collect(&self, metric: &str, taken: &mut Taken<'_>) {
        if !operator::collect(metric, self, taken) && !machine_config::collect(metric, self, taken) {
            objects::collect(metric, self.view, taken);
        }
        for sample in self.given.iter().filter(|sample| sample.labels[NAME] == metric) {
            let labels = sample.labels.iter().filter(|(name, _)| *name != NAME);
            let labels: Vec<_> = labels.map(|(name, value)| (name.as_str(), value.as_str())).collect();
            taken.offer(&labels, sample.value);
        }
    }

    fn now(&self) -> Time {
        self.now
    }
}

/// Whether any change of an object of this kind may lead to other samples of a metric.
pub(super) fn concerns(metric: &str, kind: &Key) -> bool {
    operator::concerns(metric, kind)
        .unwrap_or_else(|| machine_config::concerns(metric, kind) || objects::concerns(metric, kind))
}

/// Whether a change of the cluster may lead to other samples that a selector takes, of which these labels alone count where
/// some are given.
pub(super) fn is_touched(selector: &Selector, labels: Option<&[String]>, compared: &Compared<'_>) -> bool {
    let (metric, change) = (selector.metric(), compared.change);
    operator::is_touched(selector, labels, compared)
        .unwrap_or_else(|| machine_config::is_touched(metric, change) || objects::is_touched(metric, change))
}

#[expect(clippy::cast_precision_loss, reason = "counts and seconds are far below 2^52")]
fn number(count: i64) -> f64 {
    count as f64
}

fn count(count: usize) -> f64 {
    number(i64::try_from(count).unwrap_or(i64::MAX))
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

//! Metrics by name, computed from the objects of a cluster.
//!
//! `operator.rs` has the metrics of the cluster-version operator, `objects.rs` those of objects, `exposition.rs` help
//! texts. A metric has a row in `docs/scenario-language.md`.

mod certificates;
mod compared;
mod exposition;
mod kube_state;
mod machine_config;
mod objects;
mod operator;
mod origin;
mod transitions;
mod workloads;

use std::collections::BTreeSet;

use windtunnel_controllers::counter::Counter;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{CONFIG_MAPS, MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Key, View};

use self::operator::Source;
use crate::promql::{Metrics, NAME, Sample, SampleCollector, Selector};
pub(super) use certificates::certificates_served;
pub(crate) use certificates::{CERTIFICATE, SERVING_CERTIFICATE};
pub(super) use compared::Compared;
pub use exposition::{EXPOSITION, exposition};
pub(super) use machine_config::{COUNTED, counters, is_counted};
pub(super) use operator::is_exported;
pub(crate) use operator::{PAYLOAD, PAYLOAD_ERRORS};
pub(super) use origin::Origin;
pub use transitions::Transitions;

/// The metrics of a cluster at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment<'a> {
    pub(super) view: &'a View,
    /// The time.
    pub(super) now: Time,
    /// Whether the cluster-version operator runs and exports metrics.
    pub(super) operator_runs: bool,
    /// Whether the scraper trusts the operator's serving certificate.
    pub(super) is_trusted: bool,
    /// The values of counters.
    pub(super) counted: Counted<'a>,
    /// Samples of other exporters, defined by the user.
    pub(super) given: &'a [Sample],
}

/// Values that do not follow from API objects.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counted<'a> {
    /// Transitions of conditions, if they are known.
    pub transitions: Option<&'a Transitions>,
    /// The counters of components.
    pub counters: &'a [Counter],
}

impl Counted<'_> {
    /// Collects the counters of one metric, with the labels of the scraped `target`.
    fn collect(&self, metric: &str, target: &[(&str, &str)], taken: &mut SampleCollector<'_>) {
        for counter in self.counters.iter().filter(|counter| counter.metric == metric) {
            let labels: Vec<(&str, &str)> =
                counter.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            taken.add_for_target(&labels, target, number(i64::try_from(counter.count).unwrap_or(i64::MAX)));
        }
    }
}

impl<'a> Moment<'a> {
    /// The metrics of a cluster without counters.
    pub(super) fn of(view: &'a View, now: Time) -> Self {
        let (counted, given) = (Counted::default(), &[]);
        Self { view, now, operator_runs: operator::runs(view), is_trusted: true, counted, given }
    }

    /// The metrics as Prometheus scrapes them: with counters, and with the trust in the operator's
    /// certificate.
    pub(super) fn scraped(view: &'a View, now: Time, counted: Counted<'a>) -> Self {
        let mut moment = Self { counted, ..Self::of(view, now) };
        moment.is_trusted = certificates::is_trusted(view, counted.counters);
        moment.operator_runs &= moment.is_trusted;
        moment
    }
}

impl Metrics for Moment<'_> {
    fn collect(&self, metric: &str, taken: &mut SampleCollector<'_>) {
        if !operator::collect(metric, self, taken)
            && !machine_config::collect(metric, self, taken)
            && !kube_state::collect(metric, self.view, taken)
        {
            objects::collect(metric, self.view, taken);
        }
        for sample in self.given.iter().filter(|sample| sample.labels[NAME] == metric) {
            let labels = sample.labels.iter().filter(|(name, _)| *name != NAME);
            let labels: Vec<_> = labels.map(|(name, value)| (name.as_str(), value.as_str())).collect();
            taken.add(&labels, sample.value);
        }
    }

    fn now(&self) -> Time {
        self.now
    }
}

/// Returns the names of all metrics: those that windtunnel computes, and those of the given samples.
pub(super) fn names(given: &[Sample]) -> BTreeSet<String> {
    let computed =
        operator::METRICS.iter().map(|(name, ..)| *name).chain(objects::names()).chain(kube_state::names());
    let computed = computed
        .chain([machine_config::POOL_ALERT])
        .chain(machine_config::COUNTED)
        .chain(machine_config::FORMER.map(|(name, _)| name));
    let given = given.iter().map(|sample| sample.labels[NAME].clone());
    computed.map(str::to_owned).chain(given).collect()
}

/// Returns whether objects of this kind can affect a metric.
pub(super) fn concerns(metric: &str, kind: &Key) -> bool {
    if let Some(Origin::Objects(kinds)) = kube_state::origin(metric) {
        return kinds.iter().any(|resource| kind.is_kind(resource));
    }
    operator::concerns(metric, kind)
        .unwrap_or_else(|| machine_config::concerns(metric, kind) || objects::concerns(metric, kind))
}

/// Returns whether a change can affect the samples of a selector. If labels are given, only these are
/// compared.
pub(super) fn is_touched(selector: &Selector, labels: Option<&[String]>, compared: &Compared<'_>) -> bool {
    let (metric, change) = (selector.metric(), compared.change);
    kube_state::is_touched(selector, change)
        .or_else(|| operator::is_touched(selector, labels, compared))
        .unwrap_or_else(|| machine_config::is_touched(metric, change) || objects::is_touched(metric, change))
}

const OF_INSTALLER: Origin = Origin::InNamespace(&CONFIG_MAPS, "openshift-config");
const OF_POOLS: Origin = Origin::Objects(&[MACHINE_CONFIG_POOLS, NODES]);

/// Returns the origin of a metric; `None` if windtunnel does not compute it.
pub(super) fn origin(metric: &str) -> Option<Origin> {
    if metric == operator::INSTALLER {
        return Some(OF_INSTALLER);
    }
    if let Some((name, _, source)) = operator::METRICS.iter().find(|(name, ..)| *name == metric) {
        return Some(match source {
            Source::Memory => Origin::Memory,
            Source::Kinds(_) if ["up", "cluster_operator_condition_transitions"].contains(name) => {
                Origin::Memory
            }
            Source::Kinds(kinds) | Source::Each(kinds, _) => Origin::Objects(kinds),
        });
    }
    if metric == machine_config::POOL_ALERT {
        return Some(OF_POOLS);
    }
    if machine_config::is_counted(metric) {
        return Some(Origin::Memory);
    }
    kube_state::origin(metric).or_else(|| objects::origin(metric))
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

//! Warns of expectations about metrics that nothing exports.

use std::collections::BTreeSet;

use windtunnel_core::text::did_you_mean;
use windtunnel_openshift::monitoring;

use super::expected_states;
use crate::plan::{ClusterPlan, ExpectedState, MetricMatch, Step};

/// Words of queries that have samples because a metric has none.
const WITHOUT_SAMPLES: [&str; 4] = ["absent", " or ", "vector", "unless"];

/// The names of the metrics in a cluster.
#[derive(Debug, Clone)]
pub(super) struct Metrics(BTreeSet<String>);

impl Metrics {
    /// Returns the metrics of windtunnel and those of the scenario.
    pub(super) fn of(cluster: &ClusterPlan) -> Self {
        Self(monitoring::metric_names(&cluster.metrics))
    }

    /// Returns warnings about the next step of the run.
    pub(super) fn warnings_about(&self, step: &Step) -> Vec<String> {
        let warnings = |what: &ExpectedState| match what {
            ExpectedState::Metric(wanted) => self.unknown(wanted, ""),
            ExpectedState::NoMetric(wanted) => self.unknown(wanted, ", so this expectation always holds"),
            _ => Vec::new(),
        };
        expected_states(step).into_iter().flat_map(|expected| warnings(&expected.what)).collect()
    }

    fn unknown(&self, wanted: &MetricMatch, consequence: &str) -> Vec<String> {
        let is_certain = !WITHOUT_SAMPLES.iter().any(|word| wanted.query.contains(word));
        let consequence = if is_certain { consequence } else { "" };
        let used: BTreeSet<&str> = wanted.expr.selectors().iter().map(|selector| selector.metric()).collect();
        let unknown = used.into_iter().filter(|name| !self.0.contains(*name));
        let warning = |name: &str| {
            let hint = did_you_mean(name, self.0.iter().map(String::as_str));
            format!("nothing exports the metric {name}{consequence}{hint}; `metrics` gives samples of others")
        };
        unknown.map(warning).collect()
    }
}

//! Whether a cluster is exposed to a risk, from what is known of the cluster.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::{Resource, View};

use super::metrics::{Moment, Origin, origin};
use super::one_or_zero;
use super::prometheus::next_scrape;
use super::scrapes::{Scraped, Scrapes};
use crate::graph::MatchingRule;
use crate::promql::{self, Metrics as _, NAME, Sample, SampleCollector, Selector};

/// The answer to the question whether a risk applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exposure {
    /// The cluster is exposed.
    Applies,
    /// The cluster is not exposed.
    DoesNotApply,
    /// The answer needs samples that are unknown; with the reasons.
    Unknown(String),
    /// No rule can be evaluated; with the operator's message.
    Error(String),
}

/// Samples of earlier scrapes, for queries that look back.
#[derive(Debug, Clone, Default)]
pub struct History(Scrapes);

impl History {
    /// The longest range of a query.
    const RANGE: SignedDuration = SignedDuration::from_hours(24);

    /// Returns the first moment after `now` at which Prometheus scrapes.
    pub fn next_scrape(now: Time) -> Time {
        next_scrape(now)
    }

    /// Stores the samples of these metrics at the moment of a scrape. Scrapes without changes since the one
    /// before need not be stored.
    pub fn scrape(&mut self, metrics: &BTreeSet<String>, view: &View, now: Time) {
        let moment = Moment { operator_runs: true, ..Moment::of(view, now) };
        self.0.remember(metrics.iter().map(String::as_str), &moment, Self::RANGE);
    }
}

/// What is known of a cluster.
#[derive(Debug, Clone, Copy)]
pub struct Cluster<'a> {
    /// Its objects.
    pub view: &'a View,
    /// Whether these are all objects. If not, an object that is missing may exist nevertheless.
    pub is_complete: bool,
    /// Samples of exporters that are not simulated, defined by the user.
    pub given: &'a [Sample],
    /// Samples of earlier scrapes.
    pub history: &'a History,
    /// The moment.
    pub now: Time,
}

impl Cluster<'_> {
    /// Returns whether a risk with these rules applies, as the cluster-version operator decides it: by the
    /// first rule that can be evaluated.
    pub fn exposure(&self, rules: &[MatchingRule]) -> Exposure {
        let mut errors = Vec::new();
        for rule in rules {
            let text = match rule {
                MatchingRule::Always => return Exposure::Applies,
                MatchingRule::PromQl(text) => text,
            };
            match self.query(text) {
                Exposure::Error(error) => errors.push(error),
                decided => return decided,
            }
        }
        match errors.as_slice() {
            [one] => Exposure::Error(one.clone()),
            several => Exposure::Error(format!("[{}]", several.join(", "))),
        }
    }

    /// Returns the result of one query.
    fn query(&self, text: &str) -> Exposure {
        let expr = match promql::parse(text) {
            Ok(expr) => expr,
            Err(error) => {
                let (line, column) = error.position(text);
                return Exposure::Error(format!("{line}:{column}: parse error: {error}"));
            }
        };
        let moment = Moment { operator_runs: true, given: self.given, ..Moment::of(self.view, self.now) };
        let scraped = Scraped { moment, scrapes: &self.history.0 };
        let why = |selector: &Selector| self.why_unknown(selector, &scraped);
        let missing = promql::missing_metrics(&expr, &scraped, &why);
        if missing.is_empty() {
            return match one_or_zero(promql::evaluate(&expr, &scraped)) {
                Ok(true) => Exposure::Applies,
                Ok(false) => Exposure::DoesNotApply,
                Err(error) => Exposure::Error(error),
            };
        }
        // The result is 0 or has no samples, so it is not 1.
        if promql::is_zero_or_empty(&expr, &scraped, &why) {
            return Exposure::DoesNotApply;
        }
        Exposure::Unknown(missing.into_iter().collect::<Vec<_>>().join("; "))
    }

    /// Returns why the samples of a selector are unknown; `None` if they are known. Samples that exist are
    /// known; that there are none is known only if the source has all objects that could cause one.
    fn why_unknown(&self, selector: &Selector, scraped: &Scraped<'_>) -> Option<String> {
        let metric = selector.metric();
        if self.given.iter().any(|sample| sample.labels[NAME] == metric) {
            return None;
        }
        let source = if self.is_complete { "a simulated cluster" } else { "a dump" };
        let has_samples = || {
            let mut taken = SampleCollector::for_selector(selector);
            scraped.collect(metric, &mut taken);
            !taken.into_samples().is_empty()
        };
        match origin(metric) {
            None | Some(Origin::Memory) => {
                Some(format!("needs metric {metric}, which {source} does not contain"))
            }
            Some(Origin::Storage) => {
                let resource = selector.equal_to("resource").unwrap_or_default();
                (!self.is_complete && !has_samples()).then(|| {
                    format!("needs metric {metric} of {resource}, and this dump has no such objects")
                })
            }
            Some(Origin::InNamespace(kind, namespace)) => {
                let is_known = self.is_complete || self.view.list_in(kind, namespace).next().is_some();
                (!is_known).then(|| {
                    format!("needs metric {metric}, and this dump has no {} in {namespace}", kind.kind)
                })
            }
            Some(Origin::Objects(kinds)) => {
                let missing = kinds.iter().find(|kind| self.view.list(kind).next().is_none());
                if let Some(missing) = missing {
                    return Some(format!("needs metric {metric}, and there is no {}", missing.kind));
                }
                let partial = kinds.iter().find(|kind| !self.has_all(kind, selector))?;
                (!has_samples()).then(|| {
                    format!("needs metric {metric} of every {}, and a dump has only some", partial.kind)
                })
            }
        }
    }

    /// Returns whether the source has all objects of a kind that a selector can be about. A dump of some
    /// namespaces has all objects of a namespace, and all cluster-scoped ones.
    fn has_all(&self, kind: &Resource, selector: &Selector) -> bool {
        self.is_complete
            || !kind.namespaced
            || selector
                .equal_to("namespace")
                .is_some_and(|namespace| self.view.list_in(kind, namespace).next().is_some())
    }
}

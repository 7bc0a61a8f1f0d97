//! Prometheus: alerts by the rules in the cluster.
//!
//! Targets are scraped and rules evaluated every 30 seconds of the clock, as OpenShift configures it; but where nothing
//! changed and no rule looks at the time, nothing could come of it, and it is left out.

use std::collections::BTreeMap;

use super::metrics::Moment;
use super::rules::{self, Rule};
use super::scrapes::{INTERVAL, Scraped, Scrapes};
use crate::actors::{Actor, Effect, Input, Interest, Step};
use crate::base::clock::{Time, after};
use crate::model::alert::{Alert, AlertState};
use crate::model::promql::{self, Labels, Value};
use crate::model::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, FEATURE_GATES, INFRASTRUCTURES, NODES, PODS,
    PROMETHEUS_RULES,
};
use crate::model::{Identity, View};

/// An alert that is pending or fires.
#[derive(Debug)]
struct Active {
    alert: Alert,
    fires_at: Time,
}

/// The Prometheus of the cluster's own monitoring.
#[derive(Debug, Default)]
pub struct Prometheus {
    rules: Vec<Rule>,
    faults: Vec<String>,
    scrapes: Scrapes,
    active: BTreeMap<Labels, Active>,
    changed_at: Option<Time>,
    evaluated_at: Option<Time>,
}

impl Prometheus {
    /// A Prometheus that has not scraped anything yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn notice(&mut self, input: &Input<'_>) {
        let first = self.changed_at.is_none();
        if first || input.changes.iter().any(|change| change.key.is(&PROMETHEUS_RULES)) {
            (self.rules, self.faults) = rules::all(input.view);
        }
        if first || !input.changes.is_empty() {
            self.changed_at = Some(input.now);
        }
    }

    /// Whether an evaluation at this moment could come to something else than the last one.
    fn is_outdated(&self, now: Time) -> bool {
        let Some(changed) = self.changed_at else { return false };
        let looks = |rule: &Rule| {
            rule.expr.depends_on_time()
                && (rule.range.is_zero() || after(changed, rule.range + INTERVAL) >= now)
        };
        self.evaluated_at.is_none_or(|evaluated| changed >= evaluated) || self.rules.iter().any(looks)
    }

    fn evaluate(&mut self, view: &View, now: Time) -> Vec<Effect> {
        let moment = Moment::of(view, now);
        let looked_back = self.rules.iter().flat_map(|rule| rule.expr.metrics());
        let looked_back = looked_back.filter_map(|(metric, range)| range.map(|_| metric));
        let range = self.rules.iter().map(|rule| rule.range).max().unwrap_or_default();
        self.scrapes.remember(looked_back, &moment, range);
        let found = self.found(&Scraped { moment, scrapes: &self.scrapes });
        let mut told = Vec::new();
        self.active.retain(|labels, active| {
            let holds = found.contains_key(labels);
            if !holds {
                told.push(Alert { state: AlertState::Inactive, ..active.alert.clone() });
            }
            holds
        });
        for (labels, (annotations, rule)) in found {
            let fires_at = after(now, self.rules[rule].hold);
            self.active.entry(labels).or_insert_with_key(|labels| {
                let alert = Alert { labels: labels.clone(), annotations, state: AlertState::Pending };
                if fires_at > now {
                    told.push(alert.clone());
                }
                Active { alert, fires_at }
            });
        }
        self.evaluated_at = Some(now);
        told.extend(self.fire(now));
        told.into_iter().map(Effect::Alert).collect()
    }

    /// The alerts that the rules come to: annotations and the index of the rule, by labels.
    fn found(&self, scraped: &Scraped<'_>) -> BTreeMap<Labels, (Labels, usize)> {
        let mut found = BTreeMap::new();
        for (index, rule) in self.rules.iter().enumerate() {
            // A rule that fails is as one that finds nothing; Prometheus counts failures and goes on.
            if let Ok(Value::Vector(samples)) = promql::evaluate(&rule.expr, scraped) {
                for sample in samples {
                    let (labels, annotations) = rule.alert(&sample, scraped);
                    found.insert(labels, (annotations, index));
                }
            }
        }
        found
    }

    /// The alerts that have been pending for long enough.
    fn fire(&mut self, now: Time) -> Vec<Alert> {
        let pending = self.active.values_mut().filter(|active| active.alert.state == AlertState::Pending);
        let due = pending.filter(|active| active.fires_at <= now);
        due.map(|active| {
            active.alert.state = AlertState::Firing;
            active.alert.clone()
        })
        .collect()
    }

    fn wake_at(&self, now: Time) -> Option<Time> {
        let next = next_scrape(now);
        if self.is_outdated(next) {
            return Some(next);
        }
        let pending = self.active.values().filter(|active| active.alert.state == AlertState::Pending);
        pending.map(|active| active.fires_at).min().map(|at| if is_scrape(at) { at } else { next_scrape(at) })
    }
}

impl Actor for Prometheus {
    fn name(&self) -> &'static str {
        "prometheus"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("openshift-monitoring", "prometheus-k8s")
    }

    fn interests(&self) -> Vec<Interest> {
        let kinds = [
            CLUSTER_VERSIONS,
            CLUSTER_OPERATORS,
            CONFIG_MAPS,
            FEATURE_GATES,
            INFRASTRUCTURES,
            NODES,
            PROMETHEUS_RULES,
        ];
        let pods = Interest::In(PODS, "openshift-cluster-version".to_owned());
        kinds.into_iter().map(Interest::Kind).chain([pods]).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        let mut effects = Vec::new();
        if is_scrape(input.now) && self.evaluated_at != Some(input.now) {
            effects = if self.is_outdated(input.now) {
                self.evaluate(input.view, input.now)
            } else {
                self.fire(input.now).into_iter().map(Effect::Alert).collect()
            };
        }
        let why =
            self.faults.first().map_or_else(String::new, |fault| format!("a rule that can be read: {fault}"));
        Step { wake_at: self.wake_at(input.now), why: why.into(), effects, ..Step::default() }
    }
}

fn is_scrape(at: Time) -> bool {
    at.as_nanosecond() % INTERVAL.as_nanos() == 0
}

/// The first scrape after a moment.
fn next_scrape(at: Time) -> Time {
    let into = at.as_second().rem_euclid(INTERVAL.as_secs());
    Time::from_second(at.as_second() - into + INTERVAL.as_secs()).unwrap_or(Time::MAX)
}

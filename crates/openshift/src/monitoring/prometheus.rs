//! Prometheus: evaluates the alert rules in the cluster.
//!
//! It scrapes targets and evaluates rules every 30 seconds, as OpenShift configures it. To save work, it
//! skips a rule that does not depend on the time and whose samples did not change, because the result would
//! be the same. It also skips a rule that only waits for an age, until that age is reached.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windtunnel_controllers::counter::Counter;
use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::{Actor, Effect, Input, Interest, Step};
use windtunnel_core::Identity;
use windtunnel_core::alert::{Alert, AlertState};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, DAEMON_SETS, DEPLOYMENTS, FEATURE_GATES,
    INFRASTRUCTURES, MACHINE_CONFIG_POOLS, NODES, POD_DISRUPTION_BUDGETS, PODS, PROMETHEUS_RULES,
    SERVICE_MONITORS, SERVICES,
};

use super::metrics::{
    COUNTED, Compared, Counted, Moment, SERVING_CERTIFICATE, Transitions, certificates_served, concerns,
    counters, is_counted, is_exported, is_touched,
};
use super::rules::{self, Rule};
use super::scrapes::{INTERVAL, Scraped, Scrapes, next_scrape};
use crate::environment::Environment;
use crate::promql::{self, Labels, Sample, Value};

/// A pending or firing alert.
#[derive(Debug, Clone)]
struct Active {
    alert: Alert,
    /// Index of its rule. `None` after the rules were reloaded, until a rule results in it again.
    rule: Option<usize>,
    fires_at: Time,
}

/// The Prometheus of the cluster monitoring stack.
#[derive(Debug, Clone, Default)]
pub struct Prometheus {
    environment: Arc<Environment>,
    rules: Vec<Rule>,
    /// The rules that a change can affect, by group and plural of the kind.
    concerned: BTreeMap<(Cow<'static, str>, Cow<'static, str>), Vec<usize>>,
    faults: Vec<String>,
    scrapes: Scrapes,
    transitions: Transitions,
    active: BTreeMap<Labels, Active>,
    read_at: Option<Time>,
    evaluated_at: Option<Time>,
    /// The keys that signed the operator's serving certificates.
    served: Vec<String>,
    /// The counters of the machine-config operator's components.
    counted: Vec<Counter>,
}

impl Prometheus {
    /// A Prometheus without any scrapes.
    pub fn new(environment: Arc<Environment>) -> Self {
        Self { environment, ..Self::default() }
    }

    fn notice(&mut self, input: &Input<'_>) {
        let now = input.now;
        if self.read_at.is_none() || input.changes.iter().any(|change| change.key.is_kind(&PROMETHEUS_RULES))
        {
            (self.rules, self.faults) = rules::load_rules(input.view, now);
            for active in self.active.values_mut() {
                active.rule = None;
            }
            self.concerned.clear();
            self.read_at = Some(now);
        }
        self.notice_certificates(input.counters, now);
        self.notice_counters(input);
        for change in input.changes {
            self.transitions.notice(change);
            // A rule that is due already is only marked again if it looks back in time.
            let evaluated_at = self.evaluated_at;
            let is_open = |rule: &Rule| {
                let is_due = evaluated_at.is_none_or(|evaluated| rule.touched >= evaluated);
                rule.touched < now && !(is_due && rule.range.is_zero())
            };
            let kind = (change.key.group.clone(), change.key.plural.clone());
            let of_kind = |rule: &Rule| rule.expr.selects(&|found| concerns(found.metric(), &change.key));
            let concerned = self.concerned.entry(kind).or_insert_with(|| {
                (0..self.rules.len()).filter(|index| of_kind(&self.rules[*index])).collect()
            });
            let compared = Compared::of(change);
            for index in concerned {
                let rule = &mut self.rules[*index];
                if is_open(rule)
                    && rule
                        .expr
                        .any_selector_with_labels(&|found, labels| is_touched(found, labels, &compared))
                {
                    rule.touched = now;
                }
            }
        }
    }

    /// Marks rules with operator metrics if the serving certificate changed.
    fn notice_certificates(&mut self, counters: &[Counter], now: Time) {
        if certificates_served(counters).eq(&self.served) {
            return;
        }
        self.served = certificates_served(counters).cloned().collect();
        let is_affected = |rule: &&mut Rule| rule.expr.selects(&|selector| is_exported(selector.metric()));
        self.rules.iter_mut().filter(is_affected).for_each(|rule| rule.touched = now);
    }

    /// Marks rules with counters in memory, which change without a change of the API.
    fn notice_counters(&mut self, input: &Input<'_>) {
        if counters(input.counters).eq(&self.counted) {
            return;
        }
        self.counted = counters(input.counters).cloned().collect();
        let is_affected = |rule: &&mut Rule| rule.expr.selects(&|selector| is_counted(selector.metric()));
        self.rules.iter_mut().filter(is_affected).for_each(|rule| rule.touched = input.now);
    }

    /// Returns whether the last evaluation does not include something that happened at this time.
    fn is_news(&self, at: Time) -> bool {
        self.evaluated_at.is_none_or(|evaluated| at >= evaluated)
    }

    /// Returns whether the result of a rule may have changed since the last evaluation: its samples changed,
    /// or it depends on the time, or they changed within the range that it looks back.
    fn is_due(&self, rule: &Rule, now: Time) -> bool {
        let looks_back = !rule.range.is_zero() && !rule.is_without_past;
        self.is_news(rule.touched)
            || looks_back && after(rule.touched, rule.range + INTERVAL) >= now
            || rule.uses_clock && rule.unchanged_until.is_none_or(|until| until <= now)
    }

    fn evaluate(&mut self, input: &Input<'_>) -> Vec<Effect> {
        let now = input.now;
        let counted = Counted { transitions: Some(&self.transitions), counters: input.counters };
        let environment = Arc::clone(&self.environment);
        let moment = Moment { given: &environment.metrics, ..Moment::scraped(input.view, now, counted) };
        let mut scrapes = std::mem::take(&mut self.scrapes);
        self.scrape(&moment, &mut scrapes);
        self.scrapes = scrapes;
        let scraped = Scraped { moment, scrapes: &self.scrapes };
        let due = self.rules.iter().enumerate().filter(|(_, rule)| self.is_due(rule, now));
        let found: Vec<_> = due
            .map(|(index, rule)| (index, alerts(rule, &scraped), promql::valid_until(&rule.expr, &scraped)))
            .collect();
        let mut reported = Vec::new();
        for (index, alerts, unchanged_until) in found {
            let rule = &mut self.rules[index];
            rule.unchanged_until = unchanged_until;
            rule.is_without_past =
                rule.expr.reaches().iter().all(|(metric, _)| self.scrapes.are_empty(metric));
            reported.extend(self.update(index, alerts, now));
        }
        reported.extend(self.drop_where(|_, active| active.rule.is_none()));
        self.evaluated_at = Some(now);
        reported.extend(self.fire(now));
        reported.into_iter().map(Effect::Alert).collect()
    }

    /// Stores samples of the metrics that changed rules look back at.
    fn scrape(&self, moment: &Moment<'_>, scrapes: &mut Scrapes) {
        let touched = self.rules.iter().filter(|rule| self.is_news(rule.touched));
        let metrics: BTreeSet<&str> =
            touched.flat_map(|rule| rule.expr.reaches()).map(|(metric, _)| metric).collect();
        let range = self.rules.iter().map(|rule| rule.range).max().unwrap_or_default();
        scrapes.remember(metrics.into_iter(), moment, range);
    }

    /// Applies the result of a rule. Returns the alerts to report: those that ended, started or changed.
    fn update(&mut self, rule: usize, found: BTreeMap<Labels, Labels>, now: Time) -> Vec<Alert> {
        let mut alerts =
            self.drop_where(|labels, active| active.rule == Some(rule) && !found.contains_key(labels));
        let fires_at = after(now, self.rules[rule].hold);
        let counts_time = self.rules[rule].uses_clock || !self.rules[rule].range.is_zero();
        for (labels, annotations) in found {
            match self.active.entry(labels) {
                Entry::Vacant(vacant) => {
                    let labels = vacant.key().clone();
                    let alert = Alert { labels, annotations, state: AlertState::Pending };
                    if fires_at > now {
                        alerts.push(alert.clone());
                    }
                    vacant.insert(Active { alert, rule: Some(rule), fires_at });
                }
                Entry::Occupied(mut occupied) => {
                    let active = occupied.get_mut();
                    active.rule = Some(rule);
                    // Changed annotations are reported, unless the rule depends on the time and they change
                    // with each evaluation.
                    if active.alert.annotations != annotations && !counts_time {
                        active.alert.annotations = annotations;
                        alerts.push(active.alert.clone());
                    }
                }
            }
        }
        alerts
    }

    /// Removes these alerts, and returns them as inactive.
    fn drop_where(&mut self, is_gone: impl Fn(&Labels, &Active) -> bool) -> Vec<Alert> {
        let mut alerts = Vec::new();
        self.active.retain(|labels, active| {
            let gone = is_gone(labels, active);
            if gone {
                alerts.push(Alert { state: AlertState::Inactive, ..active.alert.clone() });
            }
            !gone
        });
        alerts
    }

    /// Sets alerts to firing that have been pending for long enough, and returns them.
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
        if self.rules.iter().any(|rule| self.is_due(rule, next)) {
            return Some(next);
        }
        let pending = self.active.values().filter(|active| active.alert.state == AlertState::Pending);
        let waiting =
            self.rules.iter().filter_map(|rule| rule.unchanged_until).filter(|until| *until < Time::MAX);
        let first = pending.map(|active| active.fires_at).chain(waiting).min();
        first.map(|at| if is_scrape(at) { at } else { next_scrape(at) })
    }
}

/// The alerts in the result of a rule: annotations by labels. A rule with an error has no alerts. Prometheus
/// counts such errors and continues.
fn alerts(rule: &Rule, scraped: &Scraped<'_>) -> BTreeMap<Labels, Labels> {
    let samples = match promql::evaluate(&rule.expr, scraped) {
        Ok(Value::Vector(samples)) => samples,
        // A number is a sample without labels.
        Ok(Value::Scalar(value)) => vec![Sample { labels: Labels::new(), value }],
        Ok(_) | Err(_) => Vec::new(),
    };
    samples.iter().map(|sample| rule.alert(sample, scraped)).collect()
}

impl Actor for Prometheus {
    fn name(&self) -> &'static str {
        "prometheus"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("openshift-monitoring", "prometheus-k8s")
    }

    fn set_environment(&mut self, environment: &Arc<dyn NodeEnvironment>) {
        Environment::replace(&mut self.environment, environment);
    }

    fn interests(&self) -> Vec<Interest> {
        let kinds = [
            CLUSTER_VERSIONS,
            CLUSTER_OPERATORS,
            CONFIG_MAPS,
            DAEMON_SETS,
            DEPLOYMENTS,
            FEATURE_GATES,
            INFRASTRUCTURES,
            MACHINE_CONFIG_POOLS,
            NODES,
            POD_DISRUPTION_BUDGETS,
            PODS,
            PROMETHEUS_RULES,
        ];
        let of_target = [SERVICES, SERVICE_MONITORS]
            .map(|resource| Interest::In(resource, "openshift-cluster-version".to_owned()));
        let counted = COUNTED.into_iter().chain([SERVING_CERTIFICATE]).map(Interest::Counted);
        kinds.into_iter().map(Interest::Kind).chain(of_target).chain(counted).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        let mut effects = Vec::new();
        if is_scrape(input.now) && self.evaluated_at != Some(input.now) {
            effects = self.evaluate(input);
        }
        let why =
            self.faults.first().map_or_else(String::new, |fault| format!("a valid alert rule: {fault}"));
        Step { wake_at: self.wake_at(input.now), why: why.into(), effects, ..Step::default() }
    }
}

fn is_scrape(at: Time) -> bool {
    at.as_nanosecond() % INTERVAL.as_nanos() == 0
}

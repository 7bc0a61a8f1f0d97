//! Alert rules in PrometheusRule objects (`monitoring.coreos.com/v1`).

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::Value as Json;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::PROMETHEUS_RULES;
use windtunnel_core::{Object, View, alert};

use super::template;
use crate::promql::{self, Expr, Labels, Metrics, NAME, Sample};

/// An alert rule.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    /// The expression. Each sample in its result is an alert.
    pub(super) expr: Expr,
    /// How long the alert is pending before it fires.
    pub(super) hold: SignedDuration,
    /// How far it looks back.
    pub(super) range: SignedDuration,
    /// Whether the metrics that it looks back at had no samples by the last evaluation. Then its result stays the same
    /// until they have some.
    pub(super) is_without_past: bool,
    /// Whether its result depends on the time even if its samples do not change.
    pub(super) uses_clock: bool,
    /// When its samples last changed.
    pub(super) touched: Time,
    /// Until when its result stays the same unless its samples change, by the last evaluation. `None` if that
    /// is unknown.
    pub(super) unchanged_until: Option<Time>,
    labels: Labels,
    annotations: Labels,
}

impl Rule {
    /// The labels and annotations of the alert for a sample of the result.
    pub(super) fn alert(&self, sample: &Sample, metrics: &dyn Metrics) -> (Labels, Labels) {
        let fill = |texts: &Labels| -> Labels {
            texts.iter().map(|(name, text)| (name.clone(), template::expand(text, sample, metrics))).collect()
        };
        let mut labels = sample.labels.clone();
        labels.remove(NAME);
        labels.extend(fill(&self.labels));
        (labels, fill(&self.annotations))
    }
}

/// Returns the valid alert rules of all PrometheusRule objects, marked as changed now, and the errors of the
/// others.
pub(super) fn load_rules(view: &View, now: Time) -> (Vec<Rule>, Vec<String>) {
    let (mut rules, mut faults) = (Vec::new(), Vec::new());
    for object in view.list(&PROMETHEUS_RULES) {
        for group in object.list("/spec/groups") {
            // Recording rules have no `alert`.
            let alerts = group["rules"].as_array().into_iter().flatten();
            for found in alerts.filter(|rule| rule["alert"].is_string()) {
                match rule(found, now) {
                    Ok(rule) => rules.push(rule),
                    Err(fault) => faults.push(fault_of(object, found, &fault)),
                }
            }
        }
    }
    (rules, faults)
}

fn fault_of(object: &Object, rule: &Json, fault: &str) -> String {
    let name = rule["alert"].as_str().unwrap_or_default();
    format!("rule {name} of PrometheusRule/{}/{}: {fault}", object.namespace(), object.name())
}

fn rule(rule: &Json, now: Time) -> Result<Rule, String> {
    // An expression can be a plain number.
    let text = rule["expr"].as_str().map_or_else(|| rule["expr"].to_string(), str::to_owned);
    let expr = promql::parse(&text).map_err(|error| error.to_string())?;
    let hold = match rule["for"].as_str() {
        Some(text) => {
            windtunnel_core::text::parse_units(text).ok_or_else(|| format!("`for: {text}` is no duration"))?
        }
        None => SignedDuration::ZERO,
    };
    let range = expr.reaches().into_iter().map(|(_, reach)| reach).max().unwrap_or_default();
    let mut labels = texts(&rule["labels"]);
    labels.insert(alert::NAME.to_owned(), rule["alert"].as_str().unwrap_or_default().to_owned());
    let annotations = texts(&rule["annotations"]);
    let uses_clock = expr.uses_clock();
    Ok(Rule {
        expr,
        hold,
        range,
        is_without_past: false,
        uses_clock,
        touched: now,
        unchanged_until: None,
        labels,
        annotations,
    })
}

fn texts(values: &Json) -> BTreeMap<String, String> {
    let values = values.as_object().into_iter().flatten();
    values.map(|(name, text)| (name.clone(), text.as_str().unwrap_or_default().to_owned())).collect()
}

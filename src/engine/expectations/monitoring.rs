//! Checks expectations about Prometheus: alerts, and queries of metrics.

use std::collections::BTreeMap;

use windtunnel_core::alert::{Alert, AlertState};
use windtunnel_core::text::{did_you_mean, short_duration};
use windtunnel_openshift::monitoring::{self, Counted};
use windtunnel_openshift::promql::{Sample, Value};

use crate::engine::runtime::Simulation;
use crate::plan::{AlertMatch, MetricMatch, TextMatch};
use crate::record::{Event, Record};

/// Checks that a matching alert is pending or fires.
pub(in crate::engine) fn alert(simulation: &Simulation, wanted: &AlertMatch) -> Result<(), String> {
    let active = simulation.alerts.borrow();
    let alerts = || active.iter().map(|active| &active.alert);
    if alerts().any(|alert| alert_matches(alert, wanted)) {
        return Ok(());
    }
    let namesakes = alerts().filter(|alert| alert.name() == wanted.name);
    let seen: Vec<String> = namesakes.map(alert_text).collect();
    if seen.is_empty() {
        let names = alerts().map(Alert::name);
        return Err(format!("there is no alert {}{}", wanted.name, did_you_mean(&wanted.name, names)));
    }
    Err(format!("the active alerts are {}", seen.join("; ")))
}

/// Checks that no matching alert is pending or fires.
pub(in crate::engine) fn no_alert(simulation: &Simulation, wanted: &AlertMatch) -> Result<(), String> {
    let active = simulation.alerts.borrow();
    match active.iter().map(|active| &active.alert).find(|alert| alert_matches(alert, wanted)) {
        None => Ok(()),
        Some(found) => Err(format!("there is {}", alert_text(found))),
    }
}

/// Checks that no matching alert was pending or fired since the run began.
pub(in crate::engine) fn never_alert(record: &Record, wanted: &AlertMatch) -> Result<(), String> {
    let epoch = record.header.epoch;
    let at_first = record.alerts_at(epoch).into_iter().map(|(_, alert)| (epoch, alert));
    let later = record.entries.iter().filter(|entry| !record.is_set_up(entry));
    let later = later.filter_map(|entry| match &entry.event {
        Event::Alert(alert) => Some((entry.at, &**alert)),
        _ => None,
    });
    let mut alerts = at_first.chain(later).filter(|(_, alert)| alert.state != AlertState::Inactive);
    match alerts.find(|(_, alert)| alert_matches(alert, wanted)) {
        None => Ok(()),
        Some((at, found)) => {
            let after = short_duration(at.duration_since(epoch));
            Err(format!("after {after} there was {}", alert_text(found)))
        }
    }
}

/// Checks that the query returns a sample, or one with the wanted value.
pub(in crate::engine) fn metric(simulation: &Simulation, wanted: &MetricMatch) -> Result<(), String> {
    let samples = samples(simulation, wanted)?;
    if samples.iter().any(|sample| is_wanted(sample, wanted)) {
        return Ok(());
    }
    if samples.is_empty() {
        return Err("the query returns no sample".to_owned());
    }
    let seen: Vec<String> = samples.iter().map(sample_text).collect();
    Err(format!("the query returns {}", seen.join("; ")))
}

/// Checks that the query returns no sample, or none with the wanted value.
pub(in crate::engine) fn no_metric(simulation: &Simulation, wanted: &MetricMatch) -> Result<(), String> {
    let samples = samples(simulation, wanted)?;
    match samples.iter().find(|sample| is_wanted(sample, wanted)) {
        None => Ok(()),
        Some(found) => Err(format!("the query returns {}", sample_text(found))),
    }
}

fn samples(simulation: &Simulation, wanted: &MetricMatch) -> Result<Vec<Sample>, String> {
    let (view, now) = (&simulation.view, simulation.now());
    let environment = &simulation.environment;
    let query = |counted: Counted<'_>| monitoring::query(&wanted.expr, environment, view, counted, now);
    match simulation.observers.exports.with(query)? {
        Value::Vector(samples) => Ok(samples),
        Value::Scalar(value) => Ok(vec![Sample { labels: BTreeMap::new(), value }]),
        other => Err(format!("the query returns a {}: expected a vector or a scalar", other.result_type())),
    }
}

#[expect(clippy::float_cmp, reason = "scenarios state exact values")]
fn is_wanted(sample: &Sample, wanted: &MetricMatch) -> bool {
    wanted.value.is_none_or(|value| value == sample.value)
}

pub(in crate::engine) fn alert_matches(alert: &Alert, wanted: &AlertMatch) -> bool {
    let text_fits = |(name, text): &(String, TextMatch), texts: &BTreeMap<String, String>| {
        text.fits(texts.get(name).map_or("", String::as_str))
    };
    alert.name() == wanted.name
        && wanted.state.is_none_or(|state| state == alert.state)
        && wanted.labels.iter().all(|label| text_fits(label, &alert.labels))
        && wanted.annotations.iter().all(|text| text_fits(text, &alert.annotations))
}

fn alert_text(alert: &Alert) -> String {
    format!("{} {} with {}", alert.name(), alert.state, labels(&alert.labels))
}

fn sample_text(sample: &Sample) -> String {
    format!("{}: {}", labels(&sample.labels), sample.value)
}

fn labels(labels: &BTreeMap<String, String>) -> String {
    let texts: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    format!("{{{}}}", texts.join(","))
}

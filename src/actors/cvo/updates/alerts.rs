//! Alerts that fire as risks of all updates: from 4.23 on, where risks can be accepted (OTA-1813).

use std::collections::BTreeMap;

use super::fetch::Fetched;
use crate::model::alert::{Alert, AlertState};
use crate::model::graph::{Risk, Rule};
use crate::model::release::Release;

/// Where the risk of an alert without a runbook leads.
const NO_RUNBOOK: &str = "https://github.com/openshift/runbooks/tree/master/alerts?runbook=notfound";

/// Alerts that slow an update down, whatever their severity.
const SLOWING: [&str; 8] = [
    "KubeContainerWaiting",
    "KubeNodeNotReady",
    "KubeNodeReadinessFlapping",
    "KubeNodeUnreachable",
    "KubeletHealthState",
    "PodDisruptionBudgetAtLimit",
    "VMCannotBeEvicted",
    "VirtHandlerDaemonSetRolloutFailing",
];

/// Whether the operator of this release looks at alerts.
pub(super) fn are_risks(own: &Release) -> bool {
    own.line() >= (4, 23)
}

/// The risks that alerts are, each name once and by name.
pub(super) fn risks(alerts: &[Alert]) -> Vec<Risk> {
    let mut found = BTreeMap::new();
    for alert in alerts.iter().filter(|alert| alert.state == AlertState::Firing && matters(alert)) {
        found.entry(alert.name()).or_insert_with(|| risk(alert));
    }
    found.into_values().collect()
}

fn matters(alert: &Alert) -> bool {
    let is = |label: &str, value: &str| alert.labels.get(label).is_some_and(|found| found == value);
    is("severity", "critical") || SLOWING.contains(&alert.name()) || is("openShiftUpdatePrecheck", "true")
}

fn risk(alert: &Alert) -> Risk {
    let annotation =
        |name: &str, otherwise: &str| match alert.annotations.get(name).filter(|text| !text.is_empty()) {
            Some(text) => text.clone(),
            None => otherwise.to_owned(),
        };
    let mut message = annotation("summary", alert.name());
    if !message.ends_with('.') {
        message.push('.');
    }
    let url = annotation("runbook_url", NO_RUNBOOK);
    Risk { name: alert.name().to_owned(), url, message, rules: vec![Rule::Always] }
}

/// What the update service told, with risks of the cluster's own: where there are some, no update is without condition.
pub(super) fn merge(fetched: &Fetched, risks: &[Risk]) -> Fetched {
    if risks.is_empty() {
        return fetched.clone();
    }
    let unconditional = fetched.updates.iter().map(|node| (node.clone(), Vec::new()));
    let mut conditional: Vec<_> = fetched.conditional.iter().cloned().chain(unconditional).collect();
    for (_, known) in &mut conditional {
        let new: Vec<Risk> =
            risks.iter().filter(|risk| known.iter().all(|one| one.name != risk.name)).cloned().collect();
        known.extend(new);
        known.sort_by(|a, b| a.name.cmp(&b.name));
    }
    conditional.sort_by(|(a, _), (b, _)| b.version.cmp(&a.version));
    Fetched { current: fetched.current.clone(), updates: Vec::new(), conditional }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alert(labels: &[(&str, &str)], annotations: &[(&str, &str)], state: AlertState) -> Alert {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
        };
        Alert { labels: map(labels), annotations: map(annotations), state }
    }

    #[test]
    fn alerts_that_fire_and_matter_are_risks_once_and_by_name() {
        let firing = AlertState::Firing;
        let alerts = [
            alert(&[("alertname", "Precheck"), ("openShiftUpdatePrecheck", "true")], &[], firing),
            alert(&[("alertname", "Other"), ("severity", "warning")], &[], firing),
            alert(
                &[("alertname", "Down"), ("severity", "critical"), ("name", "a")],
                &[("summary", "A is down.")],
                firing,
            ),
            alert(
                &[("alertname", "Down"), ("severity", "critical"), ("name", "b")],
                &[("summary", "B is down.")],
                firing,
            ),
            alert(&[("alertname", "Late"), ("severity", "critical")], &[], AlertState::Pending),
            alert(
                &[("alertname", "KubeNodeNotReady")],
                &[("summary", "Not ready"), ("runbook_url", "https://r")],
                firing,
            ),
        ];
        let told: Vec<String> = risks(&alerts)
            .iter()
            .map(|risk| format!("{} {} {}", risk.name, risk.message, risk.url))
            .collect();
        let (down, precheck) =
            (format!("Down A is down. {NO_RUNBOOK}"), format!("Precheck Precheck. {NO_RUNBOOK}"));
        assert_eq!(told, [down, "KubeNodeNotReady Not ready. https://r".to_owned(), precheck]);
    }
}

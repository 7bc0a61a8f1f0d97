//! Firing alerts as risks of all updates (OTA-1813), from 4.23 on where risks can be accepted. These releases
//! also make the reasons of Upgradeable=False risks of updates to another minor.

use std::collections::BTreeMap;

use semver::Version;
use windtunnel_core::alert::{ActiveAlert, Alert, AlertState};

use super::fetch::Fetched;
use super::preflights::Preflights;
use crate::graph::{MatchingRule, Node, Risk};
use crate::release::Release;

/// The risk's URL for an alert without a runbook.
const NO_RUNBOOK: &str = "https://github.com/openshift/runbooks/tree/master/alerts?runbook=notfound";

/// Alerts that slow an update down. They are risks at any severity.
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

/// Returns whether the operator of this release treats alerts as risks.
pub(super) fn are_risks(own: &Release) -> bool {
    own.line() >= (4, 23)
}

/// The risks of these alerts, sorted and without duplicate names.
pub(super) fn risks(alerts: &[ActiveAlert]) -> Vec<Risk> {
    let mut found = BTreeMap::new();
    let firing = alerts.iter().map(|active| &active.alert).filter(|alert| alert.state == AlertState::Firing);
    for alert in firing.filter(|alert| is_relevant(alert)) {
        found.entry(alert.name()).or_insert_with(|| risk(alert));
    }
    found.into_values().collect()
}

fn is_relevant(alert: &Alert) -> bool {
    let has = |label: &str, value: &str| alert.labels.get(label).is_some_and(|found| found == value);
    has("severity", "critical") || SLOWING.contains(&alert.name()) || has("openShiftUpdatePrecheck", "true")
}

fn risk(alert: &Alert) -> Risk {
    let annotation =
        |name: &str, default: &str| match alert.annotations.get(name).filter(|text| !text.is_empty()) {
            Some(text) => text.clone(),
            None => default.to_owned(),
        };
    let mut message = annotation("summary", alert.name());
    if !message.ends_with('.') {
        message.push('.');
    }
    let url = annotation("runbook_url", NO_RUNBOOK);
    Risk { name: alert.name().to_owned(), url, message, rules: vec![MatchingRule::Always] }
}

/// Risks from the cluster's own state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OwnRisks {
    /// Those of all updates.
    pub(super) of_all: Vec<Risk>,
    /// Those of updates to a later minor or major than this release's.
    pub(super) of_minors: Vec<Risk>,
    /// Major and minor of this release.
    pub(super) line: (u64, u64),
    /// Those that preflight checks found for single releases.
    pub(super) of_targets: Preflights,
}

impl OwnRisks {
    /// The risks of an update to `node`. Invalid risk names are omitted.
    fn for_update(&self, node: &Node) -> Vec<Risk> {
        let is_minor = (node.version.major, node.version.minor) > self.line;
        let of_minors = self.of_minors.iter().filter(|risk| is_minor && is_name(&risk.name));
        let of_targets = self.of_targets.targets().filter(|(target, _)| target.version == node.version);
        let of_targets = of_targets.flat_map(|(_, risks)| risks);
        self.of_all.iter().chain(of_minors).cloned().chain(of_targets).collect()
    }

    /// The checked releases with risks that the update service does not offer.
    fn unoffered(&self, fetched: &Fetched) -> Vec<(Node, Vec<Risk>)> {
        let offered = |version: &Version| {
            let conditional = fetched.conditional.iter().map(|(node, _)| node);
            fetched.updates.iter().chain(conditional).any(|node| node.version == *version)
        };
        self.of_targets
            .targets()
            .filter(|(node, risks)| !risks.is_empty() && !offered(&node.version))
            .collect()
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
}

/// Adds the cluster's own risks to the update service's answer. An update with a risk becomes conditional.
pub(super) fn merge(fetched: &Fetched, own: &OwnRisks) -> Fetched {
    let unconditional = fetched.updates.iter().map(|node| (node.clone(), Vec::new()));
    let all = fetched.conditional.iter().cloned().chain(unconditional);
    let mut merged = Fetched { current: fetched.current.clone(), ..Fetched::default() };
    for (node, mut risks) in all {
        let new =
            own.for_update(&node).into_iter().filter(|new| risks.iter().all(|known| known.name != new.name));
        let new: Vec<Risk> = new.collect();
        if !new.is_empty() {
            risks.extend(new);
            risks.sort_by(|a, b| a.name.cmp(&b.name));
        }
        if risks.is_empty() { merged.updates.push(node) } else { merged.conditional.push((node, risks)) }
    }
    merged.conditional.extend(own.unoffered(fetched));
    if merged.conditional.len() > fetched.conditional.len() {
        merged.conditional.sort_by(|(a, _), (b, _)| b.version.cmp(&a.version));
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_upgradeable_false_are_risks_of_updates_to_another_minor() {
        let node = |version: &str| {
            let release = Release::find(&"5.0.1".parse().unwrap()).unwrap();
            Node {
                version: version.parse().unwrap(),
                image: version.to_owned(),
                url: release.url,
                channels: Vec::new(),
            }
        };
        let risk = |name: &str| {
            let (name, text) = (name.to_owned(), String::new());
            Risk { name, url: text.clone(), message: text, rules: vec![MatchingRule::Always] }
        };
        let fetched = Fetched {
            updates: vec![node("5.1.0"), node("5.0.2")],
            conditional: vec![(node("5.1.1"), vec![risk("B")]), (node("5.0.3"), vec![risk("B")])],
            ..Fetched::default()
        };
        let own = |of_all: &[&str], of_minors: &[&str]| OwnRisks {
            of_all: of_all.iter().map(|name| risk(name)).collect(),
            of_minors: of_minors.iter().map(|name| risk(name)).collect(),
            line: (5, 0),
            ..OwnRisks::default()
        };
        let targets = |own: &OwnRisks| {
            let merged = merge(&fetched, own);
            let names =
                |risks: &[Risk]| risks.iter().map(|risk| risk.name.clone()).collect::<Vec<_>>().join(" ");
            let updates = merged.updates.iter().map(|node| node.version.to_string());
            let risky =
                merged.conditional.iter().map(|(node, risks)| format!("{}: {}", node.version, names(risks)));
            updates.chain(risky).collect::<Vec<_>>()
        };
        assert_eq!(targets(&own(&[], &[])), ["5.1.0", "5.0.2", "5.1.1: B", "5.0.3: B"]);
        let not_upgradeable =
            own(&[], &["ClusterOperatorUpgradeable-etcd", "AdminAck-ack-5.0-with_line", "B"]);
        let etcd = "ClusterOperatorUpgradeable-etcd";
        assert_eq!(
            targets(&not_upgradeable),
            [
                "5.0.2".to_owned(),
                format!("5.1.1: B {etcd}"),
                format!("5.1.0: B {etcd}"),
                "5.0.3: B".to_owned()
            ]
        );
        assert_eq!(targets(&own(&["A"], &[])), ["5.1.1: A B", "5.1.0: A", "5.0.3: A B", "5.0.2: A"]);
    }

    fn alert(labels: &[(&str, &str)], annotations: &[(&str, &str)], state: AlertState) -> ActiveAlert {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
        };
        let alert = Alert { labels: map(labels), annotations: map(annotations), state };
        ActiveAlert { alert, active_at: None }
    }

    #[test]
    fn relevant_firing_alerts_are_risks_once_and_sorted_by_name() {
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
        let found: Vec<String> = risks(&alerts)
            .iter()
            .map(|risk| format!("{} {} {}", risk.name, risk.message, risk.url))
            .collect();
        let (down, precheck) =
            (format!("Down A is down. {NO_RUNBOOK}"), format!("Precheck Precheck. {NO_RUNBOOK}"));
        assert_eq!(found, [down, "KubeNodeNotReady Not ready. https://r".to_owned(), precheck]);
    }
}

//! Reports about DaemonSets with missing pods on unready nodes, of the network operator (`StatusManager.SetFromPods`
//! of openshift/cluster-network-operator) and the DNS operator (`dns_status.go` and `status/controller.go` of
//! openshift/cluster-dns-operator). A rollout to another version is not complete before all pods are back. Outside of
//! rollouts, releases from 4.22 on do not report nodes that reboot (openshift/api#2829).

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::{Time, after, parse_rfc3339, rfc3339};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::NODES;
use windtunnel_core::{Change, ChangeKind, Object, View};

use crate::manifests::MajorMinor;
use crate::operators::health::{WELL, WELL_MESSAGE, WORKING_TOWARDS, target_in};
use crate::operators::{PROGRESS_TIMEOUT, reported_version};

/// The network's DaemonSet that represents all its DaemonSets in reports about nodes.
const MULTUS: &str = "DaemonSet \"/openshift-multus/multus\"";
/// From this minor on, unavailable pods count only during rollouts.
const IGNORES_REBOOTS: MajorMinor = (4, 22);

/// Whether a message of the network operator is a report about unready nodes.
pub(in crate::operators) fn is_about_nodes(message: &str) -> bool {
    let cause = target_in(message).and_then(|target| message.split_once(&format!("{target}: ")));
    cause.map_or(message, |(_, cause)| cause).starts_with(MULTUS)
}

/// The operator of a DaemonSet with a pod on each node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Network,
    Dns,
}

/// The nodes of a DaemonSet.
#[derive(Debug, Clone)]
pub(super) struct Daemons {
    owner: Owner,
    all: BTreeSet<String>,
    away: BTreeSet<String>,
    /// The last change of the number of missing pods.
    changed_at: Time,
}

/// The conditions that an operator changes because of its nodes, and the time of the next check.
#[derive(Debug, Default)]
pub(super) struct NodeReport {
    pub(super) progressing: Option<Condition>,
    pub(super) degraded: Option<Condition>,
    pub(super) recheck_at: Option<Time>,
}

impl Daemons {
    /// The nodes of an operator that reports its DaemonSets.
    pub(super) fn of(cluster_operator: &str) -> Option<Self> {
        let owner = match cluster_operator {
            "network" => Owner::Network,
            "dns" => Owner::Dns,
            _ => return None,
        };
        Some(Self { owner, all: BTreeSet::new(), away: BTreeSet::new(), changed_at: Time::default() })
    }

    /// Adds the existing nodes. A restarted operator keeps the time of the last change.
    pub(super) fn begin(&mut self, view: &View) {
        for node in view.list(&NODES) {
            self.put(node);
            let ready = condition::find_in_status(node, "Ready");
            let time = ready.and_then(|ready| parse_rfc3339(ready["lastTransitionTime"].as_str()?));
            self.changed_at = self.changed_at.max(time.unwrap_or_default());
        }
    }

    /// Applies changes of nodes. Returns whether a node became ready or unready.
    pub(super) fn notice(&mut self, changes: &[Change], now: Time) -> bool {
        let mut moved = false;
        for change in changes.iter().filter(|change| change.key.is_kind(&NODES)) {
            moved |= match change.kind {
                ChangeKind::Deleted => {
                    self.all.remove(&change.key.name);
                    self.away.remove(&change.key.name)
                }
                _ => self.put(&change.object),
            };
        }
        if moved {
            self.changed_at = now;
        }
        moved
    }

    fn put(&mut self, node: &Object) -> bool {
        let name = node.name();
        if !self.all.contains(name) {
            self.all.insert(name.to_owned());
        }
        if condition::is_true(node, "Ready") {
            self.away.remove(name)
        } else {
            !self.away.contains(name) && self.away.insert(name.to_owned())
        }
    }

    /// Whether pods are missing, so that no rollout of them completes.
    pub(super) fn hold_back(&self) -> bool {
        !self.away.is_empty()
    }

    /// The new conditions of `object`, the ClusterOperator of a release of this minor. Conditions with another cause
    /// are kept.
    pub(super) fn judge(&self, object: &Value, line: MajorMinor, now: Time) -> NodeReport {
        // With all nodes unready, the operator cannot run either.
        if !self.away.is_empty() && self.away.len() == self.all.len() {
            return NodeReport::default();
        }
        let current = |kind: &str| condition::find_in_status(object, kind).map(Condition::from_value);
        let Some(progressing) = current("Progressing") else { return NodeReport::default() };
        let rollout = rollout(object, &progressing);
        let text = self.missing_pods(rollout, line);
        let (degraded, recheck_at) = self.why_degraded(text.is_some(), rollout, line, now);
        NodeReport {
            progressing: self.progressing(&progressing, text, object),
            degraded: current("Degraded").and_then(|current| self.degraded(&current, degraded)),
            recheck_at,
        }
    }

    /// The new `Progressing` condition. `None` if it has another cause.
    fn progressing(&self, current: &Condition, text: Option<String>, object: &Value) -> Option<Condition> {
        let target = target_in(&current.message).filter(|_| current.status == "True");
        let is_own = self.is_own(current);
        match (target, text) {
            (Some(target), Some(text)) if is_own || current.reason == "Progressing" => {
                let message = format!("{WORKING_TOWARDS}{target}: {text}");
                Some(Condition::new("Progressing", "True", self.reason(true), message))
            }
            (Some(target), None) if is_own => Some(Condition::new(
                "Progressing",
                "True",
                "Progressing",
                format!("{WORKING_TOWARDS}{target}"),
            )),
            (None, Some(text)) if is_own || current.status == "False" => {
                Some(Condition::new("Progressing", "True", self.reason(false), text))
            }
            (None, None) if is_own => {
                let version = reported_version(object)?;
                Some(Condition::new("Progressing", "False", WELL, format!("Deployed {version}")))
            }
            _ => None,
        }
    }

    /// The new `Degraded` condition. `None` if it has another cause.
    fn degraded(&self, current: &Condition, text: Option<String>) -> Option<Condition> {
        let is_own = self.is_own(current);
        match text {
            Some(text) if is_own || current.status == "False" => {
                Some(Condition::new("Degraded", "True", self.degraded_reason(), text))
            }
            None if is_own => Some(Condition::new("Degraded", "False", WELL, WELL_MESSAGE)),
            _ => None,
        }
    }

    /// Whether a condition is its report about nodes. The network operator has the same reason for reports about
    /// its DaemonSets.
    pub(super) fn is_own(&self, condition: &Condition) -> bool {
        let reason = condition.reason.as_str();
        let is_of_nodes = match condition.kind.as_str() {
            "Progressing" => [self.reason(false), self.reason(true)].contains(&reason),
            "Degraded" => reason == self.degraded_reason(),
            _ => false,
        };
        is_of_nodes && (self.owner == Owner::Dns || is_about_nodes(&condition.message))
    }

    /// The reason of `Progressing` for missing pods.
    fn reason(&self, is_rollout: bool) -> &'static str {
        match (self.owner, is_rollout) {
            (Owner::Network, _) => "Deploying",
            (Owner::Dns, false) => "DNSReportsProgressingIsTrue",
            (Owner::Dns, true) => "DNSReportsProgressingIsTrueAndUpgrading",
        }
    }

    fn degraded_reason(&self) -> &'static str {
        match self.owner {
            Owner::Network => "RolloutHung",
            Owner::Dns => "DNSDegraded",
        }
    }

    /// The largest number of pods that a rollout takes down at a time: 10 %, rounded up.
    fn max_unavailable(&self) -> usize {
        self.all.len().div_ceil(10)
    }

    /// Why the operator is Progressing. `None` if it is not because of nodes.
    fn missing_pods(&self, rollout: Option<Time>, line: MajorMinor) -> Option<String> {
        let (all, away) = (self.all.len(), self.away.len());
        if away == 0 || rollout.is_none() && line >= IGNORES_REBOOTS {
            return None;
        }
        // Nodes that were away before leave no room for the pods of other nodes.
        let blocks = rollout.is_some_and(|start| self.changed_at <= start) && away >= self.max_unavailable();
        let updated = if blocks { 0 } else { all - away };
        let text = match (self.owner, rollout.is_some()) {
            (Owner::Network, false) => format!("{MULTUS} is not available (awaiting {away} nodes)"),
            (Owner::Network, true) => {
                format!("{MULTUS} update is rolling out ({updated} out of {all} updated)")
            }
            (Owner::Dns, is_rollout) => {
                let (counts_available, available) = (line < IGNORES_REBOOTS, all - away);
                let resolvers = if counts_available { available } else { updated };
                let dns =
                    counts_available.then(|| format!("Have {available} available DNS pods, want {all}."));
                let up_to_date =
                    is_rollout.then(|| format!("Have {updated} up-to-date DNS pods, want {all}."));
                let resolvers = format!("Have {resolvers} available node-resolver pods, want {all}.");
                let lines: Vec<_> = dns.into_iter().chain(up_to_date).chain([resolvers]).collect();
                format!("DNS \"default\" reports Progressing=True: {:?}", lines.join("\n"))
            }
        };
        Some(text)
    }

    /// Why the operator is Degraded, and when it may become Degraded.
    fn why_degraded(
        &self,
        is_progressing: bool,
        rollout: Option<Time>,
        line: MajorMinor,
        now: Time,
    ) -> (Option<String>, Option<Time>) {
        match self.owner {
            Owner::Network if is_progressing => {
                let last_change = rollout.map_or(self.changed_at, |start| self.changed_at.max(start));
                let late_at = after(last_change, PROGRESS_TIMEOUT);
                if late_at >= now {
                    return (None, Some(after(late_at, SignedDuration::from_secs(1))));
                }
                let since = rfc3339(last_change);
                (Some(format!("{MULTUS} rollout is not making progress - last change {since}")), None)
            }
            Owner::Network => (None, None),
            Owner::Dns => (self.too_many_dns_pods(rollout.is_some(), line), None),
        }
    }

    /// Why the DNS operator is Degraded. From 4.22 on it is not during a rollout.
    fn too_many_dns_pods(&self, is_rollout: bool, line: MajorMinor) -> Option<String> {
        let (away, most) = (self.away.len(), self.max_unavailable());
        let text = "DNS default is degraded";
        match away > most {
            true if line < IGNORES_REBOOTS => Some(text.to_owned()),
            true if !is_rollout => {
                let kind = "MaxUnavailableDNSPodsExceeded";
                Some(format!(
                    "{text}: One or more other status conditions indicate a degraded state: {kind}=True ({kind}: Too many DNS pods are unavailable ({away} > {most} max unavailable).)"
                ))
            }
            _ => None,
        }
    }
}

/// The start of the rollout that a ClusterOperator reports, if any.
fn rollout(object: &Value, progressing: &Condition) -> Option<Time> {
    target_in(&progressing.message).filter(|_| progressing.status == "True")?;
    let condition = condition::find_in_status(object, "Progressing")?;
    condition["lastTransitionTime"].as_str().and_then(parse_rfc3339)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(name: &str, ready: &str, kind: ChangeKind) -> Change {
        let condition = json!({ "type": "Ready", "status": ready });
        let object =
            Object::new(json!({ "metadata": { "name": name }, "status": { "conditions": [condition] } }));
        Change { key: NODES.key("", name), kind, object, old: None }
    }

    fn at(minutes: i64) -> Time {
        Time::from_second(1_700_000_000 + minutes * 60).unwrap()
    }

    /// A cluster of three nodes, as an operator sees it.
    fn three(cluster_operator: &str) -> Daemons {
        let mut daemons = Daemons::of(cluster_operator).unwrap();
        assert!(!daemons.notice(&["a", "b", "c"].map(|name| change(name, "True", ChangeKind::Added)), at(0)));
        daemons
    }

    /// A ClusterOperator with these conditions, all since minute 5.
    fn operator(conditions: &[&Condition]) -> Value {
        let mut list = Vec::new();
        for condition in conditions {
            condition::set(&mut list, condition, at(5));
        }
        json!({ "status": { "versions": [{ "name": "operator", "version": "4.18.3" }], "conditions": list } })
    }

    fn well() -> [Condition; 2] {
        [
            Condition::new("Progressing", "False", WELL, "Deployed 4.18.3"),
            Condition::new("Degraded", "False", WELL, WELL_MESSAGE),
        ]
    }

    fn text(condition: Option<&Condition>) -> String {
        condition
            .map_or_else(String::new, |found| format!("{} {} {}", found.status, found.reason, found.message))
    }

    fn texts(findings: &NodeReport) -> [String; 2] {
        [text(findings.progressing.as_ref()), text(findings.degraded.as_ref())]
    }

    #[test]
    fn reports_unready_nodes_until_they_are_ready_or_deleted() {
        let network =
            "True Deploying DaemonSet \"/openshift-multus/multus\" is not available (awaiting 1 nodes)";
        let dns = "True DNSReportsProgressingIsTrue DNS \"default\" reports Progressing=True: \
                   \"Have 2 available DNS pods, want 3.\\nHave 2 available node-resolver pods, want 3.\"";
        let [progressing, degraded] = well();
        let is_well = operator(&[&progressing, &degraded]);
        for (name, expected) in [("network", network), ("dns", dns)] {
            let mut daemons = three(name);
            let judge = |daemons: &Daemons, object: &Value| texts(&daemons.judge(object, (4, 18), at(6)));
            assert_eq!(judge(&daemons, &is_well), ["", ""]);
            assert!(daemons.notice(&[change("b", "Unknown", ChangeKind::Modified)], at(6)));
            assert_eq!(judge(&daemons, &is_well), [expected, ""]);
            assert_eq!(texts(&daemons.judge(&is_well, (4, 22), at(60))), ["", ""], "no rollout");
            assert!(!daemons.notice(&[change("b", "False", ChangeKind::Modified)], at(6)));
            let own = daemons.judge(&is_well, (4, 18), at(6)).progressing.unwrap();
            assert!(daemons.notice(&[change("b", "False", ChangeKind::Deleted)], at(6)));
            let judged = judge(&daemons, &operator(&[&own, &degraded]));
            assert_eq!(judged, ["False AsExpected Deployed 4.18.3", ""]);
        }
    }

    #[test]
    fn a_rollout_waits_for_unready_nodes() {
        let working = Condition::new("Progressing", "True", "Progressing", "Working towards 4.18.7");
        let [_, degraded] = well();
        for (name, line, expected) in [
            (
                "network",
                (4, 18),
                "Deploying Working towards 4.18.7: DaemonSet \"/openshift-multus/multus\" update is rolling out (0 out of 3 updated)",
            ),
            (
                "network",
                (4, 22),
                "Deploying Working towards 4.18.7: DaemonSet \"/openshift-multus/multus\" update is rolling out (0 out of 3 updated)",
            ),
            (
                "dns",
                (4, 18),
                "DNSReportsProgressingIsTrueAndUpgrading Working towards 4.18.7: DNS \"default\" reports Progressing=True: \"Have 2 available DNS pods, want 3.\\nHave 0 up-to-date DNS pods, want 3.\\nHave 2 available node-resolver pods, want 3.\"",
            ),
            (
                "dns",
                (4, 22),
                "DNSReportsProgressingIsTrueAndUpgrading Working towards 4.18.7: DNS \"default\" reports Progressing=True: \"Have 0 up-to-date DNS pods, want 3.\\nHave 0 available node-resolver pods, want 3.\"",
            ),
        ] {
            let mut daemons = three(name);
            daemons.notice(&[change("b", "Unknown", ChangeKind::Modified)], at(1));
            assert!(daemons.hold_back());
            let judged = daemons.judge(&operator(&[&working, &degraded]), line, at(6));
            assert_eq!(texts(&judged), [format!("True {expected}"), String::new()], "{name} {line:?}");
            let own = judged.progressing.unwrap();
            daemons.notice(&[change("b", "True", ChangeKind::Modified)], at(7));
            assert!(!daemons.hold_back());
            let judged = daemons.judge(&operator(&[&own, &degraded]), line, at(7));
            assert_eq!(texts(&judged), ["True Progressing Working towards 4.18.7", ""]);
        }
    }

    #[test]
    fn the_network_is_degraded_after_ten_minutes_without_progress() {
        let [progressing, degraded] = well();
        let mut daemons = three("network");
        daemons.notice(&[change("a", "False", ChangeKind::Modified)], at(6));
        let is_well = operator(&[&progressing, &degraded]);
        let recheck_at = Some(after(at(16), SignedDuration::from_secs(1)));
        assert_eq!(daemons.judge(&is_well, (4, 18), at(16)).recheck_at, recheck_at);
        let hung = daemons.judge(&is_well, (4, 18), at(17)).degraded;
        assert_eq!(
            text(hung.as_ref()),
            "True RolloutHung DaemonSet \"/openshift-multus/multus\" rollout is not making progress - last change 2023-11-14T22:19:20Z"
        );
        let hung = operator(&[&progressing, &hung.unwrap()]);
        daemons.notice(&[change("a", "True", ChangeKind::Modified)], at(18));
        assert_eq!(texts(&daemons.judge(&hung, (4, 18), at(18))), ["", "False AsExpected All is well"]);
    }

    #[test]
    fn dns_is_degraded_by_more_missing_pods_than_a_rollout_may_take_down() {
        let [progressing, degraded] = well();
        let is_well = operator(&[&progressing, &degraded]);
        let mut daemons = three("dns");
        daemons.notice(&[change("a", "False", ChangeKind::Modified)], at(6));
        daemons.notice(&[change("b", "False", ChangeKind::Modified)], at(6));
        let text = |line| text(daemons.judge(&is_well, line, at(6)).degraded.as_ref());
        assert_eq!(text((4, 18)), "True DNSDegraded DNS default is degraded");
        assert_eq!(
            text((4, 22)),
            "True DNSDegraded DNS default is degraded: One or more other status conditions indicate a degraded state: \
             MaxUnavailableDNSPodsExceeded=True (MaxUnavailableDNSPodsExceeded: Too many DNS pods are unavailable (2 > 1 max unavailable).)"
        );
    }

    #[test]
    fn reports_nothing_about_other_causes_or_with_all_nodes_unready() {
        let [progressing, degraded] = well();
        let mut daemons = three("network");
        daemons.notice(&[change("a", "False", ChangeKind::Modified)], at(6));
        let other = Condition::new("Progressing", "True", "Other", "Working towards 4.18.7: x");
        assert_eq!(texts(&daemons.judge(&operator(&[&other, &degraded]), (4, 18), at(6))), ["", ""]);
        daemons.notice(&["b", "c"].map(|name| change(name, "False", ChangeKind::Modified)), at(6));
        let is_well = operator(&[&progressing, &degraded]);
        assert_eq!(texts(&daemons.judge(&is_well, (4, 18), at(60))), ["", ""]);
    }
}

//! The reports of operators in their ClusterOperators.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::{CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES};
use windtunnel_core::{Object, View, condition, text_of};
use windtunnel_openshift::mco::annotations::{RELEASE_VERSION, REQUIRED};

use super::pools;
use super::rule::{ObjectFinding, Rule, Scene};
use crate::record::WriteEvent;

/// How long an operator may be unavailable or degraded: the buffer of the tests of updates (`legacycvomonitortests`).
const BUFFER: SignedDuration = SignedDuration::from_mins(10);

/// The operator that reports pools and nodes, which have rules of their own.
const MACHINE_CONFIG: &str = "machine-config";

/// The version of the operator itself in `status.versions`.
const OPERATOR: &str = "operator";

/// The conditions that must hold, and their statuses.
const WELL: [(&str, &str); 2] = [("Available", "True"), ("Degraded", "False")];

/// The rule about operators, by the names of their ClusterOperators.
#[derive(Default)]
pub(super) struct Operators {
    /// When each became unwell, and how.
    unwell: BTreeMap<String, (Time, String)>,
    /// Those whose last report was rejected.
    rejected: BTreeSet<String>,
}

impl Operators {
    fn note(&mut self, write: &WriteEvent, at: Time) {
        let unwell = write.after.as_ref().and_then(unwell);
        let was_well = write.before.as_ref().is_some_and(|before| self::unwell(before).is_none());
        let name = &write.key.name;
        match unwell {
            Some(how) if was_well => drop(self.unwell.insert(name.clone(), (at, how))),
            Some(_) => {}
            None => drop(self.unwell.remove(name)),
        }
    }

    /// Returns an operator that was unwell for too long without a cause, and how; then forgets it.
    fn take_late(&mut self, scene: &Scene<'_>) -> Option<ObjectFinding> {
        let is_late = |(_, (since, _)): &(&String, &(Time, String))| after(*since, BUFFER) < scene.at;
        let (name, since) =
            self.unwell.iter().find(is_late).map(|(name, (since, _))| (name.clone(), *since))?;
        let (_, how) = self.unwell.remove(&name)?;
        let is_caused =
            !scene.calm.is_calm(since) || !scene.calm.is_calm(scene.at) || has_trouble(scene.view);
        (!is_caused).then(|| {
            ObjectFinding::new(
                format!("ClusterOperator/{name}"),
                format!("has {how} for more than 10 minutes"),
            )
        })
    }
}

impl Rule for Operators {
    fn id(&self) -> String {
        "operator-contract".to_owned()
    }

    fn before(&mut self, scene: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        let late = self.take_late(scene);
        if !write.key.is_kind(&CLUSTER_OPERATORS) {
            return late;
        }
        if write.code >= 400 {
            self.rejected.insert(write.key.name.clone());
            return late;
        }
        let is_excused = self.rejected.remove(&write.key.name) || !scene.calm.is_calm(scene.at);
        if write.key.name != MACHINE_CONFIG {
            self.note(write, scene.at);
        }
        let how = unreported_rollout(write).or_else(|| ahead_of_pools(write, scene.view));
        late.or_else(|| Some(ObjectFinding::by(write, how.filter(|_| !is_excused)?)))
    }
}

/// Returns the first condition that makes an operator unwell. One that reports nothing is not judged.
fn unwell(operator: &Object) -> Option<String> {
    WELL.iter().find_map(|(kind, wanted)| {
        let status = text_of(condition::find_in_status(operator, kind)?, "status");
        (status != *wanted).then(|| format!("{kind}={status}"))
    })
}

/// Whether nodes or pools are the likely cause of the trouble of operators.
fn has_trouble(view: &View) -> bool {
    view.list(&NODES).any(|node| !pools::is_ready(node))
        || view.list(&MACHINE_CONFIG_POOLS).any(|pool| condition::is_true(pool, "Degraded"))
}

/// Returns how an operator changed its version without a report of a rollout.
fn unreported_rollout(write: &WriteEvent) -> Option<String> {
    let (before, after) = (write.before.as_ref()?, write.after.as_ref()?);
    let (old, new) = (version(before), version(after));
    let is_reported = [before, after].iter().any(|operator| condition::is_true(operator, "Progressing"));
    (!old.is_empty() && !new.is_empty() && old != new && !is_reported)
        .then(|| format!("changes from {old} to {new} without Progressing=True"))
}

/// Returns how the machine-config operator reports a release before the required pools have it
/// (`syncRequiredMachineConfigPools` of the machine-config operator).
fn ahead_of_pools(write: &WriteEvent, view: &View) -> Option<String> {
    let (before, after) = (write.before.as_ref()?, write.after.as_ref()?);
    let (old, new) = (version(before), version(after));
    if write.key.name != MACHINE_CONFIG || old.is_empty() || old == new {
        return None;
    }
    let mut required = view.list(&MACHINE_CONFIG_POOLS).filter(|pool| pool.label(REQUIRED).is_some());
    let behind =
        required.find(|pool| !condition::is_true(pool, "Updated") || is_of_other_release(pool, new, view))?;
    Some(format!("changes from {old} to {new} while pool {} is not updated", behind.name()))
}

/// Whether the MachineConfig of a pool was made for another release.
fn is_of_other_release(pool: &Object, release: &str, view: &View) -> bool {
    let config = view.get(&MACHINE_CONFIGS, "", pool.text("/spec/configuration/name"));
    config.and_then(|config| config.annotation(RELEASE_VERSION)).is_some_and(|found| found != release)
}

/// Returns the version that an operator reports for itself.
pub(super) fn version(operator: &Object) -> &str {
    let named = |version: &&Value| text_of(version, "name") == OPERATOR;
    operator.list("/status/versions").iter().find(named).map_or("", |version| text_of(version, "version"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::oracles::testing::Story;

    const RULE: &str = "operator-contract";

    fn operator(version: &str, conditions: [(&str, &str); 3]) -> Value {
        let conditions = conditions.map(|(kind, status)| json!({ "type": kind, "status": status }));
        json!({
            "metadata": { "name": "dns" },
            "status": { "conditions": conditions, "versions": [{ "name": "operator", "version": version }] },
        })
    }

    fn reports(available: &str, progressing: &str, version: &str) -> Value {
        operator(version, [("Available", available), ("Degraded", "False"), ("Progressing", progressing)])
    }

    fn story() -> Story {
        Story::new().status(1, "operator/dns", &CLUSTER_OPERATORS, reports("True", "False", "1"))
    }

    #[test]
    fn a_rollout_is_reported() {
        let rolled =
            |progressing| {
                story()
                    .status(2, "operator/dns", &CLUSTER_OPERATORS, reports("True", progressing, "1"))
                    .status(9, "operator/dns", &CLUSTER_OPERATORS, reports("True", "False", "2"))
            };
        assert!(rolled("True").findings(RULE).is_empty());
        assert_eq!(
            rolled("False").findings(RULE),
            ["ClusterOperator/dns: changes from 1 to 2 without Progressing=True"]
        );
    }

    #[test]
    fn an_operator_is_unwell_for_a_short_time_only() {
        let away = |second| {
            story().status(10, "operator/dns", &CLUSTER_OPERATORS, reports("False", "False", "1")).status(
                second,
                "operator/dns",
                &CLUSTER_OPERATORS,
                reports("True", "False", "1"),
            )
        };
        assert!(away(600).findings(RULE).is_empty());
        assert_eq!(
            away(700).findings(RULE),
            ["ClusterOperator/dns: has Available=False for more than 10 minutes"]
        );
        let excused = story()
            .step(5, "operator dns is unavailable for 20m")
            .status(10, "operator/dns", &CLUSTER_OPERATORS, reports("False", "False", "1"))
            .status(1_000, "operator/dns", &CLUSTER_OPERATORS, reports("True", "False", "1"));
        assert!(excused.findings(RULE).is_empty());
    }

    #[test]
    fn the_machine_config_operator_waits_for_required_pools() {
        let named = |version: &str, progressing: &str| {
            let mut operator = reports("True", progressing, version);
            operator["metadata"]["name"] = json!(MACHINE_CONFIG);
            operator
        };
        let found = |updated: &str| {
            let pool = json!({
                "metadata": { "name": "master", "labels": { (REQUIRED): "" } },
                "status": { "conditions": [{ "type": "Updated", "status": updated }] },
            });
            Story::new()
                .write(1, "a", &MACHINE_CONFIG_POOLS, pool)
                .write(1, "a", &CLUSTER_OPERATORS, named("4.18.1", "True"))
                .write(2, "a", &CLUSTER_OPERATORS, named("4.18.3", "False"))
                .findings(RULE)
        };
        assert!(found("True").is_empty());
        assert_eq!(
            found("False"),
            [
                "ClusterOperator/machine-config: changes from 4.18.1 to 4.18.3 while pool master is not updated"
            ]
        );
    }
}

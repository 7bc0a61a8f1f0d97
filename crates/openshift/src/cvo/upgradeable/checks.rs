//! The Upgradeable checks of releases up to 4.22. A single failed check is reported as Upgradeable itself.
//! Several are reported as separate conditions plus Upgradeable.

use std::collections::BTreeMap;

use windtunnel_core::condition::{self, Condition};
use windtunnel_core::{Object, View};

use super::{KIND, completed_version, gates, has_overrides, not_upgradeable_operators};
use crate::cvo::behaviour::{Behaviour, UpgradeableStyle};

/// The reason for overrides.
pub(super) const OVERRIDES_SET: &str = "ClusterVersionOverridesSet";

/// The conditions, sorted by type. Empty if all checks pass.
pub(super) fn conditions(
    behaviour: Behaviour,
    cluster_version: &Object,
    deletions: &[String],
    view: &View,
) -> Vec<Condition> {
    let mut failed: Vec<Condition> = [
        overrides(behaviour, cluster_version),
        admin_acks(behaviour, cluster_version, view),
        cluster_operators(view),
        deletes_in_progress(deletions),
        update_in_progress(behaviour, cluster_version),
    ]
    .into_iter()
    .flatten()
    .collect();
    match failed.as_slice() {
        [] => failed,
        [one] => vec![Condition::new(KIND, "False", &one.reason, one.message.clone())],
        several => {
            let join = |part: fn(&Condition) -> &str, between| {
                several.iter().map(part).collect::<Vec<_>>().join(between)
            };
            let (reasons, messages) = (join(|c| &c.reason, ","), join(|c| &c.message, "\n* "));
            let message = format!(
                "Cluster should not be upgraded between minor versions for multiple reasons: {reasons}\n* {messages}"
            );
            failed.push(Condition::new(KIND, "False", "MultipleReasons", message));
            failed.sort_by(|a, b| a.kind.cmp(&b.kind));
            failed
        }
    }
}

fn overrides(behaviour: Behaviour, cluster_version: &Object) -> Option<Condition> {
    has_overrides(cluster_version).then(|| {
        let message = overrides_message(behaviour);
        Condition::new("UpgradeableClusterVersionOverrides", "False", OVERRIDES_SET, message)
    })
}

/// The message about overrides of an operator's release.
pub(super) fn overrides_message(behaviour: Behaviour) -> &'static str {
    if behaviour.overrides_block_patches {
        "Disabling ownership via cluster version overrides prevents upgrades. Please remove overrides before continuing."
    } else {
        "Disabling ownership via cluster version overrides prevents upgrades between minor or major versions. Please remove overrides before requesting a minor or major version update."
    }
}

fn admin_acks(behaviour: Behaviour, cluster_version: &Object, view: &View) -> Option<Condition> {
    let failed =
        |reason: &str, message| Some(Condition::new("UpgradeableAdminAckRequired", "False", reason, message));
    let closed = match gates::closed(behaviour.upgradeable, completed_version(cluster_version), view) {
        Ok(closed) => closed,
        Err((_, name)) => {
            let which = if name == gates::GATES.1 { "Gates" } else { "Acks" };
            return failed(
                &format!("UnableToAccessAdmin{which}ConfigMap"),
                format!("{name} configmap not found."),
            );
        }
    };
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for gate in closed {
        by_reason.entry(gate.reason).or_default().push(gate.message);
    }
    let reason = match by_reason.len() {
        0 => return None,
        1 => *by_reason.keys().next()?,
        _ => "MultipleReasons",
    };
    let in_order = |mut texts: Vec<String>| {
        texts.sort();
        texts.join(" ")
    };
    failed(reason, in_order(by_reason.into_values().map(in_order).collect()))
}

fn deletes_in_progress(deletions: &[String]) -> Option<Condition> {
    (!deletions.is_empty()).then(|| {
        let message = format!(
            "Cluster minor level upgrades are not allowed while resource deletions are in progress; resources={}",
            deletions.join(",")
        );
        Condition::new("UpgradeableDeletesInProgress", "False", "ResourceDeletesInProgress", message)
    })
}

fn cluster_operators(view: &View) -> Option<Condition> {
    let operators = not_upgradeable_operators(view);
    let sentence =
        |name: &str| format!("Cluster operator {name} should not be upgraded between minor versions:");
    let (reason, message) = match operators.as_slice() {
        [] => return None,
        [(name, condition)] => {
            (condition.reason.clone(), format!("{} {}", sentence(name), condition.message))
        }
        several => {
            let lines: Vec<String> = several
                .iter()
                .map(|(name, Condition { reason, message, .. })| {
                    format!("\n* {} {reason}: {message}", sentence(name))
                })
                .collect();
            let message = format!(
                "Multiple cluster operators should not be upgraded between minor versions:{}",
                lines.concat()
            );
            ("ClusterOperatorsNotUpgradeable".to_owned(), message)
        }
    };
    Some(Condition::new("UpgradeableClusterOperators", "False", &reason, message))
}

/// Unlike the other separate conditions, this one is True.
fn update_in_progress(behaviour: Behaviour, cluster_version: &Object) -> Option<Condition> {
    let counts = behaviour.upgradeable == UpgradeableStyle::Checks { update_in_progress: true };
    (counts && condition::is_true(cluster_version, "Progressing")).then(|| {
        let message = "An update is already in progress and the details are in the Progressing condition";
        Condition::new("UpgradeableUpgradeInProgress", "True", "UpdateInProgress", message)
    })
}

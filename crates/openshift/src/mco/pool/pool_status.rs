//! The status of a MachineConfigPool.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::text::go_quote::quote;
use windtunnel_core::{Object, pool};

use super::{certificates, conditions, image_build};
use crate::manifests::MajorMinor;
use crate::mco::layering::Layering;
use crate::mco::node::{NodeState, Target};

/// From this minor on `Degraded` has the message of `NodeDegraded`.
const COPIES_MESSAGE: MajorMinor = (4, 19);
/// From this minor on the status includes pinned image sets.
const PINNED_IMAGES: MajorMinor = (4, 20);
/// From this minor on a degraded node is reported twice: from its MachineConfigNode and from its annotations.
const REPORTS_TWICE: MajorMinor = (4, 21);

/// The numbers of nodes in a pool by state.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::mco) struct Counts {
    total: usize,
    updated: usize,
    ready: usize,
    unavailable: usize,
    degraded: usize,
}

impl Counts {
    /// Counts the nodes of a pool with this target.
    pub(in crate::mco) fn of(members: &BTreeMap<String, NodeState>, target: Target<'_>) -> Self {
        let mut counts = Self { total: members.len(), ..Self::default() };
        for member in members.values() {
            let updated = member.is_updated(target);
            counts.updated += usize::from(updated);
            counts.ready += usize::from(updated && member.ready);
            counts.unavailable += usize::from(member.is_unavailable());
            counts.degraded += usize::from(member.degraded);
        }
        counts
    }

    fn all_updated(&self) -> bool {
        self.updated == self.total && self.ready == self.total && self.unavailable == 0
    }
}

/// The status of `pool` with these nodes and this custom image, as the controller of a release writes it.
pub(in crate::mco) fn status(
    pool: &Object,
    members: &BTreeMap<String, NodeState>,
    layering: Option<&Layering<'_>>,
    line: MajorMinor,
    now: Time,
) -> Value {
    let config = pool::desired_config(pool);
    let counts = Counts::of(members, Target::new(config, layering));
    let mut status = pool["status"].clone();
    if !status.is_object() {
        status = json!({});
    }
    status["observedGeneration"] = json!(pool.generation());
    for (field, count) in [
        ("machineCount", counts.total),
        ("updatedMachineCount", counts.updated),
        ("readyMachineCount", counts.ready),
        ("unavailableMachineCount", counts.unavailable),
        ("degradedMachineCount", counts.degraded),
    ] {
        status[field] = json!(count);
    }
    if line >= PINNED_IMAGES {
        status["poolSynchronizersStatus"] = json!([{
            "poolSynchronizerType": "PinnedImageSets",
            "machineCount": counts.total,
            "updatedMachineCount": members.values().filter(|member| member.has_pinned_images).count(),
            "readyMachineCount": counts.ready,
            "unavailableMachineCount": counts.unavailable,
            "availableMachineCount": counts.total - counts.unavailable,
        }]);
    }
    let mut list = pool.conditions().to_vec();
    let node_degraded = node_degraded(members, line);
    let [updated, updating] = progress(&counts, pool, layering);
    if updated.status == "True" {
        status["configuration"] = pool["spec"]["configuration"].clone();
    } else if status["configuration"].is_null() {
        status["configuration"] = json!({});
    }
    let recovered = image_build::recovered(pool, layering);
    // The order of `calculateStatus`. It is visible when several conditions change.
    let changed = [Some(&updated), Some(&updating), Some(&node_degraded), recovered.as_ref()];
    for condition in changed.into_iter().flatten() {
        conditions::set(&mut list, condition, now);
    }
    let degraded = degraded(&list, &node_degraded, line);
    conditions::set(&mut list, &degraded, now);
    status["conditions"] = Value::Array(list);
    // An older CRD drops these entries. That alone must not cause another write.
    if status["certExpirys"].is_null()
        && status != pool["status"]
        && let Some(expirys) = certificates::expirys(line, now)
    {
        status["certExpirys"] = expirys;
    }
    status
}

fn progress(counts: &Counts, pool: &Object, layering: Option<&Layering<'_>>) -> [Condition; 2] {
    let target = image_build::target_text(pool::desired_config(pool), layering);
    let all_updated = counts.all_updated() && !layering.is_some_and(Layering::is_pending);
    let (updated, updating) = if all_updated {
        (("True", format!("All nodes are updated with {target}")), ("False", String::new()))
    } else if pool::is_paused(pool) {
        (("False", String::new()), ("False", format!("Pool is paused; will not update to {target}")))
    } else {
        (("False", String::new()), ("True", format!("All nodes are updating to {target}")))
    };
    let updating = Condition::new("Updating", updating.0, "", updating.1);
    let of_image = layering.and_then(|layering| image_build::updating(pool, layering, all_updated));
    [Condition::new("Updated", updated.0, "", updated.1), of_image.unwrap_or(updating)]
}

/// The condition NodeDegraded with the reasons of degraded nodes, sorted by name.
fn node_degraded(members: &BTreeMap<String, NodeState>, line: MajorMinor) -> Condition {
    let degraded: Vec<_> = members.iter().filter(|(_, member)| member.degraded).collect();
    if degraded.is_empty() {
        return Condition::new("NodeDegraded", "False", "", "");
    }
    // The entries from MachineConfigNodes end at the first node without such a condition.
    let failures = members.iter().map_while(|(name, member)| Some((name, member.failure.as_ref()?)));
    let failures = failures.filter(|(_, failure)| line >= REPORTS_TWICE && !failure.is_empty());
    let reasons = degraded.iter().map(|(name, member)| (*name, &member.reason));
    let reasons = reasons.filter(|(_, reason)| !reason.is_empty());
    let message: Vec<_> = failures
        .chain(reasons)
        .map(|(name, reason)| format!("Node {name} is reporting: {}", quote(reason)))
        .collect();
    let reason = format!("{} nodes are reporting degraded status on sync", degraded.len());
    Condition::new("NodeDegraded", "True", &reason, message.join(", "))
}

fn degraded(list: &[Value], node_degraded: &Condition, line: MajorMinor) -> Condition {
    let is_true = |kind: &str| condition::is_true_in(list, kind);
    if node_degraded.status == "True" {
        let message = if line >= COPIES_MESSAGE { node_degraded.message.as_str() } else { "" };
        return Condition::new("Degraded", "True", "", message);
    }
    if is_true(image_build::DEGRADED) {
        return Condition::new("Degraded", "True", "", "Custom OS image build failed");
    }
    // `PinnedImageSetsDegraded` counts only up to 4.18, with a feature gate that is off there (`calculateStatus`).
    let status = if is_true("RenderDegraded") { "True" } else { "False" };
    Condition::new("Degraded", status, "", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mco::annotations::{CURRENT_CONFIG, DESIRED_CONFIG, REASON, STATE};

    /// A node with these annotations: current and desired config, state and reason.
    fn node((current, desired, state, reason): (&str, &str, &str, &str)) -> NodeState {
        let node = Object::new(json!({
            "metadata": { "annotations": {
                (CURRENT_CONFIG): current, (DESIRED_CONFIG): desired, (STATE): state, (REASON): reason,
            } },
            "spec": { "unschedulable": state == "Working" },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
        }));
        let failure = if reason.is_empty() { String::new() } else { format!("upgrade failure. {reason}") };
        NodeState::of(&node, Some(failure))
    }

    /// `total/updated/ready/unavailable/degraded` and the conditions of a pool whose target is `b`.
    fn report(nodes: &[(&str, &str, &str, &str)], paused: bool, line: MajorMinor) -> (String, Vec<String>) {
        let members = nodes.iter().enumerate().map(|(index, of)| (format!("w{index}"), node(*of))).collect();
        let pool = Object::new(json!({
            "metadata": { "generation": 3 },
            "spec": { "paused": paused, "configuration": { "name": "b" } },
            "status": { "configuration": { "name": "a" } },
        }));
        let status = status(&pool, &members, None, line, Time::UNIX_EPOCH);
        let count = |field: &str| status[format!("{field}MachineCount")].to_string();
        let counts = ["updated", "ready", "unavailable", "degraded"].map(count).join("/");
        let conditions = status["conditions"].as_array().unwrap().iter().map(|c| {
            let text = |field: &str| c[field].as_str().unwrap();
            format!("{}={} {} {}", text("type"), text("status"), text("reason"), text("message"))
                .trim_end()
                .to_owned()
        });
        (format!("{}/{counts}", status["machineCount"]), conditions.collect())
    }

    const IDLE: (&str, &str, &str, &str) = ("a", "a", "Done", "");
    const NEXT: (&str, &str, &str, &str) = ("a", "b", "Working", "");
    const DONE: (&str, &str, &str, &str) = ("b", "b", "Done", "");
    const WELL: [&str; 2] = ["NodeDegraded=False", "Degraded=False"];

    #[test]
    fn pinned_images_do_not_degrade_a_pool() {
        let pool = |kind: &str| {
            let conditions = json!([{ "type": kind, "status": "True" }]);
            let spec = json!({ "configuration": { "name": "b" } });
            Object::new(json!({ "metadata": {}, "spec": spec, "status": { "conditions": conditions } }))
        };
        for (kind, expected) in [("RenderDegraded", "True"), ("PinnedImageSetsDegraded", "False")] {
            let status = status(&pool(kind), &BTreeMap::new(), None, (4, 18), Time::UNIX_EPOCH);
            let list = status["conditions"].as_array().unwrap();
            assert_eq!(condition::find(list, "Degraded").unwrap()["status"], expected, "{kind}");
        }
    }

    #[test]
    fn counts_the_nodes_of_a_pool_during_an_update() {
        let updating =
            ["Updated=False", "Updating=True  All nodes are updating to MachineConfig b", WELL[0], WELL[1]];
        for (nodes, counts) in [
            ([IDLE, IDLE, IDLE], "3/0/0/0/0"),
            ([NEXT, IDLE, IDLE], "3/0/0/1/0"),
            ([DONE, IDLE, IDLE], "3/1/1/0/0"),
            ([DONE, NEXT, IDLE], "3/1/1/1/0"),
        ] {
            let (seen, conditions) = report(&nodes, false, (4, 18));
            assert_eq!(
                (seen.as_str(), conditions.iter().map(String::as_str).collect::<Vec<_>>()),
                (counts, updating.into())
            );
        }
        let (seen, conditions) = report(&[DONE, DONE, DONE], false, (4, 18));
        assert_eq!(seen, "3/3/3/0/0");
        assert_eq!(
            conditions[..2],
            ["Updated=True  All nodes are updated with MachineConfig b", "Updating=False"]
        );
    }

    #[test]
    fn a_paused_pool_is_neither_updated_nor_updating() {
        let (_, conditions) = report(&[IDLE, IDLE], true, (4, 18));
        assert_eq!(
            conditions[..2],
            ["Updated=False", "Updating=False  Pool is paused; will not update to MachineConfig b"]
        );
        let (_, conditions) = report(&[DONE, DONE], true, (4, 18));
        assert_eq!(conditions[0], "Updated=True  All nodes are updated with MachineConfig b");
        let (seen, conditions) = report(&[], false, (4, 18));
        assert_eq!(
            (seen.as_str(), conditions[0].as_str()),
            ("0/0/0/0/0", "Updated=True  All nodes are updated with MachineConfig b")
        );
    }

    #[test]
    fn lists_degraded_nodes_with_their_reasons() {
        let nodes = [("a", "b", "Degraded", "a \"quoted\" \u{1b} text"), ("a", "b", "Degraded", ""), IDLE];
        let (seen, conditions) = report(&nodes, false, (4, 18));
        assert_eq!(seen, "3/0/0/0/2");
        let node_degraded = r#"NodeDegraded=True 2 nodes are reporting degraded status on sync Node w0 is reporting: "a \"quoted\" \x1b text""#;
        assert_eq!(conditions[2..], [node_degraded, "Degraded=True"]);
        let (_, conditions) = report(&nodes, false, (4, 19));
        assert_eq!(conditions[3], r#"Degraded=True  Node w0 is reporting: "a \"quoted\" \x1b text""#);
    }

    #[test]
    fn certificates_dropped_by_an_older_definition_cause_no_further_writes() {
        let mut pool = json!({ "metadata": {}, "spec": { "configuration": { "name": "b" } } });
        let write_status = |pool: &Value| {
            status(&Object::new(pool.clone()), &BTreeMap::new(), None, (4, 18), Time::UNIX_EPOCH)
        };
        let mut written = write_status(&pool);
        assert!(written["certExpirys"].is_array());
        written.as_object_mut().unwrap().remove("certExpirys");
        pool["status"] = written.clone();
        assert_eq!(write_status(&pool), written);
    }

    #[test]
    fn from_4_21_on_a_degraded_node_is_reported_twice() {
        let nodes = [("a", "b", "Degraded", "full"), IDLE, ("a", "b", "Degraded", "late")];
        let twice = r#"Node w0 is reporting: "upgrade failure. full", Node w2 is reporting: "upgrade failure. late", "#;
        let once = r#"Node w0 is reporting: "full", Node w2 is reporting: "late""#;
        for (line, expected) in [((4, 20), once.to_owned()), ((4, 21), format!("{twice}{once}"))] {
            let (_, conditions) = report(&nodes, false, line);
            assert_eq!(conditions[3], format!("Degraded=True  {expected}"), "{line:?}");
        }
        let mut members: BTreeMap<_, _> =
            nodes.iter().enumerate().map(|(index, of)| (format!("w{index}"), node(*of))).collect();
        members.get_mut("w1").unwrap().failure = None;
        let message = node_degraded(&members, (4, 21)).message;
        assert_eq!(message, format!("Node w0 is reporting: \"upgrade failure. full\", {once}"), "until w1");
    }
}

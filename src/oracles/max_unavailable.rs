//! How many nodes of a pool are away at once.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Object, View};
use windtunnel_openshift::mco::annotations::{CURRENT_CONFIG, DESIRED_CONFIG};

use super::pools::{self, text};
use super::rule::{ObjectFinding, Rule, Scene, is_of_component};
use crate::record::WriteEvent;

/// How long the controller may not know a change: the delay of its watches, and of its queue (`updateDelay`).
const DELAY: SignedDuration = SignedDuration::from_secs(10);

/// The rule about `maxUnavailable`, by when nodes and pools last changed.
#[derive(Default)]
pub(super) struct MaxUnavailable {
    /// When a node became ready or unready, by its name.
    nodes: BTreeMap<String, Time>,
    /// When a pool was paused or got another `maxUnavailable`, by its name.
    pools: BTreeMap<String, Time>,
}

impl MaxUnavailable {
    fn is_known(changed: &BTreeMap<String, Time>, name: &str, at: Time) -> bool {
        changed.get(name).is_none_or(|changed| after(*changed, DELAY) <= at)
    }

    /// Returns how the target of a node breaks the rule.
    fn judge(&self, node: &Object, view: &View, at: Time) -> Option<String> {
        let pool = pools::pool_of(node, view)?;
        let name = pool.name();
        if !Self::is_known(&self.pools, name, at) {
            return None;
        }
        if pool["spec"]["paused"] == true {
            return Some(format!("gets another MachineConfig, but its pool {name} is paused"));
        }
        if Self::is_known(&self.nodes, node.name(), at) && !pools::is_ready(node) {
            return Some("gets another MachineConfig, but it is cordoned or not ready".to_owned());
        }
        let members: Vec<&Object> = pools::members(pool, view).collect();
        let is_away = |member: &&&Object| {
            let is_targeted = text(member, CURRENT_CONFIG) != text(member, DESIRED_CONFIG);
            pools::is_unavailable(member) && (is_targeted || Self::is_known(&self.nodes, member.name(), at))
        };
        let away = members.iter().filter(|member| member.name() != node.name()).filter(is_away).count();
        let max = pools::max_unavailable(pool, members.len());
        (away >= max).then(|| {
            format!("gets another MachineConfig while {away} nodes of pool {name} are unavailable: maxUnavailable is {max}")
        })
    }

    fn note(&mut self, write: &WriteEvent, at: Time) {
        let (before, after) = (write.before.as_ref(), write.after.as_ref());
        if write.key.is_kind(&NODES) && before.map(pools::is_ready) != after.map(pools::is_ready) {
            self.nodes.insert(write.key.name.clone(), at);
        }
        let spec = |pool: &Object| {
            let spec = &pool["spec"];
            [spec["paused"].clone(), spec["maxUnavailable"].clone(), spec["nodeSelector"].clone()]
        };
        if write.key.is_kind(&MACHINE_CONFIG_POOLS) && before.map(spec) != after.map(spec) {
            self.pools.insert(write.key.name.clone(), at);
        }
    }
}

impl Rule for MaxUnavailable {
    fn id(&self) -> String {
        "max-unavailable".to_owned()
    }

    fn before(&mut self, scene: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        if write.code >= 400 {
            return None;
        }
        let (before, after) = (write.before.as_ref(), write.after.as_ref());
        let is_target = write.key.is_kind(&NODES)
            && is_of_component(write)
            && !scene.calm.may_be_outdated("machine-config-controller", scene.at);
        let targets = before.zip(after).filter(|(before, after)| {
            let (old, new) = (text(before, DESIRED_CONFIG), text(after, DESIRED_CONFIG));
            is_target && !old.is_empty() && old != new
        });
        let how = targets.and_then(|(before, _)| self.judge(before, scene.view, scene.at));
        self.note(write, scene.at);
        Some(ObjectFinding::by(write, how?))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_openshift::mco::annotations::STATE;

    use super::*;
    use crate::oracles::testing::Story;

    const CONTROLLER: &str = "machine-config-controller/node";

    fn node(name: &str, desired: &str, ready: &str) -> Value {
        json!({
            "metadata": {
                "name": name, "labels": { "role": "worker" },
                "annotations": { (CURRENT_CONFIG): "a", (DESIRED_CONFIG): desired, (STATE): "Done" },
            },
            "status": { "conditions": [{ "type": "Ready", "status": ready }] },
        })
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers write the value in place")]
    fn story(pool: Value) -> Story {
        let pool = json!({ "metadata": { "name": "worker" }, "spec": pool });
        Story::new()
            .write(-9, "installer", &MACHINE_CONFIG_POOLS, pool)
            .write(-9, "installer", &NODES, node("w0", "a", "True"))
            .write(-9, "installer", &NODES, node("w1", "a", "True"))
    }

    fn selector() -> Value {
        json!({ "matchLabels": { "role": "worker" } })
    }

    #[test]
    fn one_node_at_a_time_gets_another_config() {
        let story = || {
            story(json!({ "nodeSelector": selector() })).write(
                60,
                CONTROLLER,
                &NODES,
                node("w0", "b", "True"),
            )
        };
        assert!(story().findings("max-unavailable").is_empty());
        assert_eq!(
            story().write(70, CONTROLLER, &NODES, node("w1", "b", "True")).findings("max-unavailable"),
            [
                "Node/w1: gets another MachineConfig while 1 nodes of pool worker are unavailable: maxUnavailable is 1"
            ]
        );
    }

    #[test]
    fn a_setting_allows_more() {
        let story = story(json!({ "nodeSelector": selector(), "maxUnavailable": 2 }))
            .write(60, CONTROLLER, &NODES, node("w0", "b", "True"))
            .write(60, CONTROLLER, &NODES, node("w1", "b", "True"));
        assert!(story.findings("max-unavailable").is_empty());
    }

    #[test]
    fn nodes_that_are_away_count_once_the_controller_knows() {
        let story = |second| {
            story(json!({ "nodeSelector": selector() }))
                .write(60, "kubelet/w0", &NODES, node("w0", "a", "False"))
                .write(second, CONTROLLER, &NODES, node("w1", "b", "True"))
        };
        assert!(story(65).findings("max-unavailable").is_empty());
        assert_eq!(story(90).findings("max-unavailable").len(), 1);
    }

    #[test]
    fn paused_pools_and_cordoned_nodes_wait() {
        let paused = story(json!({ "nodeSelector": selector(), "paused": true })).write(
            60,
            CONTROLLER,
            &NODES,
            node("w0", "b", "True"),
        );
        assert_eq!(
            paused.findings("max-unavailable"),
            ["Node/w0: gets another MachineConfig, but its pool worker is paused"]
        );
        let away = story(json!({ "nodeSelector": selector() }))
            .write(10, "kubelet/w0", &NODES, node("w0", "a", "False"))
            .write(60, CONTROLLER, &NODES, node("w0", "b", "False"));
        assert_eq!(
            away.findings("max-unavailable"),
            ["Node/w0: gets another MachineConfig, but it is cordoned or not ready"]
        );
    }
}

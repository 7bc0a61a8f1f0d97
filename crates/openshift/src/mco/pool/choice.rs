//! The choice of the nodes in a pool that are updated next.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::mco::node::{NodeState, Target};

/// The maximum of unavailable nodes in a pool: one by default and at least, percentages rounded down. `None`
/// for an invalid value, with which no node is updated.
pub(super) fn max_unavailable(value: &Value, nodes: usize) -> Option<usize> {
    let maximum = match value {
        Value::Null => Some(1),
        Value::Number(number) => number.as_u64().and_then(|number| usize::try_from(number).ok()),
        Value::String(text) => {
            let percent: usize = text.strip_suffix('%')?.parse().ok()?;
            Some(nodes.saturating_mul(percent) / 100)
        }
        _ => None,
    };
    maximum.map(|number| number.max(1))
}

/// The nodes to update next.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Choice<'a> {
    /// The nodes that get the new target now.
    pub(super) nodes: Vec<&'a str>,
    /// A candidate that is deferred because others go first.
    pub(super) deferred: Option<&'a str>,
}

/// Chooses the nodes that get `target` now, within `max_unavailable`. The node `deferred` comes after all
/// others.
pub(super) fn choose<'a>(
    members: &'a BTreeMap<String, NodeState>,
    target: Target<'_>,
    max_unavailable: usize,
    deferred: Option<&'a str>,
) -> Choice<'a> {
    let count =
        |counts: &dyn Fn(&NodeState) -> bool| members.values().filter(|member| counts(member)).count();
    let taken = count(&NodeState::is_unavailable);
    // A cordoned node that failed to apply the target counts twice.
    let failing = count(&|member: &NodeState| member.failing && member.is_targeted(target));
    let Some(room) = max_unavailable.checked_sub(taken + failing).filter(|room| *room > 0) else {
        return Choice::default();
    };
    let mut candidates: Vec<(&String, &NodeState)> =
        members.iter().filter(|(_, member)| !member.is_targeted(target) && member.ready).collect();
    let is_deferred = |name: &String| deferred == Some(name.as_str());
    let deferred =
        deferred.filter(|_| candidates.len() > 1 && candidates.iter().any(|(name, _)| is_deferred(name)));
    if deferred.is_some() {
        candidates.retain(|(name, _)| !is_deferred(name));
    }
    if candidates.len() > room {
        candidates.sort_by(|(_, a), (_, b)| a.update_order().cmp(&b.update_order()));
        candidates.truncate(room);
    }
    Choice { nodes: candidates.into_iter().map(|(name, _)| name.as_str()).collect(), deferred }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::Object;

    use super::*;
    use crate::mco::annotations::{CURRENT_CONFIG, DESIRED_CONFIG, STATE};
    use crate::mco::node::TargetImage;

    const NEW: Target<'_> = Target { config: "new", image: TargetImage::Release };

    /// A node of this zone, age (a day of January), desired config and state. Its current config is `old`.
    fn member(zone: &str, day: u8, desired: &str, state: &str, cordoned: bool) -> NodeState {
        let mut labels = json!({});
        if !zone.is_empty() {
            labels["topology.kubernetes.io/zone"] = json!(zone);
        }
        let node = Object::new(json!({
            "metadata": {
                "labels": labels,
                "creationTimestamp": format!("2024-01-{day:02}T00:00:00Z"),
                "annotations": { (CURRENT_CONFIG): "old", (DESIRED_CONFIG): desired, (STATE): state },
            },
            "spec": { "unschedulable": cordoned },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
        }));
        NodeState::of(&node, None)
    }

    fn pool(nodes: &[(&str, NodeState)]) -> BTreeMap<String, NodeState> {
        nodes.iter().map(|(name, member)| ((*name).to_owned(), member.clone())).collect()
    }

    #[test]
    fn max_unavailable_percentages_are_rounded_down_to_at_least_one() {
        for (value, nodes, expected) in [
            (json!(null), 6, Some(1)),
            (json!(0), 6, Some(1)),
            (json!(3), 6, Some(3)),
            (json!("50%"), 5, Some(2)),
            (json!("10%"), 5, Some(1)),
            (json!("some"), 5, None),
            (json!("some%"), 5, None),
            (json!("18446744073709551615%"), 5, Some(usize::MAX / 100)),
        ] {
            assert_eq!(max_unavailable(&value, nodes), expected, "{value} of {nodes}");
        }
    }

    #[test]
    fn chooses_by_zone_and_the_oldest_node_of_each_first() {
        let idle = |zone, day| member(zone, day, "old", "Done", false);
        let mut members = pool(&[
            ("w0", idle("b", 1)),
            ("w1", idle("a", 3)),
            ("w2", idle("a", 2)),
            ("w3", idle("", 1)),
            ("w4", idle("c", 1)),
            ("w5", idle("b", 2)),
        ]);
        let mut order = Vec::new();
        while let [next] = choose(&members, NEW, 1, None).nodes[..] {
            order.push(next.to_owned());
            members.remove(order.last().unwrap());
        }
        assert_eq!(order, ["w2", "w1", "w0", "w5", "w4", "w3"]);
    }

    #[test]
    fn a_cordoned_node_counts_as_unavailable_and_is_not_chosen() {
        let idle = |cordoned| member("", 1, "old", "Done", cordoned);
        let members = pool(&[("w0", idle(true)), ("w1", idle(false)), ("w2", idle(false))]);
        assert_eq!(choose(&members, NEW, 1, None).nodes, Vec::<&str>::new());
        assert_eq!(choose(&members, NEW, 2, None).nodes, ["w1"]);
    }

    #[test]
    fn a_cordoned_failed_node_counts_twice_and_a_schedulable_one_once() {
        let idle = || member("", 1, "old", "Done", false);
        let stuck = pool(&[("w0", member("", 1, "new", "Degraded", true)), ("w1", idle()), ("w2", idle())]);
        assert_eq!(choose(&stuck, NEW, 2, None).nodes, Vec::<&str>::new());
        assert_eq!(choose(&stuck, NEW, 3, None).nodes, ["w1"]);
        let refused = pool(&[("w0", member("", 1, "new", "Unreconcilable", false)), ("w1", idle())]);
        assert_eq!(choose(&refused, NEW, 2, None).nodes, ["w1"]);
    }

    #[test]
    fn the_operators_node_is_chosen_last() {
        let idle = || member("", 1, "old", "Done", false);
        let mut members = pool(&[("m0", idle()), ("m1", idle())]);
        assert_eq!(choose(&members, NEW, 1, Some("m0")), Choice { nodes: vec!["m1"], deferred: Some("m0") });
        members.remove("m1");
        assert_eq!(choose(&members, NEW, 1, Some("m0")), Choice { nodes: vec!["m0"], deferred: None });
    }
}

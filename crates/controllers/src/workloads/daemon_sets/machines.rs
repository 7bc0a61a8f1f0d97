//! DaemonSets whose programs run on machines instead of in pods. A rollout restarts as many programs at once
//! as `maxUnavailable` allows, in the order of nodes. The status stores its progress.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::{DAEMON_SETS, NODES};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Change, ChangeKind, Object, View, Write, condition};

use crate::workloads::shares::resolve_int_or_percent;

/// The minimum and maximum time until restarted programs are available, in seconds.
const RESTART_SECONDS: (u64, u64) = (2, 6);

/// The next step in the rollout of a template.
#[derive(Debug)]
pub(super) struct Round {
    /// The nodes whose programs are restarted.
    pub(super) restarted: Vec<String>,
    /// The status update with the new progress.
    pub(super) write: Write,
}

/// The next round; `None` when the programs on all ready nodes have the current template. Unready nodes have no available
/// program, take part of `maxUnavailable`, and stop the rollout when it reaches them.
pub(super) fn next(set: &Object, view: &View) -> Option<Round> {
    let count = |field: &str| set["status"][field].as_u64().and_then(|count| usize::try_from(count).ok());
    let nodes: Vec<&Object> = view.list(&NODES).collect();
    let is_observed = set.number("/status/observedGeneration") == Some(set.generation());
    let updated = match count("updatedNumberScheduled") {
        // A new machine has the current program.
        Some(updated) if is_observed && Some(updated) == count("desiredNumberScheduled") => nodes.len(),
        updated => updated.filter(|_| is_observed).unwrap_or(0),
    };
    let away = unready(view);
    let ready = |node: &&&Object| condition::is_true(node, "Ready");
    let restarted: Vec<String> = nodes
        .iter()
        .skip(updated)
        .take_while(ready)
        .take(max_unavailable(set, nodes.len()).saturating_sub(away))
        .map(|node| node.name().to_owned())
        .collect();
    let mut value = set.to_value();
    let updated = nodes.len().min(updated + restarted.len());
    value["status"] = status(set.generation(), nodes.len(), updated, away + restarted.len());
    (value["status"] != set["status"])
        .then(|| Round { restarted, write: Write::update_status(&DAEMON_SETS, value) })
}

fn max_unavailable(set: &Object, nodes: usize) -> usize {
    let most = match &set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] {
        Value::Null => 1,
        value => resolve_int_or_percent(value, i64::try_from(nodes).unwrap_or(i64::MAX), true).unwrap_or(1),
    };
    usize::try_from(most).unwrap_or(1).max(1)
}

/// The number of nodes that are not ready.
fn unready(view: &View) -> usize {
    view.list(&NODES).filter(|node| !condition::is_true(node, "Ready")).count()
}

/// Whether a change of a node can change the number of available programs.
pub(super) fn is_touched(change: &Change) -> bool {
    let ready = |node: &Object| condition::is_true(node, "Ready");
    let old = change.old.as_ref().filter(|_| change.kind == ChangeKind::Modified);
    change.key.is_kind(&NODES) && old.is_none_or(|old| ready(old) != ready(&change.object))
}

/// The time when programs that start are available, counted from `now`; `None` if none starts.
pub(super) fn available_at(set: &Object, view: &View, streams: Streams, now: Time) -> Option<Time> {
    let away = i64::try_from(unready(view)).unwrap_or(i64::MAX);
    let missing = set.number("/status/numberUnavailable").filter(|missing| *missing > away)?;
    let updated = set.number("/status/updatedNumberScheduled").unwrap_or(missing);
    let (low, high) = RESTART_SECONDS;
    let name = format!("daemon-set/{}/{}/{}/{updated}", set.namespace(), set.name(), set.generation());
    let millis = streams.stream(&name).between(low * 1000, high * 1000);
    Some(after(now, SignedDuration::from_millis(i64::try_from(millis).unwrap_or(0))))
}

/// The status if `updated` programs on `nodes` nodes have the template of this generation, and `missing` are
/// unavailable.
pub fn status(generation: i64, nodes: usize, updated: usize, missing: usize) -> Value {
    let there = nodes.saturating_sub(missing);
    let mut status = json!({
        "currentNumberScheduled": nodes,
        "desiredNumberScheduled": nodes,
        "numberMisscheduled": 0,
        "numberReady": there,
        "observedGeneration": generation,
    });
    for (field, count) in
        [("updatedNumberScheduled", updated), ("numberAvailable", there), ("numberUnavailable", missing)]
    {
        if count > 0 {
            status[field] = json!(count);
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use windtunnel_core::resources::PODS;

    use super::*;
    use crate::testing::{Rig, check_recovery};
    use crate::workloads::daemon_sets::DaemonSetController;
    use crate::{ON_MACHINES, PROGRAM};

    /// Four nodes, and a DaemonSet with this `maxUnavailable`.
    fn rig(most: &str) -> Rig {
        let mut rig = Rig::new();
        prepare(&mut rig, most);
        rig
    }

    fn node(name: &str, ready: &str) -> Value {
        let conditions = json!([{ "type": "Ready", "status": ready }]);
        json!({ "metadata": { "name": name }, "spec": {}, "status": { "conditions": conditions } })
    }

    fn prepare(rig: &mut Rig, most: &str) {
        rig.seat(|| Box::new(DaemonSetController::new(&Streams::new(1))));
        for name in ["a", "b", "c", "d"] {
            rig.put(&NODES, node(name, "True"));
        }
        let template = json!({ "metadata": { "annotations": { (PROGRAM): ON_MACHINES } } });
        let strategy = json!({ "rollingUpdate": { "maxUnavailable": most } });
        let metadata = json!({ "namespace": "ns", "name": "p" });
        let spec = json!({ "template": template, "updateStrategy": strategy });
        rig.put(&DAEMON_SETS, json!({ "metadata": metadata, "spec": spec }));
    }

    fn set(rig: &Rig) -> &Object {
        rig.view.get(&DAEMON_SETS, "ns", "p").unwrap()
    }

    fn restarts(rig: &Rig) -> Vec<&str> {
        rig.log.iter().filter_map(|line| Some(line.split_once(" restart p on ")?.1)).collect()
    }

    fn count(rig: &Rig, field: &str) -> i64 {
        set(rig).number(&format!("/status/{field}")).unwrap_or(0)
    }

    #[test]
    fn restarts_as_many_programs_at_once_as_max_unavailable_allows() {
        for (most, at_once) in [("10%", 1), ("50%", 2), ("100%", 4)] {
            let mut rig = rig(most);
            rig.run(1);
            assert_eq!(restarts(&rig), ["a", "b", "c", "d"][..at_once], "{most}");
            let missing = i64::try_from(at_once).unwrap();
            assert_eq!(count(&rig, "numberUnavailable"), missing, "{most}");
            assert_eq!(count(&rig, "numberAvailable"), 4 - missing, "{most}");
            rig.run(60);
            assert_eq!(restarts(&rig), ["a", "b", "c", "d"], "{most}");
            assert_eq!(set(&rig)["status"], status(1, 4, 4, 0), "{most}");
            assert_eq!(rig.view.list(&PODS).count(), 0, "{most}");
        }
    }

    #[test]
    fn only_a_changed_template_restarts_the_programs() {
        let mut rig = rig("2");
        rig.run(60);
        let label = json!({ "metadata": { "labels": { "x": "1" } } });
        rig.write(&Write::merge_patch(&NODES, "", "a", label.clone()));
        rig.write(&Write::merge_patch(&DAEMON_SETS, "ns", "p", label));
        rig.run(60);
        assert_eq!(restarts(&rig).len(), 4);
        let template = json!({ "spec": { "template": { "spec": { "hostPID": true } } } });
        rig.write(&Write::merge_patch(&DAEMON_SETS, "ns", "p", template));
        rig.run(60);
        assert_eq!(restarts(&rig).len(), 8);
        assert_eq!(set(&rig)["status"], status(set(&rig).generation(), 4, 4, 0));
    }

    #[test]
    fn unready_nodes_have_no_available_program_and_stop_a_rollout() {
        let mut rig = rig("1");
        rig.run(60);
        let set_ready =
            |rig: &mut Rig, status: &str| rig.write(&Write::update_status(&NODES, node("c", status)));
        set_ready(&mut rig, "Unknown");
        rig.run(60);
        assert_eq!(set(&rig)["status"], status(1, 4, 4, 1));
        let template = json!({ "spec": { "template": { "spec": { "hostPID": true } } } });
        rig.write(&Write::merge_patch(&DAEMON_SETS, "ns", "p", template));
        rig.run(600);
        let generation = set(&rig).generation();
        assert_eq!(set(&rig)["status"], status(generation, 4, 0, 1), "no room for another node");
        set_ready(&mut rig, "True");
        rig.run(60);
        assert_eq!(set(&rig)["status"], status(generation, 4, 4, 0));
        rig.put(&NODES, node("e", "True"));
        rig.run(60);
        assert_eq!(set(&rig)["status"], status(generation, 5, 5, 0));
        assert_eq!(restarts(&rig).len(), 8, "a new machine has the current program");
    }

    #[test]
    fn recovers_after_a_crash_at_each_write() {
        let story = |rig: &mut Rig| {
            prepare(rig, "1");
            rig.run(120);
        };
        check_recovery(story, |rig| set(rig)["status"].to_string());
    }
}

//! Rules for every Node and MachineConfigPool, in any run.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windtunnel::record::{ADMINISTRATOR, Event, INSTALLER, Record, WriteEvent};
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES};
use windtunnel_core::{Change, ChangeKind, Object, View, condition};
use windtunnel_openshift::mco::annotations::{
    CURRENT_CONFIG, DESIRED_CONFIG, DESIRED_DRAIN, LAST_APPLIED_DRAIN, POST_CONFIG_ACTION, STATE,
};

fn annotation<'o>(object: &'o Object, key: &str) -> &'o str {
    object.annotation(key).unwrap_or_default()
}

/// Checks that a condition's transition time changes only with its status, and does not go back.
fn transitions(before: &Object, after: &Object) -> Option<String> {
    after.list("/status/conditions").iter().find_map(|new| {
        let kind = new["type"].as_str()?;
        let old = condition::find_in_status(before, kind)?;
        let [was, is] = [old, new].map(|found| found["lastTransitionTime"].as_str().unwrap_or_default());
        let moved = old["status"] != new["status"];
        if moved && is < was {
            return Some(format!(
                "{kind} became {} at {is}, before it was {} at {was}",
                new["status"], old["status"]
            ));
        }
        (!moved && is != was)
            .then(|| format!("{kind} stays {} but has a new transition time {is}", new["status"]))
    })
}

/// The problem with a target that the controller sets for a node, if any.
fn target(before: &Object, target: &str, view: &View) -> Option<&'static str> {
    let is_for = |pool: &&Object| pool.text("/spec/configuration/name") == target;
    if before["spec"]["unschedulable"] == true {
        Some("is cordoned and was given another target")
    } else if view.get(&MACHINE_CONFIGS, "", target).is_none() {
        Some("was given a target that does not exist")
    } else if view.list(&MACHINE_CONFIG_POOLS).find(is_for).is_some_and(|pool| pool["spec"]["paused"] == true)
    {
        Some("was given a target although its pool is paused")
    } else {
        None
    }
}

/// The problem with one write to a Node, if any.
fn node(by: &str, before: &Object, after: &Object, view: &View) -> Option<String> {
    let moves = |key: &str| annotation(before, key) != annotation(after, key);
    let now = |key: &str| annotation(after, key);
    if moves(CURRENT_CONFIG) && now(STATE) != "Done" {
        return Some(format!("has a new configuration in the state {:?}", now(STATE)));
    }
    if moves(LAST_APPLIED_DRAIN) && now(LAST_APPLIED_DRAIN) != now(DESIRED_DRAIN) {
        return Some(format!(
            "has the drain {:?} and requests {:?}",
            now(LAST_APPLIED_DRAIN),
            now(DESIRED_DRAIN)
        ));
    }
    if moves(DESIRED_CONFIG) && by.starts_with("machine-config-controller/") {
        return target(before, now(DESIRED_CONFIG), view).map(str::to_owned);
    }
    None
}

/// The nodes that may boot.
#[derive(Default)]
struct Announced {
    /// The nodes whose daemons have announced a reboot since they were last done: after a boot, the daemon may write before
    /// the kubelet does.
    by_daemons: BTreeSet<String>,
    /// The nodes that have lost their power since they last booted.
    without_power: BTreeSet<String>,
    /// Whether the API server has ever failed. Faults that begin meanwhile are not in the record.
    was_down: bool,
}

impl Announced {
    fn contains(&self, node: &str) -> bool {
        self.was_down || self.by_daemons.contains(node) || self.without_power.contains(node)
    }
}

/// The problem with a reboot that the kubelet reports, if any.
fn reboot(before: &Object, after: &Object, announced: &Announced) -> Option<String> {
    let boot = "/status/nodeInfo/bootID";
    let is_new = !before.text(boot).is_empty() && before.text(boot) != after.text(boot);
    // Before 4.15, only the state shows that a daemon is at work.
    let is_old = before.annotation(POST_CONFIG_ACTION).is_none();
    let is_announced = announced.contains(after.name()) || is_old && annotation(before, STATE) != "Done";
    (is_new && !is_announced).then(|| "was rebooted although its daemon had not announced it".to_owned())
}

/// The problem with one write to a MachineConfigPool, if any.
fn pool(before: &Object, after: &Object, view: &View) -> Option<String> {
    if ["Updated", "Updating"].iter().all(|kind| condition::is_true(after, kind)) {
        return Some("is updated and updating".to_owned());
    }
    let (has, config) = ("/status/configuration/name", after.text("/status/configuration/name"));
    if before.text(has).is_empty() || before.text(has) == config {
        return None;
    }
    let count = |field: &str| after.number(&format!("/status/{field}MachineCount")).unwrap_or(0);
    let all = after.number("/status/machineCount").unwrap_or(0);
    if [count("updated"), count("ready")] != [all, all] || count("unavailable") != 0 {
        return Some(format!("has {config} while not all of its {all} nodes do"));
    }
    let late = |node: &&Object| {
        annotation(node, DESIRED_CONFIG) == config
            && (annotation(node, CURRENT_CONFIG), annotation(node, STATE)) != (config, "Done")
    };
    view.list(&NODES).find(late).map(|node| format!("has {config} while {} still updates to it", node.name()))
}

/// The problem with one write, in the cluster after it, if any.
fn wrong(write: &WriteEvent, view: &View, announced: &Announced) -> Option<String> {
    let (Some(before), Some(after)) = (&write.before, &write.after) else { return None };
    if [ADMINISTRATOR, INSTALLER].contains(&write.by.as_str()) {
        return None;
    }
    let found = match write.kind.as_str() {
        "Node" => node(&write.by, before, after, view).or_else(|| reboot(before, after, announced)),
        "MachineConfigPool" => pool(before, after, view),
        _ => None,
    };
    let has_own_clock =
        |node: &Object| Fault::from_annotations(node).flatten().is_some_and(|fault| !fault.by.is_zero());
    // In MachineConfigNodes, daemons update the time whenever a condition changes in any way, not only its
    // status.
    let keeps_time = ["Node", "MachineConfigPool", "ClusterOperator"];
    let is_checked = keeps_time.contains(&write.kind.as_str()) && !view.list(&NODES).any(has_own_clock);
    let found = found.or_else(|| if is_checked { transitions(before, after) } else { None })?;
    Some(format!("{} {}: {found} ({})", write.kind, write.key.name, write.by))
}

/// Records that a daemon has announced a reboot, or is done, and that a machine has lost its power, or has booted.
fn track_announcement(write: &WriteEvent, announced: &mut Announced) {
    let Some(after) = write.after.as_ref().filter(|_| write.kind == "Node") else { return };
    let name = &write.key.name;
    let boot = |node: &Object| node.text("/status/nodeInfo/bootID").to_owned();
    if Fault::from_annotations(after).flatten().is_some_and(|fault| fault.kind == FaultKind::PoweredOff) {
        announced.without_power.insert(name.clone());
    } else if write.before.as_ref().is_some_and(|before| boot(before) != boot(after)) {
        announced.without_power.remove(name);
    }
    let is_there = annotation(after, CURRENT_CONFIG) == annotation(after, DESIRED_CONFIG);
    if annotation(after, POST_CONFIG_ACTION) == "Rebooting" {
        announced.by_daemons.insert(name.clone());
    } else if annotation(after, STATE) == "Done" && is_there {
        announced.by_daemons.remove(name);
    }
}

/// The first write to a node or a pool that contradicts earlier writes.
pub(super) fn contradiction(record: &Record) -> Option<String> {
    let (mut view, mut announced) = (View::default(), Announced::default());
    record.entries.iter().find_map(|entry| {
        let Event::Write(write) = &entry.event else { return None };
        announced.was_down |= write.code >= 500;
        let change = write.change()?;
        view.apply(&change);
        let found = wrong(write, &view, &announced);
        track_announcement(write, &mut announced);
        found
    })
}

#[test]
fn finds_contradictions_of_nodes() {
    let node_of = |annotations: &[(&str, &str)], boot: &str, cordoned: bool| {
        let annotations: Value =
            annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        Object::new(json!({
            "metadata": { "name": "w", "annotations": annotations },
            "spec": { "unschedulable": cordoned },
            "status": { "nodeInfo": { "bootID": boot } },
        }))
    };
    let found = |before: &Object, after: &Object| {
        node("machine-config-controller/node", before, after, &View::default()).unwrap_or_default()
    };
    let idle = node_of(&[(CURRENT_CONFIG, "a"), (DESIRED_CONFIG, "a"), (STATE, "Done")], "1", false);
    let done = node_of(&[(CURRENT_CONFIG, "b"), (DESIRED_CONFIG, "a"), (STATE, "Done")], "1", false);
    assert_eq!(found(&idle, &done), "");
    let early = node_of(&[(CURRENT_CONFIG, "b"), (DESIRED_CONFIG, "a"), (STATE, "Working")], "1", false);
    assert_eq!(found(&idle, &early), "has a new configuration in the state \"Working\"");
    let granted =
        node_of(&[(CURRENT_CONFIG, "a"), (DESIRED_CONFIG, "a"), (LAST_APPLIED_DRAIN, "drain-b")], "1", false);
    assert_eq!(found(&idle, &granted), "has the drain \"drain-b\" and requests \"\"");
    let cordoned = node_of(&[(CURRENT_CONFIG, "a"), (DESIRED_CONFIG, "a")], "1", true);
    let sent = node_of(&[(CURRENT_CONFIG, "a"), (DESIRED_CONFIG, "b")], "1", true);
    assert_eq!(found(&cordoned, &sent), "is cordoned and was given another target");
    assert_eq!(found(&idle, &sent), "was given a target that does not exist");
    let booted =
        node_of(&[(CURRENT_CONFIG, "a"), (DESIRED_CONFIG, "a"), (POST_CONFIG_ACTION, "")], "2", false);
    let before_boot =
        node_of(&[(CURRENT_CONFIG, "a"), (DESIRED_CONFIG, "a"), (POST_CONFIG_ACTION, "")], "1", false);
    let mut announced = Announced::default();
    let unannounced = reboot(&before_boot, &booted, &announced).unwrap();
    assert_eq!(unannounced, "was rebooted although its daemon had not announced it");
    assert!(reboot(&idle, &booted, &announced).is_some(), "idle, in an old release");
    announced.by_daemons.insert("w".to_owned());
    assert_eq!(reboot(&before_boot, &booted, &announced), None);
    announced = Announced { without_power: announced.by_daemons, ..Announced::default() };
    assert_eq!(reboot(&before_boot, &booted, &announced), None);
}

#[test]
fn finds_contradictions_of_pools_and_conditions() {
    let pool_with = |config: &str, updated: i64, conditions: &[(&str, &str, &str)]| {
        let condition = |(kind, status, at): &(&str, &str, &str)| json!({ "type": kind, "status": status, "lastTransitionTime": at });
        Object::new(json!({ "status": {
            "configuration": { "name": config },
            "machineCount": 2, "updatedMachineCount": updated, "readyMachineCount": updated,
            "conditions": conditions.iter().map(condition).collect::<Vec<_>>(),
        } }))
    };
    let mut view = View::default();
    let found = |before: &Object, after: &Object, view: &View| pool(before, after, view).unwrap_or_default();
    let both = pool_with("a", 2, &[("Updated", "True", ""), ("Updating", "True", "")]);
    assert_eq!(found(&both, &both, &view), "is updated and updating");
    let before = pool_with("a", 0, &[]);
    assert_eq!(found(&before, &pool_with("b", 1, &[]), &view), "has b while not all of its 2 nodes do");
    assert_eq!(found(&before, &pool_with("b", 2, &[]), &view), "");
    let late = json!({ "metadata": { "name": "w", "annotations": { (DESIRED_CONFIG): "b", (CURRENT_CONFIG): "a" } } });
    let (key, kind) = (NODES.key("", "w"), ChangeKind::Added);
    view.apply(&Change { key, kind, object: Object::new(late), old: None });
    assert_eq!(found(&before, &pool_with("b", 2, &[]), &view), "has b while w still updates to it");
    let pool_at = |status: &str, at: &str| pool_with("a", 0, &[("Updated", status, at)]);
    assert_eq!(transitions(&pool_at("True", "2"), &pool_at("False", "2")), None);
    assert_eq!(transitions(&pool_at("True", "2"), &pool_at("True", "2")), None);
    let back = transitions(&pool_at("True", "2"), &pool_at("False", "1")).unwrap();
    assert_eq!(back, "Updated became \"False\" at 1, before it was \"True\" at 2");
    let moved = transitions(&pool_at("True", "1"), &pool_at("True", "2")).unwrap();
    assert_eq!(moved, "Updated stays \"True\" but has a new transition time 2");
}

//! Events in, insights out. The upstream controller missed most of the changes in these tests.

mod pools;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use windtunnel_core::yaml;

use super::*;
use crate::assessment::node::release_of;

const PREFIX: &str = "machineconfiguration.openshift.io/";

/// Nodes `w0` and `w1` of pool `worker`, with MachineConfig `old` of 4.18.3.
struct Bench {
    nodes: Nodes,
    informer: Informer,
    /// The ConfigMap's data.
    data: BTreeMap<String, String>,
    /// The ConfigMap's size limit in bytes.
    room: usize,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self {
            nodes: Nodes::default(),
            informer: Informer::new("ni"),
            data: BTreeMap::new(),
            room: usize::MAX,
        };
        let listed = |name: &str, value: &Value| Event::InitApply((name.to_owned(), value.clone()));
        bench.nodes.set_target(Some("4.18.3"), false);
        for event in [Event::Init, listed("w0", &node("old")), listed("w1", &node("old")), Event::InitDone] {
            bench.nodes.node(of(event, Node::read));
        }
        for event in [Event::Init, listed("worker", &pool("worker", "worker")), Event::InitDone] {
            bench.nodes.pool(of(event, Pool::read));
        }
        for event in [Event::Init, listed("old", &config("4.18.3")), Event::InitDone] {
            bench.nodes.machine_config(of(event, release));
        }
        assert!(bench.nodes.is_synced());
        assert_eq!(bench.round("00"), "w0 Completed 4.18.3, w1 Completed 4.18.3");
        bench
    }

    /// An update to 4.18.7 that the nodes have not started.
    fn with_pending_update() -> Self {
        let mut bench = Self::new();
        bench.nodes.set_target(Some("4.18.7"), false);
        assert_eq!(bench.round("01"), "w0 Pending 4.18.3, w1 Pending 4.18.3");
        bench
    }

    fn node(&mut self, name: &str, value: &Value) {
        self.nodes.node(of(Event::Apply((name.to_owned(), value.clone())), Node::read));
    }

    fn pool(&mut self, name: &str, value: &Value) {
        self.nodes.pool(of(Event::Apply((name.to_owned(), value.clone())), Pool::read));
    }

    fn config(&mut self, name: &str, value: &Value) {
        self.nodes.machine_config(of(Event::Apply((name.to_owned(), value.clone())), release));
    }

    /// Publishes at this hour. Returns the changes: node, reason of `Updating` and version; `-<node>` for a
    /// removed insight.
    fn round(&mut self, hour: &str) -> String {
        let now = format!("2024-01-01T{hour}:00:00Z").parse().unwrap();
        self.informer.adopt_config_map(Some(&self.data));
        self.nodes.assess(&mut self.informer, now).unwrap();
        self.informer.expire(now);
        let mut changes = Map::new();
        self.informer.changes(&self.data, self.room, &mut changes);
        let shown = changes.into_iter().filter_map(|(key, text)| {
            match text.as_str() {
                Some(text) => drop(self.data.insert(key.clone(), text.to_owned())),
                None => drop(self.data.remove(&key)),
            }
            let name = key.strip_prefix("usc.ni.node-")?;
            let Some(text) = text.as_str() else { return Some(format!("-{name}")) };
            let insight: Value = yaml::from_str(text).unwrap();
            let node = &insight["node"];
            let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
            Some(format!("{name} {} {}", word(&node["conditions"][0]["reason"]), word(&node["version"])))
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Assessment, completion and the nonzero summaries of a pool.
    fn pool_text(&self, name: &str) -> String {
        let insight: Value = yaml::from_str(&self.data[&format!("usc.ni.mcp-{name}")]).unwrap();
        let pool = &insight["machineConfigPool"];
        let summaries = pool["summaries"].as_array().unwrap().iter().filter(|one| one["count"] != 0);
        let summaries: Vec<String> =
            summaries.map(|one| format!("{} {}", one["count"], one["type"].as_str().unwrap())).collect();
        let assessment = pool["assessment"].as_str().unwrap();
        format!("{assessment} {}%: {}", pool["completion"], summaries.join(", "))
    }

    /// Level and summary of all health insights on nodes and pools.
    fn health_uids(&self) -> Vec<String> {
        let insights = self.data.values().map(|text| yaml::from_str::<Value>(text).unwrap());
        let health = insights.filter(|insight| insight["type"] == "Health");
        let mut shown: Vec<String> = health
            .map(|insight| {
                let impact = &insight["health"]["impact"];
                format!("{} {}", impact["level"].as_str().unwrap(), impact["summary"].as_str().unwrap())
            })
            .collect();
        shown.sort();
        shown
    }

    fn insight(&self, name: &str) -> Value {
        yaml::from_str(&self.data[&format!("usc.ni.node-{name}")]).unwrap()
    }
}

fn of<T>(event: Event<(String, Value)>, read: impl Fn(&Value) -> T) -> Event<(String, T)> {
    let named = |(name, mut value): (String, Value)| {
        value["metadata"]["name"] = json!(name);
        let fact = read(&value);
        (name, fact)
    };
    match event {
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
        Event::InitApply(object) => Event::InitApply(named(object)),
        Event::Apply(object) => Event::Apply(named(object)),
        Event::Delete(object) => Event::Delete(named(object)),
    }
}

fn release(config: &Value) -> Option<String> {
    release_of(config).map(str::to_owned)
}

fn node(config: &str) -> Value {
    let annotations = [("currentConfig", config), ("desiredConfig", config), ("state", "Done")];
    let annotations: BTreeMap<String, &str> =
        annotations.map(|(key, text)| (format!("{PREFIX}{key}"), text)).into();
    json!({
        "metadata": {"labels": {"worker": ""}, "annotations": annotations},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// A pool of the nodes with this label and MachineConfig `new`.
fn pool(name: &str, label: &str) -> Value {
    let selector = json!({"matchLabels": {label: ""}});
    json!({"metadata": {"name": name}, "spec": {"nodeSelector": selector, "configuration": {"name": "new"}}})
}

fn config(version: &str) -> Value {
    json!({"metadata": {"annotations": {format!("{PREFIX}release-image-version"): version}}})
}

#[test]
fn a_new_target_version_reassesses_all_nodes() {
    let mut bench = Bench::with_pending_update();
    bench.nodes.set_target(Some("4.18.3"), false);
    assert_eq!(bench.round("02"), "w0 Completed 4.18.3, w1 Completed 4.18.3");
    bench.nodes.set_target(None, false);
    assert_eq!(bench.round("03"), "-w0, -w1");
}

#[test]
fn nodes_of_a_paused_pool_are_paused() {
    let mut bench = Bench::with_pending_update();
    let mut paused = pool("worker", "worker");
    paused["spec"]["paused"] = json!(true);
    bench.pool("worker", &paused);
    assert_eq!(bench.round("02"), "w0 Paused 4.18.3, w1 Paused 4.18.3");
    bench.pool("worker", &pool("worker", "worker"));
    assert_eq!(bench.round("03"), "w0 Pending 4.18.3, w1 Pending 4.18.3");
}

#[test]
fn a_layered_pool_ignores_the_unavailability_of_nodes_without_its_image() {
    let mut bench = Bench::new();
    let mut cordoned = node("old");
    cordoned["spec"]["unschedulable"] = json!(true);
    bench.node("w0", &cordoned);
    assert_eq!(bench.round("01"), "w0 Completed 4.18.3");
    let available = |bench: &Bench| bench.insight("w0")["node"]["conditions"][1]["status"].clone();
    assert_eq!(available(&bench), "False");
    let mut layered = pool("worker", "worker");
    layered["metadata"]["labels"] = json!({format!("{PREFIX}layering-enabled"): ""});
    layered["metadata"]["annotations"] = json!({format!("{PREFIX}newestImageEquivalentConfig"): "image"});
    bench.pool("worker", &layered);
    assert_eq!(bench.round("02"), "w0 Completed 4.18.3");
    assert_eq!(available(&bench), "True");
}

#[test]
fn a_changed_selector_moves_nodes_between_pools() {
    let mut bench = Bench::new();
    let pool_of_w0 = |bench: &Bench| bench.insight("w0")["node"]["poolResource"]["name"].clone();
    let all = "w0 Completed 4.18.3, w1 Completed 4.18.3";
    bench.pool("infra", &pool("infra", "infra"));
    assert_eq!(bench.round("01"), "");
    bench.pool("infra", &pool("infra", "worker"));
    assert_eq!((bench.round("02").as_str(), pool_of_w0(&bench)), (all, json!("infra")));
    bench.pool("another", &pool("another", "worker"));
    assert_eq!((bench.round("03").as_str(), pool_of_w0(&bench)), (all, json!("another")));
    bench.pool("master", &pool("master", "worker"));
    assert_eq!((bench.round("04").as_str(), pool_of_w0(&bench)), (all, json!("master")));
    assert_eq!(bench.insight("w0")["node"]["scopeType"], "ControlPlane");
    for name in ["another", "infra", "master"] {
        bench.nodes.pool(of(Event::Delete((name.to_owned(), json!({}))), Pool::read));
    }
    assert_eq!((bench.round("05").as_str(), pool_of_w0(&bench)), (all, json!("worker")));
    bench.pool("worker", &pool("worker", "nobody"));
    assert_eq!(bench.round("06"), "-w0, -w1");
}

#[test]
fn a_created_changed_or_deleted_machine_config_reassesses_its_nodes() {
    let mut bench = Bench::with_pending_update();
    let mut updating = node("old");
    updating["metadata"]["annotations"][format!("{PREFIX}desiredConfig")] = json!("new");
    updating["metadata"]["annotations"][format!("{PREFIX}state")] = json!("Working");
    bench.node("w1", &updating);
    assert_eq!(bench.round("02"), "w1 Pending 4.18.3");
    bench.config("new", &config("4.18.7"));
    assert_eq!(bench.round("03"), "w1 Updating 4.18.3");
    bench.config("old", &config("4.18.7"));
    assert_eq!(bench.round("04"), "w0 Completed 4.18.7, w1 Completed 4.18.7");
    bench.nodes.machine_config(of(Event::Delete(("old".to_owned(), json!({}))), release));
    assert_eq!(bench.round("05"), "w0 Pending ?, w1 Pending ?");
}

#[test]
fn removes_insights_of_deleted_nodes() {
    let mut bench = Bench::new();
    bench.nodes.node(of(Event::Delete(("w1".to_owned(), json!({}))), Node::read));
    assert_eq!(bench.round("01"), "-w1");
    let mut of_no_pool = node("old");
    of_no_pool["metadata"]["labels"] = json!({});
    bench.node("w0", &of_no_pool);
    assert_eq!(bench.round("02"), "-w0");
}

#[test]
fn removes_insights_of_nodes_missing_in_a_new_list() {
    let mut bench = Bench::new();
    for event in [Event::Init, Event::InitApply(("w1".to_owned(), node("old"))), Event::InitDone] {
        bench.nodes.node(of(event, Node::read));
    }
    assert_eq!(bench.round("01"), "-w0");
}

#[test]
fn insights_on_other_nodes_stay_unchanged() {
    let mut bench = Bench::with_pending_update();
    for (hour, state) in [("02", "Working"), ("03", "Degraded"), ("04", "Done")] {
        let mut changed = node("old");
        changed["metadata"]["annotations"][format!("{PREFIX}state")] = json!(state);
        bench.node("w0", &changed);
        assert_eq!(bench.round(hour), "w0 Pending 4.18.3");
    }
    assert_eq!(bench.insight("w1")["acquiredAt"], "2024-01-01T01:00:00Z");
}

#[test]
fn transition_times_change_only_with_the_status() {
    let mut bench = Bench::with_pending_update();
    let since = |bench: &Bench| bench.insight("w0")["node"]["conditions"][0]["lastTransitionTime"].clone();
    assert_eq!(
        (bench.insight("w0")["acquiredAt"].as_str(), since(&bench)),
        (Some("2024-01-01T01:00:00Z"), json!("2024-01-01T00:00:00Z"))
    );
    let mut next = Bench {
        data: bench.data.clone(),
        informer: Informer::new("ni"),
        nodes: bench.nodes,
        room: usize::MAX,
    };
    next.nodes.all_stale = true;
    assert_eq!(next.round("02"), "", "another process finds nothing to do");
    bench = next;
    bench.config("old", &config("4.18.7"));
    bench.round("03");
    assert_eq!(since(&bench), "2024-01-01T00:00:00Z", "Pending and Completed are both False");
}

#[test]
fn leaves_out_nodes_without_problems_if_space_is_limited() {
    let mut bench = Bench::with_pending_update();
    bench.room = bench.data.values().map(String::len).sum();
    let mut longer = node("old");
    for name in ["w2", "w3"] {
        bench.node(name, &longer);
    }
    assert_eq!(bench.round("02"), "", "the first nodes by name stay");
    longer["spec"]["unschedulable"] = json!(true);
    bench.node("w3", &longer);
    assert_eq!(bench.round("03"), "-w0, -w1, w3 Pending 4.18.3", "its message makes it longer");
    assert!(bench.data.values().map(String::len).sum::<usize>() <= bench.room);
    bench.room = usize::MAX;
    bench.informer.mark_unpublished();
    assert_eq!(bench.round("04"), "w0 Pending 4.18.3, w1 Pending 4.18.3, w2 Pending 4.18.3");
}

#[test]
fn heartbeats_and_irrelevant_fields_cause_no_reassessment() {
    let mut bench = Bench::new();
    let mut beating = node("old");
    beating["status"]["conditions"][0]["lastHeartbeatTime"] = json!("2024-01-01T05:00:00Z");
    beating["status"]["images"] = json!([{"names": ["a"]}]);
    bench.node("w0", &beating);
    let mut counted = pool("worker", "worker");
    counted["status"] = json!({"machineCount": 7});
    bench.pool("worker", &counted);
    assert_eq!((bench.nodes.stale.len(), bench.nodes.all_stale), (0, false));
}

//! Random clusters and random files: each has a status or an error with a reason.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel::dump::{Dump, Source};
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::Time;
use windtunnel_core::{Object, Resource};
use windtunnel_update_status::controller::snapshot::{self, Insights};
use windtunnel_update_status::insight::{Detail, PoolNodesUpdateSummary};
use windtunnel_update_status::status::published::sections_on_nodes;
use windtunnel_update_status::status::{AlertsResponse, Details, Inputs, KINDS, Moment, Report, render};

use super::campaign::campaign;
use super::dice::Dice;

const TIMES: &[&str] = &[
    "2024-01-01T00:00:00Z",
    "2024-01-01T00:05:00Z",
    "2024-01-01T01:00:00.000368975Z",
    "2024-01-01T02:00:00+02:00",
    "0001-01-01T00:00:00Z",
    "-009999-01-02T00:00:00Z",
    "9999-12-30T22:00:00Z",
    "yesterday",
    "",
];
const STATUSES: &[&str] = &["True", "False", "Unknown", ""];
const TEXTS: &[&str] =
    &["", "a", "one\ntwo", "tab\there", "\u{b}\u{c}", "\u{e9}\u{200b}", "machine-0001 \"x\" \\"];
const VERSIONS: &[&str] = &["4.16.1", "4.16.2", ""];
const CONFIGS: &[&str] = &["old", "new", "lost", ""];
const DETAILS: [Details; 5] =
    [Details::None, Details::All, Details::Nodes, Details::Health, Details::Operators];

fn condition(dice: &mut Dice, kinds: &[&str]) -> Value {
    json!({ "type": dice.pick(kinds), "status": dice.pick(STATUSES), "reason": dice.pick(TEXTS),
        "message": dice.pick(TEXTS), "lastTransitionTime": dice.pick(TIMES) })
}

fn several(dice: &mut Dice, most: usize, make: impl Fn(&mut Dice) -> Value) -> Vec<Value> {
    (0..dice.count(0, most)).map(|_| make(dice)).collect()
}

fn cluster_version(dice: &mut Dice) -> Value {
    let conditions = several(dice, 4, |dice| condition(dice, &["Failing", "Progressing", "Upgradeable"]));
    let history = several(dice, 4, |dice| {
        json!({ "state": dice.pick(&["Completed", "Partial", ""]), "version": dice.pick(VERSIONS),
            "image": dice.pick(&["a", "b"]), "startedTime": dice.pick(TIMES), "completionTime": dice.pick(TIMES) })
    });
    let progressing = json!({ "type": "Progressing", "status": dice.pick(STATUSES) });
    let conditions: Vec<Value> = conditions.into_iter().chain([progressing]).collect();
    json!({ "metadata": { "name": "version" }, "status": {
        "desired": { "version": dice.pick(VERSIONS) }, "history": history, "conditions": conditions } })
}

fn operator(dice: &mut Dice) -> Value {
    let conditions = several(dice, 4, |dice| condition(dice, &["Available", "Degraded", "Progressing"]));
    let name = dice.pick(&["machine-config", "dns", "etcd", ""]);
    json!({ "metadata": { "name": name, "annotations": { "include.release.openshift.io/x": "true" } },
        "status": { "conditions": conditions, "versions": [
            { "name": dice.pick(&["operator", "operator-image"]), "version": dice.pick(VERSIONS) } ] } })
}

fn pool(dice: &mut Dice, name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "paused": dice.one_in(3),
        "configuration": { "name": dice.pick(CONFIGS) },
        "nodeSelector": { "matchLabels": { "role": name } } } })
}

fn node(dice: &mut Dice, index: usize) -> Value {
    let prefix = "machineconfiguration.openshift.io";
    let mut annotations = json!({});
    for (name, values) in [
        ("currentConfig", CONFIGS),
        ("desiredConfig", CONFIGS),
        ("state", &["Done", "Working", "Rebooting", "Degraded", "Unreconcilable", ""]),
        ("reason", TEXTS),
        ("desiredDrain", &["drain-x", "uncordon-x", ""]),
        ("lastAppliedDrain", &["drain-x", "uncordon-x", ""]),
        ("desiredImage", &["", "", "i"]),
    ] {
        if !dice.one_in(4) {
            annotations[format!("{prefix}/{name}")] = json!(dice.pick(values));
        }
    }
    let kinds = ["Ready", "DiskPressure", "NetworkUnavailable", "PIDPressure"];
    let conditions = several(dice, 4, |dice| condition(dice, &kinds));
    json!({ "metadata": { "name": format!("machine-{index:04}"), "annotations": annotations,
            "labels": { "role": dice.pick(&["master", "worker", "infra", "worker"]) } },
        "spec": { "unschedulable": dice.one_in(4) }, "status": { "conditions": conditions } })
}

fn alert(dice: &mut Dice) -> Value {
    json!({ "labels": { "alertname": dice.pick(&["PodDisruptionBudgetLimit", "A", ""]),
            "severity": dice.pick(&["warning", "critical", "none"]) },
        "annotations": { "summary": dice.pick(TEXTS), "description": dice.pick(TEXTS) },
        "state": dice.pick(&["firing", "pending"]), "activeAt": dice.pick(TIMES) })
}

/// A random cluster; in most cases its objects are well-formed.
fn cluster(dice: &mut Dice) -> Inputs {
    let damage = dice.one_in(3);
    let object =
        |dice: &mut Dice, value: Value| Object::new(if damage { dice.damaged_seldom(value) } else { value });
    let version = cluster_version(dice);
    let mut inputs = Inputs::new(object(dice, version), Vec::new());
    for _ in 0..dice.count(0, 6) {
        let operator = operator(dice);
        inputs.cluster_operators.push(object(dice, operator));
    }
    for name in ["infra", "master", "worker"] {
        let pool = pool(dice, name);
        if !dice.one_in(10) {
            inputs.machine_config_pools.push(object(dice, pool));
        }
    }
    for (name, version) in [("old", "4.16.1"), ("new", "4.16.2")] {
        let annotations = json!({ "machineconfiguration.openshift.io/release-image-version": version });
        let config = json!({ "metadata": { "name": name, "annotations": annotations } });
        inputs.machine_configs.push(object(dice, config));
    }
    let most = if dice.one_in(4) { 150 } else { 15 };
    for index in 0..dice.count(0, most) {
        let node = node(dice, index);
        inputs.nodes.push(object(dice, node));
    }
    let alerts = several(dice, 30, alert);
    inputs.alerts = AlertsResponse::Answer(dice.damaged_seldom(json!({ "data": { "alerts": alerts } })));
    inputs
}

/// Checks the properties of every status text.
fn check(inputs: &Inputs, at: Moment, details: Details) -> Result<(), String> {
    let Ok(report) = render(inputs, at, details) else { return Ok(()) };
    if report.is_quiet() {
        return Ok(());
    }
    let Report { text, .. } = &report;
    let sections = ["= Control Plane =\n", "= Update Health =\n"].map(|title| text.find(title));
    if !matches!(sections, [Some(0), Some(_)]) || !text.ends_with('\n') {
        return Err(format!("{details:?}: {text}"));
    }
    if render(inputs, at, details).as_ref() != Ok(&report) {
        return Err(format!("{details:?}: rendering again returns another text: {text}"));
    }
    Ok(())
}

#[test]
fn every_cluster_has_a_status_or_an_error() {
    campaign("clusters::every_cluster_has_a_status_or_an_error", 300, |seed| {
        let mut dice = Dice::new("clusters", seed);
        let inputs = cluster(&mut dice);
        let now = [inputs.mock_now(), Time::MIN, Time::MAX, "2024-01-01T01:00:00Z".parse().unwrap()];
        let at = Moment { now: now[dice.index(4)], wall: now[dice.index(4)] };
        DETAILS.iter().try_for_each(|details| check(&inputs, at, *details))
    });
}

/// The insights that a controller publishes on a cluster.
fn insights(inputs: &Inputs, at: Time) -> Result<Insights, String> {
    let list = |resource: &Resource| match &*resource.kind {
        "ClusterVersion" => vec![inputs.cluster_version.clone()],
        "ClusterOperator" => inputs.cluster_operators.clone(),
        "MachineConfigPool" => inputs.machine_config_pools.clone(),
        "MachineConfig" => inputs.machine_configs.clone(),
        "Node" => inputs.nodes.clone(),
        _ => Vec::new(),
    };
    let alerts = match &inputs.alerts {
        AlertsResponse::Answer(answer) => answer["data"]["alerts"].as_array().cloned().unwrap_or_default(),
        _ => Vec::new(),
    };
    let alerts = alerts.iter().map(ActiveAlert::parse).collect();
    snapshot::insights_from_objects(list, alerts, 30, at).map_err(|error| error.to_string())
}

/// Checks all insights on a cluster: pools count their published nodes, and the insights can be rendered.
fn check_insights(insights: &Insights) -> Result<(), String> {
    let (mut counts, mut nodes) = (BTreeMap::new(), BTreeMap::new());
    for insight in insights.values() {
        match &insight.detail {
            Detail::MachineConfigPool(pool) => {
                counts.insert(
                    &pool.name,
                    usize::try_from(pool.summaries[0].count).expect("a count is not negative"),
                );
            }
            Detail::Node(node) => *nodes.entry(&node.pool_resource.name).or_insert(0) += 1,
            _ => {}
        }
    }
    counts.retain(|_, count| *count > 0);
    for count in nodes.values_mut() {
        *count = PoolNodesUpdateSummary::MOST.min(*count);
    }
    if counts != nodes {
        return Err(format!("pools of {counts:?} with {nodes:?} nodes"));
    }
    let starts = [
        "The cluster is not updating.\n",
        "All control plane nodes ",
        "Control Plane Nodes\n",
        "= Worker Upgrade =\n",
    ];
    for details in DETAILS {
        let text = sections_on_nodes(insights.values(), details);
        let is_whole = starts.iter().any(|start| text.starts_with(start)) && text.ends_with('\n');
        if !is_whole && !text.is_empty() {
            return Err(format!("{details:?}: {text}"));
        }
    }
    Ok(())
}

#[test]
fn every_cluster_has_insights() {
    campaign("clusters::every_cluster_has_insights", 200, |seed| {
        let mut dice = Dice::new("insights", seed);
        let mut inputs = cluster(&mut dice);
        match seed {
            0 => inputs.machine_config_pools.clear(),
            1 => inputs.nodes.clear(),
            2 => inputs.nodes = (0..5000).map(|index| Object::new(node(&mut dice, index))).collect(),
            _ => {}
        }
        let at =
            [inputs.mock_now(), Time::MIN, Time::MAX, "2024-01-01T01:00:00Z".parse().unwrap()][dice.index(4)];
        let published = insights(&inputs, at)?;
        if published != insights(&inputs, at)? {
            return Err(format!("a second pass returns other insights than {published:?}"));
        }
        check_insights(&published)
    });
}

#[test]
fn every_file_is_parsed_or_rejected() {
    campaign("clusters::every_file_is_parsed_or_rejected", 200, |seed| {
        let mut dice = Dice::new("files", seed);
        let inputs = cluster(&mut dice);
        let objects = inputs.nodes.iter().chain([&inputs.cluster_version]).map(Object::to_value);
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects.collect::<Vec<_>>() });
        let whole = dice.damaged(list, 5).to_string();
        let length = if dice.one_in(2) { dice.index(whole.len()) } else { whole.len() };
        let text: String = whole.chars().take(length).collect();
        let path = dice.pick(&["a.yaml", "alerts.json", "b.json"]).to_owned();
        let sources = [Source { path, text: text.clone() }, Source { path: "again".to_owned(), text }];
        if let Err(errors) = Dump::parse(sources, KINDS)
            && errors.is_empty()
        {
            return Err("rejected without a reason".to_owned());
        }
        Ok(())
    });
}

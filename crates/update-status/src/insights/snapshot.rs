//! Insights without a running controller: from given objects, or from published ones.

use std::collections::BTreeMap;

use kube::runtime::watcher::Event;
use serde_json::Value;
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS, NODES, PODS,
};
use windtunnel_core::yaml;
use windtunnel_core::yaml::YamlError;
use windtunnel_core::{Object, Resource};

use super::assess::cluster_operator::{MACHINE_CONFIG_OPERATOR, Operator, image_of};
use super::assess::node::{Node, Pool, release_of};
use super::state::{CLUSTER_VERSION_CRD, State};
use super::update_status;
use super::watches::{CLUSTER_VERSION_NAMESPACE, OPERATOR_NAMESPACE, trouble_of};
use crate::insight::published::{documents, in_status};
use crate::insight::{Detail, Insight};

/// Insights by their data keys in the ConfigMap.
pub type Insights = BTreeMap<String, Insight>;

/// The kinds that insights are derived from.
pub const KINDS: &[&Resource] = &[
    &CLUSTER_VERSIONS,
    &CLUSTER_OPERATORS,
    &CUSTOM_RESOURCE_DEFINITIONS,
    &DEPLOYMENTS,
    &PODS,
    &MACHINE_CONFIG_POOLS,
    &MACHINE_CONFIGS,
    &NODES,
];

/// Returns the insights of a controller that starts at `now` on these objects. `list` returns the objects of
/// a kind, `kubernetes_minor` is that of the API server.
///
/// # Errors
/// An insight cannot be serialized as YAML.
pub fn of_objects(
    list: impl Fn(&Resource) -> Vec<Object>,
    alerts: Vec<ActiveAlert>,
    kubernetes_minor: u32,
    now: Time,
) -> Result<Insights, YamlError> {
    let mut state = State::default();
    let all = |resource: &Resource| list(resource).into_iter();
    let within = |resource: &Resource, namespace: &'static str| {
        all(resource).filter(move |object| object.namespace() == namespace)
    };
    let crds = all(&CUSTOM_RESOURCE_DEFINITIONS).filter(|crd| crd.name() == CLUSTER_VERSION_CRD);
    each(crds, Value::clone, |event| state.crd(event));
    each(all(&CLUSTER_VERSIONS), |value| Object::new(value.clone()), |event| state.cluster_version(event));
    each(all(&CLUSTER_OPERATORS), Operator::read, |event| state.operator(event));
    let deployments = within(&DEPLOYMENTS, OPERATOR_NAMESPACE);
    let deployments = deployments.filter(|found| found.name() == MACHINE_CONFIG_OPERATOR);
    each(deployments, image_of, |event| state.operator_image(event));
    each(within(&PODS, CLUSTER_VERSION_NAMESPACE), trouble_of, |event| state.version_pod(event));
    state.alerts(alerts);
    each(all(&MACHINE_CONFIGS), release, |event| state.machine_config(event));
    each(all(&MACHINE_CONFIG_POOLS), Pool::read, |event| state.pool(event));
    each(all(&NODES), Node::read, |event| state.node(event));
    state.config_map(Event::InitDone);
    state.singleton.definition(Event::InitDone);
    state.kubernetes_minor(kubernetes_minor);
    state.assess(now)?;
    Ok(state.insights_by_key())
}

/// Delivers the objects of a kind like a watch that lists them.
fn each<T>(
    objects: impl Iterator<Item = Object>,
    read: impl Fn(&Value) -> T,
    mut tell: impl FnMut(Event<(String, T)>),
) {
    tell(Event::Init);
    objects.for_each(|object| tell(Event::InitApply((object.name().to_owned(), read(&object)))));
    tell(Event::InitDone);
}

/// Returns the release version of a MachineConfig.
fn release(machine_config: &Value) -> Option<String> {
    let annotations = machine_config["metadata"]["annotations"].as_object()?;
    let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    release_of(Some(&annotations.iter().filter_map(text).collect()))
}

/// Returns the insights published in a ConfigMap or, if it has none, in an UpdateStatus. Skips entries that
/// are no insights. Returns `None` without an insight on the ClusterVersion, since a ConfigMap that was just
/// created is empty.
pub fn published(config_map: Option<&Value>, update_status: Option<&Value>) -> Option<Insights> {
    let read = |(key, text): (&str, &str)| Some((key.to_owned(), yaml::from_str(text).ok()?));
    let in_config_map: Option<Insights> = config_map.map(|map| documents(map).filter_map(read).collect());
    in_config_map
        .filter(tells_of_update)
        .or_else(|| update_status.map(in_update_status))
        .filter(tells_of_update)
}

fn in_update_status(update_status: &Value) -> Insights {
    let found = in_status(&update_status["status"]);
    found.filter_map(|(key, value)| Some((format!("usc.{key}"), update_status::read(value)?))).collect()
}

fn tells_of_update(insights: &Insights) -> bool {
    insights.values().any(|insight| matches!(insight.detail, Detail::ClusterVersion(_)))
}

//! Insights without a running controller: from given objects, or from published ones.

use std::collections::BTreeMap;

use kube::runtime::watcher::Event;
use serde_json::Value;
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS, NODES, PODS, UPDATE_INFORMERS, UPDATE_INSIGHTS,
};
use windtunnel_core::yaml::{self, YamlError};
use windtunnel_core::{Object, Resource};

use super::publishing::api_insight::insight_from_api;
use super::state::State;
use super::watch::{CLUSTER_VERSION_CRD, CLUSTER_VERSION_NAMESPACE, UPDATE_INFORMER_CRD, waiting_reason};
use crate::assessment::cluster_operator::{MACHINE_CONFIG_OPERATOR, MCO_NAMESPACE, Operator, image_of};
use crate::assessment::node::{Node, Pool, release_of};
use crate::insight::published::{documents, insights_in_status};
use crate::insight::{Detail, Insight};
use crate::producer::{InformerObject, delivery_of_object};

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
    &UPDATE_INFORMERS,
    &UPDATE_INSIGHTS,
];

/// Returns the insights of a controller that starts at `now` on these objects. `list` returns the objects of
/// a kind, `kubernetes_minor` is that of the API server.
///
/// # Errors
/// An insight cannot be serialized as YAML.
pub fn insights_from_objects(
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
    deliver(crds, Value::clone, |event| state.crd(event));
    deliver(all(&CLUSTER_VERSIONS), |value| Object::new(value.clone()), |event| state.cluster_version(event));
    deliver(all(&CLUSTER_OPERATORS), Operator::read, |event| state.operator(event));
    let deployments = within(&DEPLOYMENTS, MCO_NAMESPACE);
    let deployments = deployments.filter(|found| found.name() == MACHINE_CONFIG_OPERATOR);
    deliver(deployments, image_of, |event| state.operator_image(event));
    deliver(within(&PODS, CLUSTER_VERSION_NAMESPACE), waiting_reason, |event| state.version_pod(event));
    state.alerts(alerts);
    deliver(
        all(&MACHINE_CONFIGS),
        |config| release_of(config).map(str::to_owned),
        |event| state.machine_config(event),
    );
    deliver(all(&MACHINE_CONFIG_POOLS), Pool::read, |event| state.pool(event));
    deliver(all(&NODES), Node::read, |event| state.node(event));
    state.config_map(Event::InitDone);
    state.status_object.apply_crd_event(Event::InitDone);
    deliver_producers(&mut state, &list);
    state.kubernetes_minor(kubernetes_minor);
    state.assess(now)?;
    Ok(state.insights_by_key())
}

/// Delivers the objects of producers, if there are any.
fn deliver_producers(state: &mut State, list: &impl Fn(&Resource) -> Vec<Object>) {
    let (informers, insights) = (list(&UPDATE_INFORMERS), list(&UPDATE_INSIGHTS));
    if informers.is_empty() && insights.is_empty() {
        return;
    }
    let producers = &mut state.producers;
    producers.apply_crd_event(Event::InitApply((UPDATE_INFORMER_CRD.to_owned(), true)));
    producers.apply_crd_event(Event::InitDone);
    deliver(informers.into_iter(), InformerObject::read, |event| producers.apply_registration(event));
    producers.apply_delivery(Event::Init);
    for delivery in insights.iter().filter_map(|insight| delivery_of_object(insight)) {
        producers.apply_delivery(Event::InitApply((delivery.key(), delivery)));
    }
    producers.apply_delivery(Event::InitDone);
}

/// Delivers the objects of a kind like a watch that lists them.
fn deliver<T>(
    objects: impl Iterator<Item = Object>,
    read: impl Fn(&Value) -> T,
    mut receive: impl FnMut(Event<(String, T)>),
) {
    receive(Event::Init);
    objects.for_each(|object| receive(Event::InitApply((object.name().to_owned(), read(&object)))));
    receive(Event::InitDone);
}

/// Returns the insights published in a ConfigMap or, if it has none, in an UpdateStatus. Skips entries that
/// are no insights. Returns `None` without an insight on the ClusterVersion, since a ConfigMap that was just
/// created is empty.
pub fn published_insights(config_map: Option<&Value>, update_status: Option<&Value>) -> Option<Insights> {
    let entry = |(key, text): (&str, &str)| Some((key.to_owned(), yaml::from_str(text).ok()?));
    let in_config_map: Option<Insights> = config_map.map(|map| documents(map).filter_map(entry).collect());
    in_config_map
        .filter(has_cluster_version)
        .or_else(|| update_status.map(in_update_status))
        .filter(has_cluster_version)
}

fn in_update_status(update_status: &Value) -> Insights {
    let found = insights_in_status(&update_status["status"]);
    found
        .filter_map(|(key, value)| {
            let (_, uid) = key.split_once('.')?;
            Some((format!("usc.{key}"), insight_from_api(value, uid)?))
        })
        .collect()
}

fn has_cluster_version(insights: &Insights) -> bool {
    insights.values().any(|insight| matches!(insight.detail, Detail::ClusterVersion(_)))
}

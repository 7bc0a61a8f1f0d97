//! The watches of the controller, the fields that it takes from each object, and caches of objects.

pub(super) mod cache;
pub(super) mod fields;
pub(super) mod mirror;
mod poll_on_wake;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::stream::{BoxStream, PollNext, select_with_strategy};
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ObjectMeta, PartialObjectMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::{Value, json};
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::Time;
use windtunnel_core::condition::is_true;
use windtunnel_core::text::go_quote::quote;
use windtunnel_core::{Object, Resource, resources};

use super::observer::{Note, Observer};
use crate::assessment::cluster_operator::{MACHINE_CONFIG_OPERATOR, MCO_NAMESPACE, Operator, image_of};
use crate::assessment::node::{Node, Pool, release_in};
use crate::insight::published::{CONFIG_MAP, NAMESPACE, UPDATE_STATUS};
use crate::producer::{Delivery, InformerObject, delivery_of_object};
use fields::Watched;
use poll_on_wake::PollOnWake;

/// A source of alerts. Each item has all pending and firing alerts, as in Prometheus' `/api/v1/alerts`, after
/// a change or a poll; or the reason why they are unknown.
pub type AlertStream = BoxStream<'static, Result<Vec<ActiveAlert>, String>>;

/// The key of alerts among the plurals of resources.
pub(in crate::controller) const ALERTS: &str = "alerts";

/// The CustomResourceDefinition that ClusterVersions are validated against.
pub(in crate::controller) const CLUSTER_VERSION_CRD: &str = "clusterversions.config.openshift.io";

/// The CustomResourceDefinition of the kind UpdateStatus.
pub(in crate::controller) const UPDATE_STATUS_CRD: &str = "updatestatuses.update.openshift.io";

/// The CustomResourceDefinition of the kind UpdateInformer, which comes with that of UpdateInsight.
pub(in crate::controller) const UPDATE_INFORMER_CRD: &str = "updateinformers.update.openshift.io";

/// The namespace of the cluster-version operator, and of the pods that fetch payloads for it.
pub(in crate::controller) const CLUSTER_VERSION_NAMESPACE: &str = "openshift-cluster-version";
/// The name prefix of the pods that fetch payloads.
const VERSION_POD: &str = "version-";

/// An event of one of the watches.
pub(in crate::controller) enum WatchEvent {
    ClusterVersion(Event<(String, Object)>),
    Crd(Event<(String, Value)>),
    Operator(Box<Event<(String, Operator)>>),
    /// The image of the machine-config operator.
    OperatorImage(Event<(String, Option<String>)>),
    /// The problems of pods in the cluster-version operator's namespace that fetch payloads.
    VersionPod(Event<(String, Option<String>)>),
    Alerts(Result<Vec<ActiveAlert>, String>),
    /// The release versions of MachineConfigs.
    MachineConfig(Event<(String, Option<String>)>),
    Pool(Event<(String, Pool)>),
    Node(Event<(String, Node)>),
    /// Its resource version.
    ConfigMap(Event<(String, String)>),
    /// Whether the kind UpdateStatus is served.
    UpdateStatusCrd(Event<(String, bool)>),
    /// Its resource version.
    UpdateStatus(Event<(String, String)>),
    /// Whether the kind UpdateInformer is served.
    UpdateInformerCrd(Event<(String, bool)>),
    UpdateInformer(Box<Event<(String, InformerObject)>>),
    /// An UpdateInsight, named `namespace/name`.
    UpdateInsight(Box<Event<(String, Delivery)>>),
    /// A watch failed; it resumes after its own pause.
    Failure(Failure),
    /// A watch that failed works again; the plural of its resource.
    Recovery(String),
}

/// The failure of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::controller) struct Failure {
    /// The plural of the resource.
    pub(in crate::controller) resource: String,
    pub(in crate::controller) why: String,
    /// Whether only a change of the cluster can end the failure: the kind is not served, or reading it is
    /// forbidden.
    pub(in crate::controller) is_lasting: bool,
}

/// All watches as one stream. The watches of UpdateStatus objects and of producers start and end with their
/// CRDs.
pub(in crate::controller) struct Watches {
    client: Client,
    observer: Arc<dyn Observer>,
    fixed: BoxStream<'static, WatchEvent>,
    update_status: Option<BoxStream<'static, WatchEvent>>,
    producers: Option<BoxStream<'static, WatchEvent>>,
}

impl Watches {
    /// Starts all watches except those of UpdateStatus objects and of producers.
    pub(in crate::controller) fn new(
        client: &Client,
        alerts: Option<AlertStream>,
        observer: &Arc<dyn Observer>,
    ) -> Self {
        let fixed = watches(client, alerts, observer);
        let (client, observer) = (client.clone(), Arc::clone(observer));
        Self { client, observer, fixed, update_status: None, producers: None }
    }

    /// Starts or stops the watch of UpdateStatus objects.
    pub(in crate::controller) fn watch_update_status(&mut self, is_served: bool) {
        if is_served == self.update_status.is_some() {
            return;
        }
        let api: Api<PartialObjectMeta<DynamicObject>> =
            Api::all_with(self.client.clone(), &api_resource(&resources::UPDATE_STATUSES));
        self.update_status = is_served.then(|| {
            let watch = watcher(api, named(UPDATE_STATUS));
            let convert = |event| WatchEvent::UpdateStatus(map_event(event, version));
            watch_stream(&resources::UPDATE_STATUSES, watch, &self.observer, convert)
        });
    }

    /// Starts or stops the watches of UpdateInformers and UpdateInsights.
    pub(in crate::controller) fn watch_producers(&mut self, is_served: bool) {
        if is_served != self.producers.is_some() {
            self.producers = is_served.then(|| producers(&self.client, &self.observer));
        }
    }
}

impl Stream for Watches {
    type Item = WatchEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<WatchEvent>> {
        if let Poll::Ready(event) = self.fixed.poll_next_unpin(context) {
            return Poll::Ready(event);
        }
        let this = &mut *self;
        for watch in [&mut this.update_status, &mut this.producers].into_iter().flatten() {
            if let Poll::Ready(event) = watch.poll_next_unpin(context) {
                return Poll::Ready(event);
            }
        }
        Poll::Pending
    }
}

/// Returns all permanent watches as one stream. Of simultaneous events, those of the CRDs come first, then
/// those of ClusterVersions, and so on: the same order in every run, and nodes come after the objects that
/// they depend on.
fn watches(
    client: &Client,
    alerts: Option<AlertStream>,
    observer: &Arc<dyn Observer>,
) -> BoxStream<'static, WatchEvent> {
    use resources as known;
    let alerts = alerts.unwrap_or_else(|| futures::stream::pending().boxed());
    let all = watcher::Config::default;
    let all_of =
        |resource: &Resource| -> Api<Watched> { Api::all_with(client.clone(), &api_resource(resource)) };
    let crds = watcher(all_of(&resources::CUSTOM_RESOURCE_DEFINITIONS), named(CLUSTER_VERSION_CRD));
    let own_crds = watcher(all_of(&resources::CUSTOM_RESOURCE_DEFINITIONS), named(UPDATE_STATUS_CRD));
    let informer_crds = watcher(all_of(&resources::CUSTOM_RESOURCE_DEFINITIONS), named(UPDATE_INFORMER_CRD));
    let cluster_versions = watcher(all_of(&resources::CLUSTER_VERSIONS), all());
    let operators = watcher(all_of(&resources::CLUSTER_OPERATORS), all());
    let deployments: Api<Watched> =
        Api::namespaced_with(client.clone(), MCO_NAMESPACE, &api_resource(&resources::DEPLOYMENTS));
    let deployments = watcher(deployments, named(MACHINE_CONFIG_OPERATOR));
    let pods: Api<Watched> =
        Api::namespaced_with(client.clone(), CLUSTER_VERSION_NAMESPACE, &api_resource(&resources::PODS));
    let pods = watcher(pods, all());
    // MachineConfigs are large, and the controller needs only their metadata.
    let machine_configs: Api<PartialObjectMeta<DynamicObject>> =
        Api::all_with(client.clone(), &api_resource(&resources::MACHINE_CONFIGS));
    let machine_configs = watcher(machine_configs, all());
    let pools = watcher(all_of(&resources::MACHINE_CONFIG_POOLS), all());
    let nodes = watcher(all_of(&resources::NODES), all());
    let config_maps: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(client.clone(), NAMESPACE);
    let config_maps = watcher(config_maps, named(CONFIG_MAP));
    let watches = [
        watch_stream(&known::CUSTOM_RESOURCE_DEFINITIONS, crds, observer, |event| {
            WatchEvent::Crd(map_event(event, json_of))
        }),
        watch_stream(&known::CUSTOM_RESOURCE_DEFINITIONS, own_crds, observer, |event| {
            WatchEvent::UpdateStatusCrd(map_event(event, |object| named_as(object, is_served)))
        }),
        watch_stream(&known::CUSTOM_RESOURCE_DEFINITIONS, informer_crds, observer, |event| {
            WatchEvent::UpdateInformerCrd(map_event(event, |object| named_as(object, is_served)))
        }),
        watch_stream(&known::CLUSTER_VERSIONS, cluster_versions, observer, |event| {
            WatchEvent::ClusterVersion(map_event(event, |object| {
                named_as(object, |value| Object::new(value.clone()))
            }))
        }),
        watch_stream(&known::CLUSTER_OPERATORS, operators, observer, |event| {
            WatchEvent::Operator(Box::new(map_event(event, |object| named_as(object, Operator::read))))
        }),
        watch_stream(&known::DEPLOYMENTS, deployments, observer, |event| {
            WatchEvent::OperatorImage(map_event(event, |object| named_as(object, image_of)))
        }),
        watch_stream(&known::PODS, pods, observer, |event| {
            WatchEvent::VersionPod(map_event(event, |object| named_as(object, waiting_reason)))
        }),
        alerts.map(WatchEvent::Alerts).boxed(),
        watch_stream(&known::MACHINE_CONFIGS, machine_configs, observer, |event| {
            WatchEvent::MachineConfig(map_event(event, release))
        }),
        watch_stream(&known::MACHINE_CONFIG_POOLS, pools, observer, |event| {
            WatchEvent::Pool(map_event(event, |object| named_as(object, Pool::read)))
        }),
        watch_stream(&known::NODES, nodes, observer, |event| {
            WatchEvent::Node(map_event(event, |object| named_as(object, Node::read)))
        }),
        watch_stream(&known::CONFIG_MAPS, config_maps, observer, |event| {
            WatchEvent::ConfigMap(map_event(event, version))
        }),
    ];
    in_order(watches)
}

/// Returns the watches of UpdateInformers and UpdateInsights as one stream, in this order.
fn producers(client: &Client, observer: &Arc<dyn Observer>) -> BoxStream<'static, WatchEvent> {
    let watch = |resource: &Resource| {
        let api: Api<Watched> = Api::all_with(client.clone(), &api_resource(resource));
        watcher(api, watcher::Config::default())
    };
    let (informers, insights) = (watch(&resources::UPDATE_INFORMERS), watch(&resources::UPDATE_INSIGHTS));
    in_order([
        watch_stream(&resources::UPDATE_INFORMERS, informers, observer, |event| {
            WatchEvent::UpdateInformer(Box::new(map_event(event, informer_object)))
        }),
        watch_stream(&resources::UPDATE_INSIGHTS, insights, observer, |event| {
            WatchEvent::UpdateInsight(Box::new(map_event(event, delivery)))
        }),
    ])
}

/// Returns the streams as one, in which simultaneous events have the order of the streams.
fn in_order<const N: usize>(watches: [BoxStream<'static, WatchEvent>; N]) -> BoxStream<'static, WatchEvent> {
    let left = |(): &mut ()| PollNext::Left;
    let first_before = |rest, first| select_with_strategy(first, rest, left).boxed();
    watches.into_iter().rev().reduce(first_before).unwrap_or_else(|| futures::stream::empty().boxed())
}

/// Restricts a watch to the object with this name.
fn named(name: &str) -> watcher::Config {
    watcher::Config::default().fields(&format!("metadata.name={name}"))
}

fn watch_stream<K: 'static>(
    resource: &Resource,
    watch: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
    observer: &Arc<dyn Observer>,
    convert: impl Fn(Event<K>) -> WatchEvent + Send + 'static,
) -> BoxStream<'static, WatchEvent> {
    let (observer, resource) = (Arc::clone(observer), resource.plural.to_string());
    let (mut listed, mut failed) = (false, false);
    let mut convert = move |event| match event {
        Ok(event) => {
            if matches!(event, Event::Init) && std::mem::replace(&mut listed, true) {
                observer.note(Note::WatchRestarted { resource: &resource });
            }
            // The start of a list is no success yet.
            let recovers = !matches!(event, Event::Init) && std::mem::take(&mut failed);
            let recovery = recovers.then(|| {
                observer.note(Note::WatchRecovered { resource: &resource });
                WatchEvent::Recovery(resource.clone())
            });
            [recovery, Some(convert(event))]
        }
        Err(error) => {
            failed = true;
            let failure = failure(&resource, &error);
            observer.note(Note::WatchFailed { resource: &resource, why: &failure.why });
            [None, Some(WatchEvent::Failure(failure))]
        }
    };
    let watch = watch.default_backoff().boxed();
    PollOnWake::new(watch)
        .flat_map(move |event| futures::stream::iter(convert(event).into_iter().flatten()))
        .boxed()
}

fn failure(resource: &str, error: &watcher::Error) -> Failure {
    let status = match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => Some(status),
        _ => None,
    };
    let is_lasting = status.is_some_and(|status| matches!(status.code, 401 | 403 | 404));
    let why = status.map_or_else(|| error.to_string(), |status| status.message.clone());
    Failure { resource: resource.to_owned(), why, is_lasting }
}

fn map_event<K, T>(event: Event<K>, convert: impl FnOnce(K) -> T) -> Event<T> {
    match event {
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(convert(object)),
        Event::InitDone => Event::InitDone,
        Event::Apply(object) => Event::Apply(convert(object)),
        Event::Delete(object) => Event::Delete(convert(object)),
    }
}

pub(in crate::controller) fn api_resource(resource: &Resource) -> ApiResource {
    ApiResource {
        group: resource.group.to_string(),
        version: resource.version.to_string(),
        api_version: resource.api_version(),
        kind: resource.kind.to_string(),
        plural: resource.plural.to_string(),
    }
}

/// Returns name and JSON of an object, with only the metadata that assessments read.
fn json_of(object: Watched) -> (String, Value) {
    let name = object.metadata.name.unwrap_or_default();
    let mut value = object.data;
    if let Some(fields) = value.as_object_mut() {
        let (labels, annotations) = (object.metadata.labels, object.metadata.annotations);
        let metadata = json!({"name": name, "labels": labels, "annotations": annotations});
        fields.insert("metadata".to_owned(), metadata);
    }
    (name, value)
}

/// Returns name and content of an UpdateInformer.
fn informer_object(object: Watched) -> (String, InformerObject) {
    let generation = object.metadata.generation;
    let (name, mut value) = json_of(object);
    value["metadata"]["generation"] = json!(generation);
    (name, InformerObject::read(&value))
}

/// Returns an UpdateInsight with its namespace and name.
fn delivery(object: Watched) -> (String, Delivery) {
    let Watched { metadata, data } = object;
    let value = json!({"metadata": metadata, "spec": data["spec"]});
    let delivery = delivery_of_object(&value).unwrap_or_else(|| {
        // The API server sets what is missing here, so this is no UpdateInsight.
        Delivery::new(String::new(), String::new(), &Value::Null, Time::UNIX_EPOCH)
    });
    (delivery.key(), delivery)
}

fn named_as<T>(object: Watched, read: impl FnOnce(&Value) -> T) -> (String, T) {
    let (name, value) = json_of(object);
    (name, read(&value))
}

/// Returns whether a CustomResourceDefinition serves the version that the controller writes.
fn is_served(crd: &Value) -> bool {
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    let is_ours = |found: &Value| found["name"] == *resources::UPDATE_STATUSES.version;
    is_true(crd, "Established") && versions.into_iter().any(|found| is_ours(found) && found["served"] == true)
}

/// Returns resource version and status of an UpdateStatus.
pub(in crate::controller) fn status_of(mut object: Watched) -> (String, Value) {
    (resource_version(object.metadata), object.data["status"].take())
}

/// Returns why a pod that fetches a payload is waiting, with the reason and message of its container.
pub(in crate::controller) fn waiting_reason(pod: &Value) -> Option<String> {
    let name = pod["metadata"]["name"].as_str().filter(|name| name.starts_with(VERSION_POD))?;
    let lists = ["initContainerStatuses", "containerStatuses"].map(|list| pod["status"][list].as_array());
    let waiting = lists.into_iter().flatten().flatten().find_map(|container| {
        let waiting = &container["state"]["waiting"];
        let text = |field: &str| waiting[field].as_str().unwrap_or_default().to_owned();
        let is_problem = !matches!(text("reason").as_str(), "" | "PodInitializing" | "ContainerCreating");
        is_problem.then(|| (container["name"].as_str().unwrap_or_default(), text("reason"), text("message")))
    });
    waiting.map(|(container, reason, message)| {
        let [reason, message] = [reason, message].map(|text| quote(&text));
        format!("pod {name}: container {container} is waiting with reason {reason} and message {message}")
    })
}

fn release(machine_config: PartialObjectMeta<DynamicObject>) -> (String, Option<String>) {
    let metadata = machine_config.metadata;
    (metadata.name.unwrap_or_default(), release_in(metadata.annotations.as_ref()).map(str::to_owned))
}

/// The content of a ConfigMap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::controller) struct ConfigMapData {
    /// `data`.
    pub(in crate::controller) texts: BTreeMap<String, String>,
    /// The size of `binaryData` in bytes.
    pub(in crate::controller) binary: usize,
}

/// Returns resource version and data of a ConfigMap.
pub(in crate::controller) fn data_of(config_map: ConfigMap) -> (String, ConfigMapData) {
    let binary = config_map.binary_data.unwrap_or_default().values().map(|bytes| bytes.0.len()).sum();
    let texts = config_map.data.unwrap_or_default();
    (resource_version(config_map.metadata), ConfigMapData { texts, binary })
}

/// Returns name and resource version.
fn version<K>(object: PartialObjectMeta<K>) -> (String, String) {
    let mut metadata = object.metadata;
    (metadata.name.take().unwrap_or_default(), resource_version(metadata))
}

pub(in crate::controller) fn resource_version(metadata: ObjectMeta) -> String {
    metadata.resource_version.unwrap_or_default()
}

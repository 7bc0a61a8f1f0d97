//! Watches each kind, with automatic restarts, and merges the events into one stream.

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Config, Event};
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, channel};
use windtunnel_core::Resource;
use windtunnel_core::text::error_chain;

use crate::record::redact;

/// A kind of the cluster.
pub(in crate::cli) struct Kind {
    pub(in crate::cli) resource: ApiResource,
    pub(super) namespaced: bool,
}

impl Kind {
    /// Returns its display name: `clusterversions.config.openshift.io`.
    pub(in crate::cli) fn name(&self) -> String {
        let ApiResource { plural, group, .. } = &self.resource;
        if group.is_empty() { plural.clone() } else { format!("{plural}.{group}") }
    }

    fn as_resource(&self) -> Resource {
        let ApiResource { group, version, kind, plural, .. } = self.resource.clone();
        let namespaced = self.namespaced;
        Resource {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            plural: plural.into(),
            namespaced,
        }
    }
}

/// An observation of a watch.
pub(super) enum WatchUpdate {
    /// A list starts: the first one, or another one after an interrupted watch.
    ListStarted(Resource),
    /// A listed, new or changed object without secrets, and its last writer.
    Present(Resource, Value, String),
    /// An object was deleted.
    Deleted(Resource, Value),
    /// A list is complete.
    ListCompleted(Resource),
    /// The kind cannot be read now.
    Failed(Resource, String),
}

/// The maximum number of observations in the queue.
const QUEUE_LENGTH: usize = 1_000;

/// Watches all of these kinds until the receiver is dropped.
pub(super) fn watch(client: &Client, kinds: Vec<Kind>) -> Receiver<WatchUpdate> {
    let (sender, receiver) = channel(QUEUE_LENGTH);
    for kind in kinds {
        let (sender, resource) = (sender.clone(), kind.as_resource());
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind.resource);
        tokio::spawn(async move {
            let mut seen = watcher::watcher(api, Config::default()).default_backoff().boxed();
            while let Some(event) = seen.next().await {
                let kind = resource.clone();
                let event = match event {
                    Ok(Event::Init) => WatchUpdate::ListStarted(kind),
                    Ok(Event::InitApply(object) | Event::Apply(object)) => {
                        let (object, by) = read(&kind, &object);
                        WatchUpdate::Present(kind, object, by)
                    }
                    Ok(Event::Delete(object)) => WatchUpdate::Deleted(kind.clone(), read(&kind, &object).0),
                    Ok(Event::InitDone) => WatchUpdate::ListCompleted(kind),
                    Err(error) => WatchUpdate::Failed(kind, error_chain(&error)),
                };
                if sender.send(event).await.is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

/// Returns an object in its recorded form, and its last writer.
fn read(kind: &Resource, object: &DynamicObject) -> (Value, String) {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    value["apiVersion"] = json!(kind.api_version());
    value["kind"] = json!(kind.kind);
    let managers = value["metadata"]["managedFields"].as_array().into_iter().flatten();
    let last = managers.max_by_key(|entry| entry["time"].as_str().unwrap_or_default().to_owned());
    let by = last.and_then(|entry| entry["manager"].as_str()).unwrap_or("unknown").to_owned();
    redact(&mut value);
    (value, by)
}

//! One watch for each kind, which begins again by itself, into one stream.

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Config, Event};
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, channel};
use windtunnel_core::Resource;
use windtunnel_core::text::causes;

use crate::record::redact;

/// A kind of the cluster.
pub(super) struct Kind {
    pub(super) resource: ApiResource,
    pub(super) namespaced: bool,
}

impl Kind {
    /// Its name for people: `clusterversions.config.openshift.io`.
    pub(super) fn name(&self) -> String {
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

/// What a watch tells.
pub(super) enum Told {
    /// A list begins: the first, or another one after a watch was lost.
    Begins(Resource),
    /// An object of a list, or one that is new or changed, without secrets; with who wrote it last.
    Is(Resource, Value, String),
    /// An object is gone.
    Gone(Resource, Value),
    /// A list is complete.
    Complete(Resource),
    /// The kind cannot be read now.
    Failed(Resource, String),
}

/// How many objects may wait to be written.
const WAITING: usize = 1_000;

/// Watches all of these kinds until the receiver is dropped.
pub(super) fn watch(client: &Client, kinds: Vec<Kind>) -> Receiver<Told> {
    let (tell, told) = channel(WAITING);
    for kind in kinds {
        let (tell, resource) = (tell.clone(), kind.as_resource());
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind.resource);
        tokio::spawn(async move {
            let mut seen = watcher::watcher(api, Config::default()).default_backoff().boxed();
            while let Some(event) = seen.next().await {
                let kind = resource.clone();
                let event = match event {
                    Ok(Event::Init) => Told::Begins(kind),
                    Ok(Event::InitApply(object) | Event::Apply(object)) => {
                        let (object, by) = read(&kind, &object);
                        Told::Is(kind, object, by)
                    }
                    Ok(Event::Delete(object)) => Told::Gone(kind.clone(), read(&kind, &object).0),
                    Ok(Event::InitDone) => Told::Complete(kind),
                    Err(error) => Told::Failed(kind, causes(&error)),
                };
                if tell.send(event).await.is_err() {
                    return;
                }
            }
        });
    }
    told
}

/// An object as it is recorded, and who wrote it last.
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

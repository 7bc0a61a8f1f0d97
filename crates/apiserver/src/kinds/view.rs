//! Built-in kinds that are served in more than one version or group: one object, several looks.

use serde_json::{Map, Value, json};
use windtunnel_core::{Key, Resource};

use super::{Kind, typed};
use crate::store::Stored;

/// How a version of a kind looks at the stored object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum View {
    /// As it is stored.
    Storage,
    /// Under another `apiVersion`; the fields are the same. What is stored has this resource.
    Renamed(Resource),
    /// An event of `events.k8s.io`, stored as one of the core group (`ConvertToNewEvent`).
    Event(Resource),
    /// A HorizontalPodAutoscaler of v1, stored as v2.
    Autoscaler(Resource),
}

/// Names of the fields of a core event, and of one of `events.k8s.io`.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

impl View {
    /// How `resource` looks at what is stored as `storage`.
    pub(super) fn of(resource: &Resource, storage: &Resource) -> Self {
        if resource == storage {
            Self::Storage
        } else if resource.group != storage.group {
            Self::Event(storage.clone())
        } else if resource.group == "autoscaling" && resource.version == "v1" {
            Self::Autoscaler(storage.clone())
        } else {
            Self::Renamed(storage.clone())
        }
    }

    fn storage(&self) -> Option<&Resource> {
        match self {
            Self::Storage => None,
            Self::Renamed(storage) | Self::Event(storage) | Self::Autoscaler(storage) => Some(storage),
        }
    }
}

impl Kind {
    /// Under which key an object is stored: that of the storage version's resource.
    pub(crate) fn key(&self, namespace: &str, name: &str) -> Key {
        self.stored_as().key(namespace, name)
    }

    /// What objects are stored as, which is also what texts about them name.
    pub(crate) fn stored_as(&self) -> &Resource {
        self.view.storage().unwrap_or(&self.resource)
    }

    /// Whether this is the version of a built-in kind that objects are stored in.
    pub(crate) fn is_storage(&self) -> bool {
        self.view == View::Storage
    }

    /// Whether Kubernetes 1.`minor` has this kind.
    pub(crate) fn is_served(&self, minor: u32) -> bool {
        self.minors.contains(&minor)
    }

    /// Brings a decoded object of a built-in kind into the form that is stored.
    pub(crate) fn store_form(&self, object: &mut Value) {
        let Some(storage) = self.view.storage() else { return };
        match &self.view {
            View::Event(_) => rename(object, |(core, new)| (new, core)),
            View::Autoscaler(_) => autoscaler_to_v2(object),
            View::Storage | View::Renamed(_) => {}
        }
        object["apiVersion"] = json!(storage.api_version());
        if !matches!(self.view, View::Renamed(_)) {
            // It was decoded already: nothing can be wrong with it.
            let _ = typed::decode_as(&storage.group, &storage.version, &storage.kind, object);
        }
    }

    /// How this version shows a stored object of a built-in kind.
    pub(crate) fn shown(&self, stored: &Stored) -> Stored {
        if self.is_storage() {
            return stored.clone();
        }
        let mut object = (**stored).clone();
        match &self.view {
            View::Event(_) => rename(&mut object, |names| names),
            View::Autoscaler(_) => autoscaler_to_v1(&mut object),
            View::Storage | View::Renamed(_) => {}
        }
        object["apiVersion"] = json!(self.resource.api_version());
        if !matches!(self.view, View::Renamed(_)) {
            let _ = typed::decode(self, &mut object);
        }
        stored.with(object)
    }
}

fn rename(
    object: &mut Value,
    direction: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
) {
    let Some(map) = object.as_object_mut() else { return };
    for names in EVENT_FIELDS {
        let (from, to) = direction(names);
        if let Some(value) = map.remove(from) {
            map.insert(to.to_owned(), value);
        }
    }
}

/// The one metric that v1 has a field for: a resource metric of the processor, by utilization.
fn is_processor_target(metric: &Value) -> bool {
    metric["type"] == "Resource"
        && metric["resource"]["name"] == "cpu"
        && !metric["resource"]["target"]["averageUtilization"].is_null()
}

fn autoscaler_to_v2(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(percentage) = spec.remove("targetCPUUtilizationPercentage") {
        let target = json!({ "type": "Utilization", "averageUtilization": percentage });
        let metric = json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
        spec.insert("metrics".to_owned(), json!([metric]));
    }
    let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) else { return };
    if let Some(percentage) = status.remove("currentCPUUtilizationPercentage") {
        let current = json!({ "averageUtilization": percentage });
        let metric = json!({ "type": "Resource", "resource": { "name": "cpu", "current": current } });
        status.insert("currentMetrics".to_owned(), json!([metric]));
    }
}

fn autoscaler_to_v1(object: &mut Value) {
    let take = |part: Option<&mut Map<String, Value>>, list: &str| -> Option<Value> { part?.remove(list) };
    let metrics = take(object.get_mut("spec").and_then(Value::as_object_mut), "metrics");
    let target =
        metrics.as_ref().and_then(|list| list.as_array()?.iter().find(|metric| is_processor_target(metric)));
    if let Some(metric) = target {
        object["spec"]["targetCPUUtilizationPercentage"] =
            metric["resource"]["target"]["averageUtilization"].clone();
    }
    let current = take(object.get_mut("status").and_then(Value::as_object_mut), "currentMetrics");
    let current = current
        .as_ref()
        .and_then(|list| list.as_array()?.iter().find(|metric| metric["resource"]["name"] == "cpu"));
    if let Some(metric) = current {
        object["status"]["currentCPUUtilizationPercentage"] =
            metric["resource"]["current"]["averageUtilization"].clone();
    }
}

//! Versions and groups of a built-in kind that share stored objects, and the conversion between them.

use std::borrow::Cow;

use serde_json::{Value, json};
use windtunnel_core::{Key, Resource};

use super::{Kind, autoscaler, strategy, typed};
use crate::store::Stored;

/// How a version of a kind represents the stored object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum View {
    /// In the stored form.
    Storage,
    /// With another `apiVersion` and the same fields. Stored objects have this resource.
    Renamed(Resource),
    /// An event of `events.k8s.io`, stored as one of the core group (`ConvertToNewEvent`).
    Event(Resource),
    /// A HorizontalPodAutoscaler of v1, stored as v2.
    Autoscaler(Resource),
    /// A kind of an aggregated API server with the fields of a stored kind.
    Alias(Resource),
    /// A kind of an aggregated API server whose objects are not stored.
    Computed,
}

/// Fields of a core event, with their names in `events.k8s.io`.
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
    /// How `resource` represents objects that are stored as `storage`.
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
            Self::Storage | Self::Computed => None,
            Self::Renamed(storage)
            | Self::Event(storage)
            | Self::Autoscaler(storage)
            | Self::Alias(storage) => Some(storage),
        }
    }
}

impl Kind {
    /// The storage key of an object, which has the resource of the storage version.
    pub(crate) fn key(&self, namespace: &str, name: &str) -> Key {
        self.stored_as().key(namespace, name)
    }

    /// The resource of stored objects, which error messages name too.
    pub(crate) fn stored_as(&self) -> &Resource {
        self.view.storage().unwrap_or(&self.resource)
    }

    /// Whether this is the storage version of a built-in kind.
    pub(crate) fn is_storage(&self) -> bool {
        self.view == View::Storage
    }

    /// A served object in the form from which Tables are printed. Printers of events know both of their forms.
    pub(crate) fn printed_form<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        if !matches!(self.view, View::Autoscaler(_)) || object["kind"] != *self.resource.kind {
            return Cow::Borrowed(object);
        }
        let mut object = object.clone();
        self.convert_to_stored(&mut object);
        Cow::Owned(object)
    }

    /// Whether this version of a built-in kind has the fields of the storage version.
    pub(crate) fn has_storage_fields(&self) -> bool {
        matches!(self.view, View::Storage | View::Renamed(_))
    }

    /// Whether an aggregated API server has this kind.
    pub(crate) fn is_aggregated(&self) -> bool {
        matches!(self.view, View::Alias(_) | View::Computed)
    }

    /// Whether Kubernetes 1.`minor` serves this kind.
    pub(crate) fn is_served(&self, minor: u32) -> bool {
        self.minors.contains(&minor)
    }

    /// Converts a decoded object of a built-in kind to its stored form.
    pub(crate) fn convert_to_stored(&self, object: &mut Value) {
        let Some(storage) = self.view.storage() else { return };
        match &self.view {
            View::Event(_) => rename(object, |(core, new)| (new, core)),
            View::Autoscaler(_) => autoscaler::to_v2(object),
            View::Storage | View::Renamed(_) | View::Alias(_) | View::Computed => {}
        }
        object["apiVersion"] = json!(storage.api_version());
        if !matches!(self.view, View::Renamed(_)) {
            // Annotations of an autoscaler can hold values of wrong types, which stay.
            let _ = typed::decode_as(&storage.group, &storage.version, &storage.kind, object);
        }
    }

    /// Converts a stored object of a built-in kind to this version.
    pub(crate) fn as_served(&self, stored: &Stored) -> Stored {
        if self.is_storage() {
            return stored.clone();
        }
        let mut object = (**stored).clone();
        match &self.view {
            View::Event(_) => rename(&mut object, |names| names),
            View::Autoscaler(_) => autoscaler::to_v1(&mut object),
            View::Alias(_) => object["kind"] = json!(self.resource.kind),
            View::Storage | View::Renamed(_) | View::Computed => {}
        }
        object["apiVersion"] = json!(self.resource.api_version());
        if !matches!(self.view, View::Renamed(_) | View::Alias(_)) {
            let _ = typed::decode(self, &mut object, u32::MAX);
        }
        stored.with(object)
    }
}

impl Kind {
    /// A decoded or stored object of a built-in kind in the form in which owners of fields are tracked: in this version, with
    /// the fields that the conversion to it always sets.
    pub(crate) fn tracked_form<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        match &self.view {
            _ if self.custom.is_some() => Cow::Borrowed(object),
            View::Event(_) | View::Autoscaler(_) => {
                Cow::Owned((*self.as_served(&Stored::new(object.clone(), None))).clone())
            }
            View::Storage | View::Renamed(_) | View::Alias(_) | View::Computed => {
                strategy::with_template_count(self, object)
            }
        }
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

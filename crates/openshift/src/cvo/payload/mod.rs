//! A release's payload as tasks, in the order in which the operator loads manifests: of its real manifests where they are
//! known, else of facts.

mod extracted;
mod facts;
mod installed;
mod loaded;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::resources;
use windtunnel_core::resources::CLUSTER_OPERATORS;
use windtunnel_core::{Object, Resource, View, text_of as text};

use crate::payload::Selection;
use crate::release::Release;
pub use facts::update_status_controller_objects;
pub use installed::{Installed, installed_cluster_operator};

/// One or several manifests of a component.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Task {
    /// Where it stands.
    pub(super) place: Arc<Place>,
    /// Number of its manifest in the payload, or of the first one, from 1.
    pub(super) index: u32,
    /// What is to be done.
    pub(super) what: What,
}

/// What manifests of one component have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Run level as names of files have it; empty for a file that is named otherwise.
    pub(super) run_level: String,
    /// Component.
    pub(super) component: String,
    /// Capabilities that must all be enabled.
    pub(super) capabilities: Vec<String>,
}

/// What a task is about.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    /// Manifests that are only counted.
    Counted(u32),
    /// An object to be written.
    Object(Box<Wanted>),
    /// A ClusterOperator to wait for.
    ClusterOperator(Box<ClusterOperatorTask>),
}

/// An object as the payload wants it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    /// Its kind; `None` where only definitions in the cluster tell.
    pub(super) resource: Option<Resource>,
    /// The object.
    pub(super) object: Arc<Value>,
    /// What is done with it.
    pub(super) rule: Rule,
}

/// What is done with an object of the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// It is made what the payload says.
    Apply,
    /// It is made, and then left to others (`release.openshift.io/create-only`).
    CreateOnly,
    /// It is removed (`release.openshift.io/delete`).
    Delete,
}

/// A ClusterOperator of the payload.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClusterOperatorTask {
    /// What is made where nothing is there, and whose metadata is kept; without status.
    pub(super) object: Value,
    /// The `status.relatedObjects` that it begins with; null where there are none.
    pub(super) related_objects: Value,
    /// The versions that it must report.
    pub(super) versions: Vec<(String, String)>,
}

/// All manifests of a release that a cluster takes.
#[derive(Debug, Clone)]
pub(super) struct Payload {
    /// The tasks in the order they are loaded.
    pub(super) tasks: Arc<[Task]>,
    /// How many manifests there are in all.
    pub(super) total: u32,
    /// `status.versionHash`.
    pub(super) hash: String,
    /// By what of the cluster its manifests were chosen.
    pub(super) selection: Selection,
}

impl Payload {
    /// Loads the payload of `release`.
    pub(super) fn load(release: &Release, selection: Selection) -> Self {
        let payload = match &release.payload {
            Some(payload) => {
                let (tasks, hash) = extracted::tasks(release, payload, &selection);
                Self::of(tasks, hash)
            }
            None => loaded::payload(release, &selection.feature_set),
        };
        Self { selection, ..payload }
    }

    fn of(mut tasks: Vec<Task>, hash: String) -> Self {
        let mut total = 0;
        for task in &mut tasks {
            task.index = total + 1;
            total += task.manifests();
        }
        Self { tasks: tasks.into(), total, hash, selection: Selection::default() }
    }

    /// The capabilities of what is applied, by what it is.
    pub(super) fn capabilities(&self) -> BTreeMap<String, &[String]> {
        self.tasks.iter().map(|task| (task.identity(), task.place.capabilities.as_slice())).collect()
    }
}

impl Task {
    fn new(place: &Arc<Place>, what: What) -> Self {
        Self { place: Arc::clone(place), index: 0, what }
    }

    /// For how many manifests it stands.
    pub(super) fn manifests(&self) -> u32 {
        match &self.what {
            What::Counted(count) => *count,
            What::Object(_) | What::ClusterOperator(_) => 1,
        }
    }

    /// The object of its manifest.
    pub(super) fn object(&self) -> Option<&Value> {
        match &self.what {
            What::Counted(_) => None,
            What::Object(wanted) => Some(&wanted.object),
            What::ClusterOperator(operator) => Some(&operator.object),
        }
    }

    /// Whether it is a Job, of which the operator waits for the end.
    pub(super) fn is_job(&self) -> bool {
        self.object()
            .is_some_and(|object| text(object, "kind") == "Job" && text(object, "apiVersion") == "batch/v1")
    }

    /// `kind "namespace/name"` as error messages name a manifest; a component's name for those that are counted.
    pub(super) fn name(&self) -> String {
        let Some(object) = self.object() else { return format!("manifest \"{}\"", self.place.component) };
        format!("{} \"{}\"", text(object, "kind").to_lowercase(), place_of(object))
    }

    /// What makes it the same as a task of another payload.
    fn identity(&self) -> String {
        let Place { run_level, component, .. } = &*self.place;
        let Some(object) = self.object() else { return format!("{run_level} {component}") };
        let group = text(object, "apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        format!("{group} {} {}", text(object, "kind"), place_of(object))
    }
}

impl Place {
    fn new(run_level: &str, component: &str, capabilities: &[String]) -> Arc<Self> {
        Arc::new(Self {
            run_level: run_level.to_owned(),
            component: component.to_owned(),
            capabilities: capabilities.to_vec(),
        })
    }
}

impl Wanted {
    fn new(resource: Option<Resource>, object: impl Into<Arc<Value>>, rule: Rule) -> Self {
        Self { resource, object: object.into(), rule }
    }

    /// Its kind, by what is known of kinds and by the definitions of the cluster.
    pub(super) fn resource(&self, view: &View) -> Option<Resource> {
        const DEFINITIONS: Resource = resources::CUSTOM_RESOURCE_DEFINITIONS;
        self.resource_among(view.list(&DEFINITIONS).map(|object| &**object))
    }

    /// Its kind, by what is known of kinds and by these definitions.
    fn resource_among<'a>(&self, definitions: impl Iterator<Item = &'a Value>) -> Option<Resource> {
        let (api_version, kind) = (text(&self.object, "apiVersion"), text(&self.object, "kind"));
        self.resource.clone().or_else(|| resources::defined(api_version, kind, definitions))
    }
}

/// The cluster's ClusterOperator of a task.
pub(super) fn existing_operator<'v>(view: &'v View, operator: &ClusterOperatorTask) -> Option<&'v Object> {
    view.get(&CLUSTER_OPERATORS, "", text(&operator.object["metadata"], "name"))
}

/// `namespace/name`, or the name alone.
pub(super) fn place_of(object: &Value) -> String {
    let metadata = &object["metadata"];
    match (text(metadata, "namespace"), text(metadata, "name")) {
        ("", name) => name.to_owned(),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

#[cfg(test)]
pub(super) mod testing {
    //! Tasks for tests.

    use super::*;

    /// A manifest that is only counted.
    pub(in crate::cvo) fn counted(run_level: &str, component: &str) -> Task {
        Task::new(&Place::new(run_level, component, &[]), What::Counted(1))
    }

    /// An object in a component's file.
    pub(in crate::cvo) fn object(run_level: &str, component: &str, object: Value) -> Task {
        let rule = extracted::rule(&object);
        let resource = resources::of(&object).cloned();
        let what = What::Object(Box::new(Wanted::new(resource, object, rule)));
        Task::new(&Place::new(run_level, component, &[]), what)
    }

    /// A ClusterOperator that is to report version 2 of itself and of an operand.
    pub(in crate::cvo) fn operator(run_level: &str, name: &str) -> Task {
        let object = serde_json::json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": "ClusterOperator",
            "metadata": { "name": name },
        });
        let versions = ["operator", "operand"].map(|part| (part.to_owned(), "2".to_owned())).to_vec();
        let related_objects = serde_json::json!([{ "group": "", "resource": "namespaces", "name": name }]);
        let what = ClusterOperatorTask { object, related_objects, versions };
        Task::new(&Place::new(run_level, name, &[]), What::ClusterOperator(Box::new(what)))
    }

    /// A payload of these tasks.
    pub(in crate::cvo) fn payload(tasks: Vec<Task>) -> Payload {
        Payload::of(tasks, String::new())
    }
}

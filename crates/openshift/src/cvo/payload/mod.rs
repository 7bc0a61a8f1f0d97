//! The payload of a release as tasks, in the order in which the operator loads manifests. The tasks come from
//! the real manifests if they are available, or else from known facts about the release.

mod extracted;
mod facts;
mod loaded;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::resources::{self, CLUSTER_OPERATORS};
use windtunnel_core::{Object, Resource, View, name_of, text_of as text};

use crate::cvo::capabilities::NeededCapabilities;
use crate::payload::Selection;
use crate::release::Release;
pub(super) use facts::cluster_operator;
pub use facts::update_status_controller_objects;

/// One or several manifests of a component.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Task {
    pub(super) place: Arc<Place>,
    /// Number of its manifest in the payload, or of the first one, from 1.
    pub(super) index: u32,
    pub(super) what: TaskKind,
}

/// Properties that manifests of one component share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Run level as in file names. Empty for a file without a run level.
    pub(super) run_level: String,
    pub(super) component: String,
    /// Capabilities that must all be enabled.
    pub(super) capabilities: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TaskKind {
    /// Manifests that take time but write nothing.
    Counted(u32),
    /// An object to be applied.
    Object(Box<PayloadObject>),
    /// A ClusterOperator to wait for.
    ClusterOperator(Box<ClusterOperatorTask>),
}

/// An object of the payload.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PayloadObject {
    /// Its kind. `None` if only CustomResourceDefinitions in the cluster can resolve it.
    pub(super) resource: Option<Resource>,
    pub(super) object: Arc<Value>,
    pub(super) rule: ApplyRule,
}

/// How an object of the payload is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApplyRule {
    /// It is created, and updated to match the payload.
    Apply,
    /// It is created and not updated later (`release.openshift.io/create-only`).
    CreateOnly,
    /// It is deleted (`release.openshift.io/delete`).
    Delete,
}

impl ApplyRule {
    /// The rule that the object's annotations set.
    fn from_annotations(object: &Value) -> Self {
        let annotated = |name: &str| object["metadata"]["annotations"][name] == "true";
        if annotated("release.openshift.io/delete") {
            Self::Delete
        } else if annotated("release.openshift.io/create-only") {
            Self::CreateOnly
        } else {
            Self::Apply
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClusterOperatorTask {
    /// The object that is created if it is missing, and whose metadata is enforced. It has no status.
    pub(super) object: Value,
    /// The initial `status.relatedObjects`, or null.
    pub(super) related_objects: Value,
    /// The versions that it must report.
    pub(super) versions: Vec<(String, String)>,
}

/// All manifests of a release that a cluster includes.
#[derive(Debug, Clone)]
pub(super) struct Payload {
    /// The tasks in load order.
    pub(super) tasks: Arc<[Task]>,
    /// The number of manifests.
    pub(super) total: u32,
    pub(super) hash: String,
    /// The cluster properties that selected its manifests.
    pub(super) selection: Selection,
}

impl Payload {
    pub(super) fn load(release: &Release, selection: Selection) -> Self {
        let payload = match &release.payload {
            Some(payload) => {
                let (tasks, hash) = extracted::tasks(release, payload, &selection);
                Self::from_tasks(tasks, hash)
            }
            None => loaded::payload(release, &selection.feature_set),
        };
        Self { selection, ..payload }
    }

    fn from_tasks(mut tasks: Vec<Task>, hash: String) -> Self {
        let mut total = 0;
        for task in &mut tasks {
            task.index = total + 1;
            total += task.manifests();
        }
        Self { tasks: tasks.into(), total, hash, selection: Selection::default() }
    }

    /// The capabilities of all tasks by task identity.
    pub(super) fn capabilities(&self) -> NeededCapabilities<'_> {
        self.tasks.iter().map(|task| (task.identity(), task.place.capabilities.as_slice())).collect()
    }
}

impl Task {
    fn new(place: &Arc<Place>, what: TaskKind) -> Self {
        Self { place: Arc::clone(place), index: 0, what }
    }

    /// The number of manifests in this task.
    pub(super) fn manifests(&self) -> u32 {
        match &self.what {
            TaskKind::Counted(count) => *count,
            TaskKind::Object(_) | TaskKind::ClusterOperator(_) => 1,
        }
    }

    /// The object of its manifest.
    pub(super) fn object(&self) -> Option<&Value> {
        match &self.what {
            TaskKind::Counted(_) => None,
            TaskKind::Object(wanted) => Some(&wanted.object),
            TaskKind::ClusterOperator(operator) => Some(&operator.object),
        }
    }

    /// Returns whether it is a Job, which the operator waits for.
    pub(super) fn is_job(&self) -> bool {
        self.object()
            .is_some_and(|object| text(object, "kind") == "Job" && text(object, "apiVersion") == "batch/v1")
    }

    /// `kind "namespace/name"` as in error messages. Tasks without an object have the component's name.
    pub(super) fn name(&self) -> String {
        let Some(object) = self.object() else { return format!("manifest \"{}\"", self.place.component) };
        format!("{} \"{}\"", text(object, "kind").to_lowercase(), namespaced_name(object))
    }

    /// The identity that a task shares with the same task of another payload.
    fn identity(&self) -> String {
        let Place { run_level, component, .. } = &*self.place;
        let Some(object) = self.object() else { return format!("{run_level} {component}") };
        let group = text(object, "apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        format!("{group} {} {}", text(object, "kind"), namespaced_name(object))
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

impl PayloadObject {
    fn new(resource: Option<Resource>, object: impl Into<Arc<Value>>, rule: ApplyRule) -> Self {
        Self { resource, object: object.into(), rule }
    }

    /// Its kind, from the known kinds and the CustomResourceDefinitions of the cluster.
    pub(super) fn resource(&self, view: &View) -> Option<Resource> {
        const DEFINITIONS: Resource = resources::CUSTOM_RESOURCE_DEFINITIONS;
        self.resource_among(view.list(&DEFINITIONS).map(|object| &**object))
    }

    /// Its kind, from the known kinds and these definitions.
    pub(super) fn resource_among<'a>(
        &self,
        definitions: impl Iterator<Item = &'a Value>,
    ) -> Option<Resource> {
        let (api_version, kind) = (text(&self.object, "apiVersion"), text(&self.object, "kind"));
        self.resource.clone().or_else(|| resources::find_in_definitions(api_version, kind, definitions))
    }
}

/// The cluster's ClusterOperator of a task.
pub(super) fn existing_operator<'v>(view: &'v View, operator: &ClusterOperatorTask) -> Option<&'v Object> {
    view.get(&CLUSTER_OPERATORS, "", name_of(&operator.object))
}

/// `namespace/name`, or only the name.
pub(super) fn namespaced_name(object: &Value) -> String {
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

    /// A manifest that takes time but writes nothing.
    pub(in crate::cvo) fn counted(run_level: &str, component: &str) -> Task {
        Task::new(&Place::new(run_level, component, &[]), TaskKind::Counted(1))
    }

    pub(in crate::cvo) fn object(run_level: &str, component: &str, object: Value) -> Task {
        let rule = ApplyRule::from_annotations(&object);
        let resource = resources::find_for_object(&object).cloned();
        let what = TaskKind::Object(Box::new(PayloadObject::new(resource, object, rule)));
        Task::new(&Place::new(run_level, component, &[]), what)
    }

    /// A ClusterOperator that must report version 2 of itself and of an operand.
    pub(in crate::cvo) fn operator(run_level: &str, name: &str) -> Task {
        let object = serde_json::json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": "ClusterOperator",
            "metadata": { "name": name },
        });
        let versions = ["operator", "operand"].map(|part| (part.to_owned(), "2".to_owned())).to_vec();
        let related_objects = serde_json::json!([{ "group": "", "resource": "namespaces", "name": name }]);
        let what = ClusterOperatorTask { object, related_objects, versions };
        Task::new(&Place::new(run_level, name, &[]), TaskKind::ClusterOperator(Box::new(what)))
    }

    pub(in crate::cvo) fn payload(tasks: Vec<Task>) -> Payload {
        Payload::from_tasks(tasks, String::new())
    }
}

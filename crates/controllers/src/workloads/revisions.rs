//! The former pod templates of a workload as ControllerRevisions, for `kubectl rollout` (`history` and `undo`).

use serde_json::{Value, json};
use windtunnel_core::resources::CONTROLLER_REVISIONS;
use windtunnel_core::{Object, Resource, View, Write};

use crate::owners;

/// The label of pods with their revision.
pub(super) const REVISION: &str = "controller-revision-hash";
/// The default `spec.revisionHistoryLimit`: the number of revisions without pods that are kept.
const LIMIT_DEFAULT: usize = 10;

/// The revisions of a workload.
pub(super) struct History<'v> {
    workload: &'v Object,
    kind: Resource,
    /// The label of revisions with the hash of their template.
    label: &'static str,
    /// The data of a revision of the current template.
    data: Value,
    /// Oldest first.
    revisions: Vec<&'v Object>,
}

impl<'v> History<'v> {
    /// Finds the revisions of a workload. `label` is the label of revisions with the hash of their template.
    pub(super) fn of(workload: &'v Object, kind: Resource, label: &'static str, view: &'v View) -> Self {
        let mut data = json!({ "spec": { "template": workload["spec"]["template"] } });
        data["spec"]["template"]["$patch"] = json!("replace");
        let own = view.list_in(&CONTROLLER_REVISIONS, workload.namespace());
        let mut revisions: Vec<&Object> =
            own.filter(|revision| owners::controls(workload, revision)).collect();
        revisions.sort_by_key(|revision| number(revision));
        Self { workload, kind, label, data, revisions }
    }

    /// The revision of this name.
    pub(super) fn get(&self, name: &str) -> Option<&'v Object> {
        self.revisions.iter().copied().find(|revision| revision.name() == name)
    }

    /// The newest revision of the current template. A template may have several if a client created some.
    pub(super) fn current(&self) -> Option<&'v Object> {
        self.equal().last()
    }

    /// The revisions of the current template, oldest first.
    pub(super) fn equal(&self) -> impl Iterator<Item = &'v Object> {
        self.revisions.iter().copied().filter(|revision| revision["data"] == self.data)
    }

    /// The name of the revision of the current template, which has this hash if it is new.
    pub(super) fn current_name(&self, hash: &str) -> String {
        let new = || format!("{}-{hash}", self.workload.name());
        self.current().map_or_else(new, |found| found.name().to_owned())
    }

    /// The write that makes the revision of the current template the newest one, if it is not. A new one has this hash.
    pub(super) fn update(&self, hash: &str) -> Option<Write> {
        let newest = self.revisions.last().map_or(0, |revision| number(revision));
        let Some(current) = self.current() else {
            return Some(Write::create(&CONTROLLER_REVISIONS, self.revision(hash, newest + 1)));
        };
        let patch = json!({ "revision": newest + 1 });
        let namespace = self.workload.namespace();
        (number(current) < newest)
            .then(|| Write::merge_patch(&CONTROLLER_REVISIONS, namespace, current.name(), patch))
    }

    /// Deletions of the oldest revisions above the limit. Revisions that are live do not count.
    pub(super) fn deletions(&self, is_live: impl Fn(&Object) -> bool) -> Vec<Write> {
        let limit = self.workload.number("/spec/revisionHistoryLimit");
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(LIMIT_DEFAULT);
        let old: Vec<&&Object> = self.revisions.iter().filter(|revision| !is_live(revision)).collect();
        let excess = old.len().saturating_sub(limit);
        let delete =
            |revision: &&Object| Write::delete(&CONTROLLER_REVISIONS, revision.namespace(), revision.name());
        old.into_iter().take(excess).map(delete).collect()
    }

    /// The hash of the template of a revision. Revisions of other clients may have none, and their name takes its place.
    pub(super) fn hash<'r>(&self, revision: &'r Object) -> &'r str {
        revision.label(self.label).unwrap_or_else(|| revision.name())
    }

    fn revision(&self, hash: &str, number: i64) -> Value {
        let workload = self.workload;
        let template = &workload["spec"]["template"];
        let mut metadata = json!({
            "namespace": workload.namespace(),
            "name": format!("{}-{hash}", workload.name()),
            "labels": template["metadata"]["labels"],
            "ownerReferences": [owners::reference(workload, &self.kind)],
        });
        metadata["labels"][self.label] = json!(hash);
        // They include the cause of the change (`kubernetes.io/change-cause`).
        if let Value::Object(annotations) = &workload["metadata"]["annotations"] {
            metadata["annotations"] = json!(annotations);
        }
        json!({ "metadata": metadata, "data": self.data, "revision": number })
    }
}

/// The pod template of a revision.
pub(super) fn template(revision: &Object) -> Value {
    let mut template = revision["data"]["spec"]["template"].clone();
    if let Some(fields) = template.as_object_mut() {
        fields.remove("$patch");
    }
    template
}

fn number(revision: &Object) -> i64 {
    revision.number("/revision").unwrap_or(0)
}

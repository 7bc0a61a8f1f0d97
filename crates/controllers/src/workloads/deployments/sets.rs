//! The ReplicaSets of a Deployment: that of the current template, and older ones.

use serde_json::{Value, json};
use windtunnel_core::resources::{DEPLOYMENTS, REPLICA_SETS};
use windtunnel_core::{DeleteOptions, Object, Propagation, Resource, View, Write};

use crate::owners;

/// The label with the hash of the template.
pub(super) const HASH: &str = "pod-template-hash";
/// The annotation with the revision of the template, on the Deployment and its ReplicaSets.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";

/// The default of `spec.revisionHistoryLimit`.
const HISTORY_LIMIT: i64 = 10;

pub(super) struct Sets<'v> {
    /// The ReplicaSet of the current template.
    pub(super) new: Option<&'v Object>,
    /// The other ReplicaSets, oldest first.
    pub(super) old: Vec<&'v Object>,
    /// The hash of the current template.
    pub(super) hash: String,
}

impl<'v> Sets<'v> {
    /// Finds the ReplicaSets that the Deployment controls.
    pub(super) fn of(deployment: &Object, view: &'v View) -> Self {
        let hash = owners::template_hash(&deployment["spec"]["template"]);
        let all = view.list_in(&REPLICA_SETS, deployment.namespace());
        let (new, mut old): (Vec<_>, Vec<_>) = all
            .filter(|set| owners::controls(deployment, set))
            .partition(|set| set.label(HASH) == Some(hash.as_str()));
        old.sort_by_key(|set| (revision(set), set.time("/metadata/creationTimestamp")));
        Self { new: new.first().copied(), old, hash }
    }

    /// All ReplicaSets.
    pub(super) fn all(&self) -> impl Iterator<Item = &'v Object> {
        self.old.iter().copied().chain(self.new)
    }

    /// The sum of a count over all ReplicaSets, such as `/status/availableReplicas`.
    pub(super) fn sum(&self, field: &str) -> i64 {
        self.all().map(|set| count(set, field)).sum()
    }

    /// The name of the current template's ReplicaSet.
    pub(super) fn name(&self, deployment: &Object) -> String {
        format!("{}-{}", deployment.name(), self.hash)
    }

    /// The revision of the current template, possibly a new one.
    pub(super) fn revision(&self) -> i64 {
        let last = self.old.iter().map(|set| revision(set)).max().unwrap_or(0);
        match self.new.map_or(0, revision) {
            known if known > last => known,
            _ => last + 1,
        }
    }

    /// Creates the ReplicaSet of the current template.
    pub(super) fn create(&self, deployment: &Object, replicas: i64, surge: i64) -> Write {
        let spec = &deployment["spec"];
        let mut template = spec["template"].clone();
        template["metadata"]["labels"][HASH] = json!(self.hash);
        let mut selector = spec["selector"].clone();
        selector["matchLabels"][HASH] = json!(self.hash);
        let mut set = json!({
            "apiVersion": REPLICA_SETS.api_version(),
            "kind": REPLICA_SETS.kind,
            "metadata": {
                "namespace": deployment.namespace(),
                "name": self.name(deployment),
                "labels": template["metadata"]["labels"],
                "annotations": { REVISION: self.revision().to_string() },
                "ownerReferences": [owners::reference(deployment, &DEPLOYMENTS)],
            },
            "spec": { "replicas": replicas, "selector": selector, "template": template },
        });
        annotate(&mut set, deployment, surge);
        if let Some(seconds) = spec.get("minReadySeconds") {
            set["spec"]["minReadySeconds"] = seconds.clone();
        }
        Write::create(&REPLICA_SETS, set)
    }

    /// Deletes the oldest ReplicaSet without pods if there are more of them than the history limit.
    pub(super) fn obsolete(&self, deployment: &Object) -> Option<Write> {
        let limit = deployment.number("/spec/revisionHistoryLimit").unwrap_or(HISTORY_LIMIT);
        let is_empty =
            |set: &&&Object| count(set, "/spec/replicas") == 0 && count(set, "/status/replicas") == 0;
        let empty: Vec<&&Object> = self.old.iter().filter(is_empty).collect();
        let too_many = i64::try_from(empty.len()).unwrap_or(i64::MAX) > limit;
        let oldest = empty.first().filter(|set| too_many && !set.is_terminating())?;
        let options =
            DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        Some(Write::delete_with(&REPLICA_SETS, oldest.namespace(), oldest.name(), options))
    }
}

/// Sets the replicas of a ReplicaSet.
pub(super) fn scaled(deployment: &Object, set: &Object, replicas: i64, surge: i64) -> Write {
    let mut value = set.to_value();
    value["spec"]["replicas"] = json!(replicas);
    annotate(&mut value, deployment, surge);
    Write::update(&REPLICA_SETS, value)
}

/// Annotates a ReplicaSet with the desired and maximum number of pods of its Deployment.
fn annotate(set: &mut Value, deployment: &Object, surge: i64) {
    let desired = replicas_of(deployment);
    set["metadata"]["annotations"][DESIRED] = json!(desired.to_string());
    set["metadata"]["annotations"][MAX] = json!((desired + surge).to_string());
}

/// Sets the revision annotation of a ReplicaSet or Deployment, if it differs.
pub(super) fn write_revision(object: &Object, resource: &Resource, revision: i64) -> Option<Write> {
    let revision = revision.to_string();
    if object.annotation(REVISION) == Some(revision.as_str()) {
        return None;
    }
    let mut value = object.to_value();
    value["metadata"]["annotations"][REVISION] = json!(revision);
    Some(Write::update(resource, value))
}

/// A count of an object; 0 if it is absent.
pub(super) fn count(object: &Object, field: &str) -> i64 {
    object.number(field).unwrap_or(0)
}

/// The desired number of pods of a Deployment.
pub(super) fn replicas_of(deployment: &Object) -> i64 {
    deployment.number("/spec/replicas").unwrap_or(1)
}

fn revision(set: &Object) -> i64 {
    set.annotation(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

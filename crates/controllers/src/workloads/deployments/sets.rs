//! The ReplicaSets of a Deployment: that of its present template, and those before.

use serde_json::{Value, json};
use windtunnel_core::resources::{DEPLOYMENTS, REPLICA_SETS};
use windtunnel_core::{DeleteOptions, Object, Propagation, Resource, View, Write};

use crate::workloads::owners;

/// The label that tells the pods of one template from those of another.
pub(super) const HASH: &str = "pod-template-hash";
/// The annotation that counts the templates of a Deployment, on it and on its sets.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";

/// How many old sets are kept where the Deployment does not say.
const HISTORY_LIMIT: i64 = 10;

/// The ReplicaSets of a Deployment.
pub(super) struct Sets<'v> {
    /// That of the present template.
    pub(super) new: Option<&'v Object>,
    /// The others, oldest first.
    pub(super) old: Vec<&'v Object>,
    /// What tells the present template from others.
    pub(super) hash: String,
}

impl<'v> Sets<'v> {
    /// Finds the sets that the Deployment controls.
    pub(super) fn of(deployment: &Object, view: &'v View) -> Self {
        let hash = owners::template_hash(&deployment["spec"]["template"]);
        let all = view.list_in(&REPLICA_SETS, deployment.namespace());
        let (new, mut old): (Vec<_>, Vec<_>) = all
            .filter(|set| owners::controls(deployment, set))
            .partition(|set| set.label(HASH) == Some(hash.as_str()));
        old.sort_by_key(|set| (revision(set), set.time("/metadata/creationTimestamp")));
        Self { new: new.first().copied(), old, hash }
    }

    /// All sets.
    pub(super) fn all(&self) -> impl Iterator<Item = &'v Object> {
        self.old.iter().copied().chain(self.new)
    }

    /// A count of all sets together, such as `/status/availableReplicas`.
    pub(super) fn sum(&self, field: &str) -> i64 {
        self.all().map(|set| count(set, field)).sum()
    }

    /// Name of the set of the present template.
    pub(super) fn name(&self, deployment: &Object) -> String {
        format!("{}-{}", deployment.name(), self.hash)
    }

    /// The number that the present template has, or gets.
    pub(super) fn revision(&self) -> i64 {
        let last = self.old.iter().map(|set| revision(set)).max().unwrap_or(0);
        match self.new.map_or(0, revision) {
            known if known > last => known,
            _ => last + 1,
        }
    }

    /// Makes the set of the present template.
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

    /// Removes the oldest of the sets that have no pods, if there are more than are to be kept.
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

/// Gives a set of the Deployment as many replicas.
pub(super) fn scaled(deployment: &Object, set: &Object, replicas: i64, surge: i64) -> Write {
    let mut value = set.to_value();
    value["spec"]["replicas"] = json!(replicas);
    annotate(&mut value, deployment, surge);
    Write::update(&REPLICA_SETS, value)
}

/// Notes on a set how many pods its Deployment is to have, and may have.
fn annotate(set: &mut Value, deployment: &Object, surge: i64) {
    let desired = replicas_of(deployment);
    set["metadata"]["annotations"][DESIRED] = json!(desired.to_string());
    set["metadata"]["annotations"][MAX] = json!((desired + surge).to_string());
}

/// Tells of a set, or of the Deployment, which number the template has.
pub(super) fn numbered(object: &Object, resource: &Resource, revision: i64) -> Option<Write> {
    let revision = revision.to_string();
    if object.annotation(REVISION) == Some(revision.as_str()) {
        return None;
    }
    let mut value = object.to_value();
    value["metadata"]["annotations"][REVISION] = json!(revision);
    Some(Write::update(resource, value))
}

/// A count of an object; 0 where it is left out.
pub(super) fn count(object: &Object, field: &str) -> i64 {
    object.number(field).unwrap_or(0)
}

/// How many pods a Deployment is to have.
pub(super) fn replicas_of(deployment: &Object) -> i64 {
    deployment.number("/spec/replicas").unwrap_or(1)
}

fn revision(set: &Object) -> i64 {
    set.annotation(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

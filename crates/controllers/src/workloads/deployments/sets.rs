//! The ReplicaSets of a Deployment: that of the current template, and older ones.

use serde_json::{Value, json};
use windtunnel_core::resources::{DEPLOYMENTS, REPLICA_SETS};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{DeleteOptions, Object, Propagation, View, Write};

use crate::owners;

/// The label with the hash of the template.
pub(super) const HASH: &str = "pod-template-hash";
/// The annotation with the revision of the template, on the Deployment and its ReplicaSets.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
/// The annotation with the former revisions of a ReplicaSet.
pub(super) const HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// The length in letters up to which former revisions are kept.
const HISTORY_MAX: usize = 2000;
/// The annotation of a ReplicaSet with the replicas of its Deployment.
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
/// The annotation of a ReplicaSet with the most pods that its Deployment may have.
pub(super) const MAX: &str = "deployment.kubernetes.io/max-replicas";
/// Annotations of a Deployment that its ReplicaSets do not get.
const OWN: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED,
    MAX,
    "deprecated.deployment.rollback.to",
];

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
    /// Finds the ReplicaSets that the Deployment controls. That of the current template is the oldest one with it.
    pub(super) fn of(deployment: &Object, view: &'v View) -> Self {
        let template = &deployment["spec"]["template"];
        let hash = owners::template_hash(template);
        let own = view.list_in(&REPLICA_SETS, deployment.namespace());
        let mut old: Vec<&Object> = own.filter(|set| owners::controls(deployment, set)).collect();
        old.sort_by_key(|set| (set.time("/metadata/creationTimestamp"), set.name()));
        let is_new = |set: &&Object| set.label(HASH) == Some(hash.as_str()) || has_template(set, template);
        let new = old.iter().position(is_new).map(|index| old.remove(index));
        Self { new, old, hash }
    }

    /// The ReplicaSets that should have pods.
    pub(super) fn active(&self) -> impl Iterator<Item = &'v Object> {
        self.all().filter(|set| count(set, "/spec/replicas") > 0)
    }

    /// The number of terminating pods, once all ReplicaSets report it.
    pub(super) fn terminating(&self) -> Option<i64> {
        self.all().map(|set| set.number("/status/terminatingReplicas")).sum()
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
                "annotations": {},
                "ownerReferences": [owners::reference(deployment, &DEPLOYMENTS)],
            },
            "spec": { "replicas": replicas, "selector": selector, "template": template },
        });
        copy_annotations(&mut set, deployment);
        set["metadata"]["annotations"][REVISION] = json!(self.revision().to_string());
        annotate(&mut set, deployment, surge);
        if let Some(seconds) = spec.get("minReadySeconds") {
            set["spec"]["minReadySeconds"] = seconds.clone();
        }
        Write::create(&REPLICA_SETS, set)
    }

    /// Updates the ReplicaSet of the current template if it lacks annotations or the revision of a rollback, or has other
    /// `minReadySeconds`.
    pub(super) fn corrected(&self, deployment: &Object, new: &Object) -> Option<Write> {
        let mut value = new.to_value();
        copy_annotations(&mut value, deployment);
        let (known, next) = (revision(new), self.revision());
        if known < next {
            if let Some(former) = new.annotation(REVISION) {
                let history = history(new.annotation(HISTORY).unwrap_or_default(), former);
                value["metadata"]["annotations"][HISTORY] = json!(history);
            }
            value["metadata"]["annotations"][REVISION] = json!(next.to_string());
        }
        let wait = |object: &Object| object.number("/spec/minReadySeconds").unwrap_or(0);
        if wait(new) != wait(deployment) {
            value["spec"]["minReadySeconds"] = json!(wait(deployment));
        }
        (value != **new).then(|| Write::update(&REPLICA_SETS, value))
    }

    /// Deletions of the ReplicaSets with the lowest revisions above the history limit, apart from those with pods.
    pub(super) fn obsolete(&self, deployment: &Object) -> Vec<Write> {
        let limit = deployment.number("/spec/revisionHistoryLimit").unwrap_or(HISTORY_LIMIT);
        let mut old: Vec<&Object> = self.old.iter().copied().filter(|set| !set.is_terminating()).collect();
        let excess = old.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
        old.sort_by_key(|set| revision(set));
        let is_empty = |set: &&Object| {
            count(set, "/spec/replicas") == 0
                && count(set, "/status/replicas") == 0
                && count(set, "/status/observedGeneration") >= set.generation()
        };
        let delete = |set: &Object| {
            let propagation = Some(Propagation::Background);
            let options = DeleteOptions { propagation, ..DeleteOptions::default() };
            Write::delete_with(&REPLICA_SETS, set.namespace(), set.name(), options)
        };
        old.into_iter().take(excess).filter(is_empty).map(delete).collect()
    }
}

/// The writes that make a Deployment the controller of the ReplicaSets that it selects and that have none.
pub(super) fn adoptions(deployment: &Object, view: &View) -> Vec<Write> {
    let selector = &deployment["spec"]["selector"];
    let all = view.list_in(&REPLICA_SETS, deployment.namespace());
    let orphans = all.filter(|set| {
        owners::controller(set).is_none()
            && !set.is_terminating()
            && selector_matches(selector, &set["metadata"]["labels"])
    });
    let adopt = |set: &Object| {
        let mut references = set.list("/metadata/ownerReferences").to_vec();
        references.push(owners::reference(deployment, &DEPLOYMENTS));
        let patch = json!({ "metadata": { "uid": set.uid(), "ownerReferences": references } });
        Write::merge_patch(&REPLICA_SETS, set.namespace(), set.name(), patch)
    };
    orphans.map(adopt).collect()
}

/// Whether a ReplicaSet has this pod template, apart from the label with its hash.
fn has_template(set: &Object, template: &Value) -> bool {
    let own = &set["spec"]["template"];
    if own["spec"] != template["spec"] {
        return false;
    }
    let mut own = own.clone();
    own["metadata"]["labels"].as_object_mut().map(|labels| labels.remove(HASH));
    own == *template
}

/// Copies the annotations of a Deployment that its ReplicaSets get.
fn copy_annotations(set: &mut Value, deployment: &Object) {
    let annotations = deployment["metadata"]["annotations"].as_object().into_iter().flatten();
    for (name, value) in annotations.filter(|(name, _)| !OWN.contains(&name.as_str())) {
        set["metadata"]["annotations"][name] = value.clone();
    }
}

/// The former revisions of a ReplicaSet with another one, without the oldest if they are too many.
fn history(known: &str, former: &str) -> String {
    let mut revisions: Vec<&str> = known.split(',').filter(|revision| !revision.is_empty()).collect();
    revisions.push(former);
    let mut length: usize = revisions.iter().map(|revision| revision.len() + 1).sum::<usize>() - 1;
    let mut kept = revisions.as_slice();
    while let [oldest, rest @ ..] = kept
        && length > HISTORY_MAX
    {
        length -= oldest.len() + 1;
        kept = rest;
    }
    kept.join(",")
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

/// Whether a ReplicaSet has the annotations about the size of its Deployment.
pub(super) fn is_annotated(set: &Object, deployment: &Object, surge: i64) -> bool {
    let desired = replicas_of(deployment);
    set.annotation(DESIRED) == Some(desired.to_string().as_str())
        && set.annotation(MAX) == Some((desired + surge).to_string().as_str())
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

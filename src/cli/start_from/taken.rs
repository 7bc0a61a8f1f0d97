//! The objects of a dump that a run takes over as they are: those of the users. The objects of the platform are simulated.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windtunnel_controllers::scheduler;
use windtunnel_core::pod::{has_ended, node_name};
use windtunnel_core::quantity::Quantity;
use windtunnel_core::resources::{CUSTOM_RESOURCE_DEFINITIONS, MACHINE_CONFIGS, NAMESPACES, PODS};
use windtunnel_core::{Key, Object};

use super::revisions;
use super::storage::Storage;
use crate::dump::additions::{Additions, is_webhook_of_platform};
use crate::dump::conversions;
use crate::dump::origin::{Namespaces, is_of_openshift};

/// The namespaced kinds that are taken over: `Kind` of Kubernetes' first group, or `GROUP/Kind`, in any version that the copy
/// serves.
const NAMESPACED: [&str; 18] = [
    "apps/ControllerRevision",
    "apps/DaemonSet",
    "apps/Deployment",
    "apps/ReplicaSet",
    "apps/StatefulSet",
    "autoscaling/HorizontalPodAutoscaler",
    "batch/CronJob",
    "batch/Job",
    "discovery.k8s.io/EndpointSlice",
    "policy/PodDisruptionBudget",
    "Endpoints",
    "LimitRange",
    "PersistentVolumeClaim",
    "Pod",
    "ReplicationController",
    "ResourceQuota",
    "Service",
    "ServiceAccount",
];

/// The kinds without a namespace that are taken over.
const CLUSTER_WIDE: [&str; 8] = [
    "admissionregistration.k8s.io/MutatingWebhookConfiguration",
    "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
    "node.k8s.io/RuntimeClass",
    "scheduling.k8s.io/PriorityClass",
    "storage.k8s.io/StorageClass",
    "PersistentVolume",
];

/// The kinds with which users configure nodes, and the names of their definitions. Operators of users own some of them.
const OF_NODES: [(&str, &str); 6] = [
    ("config.openshift.io/ImageDigestMirrorSet", "imagedigestmirrorsets.config.openshift.io"),
    ("config.openshift.io/ImageTagMirrorSet", "imagetagmirrorsets.config.openshift.io"),
    (
        "machineconfiguration.openshift.io/ContainerRuntimeConfig",
        "containerruntimeconfigs.machineconfiguration.openshift.io",
    ),
    ("machineconfiguration.openshift.io/KubeletConfig", "kubeletconfigs.machineconfiguration.openshift.io"),
    ("machineconfiguration.openshift.io/MachineConfig", "machineconfigs.machineconfiguration.openshift.io"),
    ("operator.openshift.io/ImageContentSourcePolicy", "imagecontentsourcepolicies.operator.openshift.io"),
];

/// The annotation of MachineConfigs that the machine-config controller makes.
const GENERATED: &str = "machineconfiguration.openshift.io/generated-by-controller-version";
/// MachineConfigs with the installer's SSH keys, which the copy has as well.
const SSH: [&str; 2] = ["99-master-ssh", "99-worker-ssh"];

/// The annotation of pods that a kubelet runs from files.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// What is taken over, and what is not.
#[derive(Default)]
pub(super) struct Taken {
    /// The objects, in an order in which they can be stored.
    pub(super) objects: Vec<Object>,
    /// How many objects in users' namespaces are not taken over, by kind.
    others: BTreeMap<String, usize>,
    /// How many objects are added that others need and the dump lacks, by kind.
    added: BTreeMap<String, usize>,
    /// How many owners are not among the objects.
    owners: usize,
    /// The pods among the objects.
    pods: BTreeSet<Key>,
    /// Objects that the copy does not store, with the reasons of its API server.
    refused: Vec<(Object, String)>,
}

impl Taken {
    /// Finds the objects of users that the copy stores.
    pub(super) fn find(objects: &[&Object], storage: &mut Storage) -> Self {
        let namespaces = Namespaces::of(objects.iter().copied());
        let additions = Additions::of(objects, &namespaces);
        let own: Vec<&Object> = defined_by_users(objects);
        let mut taken = Self::default();
        let mut found: Vec<&Object> = Vec::new();
        for object in objects.iter().copied() {
            let is_users = match object.namespace() {
                "" => is_of_nodes(object) || !is_of_openshift(object) && !is_webhook_of_platform(object),
                namespace => namespaces.is_users(namespace) || additions.has(object),
            };
            if !is_users || is_left_to_simulation(object) {
                continue;
            }
            if is_known(object, &namespaces, &own) {
                found.push(object);
            } else if !object.namespace().is_empty() {
                *taken.others.entry(object.text("/kind").to_owned()).or_default() += 1;
            }
        }
        // Definitions and namespaces come before objects that need them.
        let order = |object: &Object| {
            (!CUSTOM_RESOURCE_DEFINITIONS.is_kind_of(object), !NAMESPACES.is_kind_of(object))
        };
        found.sort_by_key(|object| order(object));
        for object in found {
            let newer = conversions(object).into_iter().map(Object::new);
            match storage.store([object.clone()].into_iter().chain(newer)) {
                Ok(stored) => taken.objects.push(stored),
                Err(why) => taken.refused.push((object.clone(), why)),
            }
        }
        taken.detach();
        taken.complete(objects, storage);
        revisions::complete(&mut taken.objects, storage);
        taken.pods = taken
            .objects
            .iter()
            .filter(|object| PODS.is_kind_of(object))
            .map(|pod| PODS.key_of(pod))
            .collect();
        taken.objects.sort_by_key(order);
        taken
    }

    /// The objects that the copy does not store, with the reasons of its API server.
    pub(super) fn refused(&self) -> &[(Object, String)] {
        &self.refused
    }

    /// Adds what the objects need and the dump lacks: namespaces, and the classes of pods.
    fn complete(&mut self, objects: &[&Object], storage: &mut Storage) {
        let mut needed: BTreeMap<(&str, &str, String), Value> = BTreeMap::new();
        for object in &self.objects {
            if !object.namespace().is_empty() {
                needed.insert(("v1", "Namespace", object.namespace().to_owned()), json!({}));
            }
            for spec in [&object["spec"], &object["spec"]["template"]["spec"]] {
                if let Some(name) = spec["priorityClassName"].as_str() {
                    let value = spec["priority"].as_i64().unwrap_or_default();
                    let class = ("scheduling.k8s.io/v1", "PriorityClass", name.to_owned());
                    needed.entry(class).or_insert_with(|| json!({ "value": value }));
                }
                if let Some(name) = spec["runtimeClassName"].as_str() {
                    let class = ("node.k8s.io/v1", "RuntimeClass", name.to_owned());
                    needed.insert(class, json!({ "handler": name }));
                }
            }
        }
        let own = ["default", "system-cluster-critical", "system-node-critical", "openshift-user-critical"];
        for ((version, kind, name), mut object) in needed {
            let is_there = |known: &Object| known.text("/kind") == kind && known.name() == name;
            let is_taken = self.objects.iter().any(is_there);
            if is_taken || own.contains(&name.as_str()) {
                continue;
            }
            let found = objects.iter().find(|known| is_there(known));
            if let Some(found) = found.and_then(|found| storage.store([without_owners(found)]).ok()) {
                self.objects.push(found);
                continue;
            }
            object["apiVersion"] = json!(version);
            object["kind"] = json!(kind);
            object["metadata"] = json!({ "name": name });
            self.objects.push(Object::new(object));
            *self.added.entry(kind.to_owned()).or_default() += 1;
        }
    }

    /// Lines about what is taken over and what is not.
    pub(super) fn notices(&self) -> Vec<String> {
        let counted = |counts: &BTreeMap<String, usize>| {
            let counts: Vec<String> =
                counts.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
            counts.join(", ")
        };
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for object in &self.objects {
            *kinds.entry(object.text("/kind").to_owned()).or_default() += 1;
        }
        let taken =
            (!kinds.is_empty()).then(|| format!("objects of users, as they are: {}", counted(&kinds)));
        let others = (!self.others.is_empty())
            .then(|| format!("not taken from namespaces of users: {}", counted(&self.others)));
        let owners = (self.owners > 0)
            .then(|| format!("{} references to owners that are not taken are removed", self.owners));
        let added = (!self.added.is_empty()).then(|| {
            format!("added, because objects need them and the dump lacks them: {}", counted(&self.added))
        });
        taken.into_iter().chain(others).chain(added).chain(owners).collect()
    }

    /// Removes owners that are not taken over: the garbage collector would delete what they own.
    fn detach(&mut self) {
        let known: BTreeSet<String> = self.objects.iter().map(|object| object.uid().to_owned()).collect();
        for object in &mut self.objects {
            let owners = object.list("/metadata/ownerReferences");
            let is_there = |owner: &&Value| owner["uid"].as_str().is_some_and(|uid| known.contains(uid));
            let kept: Vec<Value> = owners.iter().filter(is_there).cloned().collect();
            let lost = owners.len() - kept.len();
            if lost > 0 {
                self.owners += lost;
                let mut value = object.to_value();
                value["metadata"]["ownerReferences"] = json!(kept);
                *object = Object::new(value);
            }
        }
    }

    /// The pods of each node that are not taken over.
    pub(super) fn pods_beside<'d>(&self, objects: &[&'d Object]) -> BTreeMap<&'d str, Vec<&'d Object>> {
        let is_other =
            |pod: &&Object| PODS.is_kind_of(pod) && !has_ended(pod) && !self.pods.contains(&PODS.key_of(pod));
        let mut by_node: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
        for pod in objects.iter().copied().filter(is_other) {
            by_node.entry(node_name(pod)).or_default().push(pod);
        }
        by_node
    }
}

/// The resources of a node that are left beside pods that are not taken over.
pub(super) fn resources_beside(node: &Object, others: &[&Object]) -> Value {
    let mut resources = json!({});
    for field in ["capacity", "allocatable"] {
        if !node["status"][field].is_null() {
            resources[field] = node["status"][field].clone();
        }
    }
    if resources["allocatable"].is_null() {
        return Value::Null;
    }
    let mut used: BTreeMap<String, i64> = BTreeMap::new();
    for pod in others {
        for (name, amount) in scheduler::requested_resources(pod) {
            *used.entry(name).or_default() += amount;
        }
    }
    used.insert("pods".to_owned(), i64::try_from(others.len()).unwrap_or(i64::MAX));
    for (name, amount) in used {
        if let Some(left) = less(&resources["allocatable"][&name], amount, name == "cpu") {
            resources["allocatable"][&name] = json!(left);
        }
    }
    resources
}

/// The object without its owners: the release owns its namespaces, and the garbage collector would delete them.
fn without_owners(object: &Object) -> Object {
    let mut value = object.to_value();
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("ownerReferences");
    }
    Object::new(value)
}

/// Whether objects of this kind are taken over. `own`: the definitions of users.
fn is_known(object: &Object, namespaces: &Namespaces, own: &[&Object]) -> bool {
    let kind = group_and_kind(object);
    let is_listed = if object.namespace().is_empty() {
        CLUSTER_WIDE.contains(&kind.as_str())
            || is_of_nodes(object)
            || NAMESPACES.is_kind_of(object) && namespaces.is_users(object.name())
            || own.iter().any(|definition| definition.is_same(object))
    } else {
        NAMESPACED.contains(&kind.as_str())
    };
    is_listed || own.iter().any(|definition| defines(definition, object))
}

/// The names of the definitions of kinds that are taken over, and that the platform has.
pub(super) fn definitions() -> [&'static str; 6] {
    OF_NODES.map(|(_, definition)| definition)
}

/// Whether users configure nodes with an object.
fn is_of_nodes(object: &Object) -> bool {
    let kind = group_and_kind(object);
    OF_NODES.iter().any(|(known, _)| *known == kind)
        && object.annotation(GENERATED).is_none()
        && !(MACHINE_CONFIGS.is_kind_of(object) && SSH.contains(&object.name()))
}

/// `Kind` of the first group, or `GROUP/Kind`, after the moves of kinds between groups.
fn group_and_kind(object: &Object) -> String {
    let kind = object.text("/kind");
    let newest = conversions(object).into_iter().next().map(Object::new);
    let version = newest.as_ref().unwrap_or(object).text("/apiVersion");
    version.split_once('/').map_or_else(|| kind.to_owned(), |(group, _)| format!("{group}/{kind}"))
}

/// An amount less another one, which is in thousandths for CPUs.
fn less(amount: &Value, used: i64, in_thousandths: bool) -> Option<String> {
    let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
    let quantity = Quantity::parse(&text).ok().flatten()?;
    let (has, unit) = if in_thousandths { (quantity.milli_value(), "m") } else { (quantity.value(), "") };
    Some(format!("{}{unit}", has.saturating_sub(used).max(0)))
}

/// The definitions of the platform that list a stored version which they do not have, with that list.
pub(super) fn lost_versions(objects: &[&Object]) -> Vec<(String, Value)> {
    let is_platforms =
        |object: &&&Object| CUSTOM_RESOURCE_DEFINITIONS.is_kind_of(object) && is_of_openshift(object);
    let lost = objects.iter().filter(is_platforms).filter(|definition| {
        let has =
            |name: &Value| definition.list("/spec/versions").iter().any(|version| version["name"] == *name);
        !definition.list("/status/storedVersions").iter().all(has)
    });
    lost.map(|definition| (definition.name().to_owned(), definition["status"]["storedVersions"].clone()))
        .collect()
}

/// The definitions that no component of the platform brings.
fn defined_by_users<'d>(objects: &[&'d Object]) -> Vec<&'d Object> {
    let is_established =
        |object: &&&Object| CUSTOM_RESOURCE_DEFINITIONS.is_kind_of(object) && !is_of_openshift(object);
    let named = |definition: &&Object| !definition.text("/spec/group").ends_with(".openshift.io");
    objects.iter().filter(is_established).copied().filter(named).collect()
}

fn defines(definition: &Object, object: &Object) -> bool {
    let group = object.text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
    definition.text("/spec/group") == group && definition.text("/spec/names/kind") == object.text("/kind")
}

/// Whether a simulated component creates the object, or it has no effect any more.
fn is_left_to_simulation(object: &Object) -> bool {
    let is_of_api_server =
        object.namespace() == "default" && ["kubernetes", "openshift"].contains(&object.name());
    is_of_api_server || PODS.is_kind_of(object) && (has_ended(object) || object.annotation(MIRROR).is_some())
}

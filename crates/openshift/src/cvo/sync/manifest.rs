//! Compares one manifest with the cluster's object. The write that results sets the manifest's fields and
//! keeps fields of other writers.

use serde_json::{Value, json};
use windtunnel_core::resources::{CRON_JOBS, DAEMON_SETS, DEPLOYMENTS, JOBS};
use windtunnel_core::{Object, Resource, View, Write, member, text_of};

use crate::cvo::payload::ApplyRule;

/// The cluster's object with the name of `wanted`.
pub(in crate::cvo) fn existing<'a>(
    view: &'a View,
    resource: &Resource,
    wanted: &Value,
) -> Option<&'a Object> {
    let text = |field: &str| text_of(&wanted["metadata"], field);
    let namespace = if resource.namespaced { text("namespace") } else { "" };
    view.get(resource, namespace, text("name"))
}

/// The write that makes the cluster's object match the manifest, owned by the ClusterVersion. `None` if it
/// matches already.
pub(in crate::cvo) fn write_for(
    existing: Option<&Object>,
    resource: &Resource,
    wanted: &Value,
    rule: ApplyRule,
    cluster_version: Option<&Object>,
) -> Option<Write> {
    let owner = || cluster_version.and_then(|owner| owner_reference(owner, rule));
    let existing = match (existing, rule) {
        (None, ApplyRule::Delete) | (Some(_), ApplyRule::CreateOnly) => return None,
        (None, _) => {
            let mut object = wanted.clone();
            add_owner(&mut object, owner());
            return Some(Write::create(resource, object));
        }
        (Some(existing), ApplyRule::Delete) => {
            let is_going = existing.is_terminating();
            return (!is_going).then(|| Write::delete(resource, existing.namespace(), existing.name()));
        }
        (Some(existing), ApplyRule::Apply) => existing,
    };
    let replaced = replaced_part(resource).and_then(|path| Some((path, wanted.pointer(path)?)));
    let is_same = replaced.is_none_or(|(path, part)| existing.pointer(path) == Some(part));
    let is_owned = cluster_version.map(Object::uid).is_none_or(|owner| {
        owner.is_empty()
            || existing.list("/metadata/ownerReferences").iter().any(|found| found["uid"] == owner)
    });
    let merge = Merge::of(resource);
    if is_same && is_owned && merge.covers("", existing, wanted) {
        return None;
    }
    let mut merged = existing.to_value();
    merge.overlay("", &mut merged, wanted);
    if let Some((path, part)) = replaced
        && let Some(place) = merged.pointer_mut(path)
    {
        *place = part.clone();
    }
    if !is_owned {
        add_owner(&mut merged, owner());
    }
    Some(Write::update(resource, merged))
}

/// The part of an object that is replaced as a whole, so that fields disappear that an older manifest lacks: the versions of
/// a CRD, and the rules and targets of Prometheus, whose kinds have no builder of their own (`pkg/cvo/internal/generic.go`).
/// For other kinds without a builder, defaults of the API server would look like differences.
fn replaced_part(resource: &Resource) -> Option<&'static str> {
    match (&*resource.group, &*resource.kind) {
        (_, "CustomResourceDefinition") => Some("/spec/versions"),
        ("monitoring.coreos.com", _) => Some("/spec"),
        _ => None,
    }
}

/// The object with this ClusterVersion as its owner, as an installed cluster has it.
pub(in crate::cvo) fn owned(wanted: &Value, cluster_version: &Value, rule: ApplyRule) -> Value {
    let mut object = wanted.clone();
    add_owner(&mut object, owner_reference(cluster_version, rule));
    object
}

/// The owner reference to the ClusterVersion. It is no controller of create-only objects.
fn owner_reference(cluster_version: &Value, rule: ApplyRule) -> Option<Value> {
    let metadata = &cluster_version["metadata"];
    metadata["uid"].is_string().then(|| {
        let mut owner = json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": "ClusterVersion",
            "name": metadata["name"],
            "uid": metadata["uid"],
        });
        if rule != ApplyRule::CreateOnly {
            owner["controller"] = json!(true);
        }
        owner
    })
}

fn add_owner(object: &mut Value, owner: Option<Value>) {
    let Some(owner) = owner else { return };
    match object.pointer_mut("/metadata/ownerReferences") {
        Some(Value::Array(owners)) => owners.push(owner),
        _ => {
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.insert("ownerReferences".to_owned(), json!([owner]));
            }
        }
    }
}

/// The kinds with a pod template, which the operator merges field by field (`resourcemerge`).
const WORKLOADS: [&Resource; 4] = [&DEPLOYMENTS, &DAEMON_SETS, &JOBS, &CRON_JOBS];
/// Lists of a pod template to which the manifest only adds: `tolerations` of the pod, and the lists of a
/// container's `capabilities`. Items of others stay.
const ADDED: [&str; 3] = ["tolerations", "add", "drop"];

/// How a manifest is merged into the cluster's object.
#[derive(Debug, Clone, Copy)]
struct Merge {
    /// The fields whose lists keep items that are not in the manifest.
    added: &'static [&'static str],
}

impl Merge {
    /// The rules for a kind.
    fn of(resource: &Resource) -> Self {
        let has_template =
            WORKLOADS.iter().any(|kind| kind.group == resource.group && kind.plural == resource.plural);
        Self { added: if has_template { &ADDED } else { &[] } }
    }

    fn only_adds(self, field: &str) -> bool {
        self.added.contains(&field)
    }

    /// Returns whether the value of a field has everything in `wanted`. It may have more (defaults, fields of
    /// other writers).
    fn covers(self, field: &str, existing: &Value, wanted: &Value) -> bool {
        match (existing, wanted) {
            (Value::Object(existing), Value::Object(wanted)) => wanted.iter().all(|(key, value)| {
                member(existing, key).map_or(value.is_null(), |found| self.covers(key, found, value))
            }),
            (Value::Array(existing), Value::Array(wanted)) if self.only_adds(field) => {
                wanted.iter().all(|item| existing.contains(item))
            }
            (Value::Array(existing), Value::Array(wanted)) => {
                existing.len() == wanted.len()
                    && existing.iter().zip(wanted).all(|(a, b)| self.covers(field, a, b))
            }
            _ => existing == wanted,
        }
    }

    /// Sets the value of a field to `wanted`, and keeps what others have added.
    fn overlay(self, field: &str, target: &mut Value, wanted: &Value) {
        match (target, wanted) {
            (Value::Object(target), Value::Object(wanted)) => {
                for (key, value) in wanted {
                    self.overlay(key, target.entry(key.clone()).or_insert(Value::Null), value);
                }
            }
            (Value::Array(target), Value::Array(wanted)) if self.only_adds(field) => {
                let missing: Vec<Value> =
                    wanted.iter().filter(|item| !target.contains(item)).cloned().collect();
                target.extend(missing);
            }
            (target, wanted) => *target = wanted.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_core::Operation;
    use windtunnel_core::resources::{CONFIG_MAPS, PROMETHEUS_RULES};

    use super::*;

    fn toleration(key: &str) -> Value {
        json!({ "key": key, "operator": "Exists" })
    }

    fn deployment(image: &str, tolerations: &[&str]) -> Value {
        let tolerations: Vec<Value> = tolerations.iter().map(|key| toleration(key)).collect();
        json!({
            "metadata": { "name": "d", "namespace": "ns" },
            "spec": { "template": { "spec": {
                "containers": [{ "name": "c", "image": image }],
                "tolerations": tolerations,
            } } },
        })
    }

    fn write(resource: &Resource, existing: &Value, wanted: &Value) -> Option<Value> {
        let existing = Object::new(existing.clone());
        let write = write_for(Some(&existing), resource, wanted, ApplyRule::Apply, None)?;
        let Operation::Update(object) = write.operation else { panic!("{write:?}") };
        Some(object)
    }

    #[test]
    fn tolerations_of_others_stay_in_a_pod_template() {
        let existing = deployment("i:1", &["of-others", "a"]);
        assert_eq!(write(&DEPLOYMENTS, &existing, &deployment("i:1", &["a"])), None);
        assert_eq!(
            write(&DEPLOYMENTS, &existing, &deployment("i:2", &["a", "b"])),
            Some(deployment("i:2", &["of-others", "a", "b"])),
        );
        let unlisted = deployment("i:1", &[]);
        assert_eq!(write(&DEPLOYMENTS, &existing, &unlisted), None);
        assert_eq!(write(&CONFIG_MAPS, &existing, &unlisted), Some(unlisted), "other kinds are replaced");
    }

    #[test]
    fn fields_that_an_older_alert_rule_lacks_disappear() {
        let rule = |annotations: Value| {
            let rules = json!([{ "alert": "A", "annotations": annotations }]);
            json!({ "metadata": { "name": "r", "namespace": "ns" }, "spec": { "groups": [{ "rules": rules }] } })
        };
        let (newer, older) =
            (rule(json!({ "runbook_url": "u", "summary": "s" })), rule(json!({ "summary": "s" })));
        assert_eq!(write(&PROMETHEUS_RULES, &newer, &older), Some(older.clone()));
        assert_eq!(write(&PROMETHEUS_RULES, &older, &older), None);
    }
}

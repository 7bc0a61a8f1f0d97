//! Keeps the marks of a run on its objects when a component sends others: the manifests of a payload, for
//! example, have no toleration for simulated nodes.

use serde_json::{Value, json};
use windtunnel_core::patch::between;
use windtunnel_core::{Operation, Resource};

use super::stamp::{Stamp, entry};

/// The body of a request that changes an object.
#[derive(Debug)]
pub(in crate::backends::remote) enum Sent<'b> {
    /// A new object that replaces the old one.
    Object(&'b mut Value),
    /// A merge patch or a strategic one: in both, lists of taints and tolerations replace the old ones.
    Merge(&'b mut Value),
    /// The operations of a JSON patch.
    Operations(&'b mut Value),
}

impl<'b> Sent<'b> {
    /// The body of an operation that changes an object; `None` if it creates or deletes one.
    pub(in crate::backends::remote) fn of(operation: &'b mut Operation) -> Option<Self> {
        match operation {
            Operation::Update(object) => Some(Self::Object(object)),
            Operation::MergePatch(patch) => Some(Self::Merge(patch)),
            Operation::JsonPatch(patch) => Some(Self::Operations(patch)),
            Operation::Create(_) | Operation::Delete(_) => None,
        }
    }
}

impl Stamp {
    /// Returns whether keeping the marks needs the current object.
    pub(in crate::backends::remote) fn needs_live(&self, resource: &Resource, sent: &Sent<'_>) -> bool {
        self.run.is_some()
            && match sent {
                Sent::Object(object) => !self.has_marked(object),
                Sent::Merge(patch) => self.places(resource).iter().any(|place| reaches(patch, place)),
                Sent::Operations(_) => true,
            }
    }

    /// Adds to a request the marks that it would remove from `live`, the current object. Objects of others
    /// get no marks.
    pub(in crate::backends::remote) fn keep(
        &self,
        resource: &Resource,
        live: Option<&Value>,
        sent: Sent<'_>,
    ) {
        match sent {
            Sent::Object(object) => {
                if self.has_marked(live.unwrap_or(&*object)) {
                    self.mark(resource, object);
                }
            }
            Sent::Merge(patch) => {
                for (place, value) in self.missing_after(resource, live, |old| Some(merged(old, patch))) {
                    let old = live.and_then(|live| live.pointer(&place)).unwrap_or(&Value::Null);
                    *entry(patch, &place) = between(old, &value).unwrap_or(value);
                }
            }
            Sent::Operations(patch) => {
                let missing = self.missing_after(resource, live, |old| patched(old, patch));
                if let Value::Array(operations) = patch {
                    let add = |(place, value)| json!({ "op": "add", "path": place, "value": value });
                    operations.extend(missing.into_iter().map(add));
                }
            }
        }
    }

    /// Returns the marks that an object lacks after a patch.
    fn missing_after(
        &self,
        resource: &Resource,
        live: Option<&Value>,
        patched: impl FnOnce(&Value) -> Option<Value>,
    ) -> Vec<(String, Value)> {
        let live = live.filter(|live| self.has_marked(live));
        live.and_then(patched).map(|object| self.missing(resource, &object)).unwrap_or_default()
    }
}

/// Returns whether a merge patch may change the value at a pointer.
fn reaches(patch: &Value, pointer: &str) -> bool {
    let mut within = patch;
    for field in pointer.split('/').skip(1) {
        // Anything but an object replaces everything below it.
        let Some(fields) = within.as_object() else { return true };
        let Some(next) = fields.get(field) else { return false };
        within = next;
    }
    true
}

fn merged(old: &Value, patch: &Value) -> Value {
    let mut object = old.clone();
    json_patch::merge(&mut object, patch);
    object
}

/// Returns `None` if the patch is invalid; the server rejects it as well.
fn patched(old: &Value, patch: &Value) -> Option<Value> {
    let operations: json_patch::Patch = serde_json::from_value(patch.clone()).ok()?;
    let mut object = old.clone();
    json_patch::patch(&mut object, &operations).ok()?;
    Some(object)
}

#[cfg(test)]
mod tests {
    use windtunnel_core::resources::{CONFIG_MAPS, DEPLOYMENTS, NODES};

    use super::super::stamp::{RUN, SIMULATED};
    use super::*;

    fn stamp() -> Stamp {
        Stamp { run: Some("r1".to_owned()), beside_others: true }
    }

    /// Returns a Deployment as its run created it.
    fn live() -> Value {
        let mut live = deployment("1");
        stamp().mark(&DEPLOYMENTS, &mut live);
        live
    }

    /// Returns the manifest of a payload.
    fn deployment(image: &str) -> Value {
        let spec = json!({ "containers": [{ "image": image }], "tolerations": [{ "key": "master" }] });
        json!({ "metadata": { "name": "d", "labels": { "a": "b" } }, "spec": { "template": { "spec": spec } } })
    }

    /// Returns the object after a merge patch that `keep` has changed.
    fn merged_into_live(mut patch: Value) -> Value {
        stamp().keep(&DEPLOYMENTS, Some(&live()), Sent::Merge(&mut patch));
        merged(&live(), &patch)
    }

    #[test]
    fn keeps_the_marks_in_an_update_without_them() {
        let (mut object, mut of_others) = (deployment("2"), deployment("2"));
        stamp().keep(&DEPLOYMENTS, Some(&live()), Sent::Object(&mut object));
        let mut expected = deployment("2");
        stamp().mark(&DEPLOYMENTS, &mut expected);
        assert_eq!(object, expected);
        stamp().keep(&DEPLOYMENTS, Some(&deployment("1")), Sent::Object(&mut of_others));
        assert_eq!(of_others, deployment("2"), "it is none of the run's");
    }

    #[test]
    fn keeps_the_marks_in_a_merge_patch_that_would_remove_them() {
        let tolerations = |object: &Value| object["spec"]["template"]["spec"]["tolerations"].clone();
        let own = json!({ "key": SIMULATED, "operator": "Exists" });
        let template =
            json!({ "spec": { "template": { "spec": { "tolerations": [{ "operator": "Exists" }] } } } });
        assert_eq!(tolerations(&merged_into_live(template)), json!([{ "operator": "Exists" }, own]));
        let none =
            json!({ "spec": { "template": { "spec": { "tolerations": null, "nodeSelector": null } } } });
        let left = merged_into_live(none);
        assert_eq!(tolerations(&left), json!([own]));
        assert_eq!(left["spec"]["template"]["spec"]["nodeSelector"], json!({ SIMULATED: "true" }));
        let labels =
            merged_into_live(json!({ "metadata": { "labels": null } }))["metadata"]["labels"].clone();
        assert_eq!(labels, json!({ RUN: "r1" }));
        let mut replicas = json!({ "spec": { "replicas": 2 } });
        assert!(!stamp().needs_live(&DEPLOYMENTS, &Sent::Merge(&mut replicas)));
        stamp().keep(&DEPLOYMENTS, Some(&live()), Sent::Merge(&mut replicas));
        assert_eq!(replicas, json!({ "spec": { "replicas": 2 } }));
    }

    #[test]
    fn keeps_the_marks_in_a_json_patch() {
        let replaced = json!({ "containers": [] });
        let mut patch = json!([
            { "op": "replace", "path": "/spec/template/spec", "value": replaced },
            { "op": "remove", "path": "/metadata/labels" },
        ]);
        stamp().keep(&DEPLOYMENTS, Some(&live()), Sent::Operations(&mut patch));
        let mut expected =
            json!({ "metadata": { "name": "d" }, "spec": { "template": { "spec": replaced } } });
        stamp().mark(&DEPLOYMENTS, &mut expected);
        assert_eq!(patched(&live(), &patch), Some(expected));
        let mut wrong = json!([{ "op": "remove", "path": "/absent" }]);
        stamp().keep(&DEPLOYMENTS, Some(&live()), Sent::Operations(&mut wrong));
        assert_eq!(wrong.as_array().map(Vec::len), Some(1), "the server rejects it as it was sent");
    }

    #[test]
    fn keeps_the_taint_of_a_node_and_marks_nothing_in_a_dedicated_cluster() {
        let mut node = json!({ "metadata": { "name": "n" }, "spec": {} });
        stamp().mark(&NODES, &mut node);
        let mut patch = json!({ "spec": { "taints": [{ "key": "unreachable" }] } });
        stamp().keep(&NODES, Some(&node), Sent::Merge(&mut patch));
        let own = json!({ "key": SIMULATED, "value": "true", "effect": "NoSchedule" });
        assert_eq!(patch, json!({ "spec": { "taints": [{ "key": "unreachable" }, own] } }));
        let mut object = json!({ "metadata": { "name": "c" } });
        assert!(!Stamp::default().needs_live(&CONFIG_MAPS, &Sent::Object(&mut object)));
        Stamp::default().keep(&CONFIG_MAPS, None, Sent::Object(&mut object));
        assert_eq!(object, json!({ "metadata": { "name": "c" } }));
    }
}

//! Objects whose owners are gone.

use std::collections::BTreeSet;

use windtunnel_core::{Object, text_of};

use super::rule::{ObjectFinding, Rule, Scene};
use crate::record::WriteEvent;

/// The rule about dependents, by the uids of deleted objects.
#[derive(Default)]
pub(super) struct Garbage {
    deleted: BTreeSet<String>,
}

impl Garbage {
    /// Whether all owners of an object were deleted.
    fn is_left_behind(&self, object: &Object) -> bool {
        let owners = object.list("/metadata/ownerReferences");
        !owners.is_empty() && owners.iter().all(|owner| self.deleted.contains(text_of(owner, "uid")))
    }
}

impl Rule for Garbage {
    fn id(&self) -> String {
        "garbage".to_owned()
    }

    fn before(&mut self, _: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        if write.removes() {
            self.deleted.extend(write.before.iter().map(|before| before.uid().to_owned()));
        }
        None
    }

    fn quiet(&mut self, scene: &Scene<'_>) -> Vec<ObjectFinding> {
        let left = scene.view.objects().filter(|(_, object)| self.is_left_behind(object));
        let text = "is still there, but its owners were deleted";
        left.map(|(_, object)| {
            let (kind, namespace, name) = (object.text("/kind"), object.namespace(), object.name());
            let namespace = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
            ObjectFinding::new(format!("{kind}/{namespace}{name}"), text)
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::{PODS, REPLICA_SETS};

    use crate::oracles::testing::Story;

    #[test]
    fn dependents_do_not_outlive_their_owners() {
        let owner = json!({ "metadata": { "namespace": "n", "name": "r", "uid": "u" } });
        let pod = json!({
            "kind": "Pod",
            "metadata": { "namespace": "n", "name": "p", "uid": "v", "ownerReferences": [{ "uid": "u" }] },
        });
        let story =
            || {
                Story::new()
                    .write(1, "a", &REPLICA_SETS, owner.clone())
                    .write(2, "a", &PODS, pod.clone())
                    .delete(3, "a", &REPLICA_SETS, &owner)
            };
        assert_eq!(story().findings("garbage"), ["Pod/n/p: is still there, but its owners were deleted"]);
        assert!(story().delete(4, "garbage-collector", &PODS, &pod).findings("garbage").is_empty());
    }
}

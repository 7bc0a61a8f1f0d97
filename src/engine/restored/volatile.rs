//! The fields and objects that are not compared, each with the reason. `docs/how-to/restored.md` shows the same list.

use serde_json::Value;

/// Objects or fields that are not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Volatile {
    /// The objects.
    pub objects: Kinds,
    /// The part of them.
    pub part: Part,
    /// Why they are not compared.
    pub why: &'static str,
}

/// Kinds of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kinds {
    /// All kinds.
    All,
    /// All kinds but this one.
    Except(&'static str),
    /// These kinds.
    Only(&'static [&'static str]),
}

/// A part of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The whole object.
    Whole,
    /// The whole object, if a controller generated its name.
    Generated,
    /// All fields, labels and annotations with one of these names.
    Named(&'static [&'static str]),
    /// All fields, labels and annotations whose names end with one of these texts.
    Ending(&'static [&'static str]),
}

/// The differences between any two runs: times, generated names, records of the past.
pub const BETWEEN_RUNS: &[Volatile] = &[
    Volatile { objects: Kinds::Only(&["Event"]), part: Part::Whole, why: "reports the past, and expires" },
    Volatile {
        objects: Kinds::Only(&["Lease"]),
        part: Part::Whole,
        why: "changes its holder and its times while a cluster is idle, too",
    },
    Volatile {
        objects: Kinds::Only(&["ConfigMap"]),
        part: Part::Named(&["control-plane.alpha.kubernetes.io/leader"]),
        why: "is the lock of a leader before Leases, and changes while a cluster is idle, too",
    },
    Volatile {
        objects: Kinds::Only(&["Job"]),
        part: Part::Whole,
        why: "each retrieval of a release creates a new one, with a generated name",
    },
    Volatile {
        objects: Kinds::Only(&["Endpoints", "EndpointSlice"]),
        part: Part::Whole,
        why: "lists the addresses of pods, which each new pod changes",
    },
    Volatile {
        objects: Kinds::Except("Pod"),
        part: Part::Generated,
        why: "has another name in each cluster; pods with generated names are counted instead",
    },
    Volatile {
        objects: Kinds::All,
        part: Part::Named(&["uid", "resourceVersion", "creationTimestamp", "managedFields"]),
        why: "the API server sets it at each write or creation",
    },
    Volatile {
        objects: Kinds::All,
        part: Part::Ending(&["ResourceVersion"]),
        why: "copies the resource version of another object",
    },
    Volatile {
        objects: Kinds::Except("ClusterVersion"),
        part: Part::Named(&["generation", "observedGeneration"]),
        why: "counts changes of the spec",
    },
    Volatile {
        objects: Kinds::All,
        part: Part::Ending(&["Time", "-time", "edAt", "/config.seen"]),
        why: "is a time",
    },
];

/// The changes of each rollout, also of one that leads back.
pub const ROLLOUTS: &[Volatile] = &[
    Volatile {
        objects: Kinds::All,
        part: Part::Named(&[
            "revision",
            "deployment.kubernetes.io/revision",
            "deployment.kubernetes.io/revision-history",
            "deprecated.daemonset.template.generation",
        ]),
        why: "counts rollouts",
    },
    Volatile {
        objects: Kinds::Only(&["Deployment"]),
        part: Part::Named(&["message"]),
        why: "may name the ReplicaSet of an earlier rollout",
    },
    Volatile {
        objects: Kinds::All,
        part: Part::Named(&["kubernetes.io/config.hash", "kubernetes.io/config.mirror", "containerID"]),
        why: "names one instance of a pod or container",
    },
    Volatile {
        objects: Kinds::Only(&["Pod"]),
        part: Part::Named(&["restartCount", "lastState"]),
        why: "counts and describes earlier instances of a container",
    },
    Volatile {
        objects: Kinds::Only(&["Node"]),
        part: Part::Named(&["bootID"]),
        why: "is drawn at each boot",
    },
];

/// Removes volatile fields from objects.
pub(super) struct Cleaner(Vec<&'static Volatile>);

impl Cleaner {
    pub(super) fn new(lists: &[&'static [Volatile]]) -> Self {
        Self(lists.iter().flat_map(|list| list.iter()).collect())
    }

    /// Whether objects of this kind are not compared at all.
    pub(super) fn ignores(&self, kind: &str, has_generated_name: bool) -> bool {
        self.0.iter().any(|volatile| {
            let is_meant = match volatile.part {
                Part::Whole => true,
                Part::Generated => has_generated_name,
                Part::Named(_) | Part::Ending(_) => false,
            };
            is_meant && volatile.objects.contain(kind)
        })
    }

    /// Removes the volatile fields of an object, and sorts its conditions: a changed one moves to the end.
    pub(super) fn clean(&self, kind: &str, object: &mut Value) {
        let parts: Vec<Part> = self
            .0
            .iter()
            .filter(|volatile| volatile.objects.contain(kind))
            .map(|volatile| volatile.part)
            .collect();
        clean(&parts, object);
    }
}

impl Kinds {
    fn contain(self, kind: &str) -> bool {
        match self {
            Self::All => true,
            Self::Except(other) => kind != other,
            Self::Only(kinds) => kinds.contains(&kind),
        }
    }
}

impl Part {
    fn has(self, name: &str) -> bool {
        match self {
            Self::Whole | Self::Generated => false,
            Self::Named(names) => names.contains(&name),
            Self::Ending(endings) => endings.iter().any(|ending| name.ends_with(ending)),
        }
    }
}

fn clean(parts: &[Part], value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !parts.iter().any(|part| part.has(name)));
            fields.values_mut().for_each(|field| clean(parts, field));
        }
        Value::Array(list) => {
            for item in &mut *list {
                clean(parts, item);
            }
            list.sort_by_cached_key(|item| item["type"].as_str().unwrap_or_default().to_owned());
        }
        _ => {}
    }
}

/// The rows of a table in Markdown: objects, part and reason of everything that is not compared.
pub fn table() -> Vec<String> {
    let rows = [BETWEEN_RUNS, ROLLOUTS].into_iter().flatten();
    rows.map(|volatile| format!("| {} | {} | {} |", volatile.objects, volatile.part, volatile.why)).collect()
}

impl std::fmt::Display for Kinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Except(kind) => write!(f, "all but {kind}"),
            Self::Only(kinds) => f.write_str(&kinds.join(", ")),
        }
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let quoted = |names: &[&str], star: &str| {
            names.iter().map(|name| format!("`{star}{name}`")).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::Whole => f.write_str("the object"),
            Self::Generated => f.write_str("the object, if its name is generated"),
            Self::Named(names) => f.write_str(&quoted(names, "")),
            Self::Ending(endings) => f.write_str(&quoted(endings, "*")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_and_counters_are_removed_and_conditions_are_sorted() {
        let object = json!({
            "metadata": { "uid": "u", "name": "n", "generation": 2, "annotations": { "a/config.seen": "t" } },
            "status": {
                "observedGeneration": 2, "revision": 3,
                "conditions": [{ "type": "B", "lastTransitionTime": "t" }, { "type": "A" }],
            },
        });
        let cleaned = |kind: &str, lists: &[&'static [Volatile]]| {
            let mut object = object.clone();
            Cleaner::new(lists).clean(kind, &mut object);
            object
        };
        let conditions = json!([{ "type": "A" }, { "type": "B" }]);
        assert_eq!(
            cleaned("Node", &[BETWEEN_RUNS, ROLLOUTS]),
            json!({ "metadata": { "name": "n", "annotations": {} }, "status": { "conditions": conditions } })
        );
        let version = cleaned("ClusterVersion", &[BETWEEN_RUNS]);
        assert_eq!(version["metadata"]["generation"], 2);
        assert_eq!(version["status"]["revision"], 3);
    }

    #[test]
    fn whole_objects_are_ignored_by_kind_or_by_generated_names() {
        let cleaner = Cleaner::new(&[BETWEEN_RUNS]);
        assert!(cleaner.ignores("Event", false));
        assert!(cleaner.ignores("Secret", true) && !cleaner.ignores("Secret", false));
        assert!(!cleaner.ignores("Pod", true));
    }
}

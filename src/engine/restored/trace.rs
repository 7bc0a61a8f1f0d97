//! The traces that every update leaves by design, in a real cluster too. They are listed, and count as no difference.

use windtunnel_core::Key;

use crate::plan::FieldPath;

/// An object or a field that every update leaves or changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    /// The kind of the object.
    pub kind: &'static str,
    /// Its name; a trailing `*` is for any ending.
    pub name: &'static str,
    /// The field; empty for a new object.
    pub field: &'static str,
    /// Why it stays.
    pub why: &'static str,
}

/// All traces.
pub const TRACES: &[Trace] = &[
    Trace {
        kind: "ClusterVersion",
        name: "version",
        field: "spec.desiredUpdate",
        why: "the last request stays in the spec",
    },
    Trace {
        kind: "ClusterVersion",
        name: "version",
        field: "metadata.generation",
        why: "counts the requests",
    },
    Trace {
        kind: "ClusterVersion",
        name: "version",
        field: "status.observedGeneration",
        why: "follows `metadata.generation`",
    },
    Trace { kind: "ClusterVersion", name: "version", field: "status.history", why: "records each update" },
    Trace {
        kind: "ConfigMap",
        name: "signatures-managed",
        field: "",
        why: "the cluster-version operator keeps the signatures that it verified",
    },
    Trace {
        kind: "MachineConfig",
        name: "rendered-*",
        field: "",
        why: "the rendered configurations of a release stay until an administrator removes them",
    },
    Trace {
        kind: "MachineConfigNode",
        name: "*",
        field: "status.conditions",
        why: "records the last update of the node",
    },
    Trace {
        kind: "Node",
        name: "*",
        field: "metadata.annotations[\"machineconfiguration.openshift.io/post-config-action\"]",
        why: "the machine-config daemon writes it with each change of the node",
    },
    Trace {
        kind: "ReplicaSet",
        name: "*",
        field: "",
        why: "a Deployment keeps the ReplicaSets of earlier revisions, without pods",
    },
];

/// Returns whether a difference is a trace: a field of an object, or with an empty path a new object.
pub(super) fn is_trace(kind: &str, key: &Key, field: &FieldPath) -> bool {
    TRACES.iter().any(|trace| {
        let is_named =
            trace.name.strip_suffix('*').map_or(trace.name == key.name, |start| key.name.starts_with(start));
        let is_in = || match trace.field {
            "" => field.is_empty(),
            outer => FieldPath::parse(outer).is_ok_and(|outer| !field.is_empty() && field.is_in(&outer)),
        };
        trace.kind == kind && is_named && is_in()
    })
}

/// The rows of a table in Markdown: kind, name, field and reason of each trace.
pub fn table() -> Vec<String> {
    let field = |trace: &Trace| match trace.field {
        "" => "the new object".to_owned(),
        field => format!("`{field}`"),
    };
    let rows = TRACES.iter();
    rows.map(|trace| format!("| {} `{}` | {} | {} |", trace.kind, trace.name, field(trace), trace.why))
        .collect()
}

#[cfg(test)]
mod tests {
    use windtunnel_core::resources::CLUSTER_VERSIONS;

    use super::*;

    #[test]
    fn the_fields_of_a_trace_parse_and_only_they_are_traces() {
        for trace in TRACES.iter().filter(|trace| !trace.field.is_empty()) {
            FieldPath::parse(trace.field).unwrap();
        }
        let key = CLUSTER_VERSIONS.key("", "version");
        let is_trace = |field: &str| is_trace("ClusterVersion", &key, &FieldPath::parse(field).unwrap());
        assert!(is_trace("status.history[0].state") && is_trace("spec.desiredUpdate"));
        assert!(!is_trace("status.capabilities") && !is_trace("spec"));
    }
}

//! Parameters of operations: those of the path and of the query.

use serde_json::{Value, json};

use super::Form;

/// A parameter of a path or of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parameter {
    name: &'static str,
    /// `path` or `query`.
    place: &'static str,
    kind: &'static str,
    description: &'static str,
    /// The first minor that has it.
    since: u32,
}

const fn query(name: &'static str, kind: &'static str, description: &'static str) -> Parameter {
    Parameter { name, place: "query", kind, description, since: 0 }
}

const fn newer(since: u32, parameter: Parameter) -> Parameter {
    Parameter { since, ..parameter }
}

const fn path(name: &'static str, description: &'static str) -> Parameter {
    Parameter { name, place: "path", kind: "string", description, since: 0 }
}

const PRETTY: Parameter = query("pretty", "string", "If 'true', then the output is pretty printed.");
const PATH: [Parameter; 2] =
    [path("name", "The name of the object."), path("namespace", "The namespace of the object.")];
const DRY_RUN: Parameter =
    query("dryRun", "string", "When present, indicates that modifications should not be persisted.");

/// The parameters of creations, updates and patches.
pub(super) const WRITES: [Parameter; 3] = [
    DRY_RUN,
    query("fieldManager", "string", "The name of the actor that is making these changes."),
    query(
        "fieldValidation",
        "string",
        "What the server does with unknown or duplicate fields: Ignore, Warn or Strict.",
    ),
];
pub(super) const FORCE: Parameter =
    query("force", "boolean", "Take over fields of other managers (apply patches only).");
pub(super) const RESOURCE_VERSION: Parameter =
    query("resourceVersion", "string", "The resource version that the response must satisfy.");

/// The parameters of lists.
pub(super) const SELECTION: [Parameter; 11] = [
    query("allowWatchBookmarks", "boolean", "Send events of type BOOKMARK."),
    query("continue", "string", "The token from the previous page of the list."),
    query("fieldSelector", "string", "Restrict the list by fields."),
    query("labelSelector", "string", "Restrict the list by labels."),
    query("limit", "integer", "The maximum number of objects in a response."),
    RESOURCE_VERSION,
    query(
        "resourceVersionMatch",
        "string",
        "How the server applies resourceVersion to a list: Exact or NotOlderThan.",
    ),
    newer(27, query("sendInitialEvents", "boolean", "Start a watch with events for the existing objects.")),
    newer(36, query("shardSelector", "string", "Restrict the list to a range of hashes.")),
    query("timeoutSeconds", "integer", "The timeout of the list or watch."),
    query("watch", "boolean", "Watch for changes."),
];

/// The parameters of deletions.
pub(super) const DELETION: [Parameter; 5] = [
    DRY_RUN,
    query("gracePeriodSeconds", "integer", "The seconds until the object is deleted."),
    newer(
        32,
        query(
            "ignoreStoreReadErrorWithClusterBreakingPotential",
            "boolean",
            "Delete the object even if the server cannot read it.",
        ),
    ),
    query("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
    query(
        "propagationPolicy",
        "string",
        "How the server deletes dependents: Orphan, Background or Foreground.",
    ),
];

/// The parameters of lists that are deleted, not watched.
pub(super) fn of_deleted_lists() -> impl Iterator<Item = Parameter> {
    let is_of_watches = |name: &str| matches!(name, "allowWatchBookmarks" | "watch");
    SELECTION.into_iter().filter(move |parameter| !is_of_watches(parameter.name))
}

/// The parameters that all operations of a path have.
pub(super) fn of_path(path: &str) -> Vec<Parameter> {
    let named = |parameter: &Parameter| path.contains(&format!("{{{}}}", parameter.name));
    PATH.into_iter().filter(named).chain([PRETTY]).collect()
}

/// Documents parameters, by name.
pub(super) fn to_openapi(mut parameters: Vec<Parameter>, form: Form, minor: u32) -> Vec<Value> {
    parameters.retain(|parameter| parameter.since <= minor);
    parameters.sort_by_key(|parameter| parameter.name);
    parameters.iter().map(|parameter| parameter.to_openapi(form)).collect()
}

impl Parameter {
    fn to_openapi(self, form: Form) -> Value {
        let mut shown = json!({ "name": self.name, "in": self.place, "description": self.description });
        if self.place == "path" {
            shown["required"] = json!(true);
        }
        match form {
            Form::V2 => {
                shown["type"] = json!(self.kind);
                shown["uniqueItems"] = json!(true);
            }
            Form::V3 => shown["schema"] = json!({ "type": self.kind, "uniqueItems": true }),
        }
        shown
    }
}

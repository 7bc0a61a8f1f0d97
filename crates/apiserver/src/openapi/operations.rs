//! Paths and their operations. Clients look up parameters of writes here, such as `fieldValidation`.

use serde_json::{Map, Value, json};

use super::{Form, names};
use crate::discovery::{Entry, entries};
use crate::kinds::Kind;

/// A query parameter: name, type and description.
type Parameter = (&'static str, &'static str, &'static str);

const PRETTY: Parameter = ("pretty", "string", "If 'true', then the output is pretty printed.");
const DRY_RUN: Parameter =
    ("dryRun", "string", "When present, indicates that modifications should not be persisted.");
const FIELD_MANAGER: Parameter =
    ("fieldManager", "string", "The name of the actor that is making these changes.");
const FIELD_VALIDATION: Parameter = (
    "fieldValidation",
    "string",
    "What the server does with unknown or duplicate fields: Ignore, Warn or Strict.",
);
const FORCE: Parameter = ("force", "boolean", "Take over fields of other managers (apply patches only).");
const SELECTION: [Parameter; 10] = [
    ("allowWatchBookmarks", "boolean", "Send events of type BOOKMARK."),
    ("continue", "string", "The token from the previous page of the list."),
    ("fieldSelector", "string", "Restrict the list by fields."),
    ("labelSelector", "string", "Restrict the list by labels."),
    ("limit", "integer", "The maximum number of objects in a response."),
    ("resourceVersion", "string", "The resource version that the response must satisfy."),
    (
        "resourceVersionMatch",
        "string",
        "How the server applies resourceVersion to a list: Exact or NotOlderThan.",
    ),
    ("sendInitialEvents", "boolean", "Start a watch with events for the existing objects."),
    ("timeoutSeconds", "integer", "The timeout of the list or watch."),
    ("watch", "boolean", "Watch for changes."),
];
const DELETION: [Parameter; 4] = [
    DRY_RUN,
    ("gracePeriodSeconds", "integer", "The seconds until the object is deleted."),
    ("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
    ("propagationPolicy", "string", "How the server deletes dependents: Orphan, Background or Foreground."),
];

const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// An operation to be documented.
struct Operation<'a> {
    entry: &'a Entry<'a>,
    /// Prefix of its id.
    verb: &'static str,
    /// The value of `x-kubernetes-action`.
    action: &'static str,
    parameters: Vec<Parameter>,
    /// The schema of the request body.
    body: Option<String>,
    /// The schema of the response.
    answer: String,
    /// Suffix of its id.
    suffix: &'static str,
}

pub(super) fn add(paths: &mut Map<String, Value>, kind: &Kind, form: Form, minor: u32) {
    let resource = &kind.resource;
    let root = match &*resource.group {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    let within = if resource.namespaced { format!("{root}/namespaces/{{namespace}}") } else { root.clone() };
    for entry in entries(kind, minor) {
        let can = |verb: &str| entry.verbs.contains(&verb);
        let mut item = format!("{within}/{}/{{name}}", resource.plural);
        if entry.subresource.is_empty() {
            let collection = format!("{within}/{}", resource.plural);
            let operations = collection_operations(&entry);
            insert(paths, collection, operations, form);
            if resource.namespaced && can("list") {
                let all = Operation { suffix: "ForAllNamespaces", ..list(&entry) };
                insert(paths, format!("{root}/{}", resource.plural), vec![("get", all)], form);
            }
        } else {
            item = format!("{item}/{}", entry.subresource);
        }
        insert(paths, item, item_operations(&entry), form);
    }
}

fn own_schema(entry: &Entry<'_>) -> String {
    match entry.own_kind {
        Some((group, version, kind)) => names::of_builtin(group, version, kind),
        None => names::of_kind(entry.kind, &entry.kind.resource.kind),
    }
}

fn list<'a>(entry: &'a Entry<'a>) -> Operation<'a> {
    Operation {
        entry,
        verb: "list",
        action: "list",
        parameters: SELECTION.into(),
        body: None,
        answer: names::of_kind(entry.kind, &entry.kind.list_kind),
        suffix: "",
    }
}

const WRITES: [Parameter; 3] = [DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION];

fn create<'a>(entry: &'a Entry<'a>) -> Operation<'a> {
    let own = own_schema(entry);
    let parameters = WRITES.into();
    Operation {
        entry,
        verb: "create",
        action: "post",
        parameters,
        body: Some(own.clone()),
        answer: own,
        suffix: "",
    }
}

fn collection_operations<'a>(entry: &'a Entry<'a>) -> Vec<(&'static str, Operation<'a>)> {
    let mut operations = Vec::new();
    if entry.verbs.contains(&"list") {
        operations.push(("get", list(entry)));
    }
    if entry.verbs.contains(&"create") {
        operations.push(("post", create(entry)));
    }
    if entry.verbs.contains(&"deletecollection") {
        let parameters = DELETION.into_iter().chain(SELECTION).collect();
        operations.push((
            "delete",
            Operation { verb: "deleteCollection", action: "deletecollection", parameters, ..deletion(entry) },
        ));
    }
    operations
}

fn deletion<'a>(entry: &'a Entry<'a>) -> Operation<'a> {
    Operation {
        entry,
        verb: "delete",
        action: "delete",
        parameters: DELETION.into(),
        body: Some(format!("{}.DeleteOptions", names::META)),
        answer: format!("{}.Status", names::META),
        suffix: "",
    }
}

fn item_operations<'a>(entry: &'a Entry<'a>) -> Vec<(&'static str, Operation<'a>)> {
    let can = |verb: &str| entry.verbs.contains(&verb);
    let own = own_schema(entry);
    let base = |verb, action, parameters, body| Operation {
        entry,
        verb,
        action,
        parameters,
        body,
        answer: own.clone(),
        suffix: "",
    };
    let mut operations = Vec::new();
    if can("get") {
        operations.push(("get", base("read", "get", Vec::new(), None)));
    }
    if can("update") {
        operations.push(("put", base("replace", "put", WRITES.into(), Some(own.clone()))));
    }
    if can("patch") {
        let parameters = WRITES.into_iter().chain([FORCE]).collect();
        operations
            .push(("patch", base("patch", "patch", parameters, Some(format!("{}.Patch", names::META)))));
    }
    if can("delete") {
        operations.push(("delete", deletion(entry)));
    }
    if can("create") && !entry.subresource.is_empty() {
        operations.push(("post", create(entry)));
    }
    operations
}

fn insert(
    paths: &mut Map<String, Value>,
    path: String,
    operations: Vec<(&'static str, Operation<'_>)>,
    form: Form,
) {
    if operations.is_empty() {
        return;
    }
    let mut item = Map::new();
    let mut shared: Vec<Value> = ["namespace", "name"]
        .into_iter()
        .filter(|name| path.contains(&format!("{{{name}}}")))
        .map(|name| parameter(name, "path", "string", "", form))
        .collect();
    shared.push(parameter(PRETTY.0, "query", PRETTY.1, PRETTY.2, form));
    item.insert("parameters".to_owned(), Value::Array(shared));
    for (method, operation) in operations {
        item.insert(method.to_owned(), operation.to_openapi(form));
    }
    paths.insert(path, Value::Object(item));
}

fn parameter(name: &str, place: &str, kind: &str, description: &str, form: Form) -> Value {
    let mut parameter = json!({ "name": name, "in": place, "uniqueItems": true });
    if !description.is_empty() {
        parameter["description"] = json!(description);
    }
    if place == "path" {
        parameter["required"] = json!(true);
    }
    match form {
        Form::V2 => parameter["type"] = json!(kind),
        Form::V3 => {
            if let Some(map) = parameter.as_object_mut() {
                map.remove("uniqueItems");
            }
            parameter["schema"] = json!({ "type": kind, "uniqueItems": true });
        }
    }
    parameter
}

impl Operation<'_> {
    fn to_openapi(&self, form: Form) -> Value {
        let resource = &self.entry.kind.resource;
        let own = (&*resource.group, &*resource.version, &*resource.kind);
        let (group, version, kind) = self.entry.own_kind.unwrap_or(own);
        let query = |(name, kind, what): &Parameter| parameter(name, "query", kind, what, form);
        let mut parameters: Vec<Value> = self.parameters.iter().map(query).collect();
        let description = "OK";
        let mut operation = json!({
            "tags": [names::tag(self.entry.kind)],
            "operationId": self.identifier(),
            "x-kubernetes-action": self.action,
            "x-kubernetes-group-version-kind": { "group": group, "version": version, "kind": kind },
        });
        match form {
            Form::V2 => {
                if let Some(body) = &self.body {
                    parameters.insert(0, json!({
                        "name": "body", "in": "body", "required": self.action != "delete", "schema": form.reference(body),
                    }));
                }
                operation["produces"] = json!(["application/json", "application/yaml"]);
                operation["consumes"] = if self.action == "patch" { json!(PATCHES) } else { json!(["*/*"]) };
                operation["responses"] =
                    json!({ "200": { "description": description, "schema": form.reference(&self.answer) } });
            }
            Form::V3 => {
                if let Some(body) = &self.body {
                    let types: &[&str] = if self.action == "patch" { &PATCHES } else { &["*/*"] };
                    let content =
                        |media: &&str| ((*media).to_owned(), json!({ "schema": form.reference(body) }));
                    operation["requestBody"] =
                        json!({ "content": types.iter().map(content).collect::<Map<_, _>>() });
                }
                let content = json!({ "application/json": { "schema": form.reference(&self.answer) } });
                operation["responses"] = json!({ "200": { "description": description, "content": content } });
            }
        }
        if !parameters.is_empty() {
            operation["parameters"] = Value::Array(parameters);
        }
        operation
    }

    /// The operation id, such as `patchAppsV1NamespacedDeploymentStatus`.
    fn identifier(&self) -> String {
        let resource = &self.entry.kind.resource;
        let scope = if resource.namespaced && self.suffix.is_empty() { "Namespaced" } else { "" };
        let sub: String = self.entry.subresource.split('/').map(names::capital).collect();
        let (verb, group) = (self.verb, names::group_version(self.entry.kind));
        let split = verb.strip_suffix("Collection").map_or((verb, ""), |first| (first, "Collection"));
        format!("{}{group}{}{scope}{}{sub}{}", split.0, split.1, resource.kind, self.suffix)
    }
}

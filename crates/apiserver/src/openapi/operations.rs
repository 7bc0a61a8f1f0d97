//! Paths and their operations. Clients look up parameters of writes here, such as `fieldValidation`.

use serde_json::{Map, Value, json};

use super::parameters::{self, Parameter};
use super::{Form, names};
use crate::discovery::{Entry, entries};
use crate::kinds::Kind;
use crate::request::accept::{DOCUMENTS, LISTS};

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
/// The formats of patches. Custom resources have no strategic merge patch.
const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    STRATEGIC,
    "application/apply-patch+yaml",
];
const STRATEGIC: &str = "application/strategic-merge-patch+json";

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
    let mut insert = |path, operations| insert(paths, path, operations, form, minor);
    let entries = entries(kind, minor);
    for entry in &entries {
        let can = |verb: &str| entry.verbs.contains(&verb);
        let mut item = format!("{within}/{}/{{name}}", resource.plural);
        if entry.subresource.is_empty() {
            insert(format!("{within}/{}", resource.plural), collection_operations(entry));
            if resource.namespaced && can("list") {
                let all = Operation { suffix: "ForAllNamespaces", ..list(entry) };
                insert(format!("{root}/{}", resource.plural), vec![("get", all)]);
            }
        } else {
            item = format!("{item}/{}", entry.subresource);
        }
        insert(item, item_operations(entry));
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
        parameters: parameters::SELECTION.into(),
        body: None,
        answer: names::of_kind(entry.kind, &entry.kind.list_kind),
        suffix: "",
    }
}

fn create<'a>(entry: &'a Entry<'a>) -> Operation<'a> {
    let own = own_schema(entry);
    let parameters = parameters::WRITES.into();
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
        operations.push(("delete", collection_deletion(entry)));
    }
    operations
}

/// The deletion of a collection. That of custom resources has the parameters of a list alone.
fn collection_deletion<'a>(entry: &'a Entry<'a>) -> Operation<'a> {
    let deletion = Operation { verb: "deleteCollection", action: "deletecollection", ..deletion(entry) };
    if entry.kind.custom.is_some() {
        return Operation { parameters: parameters::SELECTION.into(), body: None, ..deletion };
    }
    let parameters = parameters::DELETION.into_iter().chain(parameters::of_deleted_lists()).collect();
    Operation { parameters, ..deletion }
}

fn deletion<'a>(entry: &'a Entry<'a>) -> Operation<'a> {
    Operation {
        entry,
        verb: "delete",
        action: "delete",
        parameters: parameters::DELETION.into(),
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
        let is_custom = entry.kind.custom.is_some();
        let parameters = if is_custom { vec![parameters::RESOURCE_VERSION] } else { Vec::new() };
        operations.push(("get", base("read", "get", parameters, None)));
    }
    if can("update") {
        operations.push(("put", base("replace", "put", parameters::WRITES.into(), Some(own.clone()))));
    }
    if can("patch") {
        let parameters = parameters::WRITES.into_iter().chain([parameters::FORCE]).collect();
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

/// Adds a path with its operations. Parameters that all of them have belong to the path.
fn insert(
    paths: &mut Map<String, Value>,
    path: String,
    mut operations: Vec<(&'static str, Operation<'_>)>,
    form: Form,
    minor: u32,
) {
    let Some((_, first)) = operations.first() else { return };
    let mut shared = parameters::of_path(&path);
    let candidates = first.parameters.clone();
    let is_shared = |candidate: &Parameter| {
        operations.iter().all(|(_, operation)| operation.parameters.contains(candidate))
    };
    shared.extend(candidates.into_iter().filter(is_shared));
    let mut item = Map::new();
    for (method, operation) in &mut operations {
        operation.parameters.retain(|own| !shared.contains(own));
        item.insert((*method).to_owned(), operation.to_openapi(form, minor));
    }
    item.insert("parameters".to_owned(), json!(parameters::to_openapi(shared, form, minor)));
    paths.insert(path, Value::Object(item));
}

impl Operation<'_> {
    fn to_openapi(&self, form: Form, minor: u32) -> Value {
        let resource = &self.entry.kind.resource;
        let own = (&*resource.group, &*resource.version, &*resource.kind);
        // Subresources of custom resources have the kind of the resource here.
        let part = self.entry.own_kind.filter(|_| !self.is_custom());
        let (group, version, kind) = part.unwrap_or(own);
        let mut parameters = parameters::to_openapi(self.parameters.clone(), form, minor);
        let mut operation = json!({
            "tags": [names::tag(self.entry.kind)],
            "operationId": self.identifier(),
            "responses": self.responses(form),
            "x-kubernetes-action": self.action,
            "x-kubernetes-group-version-kind": { "group": group, "version": version, "kind": kind },
        });
        match form {
            Form::V2 => {
                operation["consumes"] = json!(self.consumed());
                operation["produces"] = json!(self.produced());
                operation["schemes"] = json!(["https"]);
                parameters.splice(0..0, self.body_parameter());
            }
            Form::V3 => {
                if let Some(body) = self.request_body() {
                    operation["requestBody"] = body;
                }
            }
        }
        if !parameters.is_empty() {
            operation["parameters"] = Value::Array(parameters);
        }
        operation
    }

    fn is_custom(&self) -> bool {
        self.entry.kind.custom.is_some()
    }

    /// The media types of its request body.
    fn consumed(&self) -> Vec<&'static str> {
        match (self.action, self.is_custom()) {
            ("patch", true) => PATCHES.into_iter().filter(|name| *name != STRATEGIC).collect(),
            ("patch", false) => PATCHES.into(),
            (_, true) => vec![JSON, YAML],
            (_, false) => vec!["*/*"],
        }
    }

    /// The media types of its responses.
    fn produced(&self) -> &'static [&'static str] {
        match (self.action, self.is_custom()) {
            (_, true) => &[JSON, YAML],
            ("list", false) => &LISTS,
            (_, false) => &DOCUMENTS,
        }
    }

    /// The status codes of its responses with a body, and their descriptions.
    fn codes(&self) -> &'static [(&'static str, &'static str)] {
        const OK: (&str, &str) = ("200", "OK");
        const CREATED: (&str, &str) = ("201", "Created");
        const ACCEPTED: (&str, &str) = ("202", "Accepted");
        match (self.action, self.is_custom()) {
            ("post", _) => &[OK, CREATED, ACCEPTED],
            ("put", _) | ("patch", false) => &[OK, CREATED],
            ("delete", _) => &[OK, ACCEPTED],
            _ => &[OK],
        }
    }

    fn responses(&self, form: Form) -> Value {
        let schema = form.reference(&self.answer);
        let content = |media: &&str| ((*media).to_owned(), json!({ "schema": schema }));
        let mut responses = json!({ "401": { "description": "Unauthorized" } });
        for (code, description) in self.codes() {
            responses[code] = json!({ "description": description });
            match form {
                Form::V2 => responses[code]["schema"] = schema.clone(),
                Form::V3 => {
                    let content: Map<_, _> = self.produced().iter().map(content).collect();
                    responses[code]["content"] = Value::Object(content);
                }
            }
        }
        responses
    }

    /// The request body in OpenAPI v3. Only deletions may leave it out.
    fn request_body(&self) -> Option<Value> {
        let schema = Form::V3.reference(self.body.as_ref()?);
        let content = |media: &'static str| (media.to_owned(), json!({ "schema": schema }));
        let content: Map<_, _> = self.consumed().into_iter().map(content).collect();
        let mut body = json!({ "content": content });
        if self.is_body_required() {
            body["required"] = json!(true);
        }
        Some(body)
    }

    /// The request body as a parameter of OpenAPI v2.
    fn body_parameter(&self) -> Option<Value> {
        let schema = Form::V2.reference(self.body.as_ref()?);
        let mut body = json!({ "name": "body", "in": "body", "schema": schema });
        if self.is_body_required() {
            body["required"] = json!(true);
        }
        Some(body)
    }

    fn is_body_required(&self) -> bool {
        !self.action.starts_with("delete")
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

//! Finds the objects in a parsed document, in each shape in which programs write them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use windtunnel_core::Object;

use super::kinds;
use super::place::Place;

/// The objects of a file, and the number of those that are not understood.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) objects: Vec<Object>,
    /// Whether the file is a list, which may be empty.
    pub(super) is_list: bool,
    /// Objects of known kinds without a name.
    nameless: usize,
    /// Objects without a kind, if the path does not have it either.
    kindless: usize,
    /// Objects in the encoding of etcd.
    binary: usize,
}

/// The kind that a list implies for its items.
#[derive(Debug, Clone, Default)]
struct Implied {
    api_version: Value,
    kind: Value,
}

impl Found {
    /// Finds the objects in the documents of a file at this place.
    pub(super) fn of(documents: Vec<Value>, place: &Place) -> Self {
        let implied = place.resource.as_ref().map_or_else(Implied::default, |resource| Implied {
            api_version: json!(resource.api_version()),
            kind: json!(resource.kind),
        });
        let mut found = Self::default();
        for document in documents {
            found.add(document, &implied, place);
        }
        found
    }

    /// Returns why a part of the file is not understood.
    pub(super) fn remark(&self) -> Option<String> {
        let of = |count: usize| if count == 1 { "an object".to_owned() } else { format!("{count} objects") };
        let mut remarks = Vec::new();
        if self.kindless > 0 {
            remarks.push(format!("{} without a kind, and the path does not have it", of(self.kindless)));
        }
        if self.nameless > 0 {
            remarks.push(format!("{} without a name", of(self.nameless)));
        }
        if self.binary > 0 {
            remarks.push(format!("{} in protobuf, the encoding of etcd; expected JSON", of(self.binary)));
        }
        (!remarks.is_empty()).then(|| remarks.join(", "))
    }

    fn add(&mut self, value: Value, implied: &Implied, place: &Place) {
        match value {
            Value::Array(items) => self.add_items(items, implied, place),
            Value::Object(fields) => self.add_fields(fields, implied, place),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn add_items(&mut self, items: Vec<Value>, implied: &Implied, place: &Place) {
        for item in items {
            self.add(item, implied, place);
        }
    }

    fn add_fields(&mut self, mut fields: Map<String, Value>, implied: &Implied, place: &Place) {
        if let Some(change) = watch_event(&mut fields) {
            return self.add_change(change, implied, place);
        }
        if let Some(pairs) = fields.get_mut("kvs").filter(|pairs| pairs.is_array()).map(Value::take) {
            return self.add_pairs(pairs, place);
        }
        if fields.len() == 1
            && let Some(inner) = fields.get_mut("Object").filter(|inner| inner.is_object()).map(Value::take)
        {
            return self.add(inner, implied, place);
        }
        let without_tags = ["ObjectMeta", "ListMeta", "TypeMeta"];
        if without_tags.iter().any(|field| fields.contains_key(*field)) {
            fields = with_tags(fields);
        }
        if let Some((items, implied)) = items_of(&mut fields, implied) {
            self.is_list = true;
            return self.add_items(items, &implied, place);
        }
        self.add_object(fields, implied, place);
    }

    fn add_object(&mut self, mut fields: Map<String, Value>, implied: &Implied, place: &Place) {
        let is_kindless = text(&fields, "kind").is_empty();
        let is_named = |fields: &Map<String, Value>| {
            fields.get("metadata").is_some_and(|metadata| metadata["name"].is_string())
        };
        if is_kindless && !is_named(&fields) {
            return;
        }
        if is_kindless {
            if implied.kind.is_null() {
                self.kindless += 1;
                return;
            }
            fields.insert("kind".to_owned(), implied.kind.clone());
        }
        if is_of_no_object(text(&fields, "apiVersion")) {
            return;
        }
        // Items of a list of OpenShift may have a kind only.
        if is_kindless || (!fields.contains_key("apiVersion") && implied.kind == fields["kind"]) {
            fields.insert("apiVersion".to_owned(), implied.api_version.clone());
        }
        let is_short = !fields.contains_key("metadata") && fields.get("name").is_some_and(Value::is_string);
        if is_short && let Some(name) = fields.remove("name") {
            fields.insert("metadata".to_owned(), json!({ "name": name }));
        }
        if !is_named(&fields) {
            let is_known = kinds::by_kind(text(&fields, "apiVersion"), text(&fields, "kind")).is_some();
            self.nameless += usize::from(is_known);
            return;
        }
        if is_kindless || is_short {
            add_namespace(&mut fields, place);
            correct_role_binding(&mut fields);
        }
        self.objects.push(Object::new(Value::Object(fields)));
    }

    /// Adds the last state in a list of changes.
    fn add_change(&mut self, (is_deleted, object): (bool, Value), implied: &Implied, place: &Place) {
        self.is_list = true;
        let mut one = Self::default();
        one.add(object, implied, place);
        let is_one = |object: &Object| {
            let fields = ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"];
            one.objects.iter().any(|one| fields.iter().all(|field| one.text(field) == object.text(field)))
        };
        self.objects.retain(|object| !is_one(object));
        if !is_deleted {
            self.objects.append(&mut one.objects);
        }
        self.nameless += one.nameless;
        self.kindless += one.kindless;
    }

    /// Adds the values of an answer of etcd.
    fn add_pairs(&mut self, pairs: Value, place: &Place) {
        let Value::Array(pairs) = pairs else { return };
        self.is_list = true;
        for pair in pairs {
            let value = pair["value"].as_str().unwrap_or_default();
            let bytes = BASE64_STANDARD.decode(value).unwrap_or_else(|_| value.as_bytes().to_vec());
            match serde_json::from_slice::<Value>(&bytes) {
                Ok(object) => self.add(object, &Implied::default(), place),
                Err(_) if bytes.starts_with(b"k8s\0") => self.binary += 1,
                Err(_) => {}
            }
        }
    }
}

/// Returns whether a group has answers and log lines of the API server, which no cluster stores.
fn is_of_no_object(api_version: &str) -> bool {
    ["apidiscovery.k8s.io/", "audit.k8s.io/"].iter().any(|group| api_version.starts_with(group))
}

fn text<'a>(fields: &'a Map<String, Value>, field: &str) -> &'a str {
    fields.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Returns whether an event of a watch is a deletion, and its object.
fn watch_event(fields: &mut Map<String, Value>) -> Option<(bool, Value)> {
    let is_deleted = match text(fields, "type") {
        "ADDED" | "MODIFIED" => false,
        "DELETED" => true,
        _ => return None,
    };
    let object = fields.get_mut("object").filter(|object| object.is_object())?;
    Some((is_deleted, object.take()))
}

/// Returns the items of a list, and their kind. Programs in Go write `Items` if a list has no tags, and `null` if it is empty.
fn items_of(fields: &mut Map<String, Value>, implied: &Implied) -> Option<(Vec<Value>, Implied)> {
    if fields.get("metadata").is_some_and(|metadata| metadata["name"].is_string()) {
        return None;
    }
    let kind = text(fields, "kind").to_owned();
    if is_of_no_object(text(fields, "apiVersion")) {
        return None;
    }
    let field = ["items", "Items"].into_iter().find(|field| fields.contains_key(*field))?;
    let item_kind = if kind.is_empty() { None } else { Some(kind.strip_suffix("List")?.to_owned()) };
    let items = match fields.get_mut(field)?.take() {
        Value::Array(items) => items,
        Value::Null if item_kind.is_some() || field == "Items" => Vec::new(),
        _ => return None,
    };
    // The reports of Insights have lists of their own, whose items are no objects.
    let is_report = |item: &Value| item.is_object() && item["metadata"].is_null() && item["kind"].is_null();
    if item_kind.is_none() && items.iter().all(is_report) && !items.is_empty() {
        return None;
    }
    let implied = match item_kind {
        Some(kind) if !kind.is_empty() => {
            Implied { kind: json!(kind), api_version: fields.get("apiVersion").cloned().unwrap_or_default() }
        }
        _ => implied.clone(),
    };
    Some((items, implied))
}

/// Returns the fields of a Go struct that was written without the tags of its fields.
fn with_tags(fields: Map<String, Value>) -> Map<String, Value> {
    let mut tagged = Map::new();
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("ObjectMeta" | "ListMeta", value) => {
                tagged.insert("metadata".to_owned(), value);
            }
            ("TypeMeta", Value::Object(kind)) => {
                for (name, value) in kind {
                    tagged.insert(
                        if name == "APIVersion" { "apiVersion".to_owned() } else { lower(&name) },
                        value,
                    );
                }
            }
            (name, value) => {
                let value = if name == "Items" { value } else { lower_names(value) };
                tagged.insert(if name == "Items" { name.to_owned() } else { lower(name) }, value);
            }
        }
    }
    tagged
}

fn lower_names(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (lower(&name), lower_names(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(lower_names).collect(),
        other => other,
    }
}

/// Returns a name with a small first letter, or with a small abbreviation at its start.
fn lower(name: &str) -> String {
    let capitals = name.chars().take_while(char::is_ascii_uppercase).count();
    let count =
        if capitals == name.len() { capitals } else { capitals.saturating_sub(1).max(1).min(capitals) };
    name[..count].to_ascii_lowercase() + &name[count..]
}

/// Adds the namespace in the path of the file.
fn add_namespace(fields: &mut Map<String, Value>, place: &Place) {
    let Some(namespace) = &place.namespace else { return };
    let (api_version, kind) = (text(fields, "apiVersion"), text(fields, "kind"));
    let known = kinds::by_kind(api_version, kind);
    if known.is_some_and(|resource| resource.namespaced)
        && let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.entry("namespace").or_insert_with(|| json!(namespace));
    }
}

/// The group of role bindings in Kubernetes.
const GROUP: &str = "rbac.authorization.k8s.io";

/// Corrects a role binding in the form of `authorization.openshift.io`, in which an Insights archive has them.
fn correct_role_binding(fields: &mut Map<String, Value>) {
    if !text(fields, "kind").ends_with("RoleBinding") || !text(fields, "apiVersion").starts_with("rbac.") {
        return;
    }
    fields.remove("userNames");
    fields.remove("groupNames");
    if let Some(role) = fields.get_mut("roleRef").and_then(Value::as_object_mut) {
        let kind = if role.contains_key("namespace") { "Role" } else { "ClusterRole" };
        role.remove("namespace");
        role.entry("kind").or_insert_with(|| json!(kind));
        role.entry("apiGroup").or_insert_with(|| json!(GROUP));
    }
    let subjects = fields.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten();
    for subject in subjects.filter_map(Value::as_object_mut) {
        let kind = text(subject, "kind");
        let kind = kind.strip_prefix("System").unwrap_or(kind).to_owned();
        if kind != "ServiceAccount" {
            subject.insert("apiGroup".to_owned(), json!(GROUP));
        }
        subject.insert("kind".to_owned(), json!(kind));
    }
}

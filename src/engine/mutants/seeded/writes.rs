//! Writes in the eyes of a mutant.

use serde_json::{Value, json};
use windtunnel_core::{Key, Object, Operation, View, Write, condition, text_of};

use super::Fate;

/// Whether a write has this verb and kind, and is about this subresource (empty: the object itself).
pub(super) fn is(write: &Write, verb: &str, kind: &str, subresource: &str) -> bool {
    write.verb() == verb
        && write.resource.kind == kind
        && write.subresource.unwrap_or_default() == subresource
}

/// The object or the patch of a write.
pub(super) fn body(write: &Write) -> &Value {
    match &write.operation {
        Operation::Create(body)
        | Operation::Update(body)
        | Operation::MergePatch(body)
        | Operation::JsonPatch(body) => body,
        Operation::Delete(_) => &Value::Null,
    }
}

/// The value that a write sets here, if it has one.
pub(super) fn value<'w>(write: &'w Write, pointer: &str) -> Option<&'w Value> {
    body(write).pointer(pointer)
}

/// The annotation that a write sets.
pub(super) fn annotation<'w>(write: &'w Write, name: &str) -> Option<&'w str> {
    body(write)["metadata"]["annotations"].get(name).and_then(Value::as_str)
}

/// The write with other content.
pub(super) fn changed(write: &Write, change: impl FnOnce(&mut Value)) -> Fate {
    let mut operation = write.operation.clone();
    match &mut operation {
        Operation::Create(body)
        | Operation::Update(body)
        | Operation::MergePatch(body)
        | Operation::JsonPatch(body) => change(body),
        Operation::Delete(_) => {}
    }
    if operation == write.operation { Fate::Made } else { Fate::Changed(operation) }
}

/// The fate of a write that is forgotten if `is_meant`.
pub(super) fn skipped_if(is_meant: bool) -> Fate {
    if is_meant { Fate::Skipped } else { Fate::Made }
}

/// The stored condition of the object that a write replaces.
pub(super) fn old_condition<'v>(view: &'v View, key: &Key, kind: &str) -> Option<&'v Value> {
    view.get_key(key).and_then(|object| condition::find_in_status(object, kind))
}

/// Keeps the stored condition if it has this status.
pub(super) fn keeps_condition(write: &Write, view: &View, kind: &str, status: &str) -> Fate {
    let old = old_condition(view, &write.key(), kind).filter(|old| text_of(old, "status") == status);
    let Some(old) = old else { return Fate::Made };
    changed(write, |body| {
        let list = body.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
        for condition in list.into_iter().flatten().filter(|found| condition::type_of(found) == kind) {
            *condition = old.clone();
        }
    })
}

/// The status of a condition that a write sets.
pub(super) fn new_status<'w>(write: &'w Write, kind: &str) -> &'w str {
    let list = value(write, "/status/conditions").and_then(Value::as_array);
    let found = list.into_iter().flatten().find(|found| condition::type_of(found) == kind);
    found.map_or("", |found| text_of(found, "status"))
}

/// A patch of an annotation that differs each time.
pub(super) fn touch(object: &Object, resource: &windtunnel_core::Resource, value: &str) -> Write {
    let patch = json!({ "metadata": { "annotations": { "example.com/touched": value } } });
    Write::merge_patch(resource, object.namespace(), object.name(), patch)
}

/// A creation for which no component but the operators has a role.
pub(super) fn forbidden() -> Write {
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "pull-secret-copy", "namespace": "kube-system" },
    });
    Write::create(&windtunnel_core::resources::SECRETS, object)
}

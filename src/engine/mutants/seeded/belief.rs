//! The writes that a component believes to have made.

use serde_json::{Value, json};
use windtunnel_core::{Change, ChangeKind, Key, Object, Operation, View, Write, name_of, patch};

/// Writes that were not made, or made otherwise.
#[derive(Debug, Clone, Default)]
pub(super) struct Beliefs(Vec<Belief>);

/// One write.
#[derive(Debug, Clone)]
struct Belief {
    key: Key,
    /// The uid of the object; empty if it does not exist.
    uid: String,
    subresource: Option<&'static str>,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    /// The object with this merge patch.
    Patched(Value),
    /// The object exists.
    Exists(Object),
    /// The object is gone.
    Gone,
}

impl Beliefs {
    /// Believes that `write` was made, although `made` was made instead, or nothing. Returns the object that the component
    /// expects.
    pub(super) fn believe(&mut self, write: &Write, made: Option<&Write>, view: &View) -> Object {
        self.forget(write);
        let (uid, subresource) = (uid(view, &write.key()), write.subresource);
        let before = view.get_key(&write.key());
        let (key, content, expected) = match &write.operation {
            Operation::Create(_) if subresource == Some("eviction") => {
                let pod = before.cloned().unwrap_or_else(|| Object::new(json!({})));
                (write.key(), Content::Gone, pod)
            }
            Operation::Create(object) if subresource.is_none() => {
                let object = created(object, self.0.len());
                let key = Key { name: object.name().to_owned(), ..write.key() };
                (key, Content::Exists(object.clone()), object)
            }
            Operation::Delete(_) => {
                let object = before.cloned().unwrap_or_else(|| Object::new(json!({})));
                (write.key(), Content::Gone, object)
            }
            _ => {
                let intended = after(write, before);
                let real = made.map_or_else(|| value(before), |made| after(made, before));
                let difference = patch::between(&real, &intended).unwrap_or_else(|| json!({}));
                (write.key(), Content::Patched(difference), Object::new(intended))
            }
        };
        self.0.push(Belief { key, uid, subresource, content });
        expected
    }

    /// Forgets what a later write of the component replaces.
    pub(super) fn forget(&mut self, write: &Write) {
        let key = write.key();
        self.0.retain(|belief| {
            let is_replaced = match (&belief.content, &write.operation) {
                (Content::Patched(old), Operation::MergePatch(new)) => shares_a_leaf(old, new),
                (Content::Patched(_), _) => belief.subresource == write.subresource,
                (Content::Exists(_) | Content::Gone, _) => false,
            };
            belief.key != key || !is_replaced
        });
    }

    /// The cluster as the component believes it to be; `None` if that is the real one.
    pub(super) fn applied_to(&mut self, real: &View) -> Option<View> {
        self.0.retain(|belief| uid(real, &belief.key) == belief.uid);
        if self.0.is_empty() {
            return None;
        }
        let mut view = real.clone();
        for Belief { key, content, .. } in &self.0 {
            let known = view.get_key(key);
            let (kind, object) = match content {
                Content::Gone => (ChangeKind::Deleted, known.cloned()),
                Content::Exists(object) => (ChangeKind::Added, Some(object.clone())),
                Content::Patched(difference) => {
                    let mut object = value(known);
                    json_patch::merge(&mut object, difference);
                    (ChangeKind::Modified, known.map(|_| Object::new(object)))
                }
            };
            if let Some(object) = object {
                view.apply(&Change { kind, key: key.clone(), object, old: None });
            }
        }
        Some(view)
    }
}

fn uid(view: &View, key: &Key) -> String {
    view.get_key(key).map(|object| object.uid().to_owned()).unwrap_or_default()
}

fn value(object: Option<&Object>) -> Value {
    object.map_or_else(|| json!({}), Object::to_value)
}

/// The object after a write. A write of the status leaves everything else.
fn after(write: &Write, before: Option<&Object>) -> Value {
    let mut object = value(before);
    match &write.operation {
        Operation::Update(new) if write.subresource == Some("status") => {
            object["status"] = new["status"].clone();
        }
        Operation::Update(new) | Operation::Create(new) => object = new.clone(),
        Operation::MergePatch(patch) => json_patch::merge(&mut object, patch),
        Operation::JsonPatch(_) | Operation::Delete(_) => {}
    }
    object
}

/// An object that was not created, with a name and a uid as the API server gives them.
fn created(object: &Value, number: usize) -> Object {
    let mut object = object.clone();
    object["metadata"]["uid"] = json!(format!("forgotten-{number}"));
    if name_of(&object).is_empty() {
        let prefix = object["metadata"]["generateName"].as_str().unwrap_or_default();
        object["metadata"]["name"] = json!(format!("{prefix}{number}"));
    }
    Object::new(object)
}

/// Whether two merge patches set the same field.
fn shares_a_leaf(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.iter().any(|(key, value)| other.get(key).is_some_and(|new| shares_a_leaf(value, new)))
        }
        _ => true,
    }
}

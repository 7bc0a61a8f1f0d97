//! A new status built from references to existing values, and its difference from the old status as a JSON
//! patch. The status is large, and usually only one insight changes. Unchanged parts are neither copied nor
//! written.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// The fields that identify elements of a list; the first one present counts.
const KEYS: [&str; 3] = ["uid", "name", "type"];

/// The members of a map.
pub(in crate::controller) type Members<'a> = BTreeMap<&'a str, StatusDraft<'a>>;

/// A new value.
#[derive(Debug, Clone)]
pub(in crate::controller) enum StatusDraft<'a> {
    Value(Cow<'a, Value>),
    List(Vec<StatusDraft<'a>>),
    Map(Members<'a>),
}

impl<'a> From<&'a Value> for StatusDraft<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Value(Cow::Borrowed(value))
    }
}

impl From<Value> for StatusDraft<'_> {
    fn from(value: Value) -> Self {
        Self::Value(Cow::Owned(value))
    }
}

impl StatusDraft<'_> {
    /// Returns the JSON patch that turns `old` at this path into this value.
    pub(in crate::controller) fn changes(&self, path: &str, old: &Value) -> Vec<Value> {
        let mut operations = Vec::new();
        self.add_changes_at(|| path.to_owned(), old, &mut operations);
        operations
    }

    /// Returns a member that is a text.
    fn text(&self, name: &str) -> Option<&str> {
        match self {
            Self::Value(value) => value.get(name)?.as_str(),
            Self::List(_) => None,
            Self::Map(members) => match members.get(name)? {
                Self::Value(value) => value.as_str(),
                _ => None,
            },
        }
    }

    /// Returns a copy as JSON.
    pub(in crate::controller) fn value(&self) -> Value {
        match self {
            Self::Value(value) => value.clone().into_owned(),
            Self::List(items) => items.iter().map(Self::value).collect(),
            Self::Map(members) => {
                let members = members.iter().map(|(name, member)| ((*name).to_owned(), member.value()));
                Value::Object(members.collect())
            }
        }
    }

    fn add_changes(&self, path: &str, old: &Value, operations: &mut Vec<Value>) {
        if let Self::Value(new) = self
            && let Some(inner) = opened(new)
        {
            return inner.add_changes(path, old, operations);
        }
        match (old, self) {
            (Value::Object(old), Self::Map(new)) => of_members(path, old, new, operations),
            (Value::Array(old), Self::List(new)) if in_place(old, new) => {
                for (place, (was, is)) in old.iter().zip(new).enumerate() {
                    is.add_changes_at(|| format!("{path}/{place}"), was, operations);
                }
            }
            (Value::Array(old), Self::List(new)) if in_order(old, new) => {
                of_items(path, old, new, operations);
            }
            (Value::Null, _) => operations.push(json!({"op": "add", "path": path, "value": self.value()})),
            _ => operations.push(json!({"op": "replace", "path": path, "value": self.value()})),
        }
    }

    /// Like [`Self::add_changes`], but without building the path if nothing changed.
    fn add_changes_at(&self, path: impl FnOnce() -> String, old: &Value, operations: &mut Vec<Value>) {
        if !matches!(self, Self::Value(new) if **new == *old) {
            self.add_changes(&path(), old, operations);
        }
    }

    fn key(&self) -> Option<&str> {
        KEYS.iter().find_map(|name| self.text(name))
    }
}

/// Returns a map or a list as a draft of its parts.
fn opened(value: &Value) -> Option<StatusDraft<'_>> {
    match value {
        Value::Object(map) => {
            Some(StatusDraft::Map(map.iter().map(|(name, value)| (&**name, value.into())).collect()))
        }
        Value::Array(items) => Some(StatusDraft::List(items.iter().map(StatusDraft::from).collect())),
        _ => None,
    }
}

fn of_members(path: &str, old: &Map<String, Value>, new: &Members<'_>, operations: &mut Vec<Value>) {
    let below = |name: &str| format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
    for name in old.keys().filter(|name| !new.contains_key(name.as_str())) {
        operations.push(json!({"op": "remove", "path": below(name)}));
    }
    for (name, is) in new {
        is.add_changes_at(|| below(name), old.get(*name).unwrap_or(&Value::Null), operations);
    }
}

/// Removes deleted items first, then walks along the new list.
fn of_items(path: &str, old: &[Value], new: &[StatusDraft<'_>], operations: &mut Vec<Value>) {
    let keys: BTreeSet<Option<&str>> = new.iter().map(StatusDraft::key).collect();
    let mut left: Vec<&Value> = Vec::new();
    for item in old {
        if keys.contains(&key_of(item)) {
            left.push(item);
        } else {
            operations.push(json!({"op": "remove", "path": format!("{path}/{}", left.len())}));
        }
    }
    let mut left = left.into_iter().peekable();
    for (place, item) in new.iter().enumerate() {
        let was = left.next_if(|was| key_of(was) == item.key()).unwrap_or(&Value::Null);
        item.add_changes_at(|| format!("{path}/{place}"), was, operations);
    }
}

fn key_of(item: &Value) -> Option<&str> {
    KEYS.iter().find_map(|name| item.get(name)?.as_str())
}

/// Returns whether each item has the same key as the old item at its place. This is the usual case.
fn in_place(old: &[Value], new: &[StatusDraft<'_>]) -> bool {
    let mut pairs = old.iter().zip(new);
    old.len() == new.len() && pairs.all(|(was, is)| key_of(was).is_some_and(|key| is.key() == Some(key)))
}

/// Returns whether all items of both lists have unique keys, and the common ones are in the same order.
fn in_order(old: &[Value], new: &[StatusDraft<'_>]) -> bool {
    let were = old.iter().map(key_of).collect::<Option<BTreeSet<&str>>>();
    let are = new.iter().map(StatusDraft::key).collect::<Option<BTreeSet<&str>>>();
    let (Some(were), Some(are)) = (were, are) else { return false };
    let stayed = old.iter().filter_map(key_of).filter(|key| are.contains(key));
    let stay = new.iter().filter_map(StatusDraft::key).filter(|key| were.contains(key));
    were.len() == old.len() && are.len() == new.len() && stayed.eq(stay)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(old: &Value, new: &Value) -> Vec<String> {
        let operations = StatusDraft::from(new).changes("/status", old);
        let mut patched = json!({"status": old});
        let patch: json_patch::Patch = serde_json::from_value(json!(operations)).unwrap();
        json_patch::patch(&mut patched, &patch).unwrap();
        assert_eq!(patched["status"], *new);
        let text = |one: &Value| format!("{} {}", one["op"].as_str().unwrap(), one["path"].as_str().unwrap());
        operations.iter().map(text).collect()
    }

    #[test]
    fn writes_only_changes() {
        let insight = |uid: &str, text: &str| json!({"uid": uid, "health": {"text": text}});
        let status = |insights: &[Value]| json!({"informers": [{"name": "ni", "insights": insights}]});
        let (a, b, c) = (insight("a", "1"), insight("b", "1"), insight("c", "1"));
        let before = status(&[a.clone(), b.clone(), c.clone()]);
        assert!(paths(&before, &before).is_empty());
        let one = status(&[a.clone(), insight("b", "2"), c.clone()]);
        assert_eq!(paths(&before, &one), ["replace /status/informers/0/insights/1/health/text"]);
        let with_added_and_removed = status(&[b.clone(), insight("bb", "1"), c.clone(), insight("d", "1")]);
        let list = "/status/informers/0/insights";
        let operations = [format!("remove {list}/0"), format!("add {list}/1"), format!("add {list}/3")];
        assert_eq!(paths(&before, &with_added_and_removed), operations);
        assert_eq!(paths(&before, &status(&[c, b, a])), [format!("replace {list}")]);
    }

    #[test]
    fn adds_replaces_and_removes_members() {
        let before = json!({"a/b": 1, "c~": {"d": [1]}, "e": 1});
        let after = json!({"a/b": 2, "c~": {"d": [2]}, "f": []});
        let operations =
            ["remove /status/e", "replace /status/a~1b", "replace /status/c~0/d", "add /status/f"];
        assert_eq!(paths(&before, &after), operations);
        assert_eq!(paths(&json!(null), &after), ["add /status"]);
    }
}

//! `metadata.managedFields`: the owners of fields, with their operation and time.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::field_set::FieldSet;
use crate::store::Stored;

/// Maximum number of entries of updates (`DefaultMaxUpdateManagers`).
const UPDATES_MAX: usize = 10;
/// The manager of the merged entries that exceeded this limit.
const ANCIENT: &str = "ancient-changes";
/// The manager of fields that were there before owners were tracked.
pub(super) const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The operation by which a manager got its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Apply,
    Update,
}

/// The owner of fields. The version does not identify the owner of an apply: its next apply may use another
/// one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manager {
    pub(crate) name: String,
    pub(crate) operation: Operation,
    pub(crate) api_version: String,
    pub(crate) subresource: String,
}

/// The fields of one manager.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) manager: Manager,
    /// RFC 3339; `None` if the manager never changed anything.
    pub(crate) time: Option<String>,
    pub(crate) fields: FieldSet,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Managers(pub(super) Vec<Entry>);

impl Manager {
    fn is_same(&self, other: &Self) -> bool {
        let version = self.operation == Operation::Apply || self.api_version == other.api_version;
        version
            && self.operation == other.operation
            && self.name == other.name
            && self.subresource == other.subresource
    }
}

impl Managers {
    /// The entries of a stored object.
    pub(crate) fn stored(object: &Stored) -> Self {
        object.owners().and_then(|owners| Self::read((**owners).clone())).unwrap_or_default()
    }

    /// The entries that a new object provides.
    pub(crate) fn given(given: Option<Value>) -> Self {
        given.and_then(Self::read).unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries at the start of an update: those in the request if they are valid, else the stored ones.
    /// Clients that do not know the field omit it; a client that sends a single empty entry resets it.
    pub(crate) fn given_or_stored(given: Option<Value>, stored: &Stored, empty_list_resets: bool) -> Self {
        match given {
            Some(Value::Array(list)) if list.is_empty() && empty_list_resets => Self::default(),
            Some(Value::Array(list)) if list.len() == 1 && is_blank(&list[0]) => Self::default(),
            // Mostly they are sent back unchanged.
            Some(given) if stored.owners().is_some_and(|owners| **owners == given) => {
                Self::read(given).unwrap_or_default()
            }
            Some(given) => match Self::read(given) {
                Some(managers) if !managers.0.is_empty() => managers,
                _ => Self::stored(stored),
            },
            None => Self::stored(stored),
        }
    }

    fn read(list: Value) -> Option<Self> {
        let Value::Array(list) = list else { return None };
        let mut managers = Self::default();
        for entry in list {
            let entry = Entry::read(entry)?;
            match managers.position(&entry.manager) {
                // Of duplicates, the last one counts.
                Some(place) => managers.0[place] = entry,
                None => managers.0.push(entry),
            }
        }
        Some(managers)
    }

    /// The list for `metadata.managedFields`.
    pub(crate) fn into_value(mut self) -> Value {
        self.0.sort_by(|one, other| one.order().cmp(&other.order()));
        self.0.into_iter().map(Entry::into_value).collect()
    }

    pub(super) fn position(&self, manager: &Manager) -> Option<usize> {
        self.0.iter().position(|entry| entry.manager.is_same(manager))
    }

    /// Adds fields that an update changed.
    pub(super) fn add_update(&mut self, manager: Manager, fields: FieldSet, now: &str) {
        let time = Some(now.to_owned());
        match self.position(&manager) {
            Some(place) => {
                let entry = &mut self.0[place];
                entry.fields.add(fields);
                entry.time = time;
            }
            None => self.0.push(Entry { manager, time, fields }),
        }
    }

    /// Merges the oldest updates until there are no more than the maximum.
    pub(super) fn merge_oldest_updates(&mut self) {
        let is_update = |entry: &Entry| entry.manager.operation == Operation::Update;
        let mut length = self.0.iter().filter(|entry| is_update(entry)).count();
        if length <= UPDATES_MAX {
            return;
        }
        let (mut updates, rest): (Vec<Entry>, Vec<Entry>) =
            std::mem::take(&mut self.0).into_iter().partition(is_update);
        updates.sort_by(|one, other| one.age().cmp(&other.age()));
        self.0 = rest;
        // The oldest entry of each version, into which the next ones are merged.
        let mut first: BTreeMap<String, Entry> = BTreeMap::new();
        for entry in updates {
            let version = entry.manager.api_version.clone();
            if length <= UPDATES_MAX {
                self.0.push(entry);
            } else if let Some(bucket) = first.get_mut(&version) {
                ANCIENT.clone_into(&mut bucket.manager.name);
                bucket.manager.subresource.clear();
                bucket.fields.add(entry.fields);
                bucket.time = entry.time;
                length -= 1;
            } else {
                first.insert(version, entry);
            }
        }
        self.0.extend(first.into_values());
    }
}

fn is_blank(entry: &Value) -> bool {
    entry.as_object().is_some_and(|map| map.values().all(|value| value.is_null() || value == ""))
}

impl Entry {
    fn read(entry: Value) -> Option<Self> {
        let Value::Object(mut entry) = entry else { return None };
        let mut text = |name: &str| match entry.remove(name) {
            Some(Value::String(text)) => Some(text),
            None | Some(Value::Null) => Some(String::new()),
            Some(_) => None,
        };
        let operation = match text("operation")?.as_str() {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };
        let api_version = text("apiVersion").filter(|version| !version.is_empty())?;
        text("fieldsType").filter(|kind| kind == "FieldsV1")?;
        let manager =
            Manager { name: text("manager")?, operation, api_version, subresource: text("subresource")? };
        let time = text("time").map(|time| (!time.is_empty()).then_some(time))?;
        let fields = FieldSet::read(entry.remove("fieldsV1").unwrap_or_default())?;
        Some(Self { manager, time, fields })
    }

    fn into_value(self) -> Value {
        let Manager { name, operation, api_version, subresource } = self.manager;
        let operation = if operation == Operation::Apply { "Apply" } else { "Update" };
        let mut entry = Map::new();
        let mut put = |name: &str, value: Value| entry.insert(name.to_owned(), value);
        put("manager", json!(name));
        put("operation", json!(operation));
        put("apiVersion", json!(api_version));
        put("fieldsType", json!("FieldsV1"));
        put("fieldsV1", self.fields.into_value());
        if let Some(time) = self.time {
            put("time", json!(time));
        }
        if !subresource.is_empty() {
            put("subresource", json!(subresource));
        }
        Value::Object(entry)
    }

    /// The sort key: applies before updates, then by time. All times have one form, in which text order is
    /// time order.
    fn order(&self) -> (Operation, &str, &str, &str, &str) {
        let Manager { name, operation, api_version, subresource } = &self.manager;
        (*operation, self.time.as_deref().unwrap_or_default(), name, api_version, subresource)
    }

    fn age(&self) -> (&str, &str, &str, &str) {
        let Manager { name, api_version, subresource, .. } = &self.manager;
        (self.time.as_deref().unwrap_or_default(), name, api_version, subresource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(name: &str, time: &str, field: &str) -> Entry {
        Entry {
            manager: Manager {
                name: name.to_owned(),
                operation: Operation::Update,
                api_version: "v1".to_owned(),
                subresource: String::new(),
            },
            time: Some(time.to_owned()),
            fields: FieldSet::of_names(&[&[field]]),
        }
    }

    #[test]
    fn more_than_ten_updates_are_merged_starting_with_the_oldest() {
        let entry = |number: usize| {
            update(&format!("m{number:02}"), &format!("2024-01-01T00:00:{number:02}Z"), &format!("x{number}"))
        };
        let mut managers = Managers((0..12).map(entry).collect());
        managers.merge_oldest_updates();
        assert_eq!(managers.0.len(), UPDATES_MAX);
        let ancient = managers.0.iter().find(|entry| entry.manager.name == ANCIENT).unwrap();
        assert_eq!(ancient.fields.paths(), [".x0", ".x1", ".x2"]);
        assert_eq!(ancient.time.as_deref(), Some("2024-01-01T00:00:02Z"));
    }

    #[test]
    fn a_client_can_omit_change_or_reset_the_entries() {
        let list = |name: &str| Managers(vec![update(name, "2024-01-01T00:00:00Z", "a")]).into_value();
        let stored = Stored::split(json!({ "metadata": { "managedFields": list("one") } }));
        let from =
            |given: Option<Value>, empty| Managers::given_or_stored(given, &stored, empty).into_value();
        assert_eq!(from(None, true), list("one"));
        assert_eq!(from(Some(list("two")), true), list("two"));
        assert_eq!(from(Some(json!([{}])), false), json!([]));
        assert_eq!(from(Some(json!([])), true), json!([]));
        assert_eq!(from(Some(json!([])), false), list("one"));
        assert_eq!(from(Some(json!([{ "operation": "Frob" }])), true), list("one"));
    }
}

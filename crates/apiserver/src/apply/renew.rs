//! The shortcut for the most common write: a manager only changes values that it alone owns. Then the owners
//! stay the same and only the time of the entry changes, so no field sets need to be built.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::keyed::keyed_element;
use super::shape::{Form, Keys, ListMerge, Member, Shape};
use super::tracker::{Tracker, UNOWNED};
use crate::apply::typed;
use crate::delta::Delta;
use crate::field_set::element;
use crate::field_set::set::{Tree, child, is_member};

/// The path from the root, or from an element of a list, to a value: field names, linked from the last one.
#[derive(Debug, Clone, Copy)]
struct FieldPath<'a> {
    name: &'a str,
    before: Option<&'a FieldPath<'a>>,
}

/// Compares an object, or an element of a list, with its previous value.
#[derive(Debug)]
struct Walk<'a> {
    mine: Option<&'a Tree>,
    others: Vec<&'a Tree>,
    changed: bool,
}

/// A changed value, with its previous value.
#[derive(Clone, Copy)]
struct Pair<'v, 's> {
    old: &'v Value,
    new: &'v Value,
    delta: &'v Delta,
    shape: Shape<'s>,
}

/// The shortcut cannot determine the owners.
struct NeedsFullUpdate;

impl Tracker<'_> {
    /// The entries after an update from `old`, whose entries are `stored`, to `new`; mostly they are the
    /// same. `None` if only [`Tracker::update`] can determine them. `reconciled` means that the entries are
    /// known to match the current schema.
    pub(crate) fn shortcut_update<'e>(
        &self,
        old: &Value,
        new: &Value,
        delta: &Delta,
        stored: &'e [Value],
        reconciled: bool,
    ) -> Option<Cow<'e, [Value]>> {
        let shape = self.versions.shape();
        let trees = stored.iter().map(|entry| {
            // An entry without fields, which a client wrote, is about to be removed.
            let fields = entry.get("fieldsV1")?.as_object().filter(|fields| !fields.is_empty())?;
            let clear = reconciled || typed::is_reconciled(fields, shape);
            (self.versions.is_own(text_of(entry, "apiVersion")) && clear).then_some(fields)
        });
        let mut others: Vec<&Tree> = trees.collect::<Option<_>>()?;
        if has_repeated_managers(stored) {
            return None;
        }
        if !reconciled {
            self.check_comparable(new).and_then(|()| self.check_comparable(old)).ok()?;
        }
        let place = stored.iter().position(|entry| self.is_updaters(entry));
        let mut walk = Walk { mine: place.map(|place| others.remove(place)), others, changed: false };
        walk.members(Pair { old, new, delta, shape }, None, &[&self.reset.0, &UNOWNED.0]).ok()?;
        // Further writes within the same second do not change the time.
        if !walk.changed || stored[place?]["time"] == *self.now {
            return Some(Cow::Borrowed(stored));
        }
        let mut entries = stored.to_vec();
        entries[place?]["time"] = Value::String(self.now.clone());
        entries.sort_by(order);
        Some(Cow::Owned(entries))
    }

    /// Whether an entry is that of this manager's updates.
    fn is_updaters(&self, entry: &Value) -> bool {
        text_of(entry, "operation") == "Update"
            && text_of(entry, "manager") == self.manager_name()
            && text_of(entry, "subresource") == self.subresource
    }
}

/// Whether a manager has two entries. Only a write of a scale leads to that, and its entries have no time.
fn has_repeated_managers(entries: &[Value]) -> bool {
    const MANAGER: [&str; 4] = ["manager", "operation", "apiVersion", "subresource"];
    let is_same = |one: &Value, other: &Value| MANAGER.iter().all(|field| one.get(field) == other.get(field));
    let mut untimed = entries.iter().filter(|entry| entry.get("time").is_none());
    untimed.any(|entry| entries.iter().filter(|other| is_same(entry, other)).count() > 1)
}

fn text_of<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry[field].as_str().unwrap_or_default()
}

/// The order of entries in `Managers`. Conveniently, `Apply` precedes `Update` alphabetically as well.
fn order(left: &Value, right: &Value) -> Ordering {
    let by = |field: &str| text_of(left, field).cmp(text_of(right, field));
    by("operation").then_with(|| by("time")).then_with(|| by("manager")).then_with(|| by("subresource"))
}

impl<'a> Walk<'a> {
    fn value(
        &mut self,
        pair: Pair<'_, '_>,
        path: &FieldPath<'_>,
        skipped: &[&Tree],
    ) -> Result<(), NeedsFullUpdate> {
        let Pair { old, new, shape, .. } = pair;
        match (shape.form(Some(old)), shape.form(Some(new)), old, new) {
            (
                Form::Map { atomic: false },
                Form::Map { atomic: false },
                Value::Object(_),
                Value::Object(_),
            ) => self.members(pair, Some(path), skipped),
            (Form::List(ListMerge::Map(keys), inner), _, Value::Array(old), Value::Array(new)) => {
                self.items(old, new, pair.delta, keys, inner, path)
            }
            (Form::List(ListMerge::Set, _), ..) => Err(NeedsFullUpdate),
            (was, is, ..) if is_leaf(was) && is_leaf(is) => self.leaf(path),
            _ => Err(NeedsFullUpdate),
        }
    }

    /// Compares the fields of a map, except for `skipped` fields, which have no owners.
    fn members(
        &mut self,
        pair: Pair<'_, '_>,
        path: Option<&FieldPath<'_>>,
        skipped: &[&Tree],
    ) -> Result<(), NeedsFullUpdate> {
        let (Value::Object(old), Value::Object(new)) = (pair.old, pair.new) else {
            return Err(NeedsFullUpdate);
        };
        let Delta::Within { same_names, inner } = pair.delta else {
            return if pair.delta.is_same() { Ok(()) } else { Err(NeedsFullUpdate) };
        };
        if !same_names && !have_same_names(old, new, skipped) {
            return Err(NeedsFullUpdate);
        }
        for ((name, new), delta) in new.iter().zip(inner).filter(|(_, delta)| !delta.is_same()) {
            let field = if skipped.is_empty() { String::new() } else { element::field(name) };
            if is_skipped(&field, skipped) {
                // A list in it may have elements that its keys do not identify, which costs all owners.
                if path.is_none() && matches!(&**name, "spec" | "status") {
                    return Err(NeedsFullUpdate);
                }
                continue;
            }
            let old = old.get(name).ok_or(NeedsFullUpdate)?;
            let shape = match pair.shape.member(name) {
                Member::Declared(inner) | Member::Key(inner) => inner,
                Member::Unknown => Shape::Deduced,
            };
            let path = FieldPath { name, before: path };
            let below: Vec<&Tree> = skipped.iter().filter_map(|tree| child(tree, &field)).collect();
            self.value(Pair { old, new, delta, shape }, &path, &below)?;
        }
        Ok(())
    }

    /// Compares the elements of a list with keys.
    fn items(
        &mut self,
        old: &[Value],
        new: &[Value],
        delta: &Delta,
        keys: Keys<'_>,
        shape: Shape<'_>,
        path: &FieldPath<'_>,
    ) -> Result<(), NeedsFullUpdate> {
        let Delta::Within { inner, .. } = delta else { return Err(NeedsFullUpdate) };
        if !are_distinct(old, keys) {
            return Err(NeedsFullUpdate);
        }
        let list = self.at(|tree| path.node(tree));
        let pairs = old.iter().zip(new).zip(inner).filter(|(_, delta)| !delta.is_same());
        for ((old, new), delta) in pairs {
            let maps =
                [old, new].iter().all(|item| matches!(shape.form(Some(item)), Form::Map { atomic: false }));
            if !maps || !keys.names().all(|key| old.get(key) == new.get(key)) {
                return Err(NeedsFullUpdate);
            }
            let element = keyed_element(new, keys).map_err(|_| NeedsFullUpdate)?;
            let mut item = list.at(|tree| child(tree, &element));
            item.members(Pair { old, new, delta, shape }, None, &[])?;
            self.changed |= item.changed;
        }
        Ok(())
    }

    /// The same owners at a place further down.
    fn at(&self, down: impl Fn(&'a Tree) -> Option<&'a Tree>) -> Self {
        let others = self.others.iter().copied().filter_map(&down).collect();
        Self { mine: self.mine.and_then(&down), others, changed: false }
    }

    /// A changed value must be owned by this manager, and by nobody else.
    fn leaf(&mut self, path: &FieldPath<'_>) -> Result<(), NeedsFullUpdate> {
        self.changed = true;
        let mine = self.mine.is_some_and(|tree| path.is_member(tree));
        if mine && !self.others.iter().any(|tree| path.is_member(tree)) {
            Ok(())
        } else {
            Err(NeedsFullUpdate)
        }
    }
}

impl FieldPath<'_> {
    /// Whether a set contains the value at the end of the path.
    fn is_member(&self, tree: &Tree) -> bool {
        self.node(tree).is_some_and(is_member)
    }

    fn node<'t>(&self, tree: &'t Tree) -> Option<&'t Tree> {
        let parent = match self.before {
            Some(before) => before.node(tree)?,
            None => tree,
        };
        child(parent, &element::field(self.name))
    }
}

/// Whether all elements of a list have different keys, as far as a single string key decides it.
fn are_distinct(items: &[Value], keys: Keys<'_>) -> bool {
    let (1, Some(key)) = (keys.count(), keys.names().next()) else { return false };
    let texts: Option<Vec<&str>> = items.iter().map(|item| item.get(key)?.as_str()).collect();
    texts.is_some_and(|mut texts| {
        texts.sort_unstable();
        texts.is_sorted_by(|text, next| text < next)
    })
}

fn is_leaf(form: Form<'_>) -> bool {
    matches!(form, Form::Scalar(_) | Form::List(ListMerge::Atomic, _) | Form::Map { atomic: true })
}

/// Whether two maps have the same names, ignoring skipped fields.
fn have_same_names(old: &Map<String, Value>, new: &Map<String, Value>, skipped: &[&Tree]) -> bool {
    let asked = |name: &&String| !is_skipped(&element::field(name), skipped);
    !skipped.is_empty() && old.keys().filter(asked).eq(new.keys().filter(asked))
}

/// Whether one of these trees contains a whole field.
fn is_skipped(field: &str, skipped: &[&Tree]) -> bool {
    skipped.iter().any(|tree| child(tree, field).is_some_and(Map::is_empty))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Versions;
    use super::*;
    use crate::field_set::FieldSet;
    use crate::kinds::builtin;

    #[test]
    fn only_changes_of_values_that_the_manager_alone_owns_take_the_shortcut() {
        let kinds = builtin::all(|| 0);
        let kind = kinds.iter().find(|kind| kind.is_resource("", "configmaps")).unwrap();
        let tracker = Tracker {
            versions: Versions::new(&[], kind, 36),
            name: Cow::Borrowed("me"),
            subresource: "",
            reset: Cow::Owned(FieldSet::default()),
            now: "2024-01-02T00:00:00Z".to_owned(),
        };
        let entry = |manager: &str, time: &str, field: &str| {
            json!({ "manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                "time": time, "fieldsV1": { "f:data": { ".": {}, (field): {} } } })
        };
        let stored =
            [entry("me", "2024-01-01T00:00:00Z", "f:a"), entry("you", "2024-01-01T01:00:00Z", "f:b")];
        let map = |data: Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": data });
        let old = map(json!({ "a": "1", "b": "2" }));
        let renewed = |data: Value| {
            let new = map(data);
            tracker.shortcut_update(&old, &new, &Delta::between(&old, &new), &stored, false)
        };
        assert_eq!(renewed(json!({ "a": "1", "b": "2" })), Some(Cow::Borrowed(&stored[..])));
        let later = entry("me", "2024-01-02T00:00:00Z", "f:a");
        assert_eq!(renewed(json!({ "a": "9", "b": "2" })), Some(Cow::Owned(vec![stored[1].clone(), later])));
        for unclear in
            [json!({ "a": "1", "b": "9" }), json!({ "a": "1", "b": "2", "c": "3" }), json!({ "a": "1" })]
        {
            assert_eq!(renewed(unclear), None);
        }
    }
}

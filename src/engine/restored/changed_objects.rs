//! The objects in which two clusters differ.

use std::collections::BTreeSet;

use windtunnel_core::Key;

use super::contents::{Content, Contents, object_name};
use super::difference::{Difference, differences};

/// An object in which one cluster differs from another.
pub(in crate::engine) struct ChangedObject<'c> {
    pub(in crate::engine) key: &'c Key,
    pub(in crate::engine) kind: &'c str,
    pub(in crate::engine) change: ObjectChange<'c>,
}

/// How an object of one cluster differs from that of another.
pub(in crate::engine) enum ObjectChange<'c> {
    /// It is missing.
    Missing,
    /// Only this cluster has it.
    New(&'c Content),
    /// These fields differ; never empty.
    Fields(Vec<Difference>),
}

/// The objects in which a cluster differs from an earlier or another one, in order of their keys.
pub(in crate::engine) fn changed_objects<'c>(
    before: &'c Contents,
    now: &'c Contents,
) -> impl Iterator<Item = ChangedObject<'c>> {
    let keys: BTreeSet<&Key> = before.iter().chain(now.iter()).map(|(key, _)| key).collect();
    keys.into_iter().filter_map(|key| {
        let (kind, change) = match (before.get(key), now.get(key)) {
            (Some(one), Some(other)) => {
                let fields = differences(&one.kind, &one.value, &other.value);
                if fields.is_empty() {
                    return None;
                }
                (&one.kind, ObjectChange::Fields(fields))
            }
            (Some(one), None) => (&one.kind, ObjectChange::Missing),
            (None, new) => (&new?.kind, ObjectChange::New(new?)),
        };
        Some(ChangedObject { key, kind, change })
    })
}

impl ChangedObject<'_> {
    /// `Kind/name` or `Kind/namespace/name` of the object.
    pub(in crate::engine) fn name(&self) -> String {
        object_name(self.kind, self.key)
    }

    /// The first difference in words. `cause` is what the other cluster was without, such as `the restart`.
    pub(in crate::engine) fn text(&self, cause: &str) -> String {
        let name = self.name();
        let fields = match &self.change {
            ObjectChange::Missing => return format!("{name} is missing, and is there without {cause}"),
            ObjectChange::New(_) => return format!("{name} is there, and is missing without {cause}"),
            ObjectChange::Fields(fields) => fields,
        };
        match fields.as_slice() {
            [first, ..] if first.is_hidden() => {
                format!("{name}: {} differs from that without {cause}", first.field)
            }
            [first, ..] => {
                format!("{name}: {} is {}, and {} without {cause}", first.field, first.after, first.before)
            }
            [] => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::resources::NODES;
    use windtunnel_core::{Change, ChangeKind, Object, View};

    use super::*;

    #[test]
    fn a_difference_names_its_field() {
        let contents = |list: Value| {
            let object = Object::new(json!({ "kind": "Node", "metadata": { "name": "w" }, "list": list }));
            let mut view = View::default();
            view.apply(&Change { key: NODES.key("", "w"), kind: ChangeKind::Added, object, old: None });
            Contents::of(&view, &[])
        };
        let first = |one: &Contents, other: &Contents| {
            changed_objects(one, other).next().map(|object| object.text("the restart"))
        };
        let one = contents(json!([{ "b": 1 }, { "b": 2 }]));
        let other = contents(json!([{ "b": 1 }, { "b": 3 }]));
        assert_eq!(first(&one, &one), None);
        let text = "Node/w: list[1].b is 3, and 2 without the restart";
        assert_eq!(first(&one, &other).as_deref(), Some(text));
        let text = "Node/w is missing, and is there without the restart";
        assert_eq!(first(&one, &Contents::default()).as_deref(), Some(text));
    }
}

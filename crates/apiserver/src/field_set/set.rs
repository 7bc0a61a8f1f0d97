//! Sets of fields, in the form of `metadata.managedFields` (`FieldsV1`).
//!
//! A set is a tree of path elements. A node without children is a member; a node with children is a member if
//! it has `.`. This is the JSON form itself, so that stored sets can be changed without decoding. The root is
//! never a member: nobody owns a whole object.

use serde_json::{Map, Value};

use crate::field_set::element;

/// The key that marks a node with children as a member.
const SELF: &str = ".";

/// A tree of path elements.
pub(crate) type Tree = Map<String, Value>;

/// A set of fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FieldSet(pub(crate) Tree);

/// The node of a path element, under construction.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) member: bool,
    pub(crate) below: Tree,
}

impl Node {
    /// Adds the node to the tree of its parent, unless it is empty.
    pub(crate) fn attach(mut self, element: String, parent: &mut Tree) {
        if self.below.is_empty() && !self.member {
            return;
        }
        if self.member && !self.below.is_empty() {
            self.below.insert(SELF.to_owned(), Value::Object(Map::new()));
        }
        parent.insert(element, Value::Object(self.below));
    }
}

impl FieldSet {
    /// The set of the given paths of field names.
    pub(crate) fn of_names(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let mut names = path.iter().rev();
            let Some(last) = names.next() else { continue };
            let mut tree = Map::new();
            Node { member: true, below: Map::new() }.attach(element::field(last), &mut tree);
            for name in names {
                tree = Map::from_iter([(element::field(name), Value::Object(tree))]);
            }
            union(&mut set.0, tree);
        }
        set
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the members of `other`.
    pub(crate) fn add(&mut self, other: Self) {
        union(&mut self.0, other.0);
    }

    /// Removes the members of `other`; fields below them stay.
    pub(crate) fn subtract(&mut self, other: &Self) {
        subtract(&mut self.0, &other.0, false);
    }

    /// Removes the members of `other` and everything below them.
    pub(crate) fn subtract_with_children(&mut self, other: &Self) {
        subtract(&mut self.0, &other.0, true);
    }

    /// The members of both sets.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        Self(intersection(&self.0, &other.0))
    }

    /// The members as text (`.spec.list[name="x"]`), in the order of `Set.Iterate`: each level before the
    /// level below it.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        collect(&self.0, "", &mut paths);
        paths
    }

    /// The set as `FieldsV1`.
    pub(crate) fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// Parses `FieldsV1` from a client. Path elements are converted to the form that this server writes;
    /// those of an unknown kind are ignored.
    pub(crate) fn read(value: Value) -> Option<Self> {
        match value {
            Value::Null => Some(Self::default()),
            Value::Object(tree) => read(tree).map(|node| Self(node.below)),
            _ => None,
        }
    }
}

pub(crate) fn is_member(node: &Tree) -> bool {
    node.is_empty() || node.contains_key(SELF)
}

/// The children of a tree, with their nodes.
pub(crate) fn children(tree: &Tree) -> impl Iterator<Item = (&String, &Tree)> {
    tree.iter()
        .filter(|(element, _)| *element != SELF)
        .filter_map(|(element, node)| Some((element, node.as_object()?)))
}

pub(crate) fn child<'a>(tree: &'a Tree, element: &str) -> Option<&'a Tree> {
    tree.get(element)?.as_object()
}

fn union(tree: &mut Tree, other: Tree) {
    for (element, added) in other {
        if element == SELF {
            continue;
        }
        match (tree.get_mut(&element), added) {
            (Some(Value::Object(node)), Value::Object(added)) => {
                let member = is_member(node) || is_member(&added);
                node.remove(SELF);
                union(node, added);
                if member && !node.is_empty() {
                    node.insert(SELF.to_owned(), Value::Object(Map::new()));
                }
            }
            (_, added) => {
                tree.insert(element, added);
            }
        }
    }
}

fn subtract(tree: &mut Tree, other: &Tree, recursively: bool) {
    for (element, gone) in children(other) {
        let Some(Value::Object(node)) = tree.get_mut(element) else { continue };
        if recursively && is_member(gone) {
            tree.remove(element);
            continue;
        }
        let member = is_member(node) && !is_member(gone);
        node.remove(SELF);
        subtract(node, gone, recursively);
        match (node.is_empty(), member) {
            (true, false) => {
                tree.remove(element);
            }
            (false, true) => {
                node.insert(SELF.to_owned(), Value::Object(Map::new()));
            }
            _ => {}
        }
    }
}

fn intersection(left: &Tree, right: &Tree) -> Tree {
    let mut both = Map::new();
    for (element, node) in children(left) {
        if let Some(found) = child(right, element) {
            let member = is_member(node) && is_member(found);
            Node { member, below: intersection(node, found) }.attach(element.clone(), &mut both);
        }
    }
    both
}

fn collect(tree: &Tree, prefix: &str, paths: &mut Vec<String>) {
    let path = |element: &str| format!("{prefix}{}", element::text(element));
    paths.extend(children(tree).filter(|(_, node)| is_member(node)).map(|(element, _)| path(element)));
    for (element, node) in children(tree) {
        collect(node, &path(element), paths);
    }
}

fn read(tree: Tree) -> Option<Node> {
    let mut node = Node { member: tree.is_empty(), below: Map::new() };
    for (key, value) in tree {
        let Value::Object(below) = value else { return None };
        if key == SELF {
            node.member = true;
            continue;
        }
        match element::canonical(&key) {
            element::ParsedElement::Known(key) => read(below)?.attach(key, &mut node.below),
            element::ParsedElement::Unknown => {}
            element::ParsedElement::Wrong => return None,
        }
    }
    Some(node)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(value: Value) -> FieldSet {
        FieldSet::read(value).unwrap()
    }

    #[test]
    fn sets_add_subtract_and_intersect_member_by_member() {
        let one = json!({ "f:a": { ".": {}, "f:b": {}, "f:c": {} }, "f:d": {} });
        let other = json!({ "f:a": { "f:b": {}, "f:x": {} }, "f:e": {} });
        let mut sum = set(one.clone());
        sum.add(set(other.clone()));
        let all = json!({ "f:a": { ".": {}, "f:b": {}, "f:c": {}, "f:x": {} }, "f:d": {}, "f:e": {} });
        assert_eq!(sum.into_value(), all);
        let mut rest = set(one.clone());
        rest.subtract(&set(other.clone()));
        assert_eq!(rest.into_value(), json!({ "f:a": { ".": {}, "f:c": {} }, "f:d": {} }));
        assert_eq!(set(one).intersection(&set(other)).into_value(), json!({ "f:a": { "f:b": {} } }));
    }

    #[test]
    fn a_member_that_loses_its_children_stays_and_other_nodes_are_removed() {
        let mut owned = set(json!({ "f:a": { ".": {}, "f:b": {} }, "f:c": { "f:d": {} } }));
        owned.subtract(&set(json!({ "f:a": { "f:b": {} }, "f:c": { "f:d": {} } })));
        assert_eq!(owned.into_value(), json!({ "f:a": {} }));
        let mut parent = set(json!({ "f:a": { ".": {}, "f:b": {} } }));
        parent.subtract(&set(json!({ "f:a": {} })));
        assert_eq!(parent.clone().into_value(), json!({ "f:a": { "f:b": {} } }));
        parent.subtract_with_children(&set(json!({ "f:a": {} })));
        assert!(parent.is_empty());
    }

    #[test]
    fn paths_print_like_in_conflicts() {
        let owned = set(json!({
            "f:l": { "k:{\"b\": 1, \"a\": \"x\"}": { "f:v": {} } }, "f:s": { "v:\"y\"": {} }, "f:z": {}, "q:": {} }));
        assert_eq!(owned.paths(), [".z", ".l[a=\"x\",b=1].v", ".s[=\"y\"]"]);
        assert_eq!(FieldSet::read(json!({ "f:a": 1 })), None);
        assert_eq!(FieldSet::read(json!({ "k:no": {} })), None);
    }
}

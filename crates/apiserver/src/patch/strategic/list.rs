//! Lists in strategic merge patches: sets of scalars, objects with a merge key, and the order of the result.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{At, Change, DIRECTIVE, merge_map, unknown_directive, without_directives};
use crate::facts::{FieldKind, PatchMerge};
use crate::gotext;
use crate::rejection::{BoxedRejection, Outcome};

/// Merges the list of a patch into the original list by the strategy of the field. A deletion merges lists of any strategy.
pub(super) fn merge(
    original: Vec<Value>,
    patch: Vec<Value>,
    kind: Option<&'static FieldKind>,
    how: PatchMerge,
    change: Change,
) -> Outcome<Vec<Value>> {
    let key = match how {
        PatchMerge::MergeBy(key) => key,
        PatchMerge::Default | PatchMerge::Replace if change == Change::Merge => return Ok(patch),
        PatchMerge::Default | PatchMerge::Replace | PatchMerge::Merge => "",
    };
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    let objects = are_objects(&original, &patch)?;
    if !objects && change == Change::Deletion {
        return Ok(original.into_iter().filter(|item| !patch.contains(item)).collect());
    }
    if !objects {
        let mut seen = BTreeSet::new();
        let all = original.iter().chain(&patch).filter(|item| seen.insert(item.to_string()));
        return ordered(all.cloned().collect(), &patch, &original, "");
    }
    if key.is_empty() {
        return Err(BoxedRejection::internal("cannot merge lists without merge key for struct"));
    }
    let (original, patch) = directives(original, patch, key)?;
    let merged = merge_objects(original.clone(), &patch, key, element(kind))?;
    ordered(merged, &patch, &original, key)
}

/// Merges two lists, and orders the result by `$setElementOrder`.
pub(super) fn merge_in_order(
    current: Option<Vec<Value>>,
    change: Option<Vec<Value>>,
    order: &[Value],
    kind: Option<&'static FieldKind>,
    how: PatchMerge,
) -> Outcome<Vec<Value>> {
    let key = if let PatchMerge::MergeBy(key) = how { key } else { "" };
    check_order(change.as_deref().unwrap_or_default(), order, key)?;
    let server = current.clone().unwrap_or_default();
    if server.is_empty() && change.as_ref().is_none_or(Vec::is_empty) {
        return Err(BoxedRejection::internal("no elements in any of the given slices"));
    }
    are_objects(&server, change.as_deref().unwrap_or_default())?;
    let merged = match (current, change) {
        (Some(current), Some(change)) => merge(current, change, kind, how, Change::Merge)?,
        (Some(items), None) => items,
        (None, Some(items)) => items.into_iter().filter_map(without_directives).collect(),
        (None, None) => Vec::new(),
    };
    ordered(merged, order, &server, key)
}

fn element(kind: Option<&'static FieldKind>) -> At {
    match kind {
        Some(FieldKind::List(inside)) => At::for_kind(Some(inside)),
        _ => At::Unknown,
    }
}

/// Whether the elements are objects. Rejects lists with elements of different types, and lists of lists.
fn are_objects(original: &[Value], patch: &[Value]) -> Outcome<bool> {
    let mut elements = original.iter().chain(patch);
    let Some(first) = elements.next() else { return Ok(false) };
    if first.is_array() {
        return Err(BoxedRejection::unprocessable());
    }
    if elements.any(|item| gotext::type_name(item) != gotext::type_name(first)) {
        let lists = [gotext::plain_list(original), gotext::plain_list(patch)].join(" ");
        return Err(BoxedRejection::internal(format!("list element types are not identical: [{lists}]")));
    }
    Ok(first.is_object())
}

/// Applies the directives among the elements of a patch. Returns the original list and the remaining elements of the patch.
fn directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &'static str,
) -> Outcome<(Vec<Value>, Vec<Value>)> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut deleted = BTreeSet::new();
    let mut replaces = false;
    for item in patch {
        let Value::Object(map) = &item else { continue };
        let Some(directive) = map.get(DIRECTIVE) else {
            plain.push(item);
            continue;
        };
        match directive.as_str().unwrap_or_default() {
            "delete" => {
                let value = map.get(key).ok_or_else(|| no_key(map, key))?;
                deleted.insert(value.to_string());
            }
            "replace" => replaces = true,
            "merge" => {
                return Err(BoxedRejection::internal("merging lists cannot yet be specified in the patch"));
            }
            _ => return Err(unknown_directive(map)),
        }
    }
    if !deleted.is_empty() {
        original.retain(|item| item.get(key).is_none_or(|value| !deleted.contains(&value.to_string())));
    }
    Ok(if replaces { (plain, Vec::new()) } else { (original, plain) })
}

fn merge_objects(mut list: Vec<Value>, patch: &[Value], key: &'static str, at: At) -> Outcome<Vec<Value>> {
    let mut positions = Positions::index(&list, key);
    for item in patch {
        let Value::Object(map) = item else { continue };
        map.get(key).ok_or_else(|| no_key(map, key))?;
        match positions.find(item, key).and_then(|position| list.get_mut(position)) {
            Some(Value::Object(found)) => merge_map(found, map.clone(), at)?,
            _ => {
                positions.add(item, key, list.len());
                list.push(item.clone());
            }
        }
    }
    Ok(list)
}

/// The positions of elements, by the text of their key or of the whole element. An index, because clients may send long
/// lists.
struct Positions(BTreeMap<String, usize>);

impl Positions {
    fn index(list: &[Value], key: &str) -> Self {
        let mut positions = Self(BTreeMap::new());
        list.iter().enumerate().for_each(|(position, item)| positions.add(item, key, position));
        positions
    }

    fn add(&mut self, item: &Value, key: &str, position: usize) {
        if let Some(identity) = identity(item, key) {
            self.0.entry(identity).or_insert(position);
        }
    }

    fn find(&self, item: &Value, key: &str) -> Option<usize> {
        self.0.get(&identity(item, key)?).copied()
    }
}

fn identity(item: &Value, key: &str) -> Option<String> {
    if key.is_empty() { Some(item.to_string()) } else { item.get(key).map(Value::to_string) }
}

/// Orders a merged list: elements in `order` follow that order, the others keep the order of the server's list. An element
/// that is not in `order` comes before one that is only if it did so in the server's list.
fn ordered(merged: Vec<Value>, order: &[Value], server: &[Value], key: &'static str) -> Outcome<Vec<Value>> {
    if !key.is_empty() {
        for item in merged.iter().chain(order) {
            let map = item.as_object().ok_or_else(|| wrong_type(&Value::Object(Map::new()), item))?;
            map.get(key).ok_or_else(|| no_key(map, key))?;
        }
    }
    let (order, server) = (Positions::index(order, key), Positions::index(server, key));
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let before = server.find(&item, key);
        match order.find(&item, key) {
            Some(position) => named.push((position, before, item)),
            None => others.push((before, item)),
        }
    }
    named.sort_by_key(|(position, ..)| *position);
    others.sort_by_key(|(before, _)| *before);
    let mut out = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    while let (Some((left, _)), Some((_, right, _))) = (others.peek(), named.peek()) {
        let first = matches!((left, right), (Some(left), Some(right)) if left < right);
        out.extend(if first {
            others.next().map(|(_, item)| item)
        } else {
            named.next().map(|(.., item)| item)
        });
    }
    out.extend(others.map(|(_, item)| item));
    out.extend(named.map(|(.., item)| item));
    Ok(out)
}

fn is_same_element(left: &Value, right: &Value, key: &str) -> bool {
    if key.is_empty() { left == right } else { left.get(key).is_some() && left.get(key) == right.get(key) }
}

/// Checks that `$setElementOrder` has all elements of the patch, in the same order.
fn check_order(patch: &[Value], order: &[Value], key: &'static str) -> Outcome<()> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut rest = order.iter();
    for item in patch.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        if !key.is_empty() {
            let map = item.as_object().ok_or_else(|| wrong_type(&Value::Object(Map::new()), item))?;
            map.get(key).ok_or_else(|| no_key(map, key))?;
        }
        if !rest.any(|other| is_same_element(item, other, key)) {
            return Err(BoxedRejection::internal(format!(
                "The order in patch list:\n{}\n doesn't match {} list:\n{}\n",
                gotext::plain_list(patch),
                super::SET_ORDER,
                gotext::plain_list(order)
            )));
        }
    }
    Ok(())
}

fn no_key(map: &Map<String, Value>, key: &str) -> BoxedRejection {
    let map = gotext::plain_map(map);
    BoxedRejection::internal(format!("map: {map} does not contain declared merge key: {key}"))
}

pub(super) fn wrong_type(expected: &Value, found: &Value) -> BoxedRejection {
    let (expected, found) = (gotext::type_name(expected), gotext::type_name(found));
    BoxedRejection::internal(format!("expected a {expected}, but received a {found}"))
}

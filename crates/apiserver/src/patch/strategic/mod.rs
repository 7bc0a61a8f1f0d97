//! Strategic merge patches: merge patches that merge the lists of built-in kinds by a key.
//!
//! Follows `k8s.io/apimachinery/pkg/util/strategicpatch`. The strategies and keys of lists come from
//! [`facts`](crate::facts).

mod list;

use serde_json::{Map, Value};

use crate::facts::{FieldKind, PatchMerge, Scalar, TypeId, types};
use crate::gotext;
use crate::kinds::{Kind, strategy};
use crate::rejection::{BoxedRejection, Outcome};

/// The directive for the map or list that contains it: `delete`, `replace` or `merge`.
const DIRECTIVE: &str = "$patch";
/// The directive with the fields to keep; all others are removed.
const RETAIN_KEYS: &str = "$retainKeys";
/// The prefix, before `/` and the name of a list of scalars, of the elements to remove from it.
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
/// The prefix, before `/` and the name of a list, of the order of its elements.
const SET_ORDER: &str = "$setElementOrder";

/// Applies a patch to an object of a built-in kind.
pub(crate) fn apply(patch: Map<String, Value>, old: &Value, kind: &Kind) -> Outcome<Value> {
    let resource = &kind.resource;
    let root = types().find(&resource.group, &resource.version, &resource.kind);
    let mut object = old.as_object().cloned().unwrap_or_default();
    merge_map(&mut object, patch, root.map_or(At::Unknown, At::Struct))?;
    Ok(Value::Object(object))
}

/// The type of the map that is being merged.
#[derive(Clone, Copy)]
enum At {
    Struct(TypeId),
    /// A map from strings to values of this type.
    Map(&'static FieldKind),
    /// A struct that holds any JSON: its Go name. It has no fields of its own.
    Raw(&'static str),
    /// A value without a schema.
    Unknown,
}

impl At {
    fn for_kind(kind: Option<&'static FieldKind>) -> Self {
        match kind {
            Some(FieldKind::Struct(id)) => Self::Struct(*id),
            Some(FieldKind::Map(inside)) => Self::Map(inside),
            Some(FieldKind::Scalar(Scalar::Object)) => Self::Raw("RawExtension"),
            Some(FieldKind::Scalar(Scalar::Json)) => Self::Raw("JSON"),
            _ => Self::Unknown,
        }
    }

    /// The type of a member, and its merge strategy.
    fn member(self, name: &str) -> Outcome<(Option<&'static FieldKind>, PatchMerge)> {
        match self {
            Self::Struct(id) => match types().field(id, name) {
                Some(field) => Ok((Some(&field.kind), field.patch)),
                None => Err(no_field(types().get(id).name, name)),
            },
            Self::Raw(owner) => Err(no_field(owner, name)),
            Self::Map(inside) => Ok((Some(inside), PatchMerge::Default)),
            Self::Unknown => Ok((None, PatchMerge::Default)),
        }
    }
}

fn no_field(owner: &str, name: &str) -> BoxedRejection {
    let name = gotext::quote(name);
    BoxedRejection::internal(format!("unable to find api field in struct {owner} for the json field {name}"))
}

fn merge_map(original: &mut Map<String, Value>, mut patch: Map<String, Value>, at: At) -> Outcome<()> {
    match patch.get(DIRECTIVE).map(|directive| directive.as_str().unwrap_or_default()) {
        None => {}
        Some("replace") => {
            patch.remove(DIRECTIVE);
            *original = patch;
            return Ok(());
        }
        Some("delete") => {
            original.clear();
            return Ok(());
        }
        Some(_) => return Err(unknown_directive(&patch)),
    }
    retain_keys(original, &mut patch)?;
    order_lists(original, &mut patch, at)?;
    for (key, value) in patch {
        match key.strip_prefix(DELETE_FROM) {
            Some(rest) => {
                let name = rest
                    .strip_prefix('/')
                    .ok_or_else(|| BoxedRejection::bad_request("invalid patch format of primitive list"))?;
                merge_member(original, name, value, at, Change::Deletion)?;
            }
            None => merge_member(original, &key, value, at, Change::Merge)?,
        }
    }
    Ok(())
}

/// How the value of a member changes the original value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Merge,
    /// The value of `$deleteFromPrimitiveList`, which has no effect on an absent list.
    Deletion,
}

/// Merges a member.
fn merge_member(
    original: &mut Map<String, Value>,
    key: &str,
    value: Value,
    at: At,
    change: Change,
) -> Outcome<()> {
    if value.is_null() {
        original.remove(key);
        return Ok(());
    }
    match (original.get_mut(key), value) {
        (Some(Value::Object(current)), Value::Object(patch)) => match at.member(key)? {
            (_, PatchMerge::Replace) => *current = patch,
            (kind, _) => merge_map(current, patch, At::for_kind(kind))?,
        },
        (Some(Value::Array(current)), Value::Array(patch)) => {
            let (kind, how) = at.member(key)?;
            *current = list::merge(std::mem::take(current), patch, kind, how, change)?;
        }
        (Some(current), value) if gotext::type_name(current) == gotext::type_name(&value) => *current = value,
        (_, _) if change == Change::Deletion => {}
        (_, mut value) => {
            strategy::drop_nulls(&mut value);
            match without_directives(value) {
                Some(value) => original.insert(key.to_owned(), value),
                None => original.remove(key),
            };
        }
    }
    Ok(())
}

/// A value of a patch that has no original value, without the parts that have a directive; `None` if it has one itself.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => {
            let kept = map.into_iter().filter_map(|(name, inner)| Some((name, without_directives(inner)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        other => Some(other),
    }
}

/// Applies `$retainKeys`: removes all other fields, and rejects a patch that sets one of them.
fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Outcome<()> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let bad = || BoxedRejection::bad_request("invalid patch format of retainKeys");
    let retained = retained.as_array().ok_or_else(bad)?;
    let is_retained = |name: &str| retained.iter().any(|key| key == name);
    let directive = |name: &str| name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !directive(name) && !is_retained(name)) {
        return Err(bad());
    }
    original.retain(|name, _| is_retained(name));
    Ok(())
}

/// Applies `$setElementOrder`: merges the lists that have it, and removes list and directive from the patch.
fn order_lists(original: &mut Map<String, Value>, patch: &mut Map<String, Value>, at: At) -> Outcome<()> {
    let directives: Vec<String> = patch.keys().filter(|key| key.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let order = patch.remove(&directive).unwrap_or_default();
        let Value::Array(order) = order else {
            return Err(list::wrong_type(&Value::Array(Vec::new()), &order));
        };
        let name = directive.strip_prefix(SET_ORDER).and_then(|rest| rest.strip_prefix('/'));
        let name =
            name.ok_or_else(|| BoxedRejection::bad_request("invalid patch format of setElementOrder list"))?;
        let take = |value: Option<Value>| match value {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => Err(list::wrong_type(&Value::Array(Vec::new()), &other)),
        };
        let current = take(original.get(name).cloned())?;
        let change = take(patch.remove(name))?;
        if current.is_none() && change.is_none() {
            continue;
        }
        let (kind, how) = at.member(name)?;
        let ordered = list::merge_in_order(current, change, &order, kind, how)?;
        original.insert(name.to_owned(), Value::Array(ordered));
    }
    Ok(())
}

fn unknown_directive(map: &Map<String, Value>) -> BoxedRejection {
    let directive = map.get(DIRECTIVE).map(gotext::plain).unwrap_or_default();
    let map = gotext::plain_map(map);
    BoxedRejection::internal(format!("unknown patch type: {directive} in map: {map}"))
}

#[cfg(test)]
mod tests;

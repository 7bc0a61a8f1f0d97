//! Strategic merge patches: merge patches that know which lists of a built-in kind are merged, and by what key.
//!
//! What a real server does is `k8s.io/apimachinery/pkg/util/strategicpatch`; strategies and keys come from
//! [`facts`](crate::kinds::facts).

mod list;

use serde_json::{Map, Value};

use crate::gotext;
use crate::kinds::facts::{FieldKind, PatchMerge, TypeId, types};
use crate::kinds::{Kind, strategy};
use crate::status::{Outcome, Refused};

/// What is to be done with the map or list that says so: `delete`, `replace` or `merge`.
const DIRECTIVE: &str = "$patch";
/// The fields that stay; all others go.
const RETAIN_KEYS: &str = "$retainKeys";
/// Before `/` and the name of a list of scalars: what goes from it.
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
/// Before `/` and the name of a list: the order of its elements.
const SET_ORDER: &str = "$setElementOrder";

/// The object of a built-in kind with the patch applied.
pub(super) fn apply(patch: Map<String, Value>, old: &Value, kind: &Kind) -> Outcome<Value> {
    let resource = &kind.resource;
    let root = types().find(&resource.group, &resource.version, &resource.kind);
    let mut object = old.as_object().cloned().unwrap_or_default();
    merge_map(&mut object, patch, root.map_or(At::Unknown, At::Struct))?;
    Ok(Value::Object(object))
}

/// What the facts say of the map that is being merged.
#[derive(Clone, Copy)]
enum At {
    Struct(TypeId),
    /// A map from strings to what is inside.
    Map(&'static FieldKind),
    /// A value without a schema.
    Unknown,
}

impl At {
    fn of(kind: Option<&'static FieldKind>) -> Self {
        match kind {
            Some(FieldKind::Struct(id)) => Self::Struct(*id),
            Some(FieldKind::Map(inside)) => Self::Map(inside),
            _ => Self::Unknown,
        }
    }

    /// What a member holds and how it is merged.
    fn member(self, name: &str) -> Outcome<(Option<&'static FieldKind>, PatchMerge)> {
        match self {
            Self::Struct(id) => match types().field(id, name) {
                Some(field) => Ok((Some(&field.kind), field.patch)),
                None => Err(Refused::internal(format!(
                    "unable to find api field in struct {} for the json field {}",
                    types().get(id).name,
                    gotext::quote(name)
                ))),
            },
            Self::Map(inside) => Ok((Some(inside), PatchMerge::Default)),
            Self::Unknown => Ok((None, PatchMerge::Default)),
        }
    }
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
                    .ok_or_else(|| Refused::bad_request("invalid patch format of primitive list"))?;
                delete_from(original, name, value, at)?;
            }
            None => merge_member(original, &key, value, at)?,
        }
    }
    Ok(())
}

/// Merges a member that is no directive.
fn merge_member(original: &mut Map<String, Value>, key: &str, mut value: Value, at: At) -> Outcome<()> {
    if value.is_null() {
        original.remove(key);
        return Ok(());
    }
    let Some(current) = original.get_mut(key) else {
        strategy::drop_nulls(&mut value);
        original.insert(key.to_owned(), value);
        return Ok(());
    };
    match (current, value) {
        (Value::Object(current), Value::Object(patch)) => match at.member(key)? {
            (_, PatchMerge::Replace) => *current = patch,
            (kind, _) => merge_map(current, patch, At::of(kind))?,
        },
        (Value::Array(current), Value::Array(patch)) => {
            let (kind, how) = at.member(key)?;
            *current = list::merge(std::mem::take(current), patch, kind, how)?;
        }
        (current, mut value) => {
            strategy::drop_nulls(&mut value);
            *current = value;
        }
    }
    Ok(())
}

/// `$deleteFromPrimitiveList`.
fn delete_from(original: &mut Map<String, Value>, name: &str, gone: Value, at: At) -> Outcome<()> {
    if gone.is_null() {
        original.remove(name);
        return Ok(());
    }
    let (Some(Value::Array(current)), Value::Array(gone)) = (original.get_mut(name), gone) else {
        return Ok(());
    };
    match at.member(name)? {
        (_, PatchMerge::Merge) => current.retain(|item| !gone.contains(item)),
        // The list is no set: a real server takes the directive for the list itself.
        (kind, how) => *current = list::merge(std::mem::take(current), gone, kind, how)?,
    }
    Ok(())
}

/// `$retainKeys`: only these fields stay, and the patch may name no others.
fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Outcome<()> {
    let Some(kept) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let bad = || Refused::bad_request("invalid patch format of retainKeys");
    let kept = kept.as_array().ok_or_else(bad)?;
    let keeps = |name: &str| kept.iter().any(|key| key == name);
    let directive = |name: &str| name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !directive(name) && !keeps(name)) {
        return Err(bad());
    }
    original.retain(|name, _| keeps(name));
    Ok(())
}

/// `$setElementOrder`: merges the lists that have it, and takes both out of the patch.
fn order_lists(original: &mut Map<String, Value>, patch: &mut Map<String, Value>, at: At) -> Outcome<()> {
    let directives: Vec<String> = patch.keys().filter(|key| key.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let order = patch.remove(&directive).unwrap_or_default();
        let Value::Array(order) = order else {
            return Err(list::wrong_type(&Value::Array(Vec::new()), &order));
        };
        let name = directive.strip_prefix(SET_ORDER).and_then(|rest| rest.strip_prefix('/'));
        let name =
            name.ok_or_else(|| Refused::bad_request("invalid patch format of setElementOrder list"))?;
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

fn unknown_directive(map: &Map<String, Value>) -> Refused {
    let directive = map.get(DIRECTIVE).map(gotext::plain).unwrap_or_default();
    let map = gotext::plain_map(map);
    Refused::internal(format!("unknown patch type: {directive} in map: {map}"))
}

#[cfg(test)]
mod tests;

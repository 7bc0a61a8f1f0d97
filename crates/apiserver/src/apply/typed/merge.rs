//! Merges the applied configuration into the live object (`Merge`). It removes nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::validate::ValidationError;
use super::{element_of, is_blank, shape_under};
use crate::apply::shape::{Form, ListMerge, Shape};
use crate::field_set::element;

/// Returns `live` with everything in `config`. Lists keep their order, unless `config` has another.
///
/// # Errors
/// Lists with invalid or duplicate elements.
pub(crate) fn merge(live: &Value, config: &Value, shape: Shape<'_>) -> Result<Value, Vec<ValidationError>> {
    let mut errors = Vec::new();
    let merged = walk(Some(live), Some(config), shape, "", &mut errors);
    if errors.is_empty() { Ok(merged.unwrap_or_default()) } else { Err(errors) }
}

fn walk(
    live: Option<&Value>,
    config: Option<&Value>,
    shape: Shape<'_>,
    path: &str,
    errors: &mut Vec<ValidationError>,
) -> Option<Value> {
    let whole = || config.or(live).cloned();
    let form = shape.form(config.filter(|value| !value.is_null()).or(live));
    match form {
        Form::Scalar(_) | Form::List(ListMerge::Atomic, _) | Form::Map { atomic: true } => whole(),
        _ if is_blank(live) && is_blank(config) => whole(),
        // Fields that are not applied stay unchanged.
        _ if config.is_none() => whole(),
        Form::List(merge, shape) => elements(live, config, merge, shape, path, errors),
        Form::Map { .. } => members(live, config, shape, path, errors),
    }
}

fn members(
    live: Option<&Value>,
    config: Option<&Value>,
    shape: Shape<'_>,
    path: &str,
    errors: &mut Vec<ValidationError>,
) -> Option<Value> {
    let empty = Map::new();
    let live = live.and_then(Value::as_object).unwrap_or(&empty);
    let config = config.and_then(Value::as_object).unwrap_or(&empty);
    let mut merged = Map::new();
    let added = config.keys().filter(|name| !live.contains_key(*name));
    for name in live.keys().chain(added) {
        let path = format!("{path}.{name}");
        let inner = walk(live.get(name), config.get(name), shape_under(shape, name), &path, errors);
        merged.extend(inner.map(|value| (name.clone(), value)));
    }
    (!merged.is_empty()).then_some(Value::Object(merged))
}

/// Elements of a list in order, and by path element.
struct Indexed<'a> {
    order: VecDeque<(String, &'a Value)>,
    /// `None` for duplicate path elements, which are not merged.
    by_element: BTreeMap<String, Option<&'a Value>>,
}

impl<'a> Indexed<'a> {
    fn read(
        list: Option<&'a Value>,
        merge: ListMerge<'_>,
        repeats: bool,
        path: &str,
        errors: &mut Vec<ValidationError>,
    ) -> Self {
        let mut indexed = Self { order: VecDeque::new(), by_element: BTreeMap::new() };
        for (index, item) in list.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let element = match element_of(item, merge) {
                Ok(element) => element,
                Err(why) => {
                    errors.push(ValidationError::new(path, format!("element {index}: {why}")));
                    continue;
                }
            };
            if indexed.by_element.contains_key(&element) {
                if !repeats {
                    let text = element::text(&element);
                    errors.push(ValidationError::new(path, format!("duplicate entries for key {text}")));
                    continue;
                }
                indexed.by_element.insert(element.clone(), None);
            } else {
                indexed.by_element.insert(element.clone(), Some(item));
            }
            indexed.order.push_back((element, item));
        }
        indexed
    }
}

fn elements(
    live: Option<&Value>,
    config: Option<&Value>,
    merge: ListMerge<'_>,
    shape: Shape<'_>,
    path: &str,
    errors: &mut Vec<ValidationError>,
) -> Option<Value> {
    let before = errors.len();
    let mut config = Indexed::read(config, merge, false, path, errors);
    let mut live = Indexed::read(live, merge, true, path, errors);
    if errors.len() > before {
        return None;
    }
    let mut merged = Vec::with_capacity(live.order.len().max(config.order.len()));
    // Elements of both lists, in the order of `config`. Elements of `live` keep their place between them.
    let mut shared: VecDeque<String> = config
        .order
        .iter()
        .filter(|(element, _)| live.by_element.contains_key(element))
        .map(|(element, _)| element.clone())
        .collect();
    let mut done: BTreeSet<String> = BTreeSet::new();
    let mut put = |old: Option<&Value>, new: Option<&Value>, element: &str| {
        let path = format!("{path}{}", element::text(element));
        merged.extend(walk(old, new, shape, &path, errors));
    };
    while !live.order.is_empty() || !config.order.is_empty() {
        if let (Some((left, _)), Some((right, new))) = (live.order.front(), config.order.front()) {
            if left == right {
                put(live.by_element.get(left).copied().flatten(), Some(*new), left);
                done.insert(left.clone());
                live.order.pop_front();
                config.order.pop_front();
                shared.pop_front();
                continue;
            }
            let wanted_later = config.by_element.contains_key(left);
            if wanted_later && shared.front().is_some_and(|next| next != left) {
                live.order.pop_front();
                continue;
            }
        }
        if let Some((left, old)) = live.order.front() {
            if !config.by_element.contains_key(left) {
                put(Some(*old), None, left);
                live.order.pop_front();
                continue;
            }
            if done.contains(left) {
                live.order.pop_front();
            }
        }
        if let Some((right, new)) = config.order.pop_front() {
            put(live.by_element.get(&right).copied().flatten(), Some(new), &right);
            if shared.front() == Some(&right) {
                shared.pop_front();
            }
            done.insert(right);
        }
    }
    (!merged.is_empty()).then_some(Value::Array(merged))
}

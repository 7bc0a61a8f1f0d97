//! Which part of the stored object a value is compared with (`CRDValidationRatcheting`).
//!
//! Properties correlate by name, elements of `map` lists by their keys, other elements not at all.

use serde_json::Value;

use super::structural::{ListType, Structural};

/// The counterpart of a property.
pub(crate) fn property<'a>(old: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    old?.as_object()?.get(name)
}

/// The counterpart of the element at `index` of a list of this schema. Mostly it is where it was.
pub(crate) fn element<'a>(
    old: Option<&'a Value>,
    schema: &Structural,
    index: usize,
    item: &Value,
) -> Option<&'a Value> {
    if schema.list_type != ListType::Map {
        return None;
    }
    let keys = &schema.list_map_keys;
    let same = |other: &&Value| keys.iter().all(|key| other.get(key) == item.get(key));
    let old = old?.as_array()?;
    old.get(index).filter(same).or_else(|| old.iter().find(same))
}

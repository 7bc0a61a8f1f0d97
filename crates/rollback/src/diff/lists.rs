//! Differences in the uniqueness of list elements.

use super::{Difference, Presentation};
use crate::schema::{ListType, Node};

/// Lists that only the newer release accepts, because the older one allows each element once.
pub(super) fn compare(newer: &Node, older: &Node) -> Vec<Difference> {
    let same = newer.list_type == older.list_type && newer.list_keys == older.list_keys;
    if same {
        return Vec::new();
    }
    let is_short = newer.limits.max_items.is_some_and(|most| most < 2);
    let is_looser = !is_short
        && match older.list_type {
            ListType::Atomic => false,
            ListType::Set => newer.list_type != ListType::Set,
            // Elements that differ in all older keys differ in more keys too, but not the other way round.
            ListType::Map => {
                newer.list_type != ListType::Map
                    || newer.list_keys.iter().any(|key| !older.list_keys.contains(key))
            }
        };
    if is_looser {
        vec![Difference::List { older: older.list_type, keys: older.list_keys.clone() }]
    } else {
        vec![Difference::Presentation(Presentation::Merge)]
    }
}

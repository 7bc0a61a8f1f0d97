//! Differences in required fields, rules and alternatives.

use super::{Difference, Presentation};
use crate::schema::Node;

/// Fields that only the older release requires. A default of either release fills in the field before validation.
pub(super) fn required(newer: &Node, older: &Node) -> Vec<Difference> {
    let gone = older.required.iter().filter(|name| {
        let is_filled = newer.default_of(name).or(older.default_of(name)).is_some();
        !newer.required.contains(*name) && !is_filled
    });
    gone.map(|name| Difference::Required(name.clone())).collect()
}

/// Rules and alternatives that only the older release has.
pub(super) fn rules(newer: &Node, older: &Node) -> Vec<Difference> {
    let gone = older.rules.iter().filter(|rule| newer.rules.iter().all(|kept| kept.text != rule.text));
    let mut found: Vec<Difference> = gone
        .map(|rule| {
            if rule.is_transition() {
                Difference::Transition(rule.clone())
            } else {
                Difference::Rule(rule.clone())
            }
        })
        .collect();
    let gone = older.compositions.iter().filter(|one| {
        newer.compositions.iter().all(|kept| (kept.keyword, &kept.raw) != (one.keyword, &one.raw))
    });
    found.extend(gone.map(|one| Difference::Composition { keyword: one.keyword, raw: one.raw.clone() }));
    if newer.is_atomic_map != older.is_atomic_map {
        found.push(Difference::Presentation(Presentation::Merge));
    }
    found
}

//! The nouns of a step: the things that it is about. They say more about its meaning than its letters.

use std::collections::BTreeSet;

use windtunnel_core::resources;

/// Things that steps are about, in singular.
const NOUNS: [&str; 24] = [
    "alert",
    "annotation",
    "capability",
    "channel",
    "command",
    "condition",
    "event",
    "field",
    "gate",
    "insight",
    "label",
    "log",
    "machine",
    "metric",
    "node",
    "operator",
    "output",
    "phase",
    "pod",
    "pool",
    "project",
    "release",
    "watch",
    "webhook",
];

/// The noun of all objects that a text names by their kind.
const OBJECT: &str = "object";

/// The most that common nouns add to the likeness of two texts.
const BONUS: f64 = 0.2;

/// Returns the nouns of a text. All kinds of objects are one noun, because a step about one kind is about any.
pub(super) fn of(text: &str) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    for word in text.split(|letter: char| !letter.is_ascii_alphanumeric()) {
        if resources::by_kind(word).is_some() {
            found.insert(OBJECT);
            continue;
        }
        let lower = word.to_ascii_lowercase();
        let singular = |noun: &&&str| {
            lower == **noun
                || lower.strip_suffix('s') == Some(**noun)
                || lower.strip_suffix("es") == Some(**noun)
        };
        found.extend(NOUNS.iter().find(singular));
    }
    found
}

/// Returns what the nouns of a step add to its likeness to a text: more if they are about the same, less if not.
pub(super) fn bonus(wanted: &BTreeSet<&str>, found: &BTreeSet<&str>) -> f64 {
    if wanted.is_empty() {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "steps have few nouns")]
    let share = wanted.intersection(found).count() as f64 / wanted.len() as f64;
    BONUS * share.mul_add(2.0, -1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_are_things_in_any_number_and_kinds_are_objects() {
        let nouns = |text| of(text).into_iter().collect::<Vec<_>>();
        assert_eq!(nouns("the Alerts \"X\" of node worker-0"), ["alert", "node"]);
        assert_eq!(nouns("MachineConfigPool/worker field \"spec.paused\""), ["field", "object"]);
        assert_eq!(nouns("the watches of it are dropped"), ["watch"]);
        assert!(nouns("40 minutes pass").is_empty());
    }
}

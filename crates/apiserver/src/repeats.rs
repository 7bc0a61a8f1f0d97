//! Elements of lists that occur again, found in one pass: a body may have tens of thousands of elements, and comparing each
//! with all before it would stop the server for minutes.

use std::collections::{BTreeMap, BTreeSet};

/// Whether the key of each element occurred before.
pub(crate) fn repeated<K: Ord>(keys: impl IntoIterator<Item = K>) -> Vec<bool> {
    let mut seen = BTreeSet::new();
    keys.into_iter().map(|key| !seen.insert(key)).collect()
}

/// How often the key of each element occurred before.
pub(crate) fn earlier_counts<K: Ord>(keys: impl IntoIterator<Item = K>) -> Vec<usize> {
    let mut counts = BTreeMap::new();
    let mut next = |key| {
        let count = counts.entry(key).or_insert(0);
        *count += 1;
        *count - 1
    };
    keys.into_iter().map(&mut next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_counted_keys_are_those_that_occurred_before() {
        assert_eq!(repeated(["a", "b", "a", "a"]), [false, false, true, true]);
        assert_eq!(earlier_counts([1, 1, 2, 1]), [0, 1, 0, 2]);
    }
}

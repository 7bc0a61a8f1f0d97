//! A hash map by object key, for lookups without an order.
//!
//! Many keys share long prefixes. An ordered map compares the prefixes of about a dozen keys that are
//! scattered in memory; a hash map compares one key.

use hashbrown::{Equivalent, HashMap};

use crate::Key;

/// A map by key. It cannot be iterated, so runs do not depend on the order of hashes.
#[derive(Debug, Clone)]
pub struct ByKey<V>(HashMap<Key, V>);

/// The borrowed parts of a key. It hashes as [`Key`] does: the same fields in the same order.
#[derive(Hash)]
struct Parts<'k> {
    group: &'k str,
    plural: &'k str,
    namespace: &'k str,
    name: &'k str,
}

impl Equivalent<Key> for Parts<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        // Names differ most. Group and plural mostly are the static strings of `resources`, so a pointer
        // comparison is enough.
        let same = |one: &str, other: &str| std::ptr::eq(one, other) || one == other;
        self.name == key.name
            && self.namespace == key.namespace
            && same(self.plural, &key.plural)
            && same(self.group, &key.group)
    }
}

impl<'k> From<&'k Key> for Parts<'k> {
    fn from(key: &'k Key) -> Self {
        Self { group: &key.group, plural: &key.plural, namespace: &key.namespace, name: &key.name }
    }
}

impl<V> Default for ByKey<V> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<V> ByKey<V> {
    /// The value of this key.
    pub fn get(&self, key: &Key) -> Option<&V> {
        self.0.get(&Parts::from(key))
    }

    /// The value of the object of this kind, namespace and name.
    pub fn get_by(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<&V> {
        self.0.get(&Parts { group, plural, namespace, name })
    }

    /// Returns the value of this key for modification and inserts a default if there is none.
    pub fn get_or_default(&mut self, key: Key) -> &mut V
    where
        V: Default,
    {
        self.0.entry(key).or_default()
    }

    /// Inserts a value and returns the previous one. Clones the key only if it is new.
    pub fn insert(&mut self, key: &Key, value: V) -> Option<V> {
        match self.0.get_mut(&Parts::from(key)) {
            Some(known) => Some(std::mem::replace(known, value)),
            None => self.0.insert(key.clone(), value),
        }
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: &Key) -> Option<V> {
        self.0.remove(&Parts::from(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{CONFIG_MAPS, PODS};

    #[test]
    fn finds_a_value_by_key_and_by_the_parts_of_a_key() {
        let mut known = ByKey::default();
        let pod = PODS.key("ns", "a");
        assert_eq!(known.insert(&pod, 1), None);
        assert_eq!(known.insert(&CONFIG_MAPS.key("ns", "a"), 2), None);
        assert_eq!(known.insert(&pod, 3), Some(1));
        assert_eq!(known.get(&pod), Some(&3));
        assert_eq!(known.get_by("", "configmaps", "ns", "a"), Some(&2));
        assert_eq!(known.get_by("", "pods", "nsa", ""), None);
        assert_eq!(known.remove(&pod), Some(3));
        assert_eq!(known.get(&pod), None);
        *known.get_or_default(pod.clone()) += 7;
        assert_eq!(known.get(&pod), Some(&7));
    }
}

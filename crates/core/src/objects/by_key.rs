//! What is known of objects by their keys, where nobody asks for an order.
//!
//! Keys begin alike: a search by order compares the beginnings of a dozen of them, which lie anywhere in memory. A hash is
//! made of the key that is looked for, and leads to the one that is meant.

use hashbrown::{Equivalent, HashMap};

use crate::Key;

/// Values by key. There is no way to go through them, so runs do not depend on where a hash puts them.
#[derive(Debug, Clone)]
pub struct ByKey<V>(HashMap<Key, V>);

/// A key whose parts stand elsewhere. It hashes as [`Key`] does: the same fields in the same order.
#[derive(Hash)]
struct Parts<'k> {
    group: &'k str,
    plural: &'k str,
    namespace: &'k str,
    name: &'k str,
}

impl Equivalent<Key> for Parts<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        // Names differ most; kinds are nearly always the very texts of `resources`.
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
    /// What is known of the object of this key.
    pub fn get(&self, key: &Key) -> Option<&V> {
        self.0.get(&Parts::from(key))
    }

    /// What is known of the object of this kind, namespace and name.
    pub fn get_by(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<&V> {
        self.0.get(&Parts { group, plural, namespace, name })
    }

    /// The same, to be changed; made where nothing is known yet.
    pub fn get_or_default(&mut self, key: Key) -> &mut V
    where
        V: Default,
    {
        self.0.entry(key).or_default()
    }

    /// Takes in what is known now; the key is copied only where it is new.
    pub fn insert(&mut self, key: &Key, value: V) -> Option<V> {
        match self.0.get_mut(&Parts::from(key)) {
            Some(known) => Some(std::mem::replace(known, value)),
            None => self.0.insert(key.clone(), value),
        }
    }

    /// Forgets an object.
    pub fn remove(&mut self, key: &Key) -> Option<V> {
        self.0.remove(&Parts::from(key))
    }

    /// Has each value changed, in no order that could be told from outside.
    pub fn change_each(&mut self, change: impl FnMut(&mut V)) {
        self.0.values_mut().for_each(change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{CONFIG_MAPS, PODS};

    #[test]
    fn an_object_is_found_by_its_key_and_by_the_parts_of_it() {
        let mut known = ByKey::default();
        let pod = PODS.key("ns", "a");
        assert_eq!(known.insert(&pod, 1), None);
        assert_eq!(known.insert(&CONFIG_MAPS.key("ns", "a"), 2), None);
        assert_eq!(known.insert(&pod, 3), Some(1));
        assert_eq!(known.get(&pod), Some(&3));
        assert_eq!(known.get_by("", "configmaps", "ns", "a"), Some(&2));
        assert_eq!(known.get_by("", "pods", "nsa", ""), None);
        known.change_each(|value| *value += 1);
        assert_eq!(known.remove(&pod), Some(4));
        assert_eq!(known.get(&pod), None);
        *known.get_or_default(pod.clone()) += 7;
        assert_eq!(known.get(&pod), Some(&7));
    }
}

//! The properties of a schema, by name.

use crate::schema::structural::Structural;

/// Schemas of properties, sorted by name. A sorted list instead of a map, because it is often walked and
/// seldom searched.
#[derive(Debug, Clone, Default)]
pub(crate) struct Properties(Vec<(String, Structural)>);

impl FromIterator<(String, Structural)> for Properties {
    fn from_iter<T: IntoIterator<Item = (String, Structural)>>(properties: T) -> Self {
        let mut list: Vec<_> = properties.into_iter().collect();
        list.sort_by(|(one, _), (other, _)| one.cmp(other));
        Self(list)
    }
}

impl Properties {
    pub(crate) fn get(&self, name: &str) -> Option<&Structural> {
        let place = self.0.binary_search_by(|(found, _)| found.as_str().cmp(name)).ok()?;
        Some(&self.0[place].1)
    }

    pub(crate) fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Structural)> {
        self.0.iter().map(|(name, schema)| (name, schema))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Structural> {
        self.0.iter().map(|(_, schema)| schema)
    }

    /// The entries of a map, each with the schema of its property. Both are sorted, so that a single walk
    /// replaces a search for each entry.
    pub(in crate::schema) fn zip_with_entries<'s, 'n, V>(
        &'s self,
        entries: impl Iterator<Item = (&'n String, V)>,
    ) -> impl Iterator<Item = (&'n String, V, Option<&'s Structural>)> {
        let mut rest = self.0.as_slice();
        entries.map(move |(name, value)| {
            while let [(property, schema), after @ ..] = rest {
                // Most properties are present, and a test for equality is cheaper than a comparison.
                if property == name {
                    rest = after;
                    return (name, value, Some(schema));
                }
                if property > name {
                    break;
                }
                rest = after;
            }
            (name, value, None)
        })
    }
}

//! The position of a walk in an object; converted to text only for errors.

use std::fmt;

use super::structural::Structural;

/// A position in an object, linked to its parent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The value at which the walk begins.
    Root,
    Key(&'a Path<'a>, &'a str),
    /// An entry of a map.
    Entry(&'a Path<'a>, &'a str),
    /// An element of a list.
    Index(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    pub(crate) fn key(&'a self, key: &'a str) -> Path<'a> {
        Path::Key(self, key)
    }

    pub(crate) fn entry(&'a self, key: &'a str) -> Path<'a> {
        Path::Entry(self, key)
    }

    /// A member of an object: a key if the schema names the property, otherwise an entry.
    pub(crate) fn member(&'a self, name: &'a str, schema: &Structural) -> Path<'a> {
        if schema.properties.get(name).is_some() { self.key(name) } else { self.entry(name) }
    }

    pub(crate) fn index(&'a self, index: usize) -> Path<'a> {
        Path::Index(self, index)
    }

    /// The path, followed by `rest`.
    pub(crate) fn and_below(&self, rest: &str) -> String {
        let own = self.to_string();
        let joint = if own.is_empty() || rest.starts_with('[') { "" } else { "." };
        format!("{own}{joint}{rest}")
    }

    /// The path below `prefix`, which may be empty.
    pub(crate) fn under(&self, prefix: &str) -> String {
        let relative = self.to_string();
        match (prefix.is_empty(), relative.is_empty() || relative.starts_with('[')) {
            (true, _) => relative,
            (false, true) => format!("{prefix}{relative}"),
            (false, false) => format!("{prefix}.{relative}"),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Key(Path::Root, key) => f.write_str(key),
            Path::Key(parent, key) => write!(f, "{parent}.{key}"),
            Path::Entry(parent, key) => write!(f, "{parent}[{key}]"),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_print_like_in_kubernetes() {
        let (root, spec) = (Path::Root, Path::Root);
        let spec = spec.key("spec");
        let list = spec.key("l");
        assert_eq!(list.index(3).key("b").to_string(), "spec.l[3].b");
        assert_eq!(root.under("status"), "status");
        assert_eq!(spec.under("status"), "status.spec");
        assert_eq!(root.index(1).under("status"), "status[1]");
    }
}

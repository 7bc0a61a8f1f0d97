//! What others put into a cluster that stands in an update's way.

/// How the definition of a custom resource clashes with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrdFault {
    /// Objects were stored in a version that no definition of it has (`status.storedVersions`), so that it cannot be changed.
    StoredVersion,
    /// Another definition has its names, so that they are not accepted when it comes (`NamesAccepted=False`).
    NamesTaken,
}

impl CrdFault {
    /// Their names, as scenarios have them.
    pub const NAMES: [&str; 2] = ["stored-version", "names-taken"];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::StoredVersion, Self::NamesTaken].into_iter().find(|fault| fault.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        assert!(CrdFault::NAMES.iter().all(|name| CrdFault::named(name).unwrap().name() == *name));
        assert_eq!(CrdFault::named("degraded"), None);
    }
}

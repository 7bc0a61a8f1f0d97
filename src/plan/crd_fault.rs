//! CustomResourceDefinitions that conflict with those of a release and block its update.

/// A conflict between two CustomResourceDefinitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrdFault {
    /// `status.storedVersions` lists a version that the definition lacks, so the definition cannot be
    /// changed.
    StoredVersion,
    /// Another definition already uses the names, so the new one is created with `NamesAccepted=False`.
    NamesTaken,
}

impl CrdFault {
    /// The names in scenarios, in the order of the variants.
    pub const NAMES: [&str; 2] = ["stored-version", "names-taken"];

    /// Returns the fault with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::StoredVersion, Self::NamesTaken].into_iter().find(|fault| fault.name() == name)
    }

    /// Returns the name in scenarios.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_to_its_fault() {
        assert!(CrdFault::NAMES.iter().all(|name| CrdFault::named(name).unwrap().name() == *name));
        assert_eq!(CrdFault::named("degraded"), None);
    }
}

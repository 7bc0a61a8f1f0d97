//! Architectures of release images.

/// The architecture of a release image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Architecture {
    /// x86-64 only.
    #[default]
    Amd64,
    /// 64-bit Arm only.
    Arm64,
    /// Little-endian POWER only.
    Ppc64le,
    /// IBM Z only.
    S390x,
    /// All of them: each machine pulls its part of the image.
    Multi,
}

impl Architecture {
    /// All architectures, sorted by name.
    const ALL: [Self; 5] = [Self::Amd64, Self::Arm64, Self::Multi, Self::Ppc64le, Self::S390x];
    /// The names of all architectures.
    pub const NAMES: &[&str] = &["amd64", "arm64", "multi", "ppc64le", "s390x"];

    /// The architecture with this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|architecture| architecture.name() == name)
    }

    /// Its name in the update service and in graph data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
            Self::Multi => "multi",
            Self::Ppc64le => "ppc64le",
            Self::S390x => "s390x",
        }
    }

    /// Its name in ClusterVersion.
    pub fn in_cluster_version(self) -> &'static str {
        if self == Self::Multi { "Multi" } else { self.name() }
    }

    /// The architecture of the machines of a cluster that was installed with such an image.
    pub fn of_machines(self) -> &'static str {
        if self == Self::Multi { Self::default().name() } else { self.name() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_each_architecture_by_its_name() {
        assert!(Architecture::ALL.iter().map(|one| one.name()).eq(Architecture::NAMES.iter().copied()));
        assert_eq!(Architecture::find("arm64"), Some(Architecture::Arm64));
        assert_eq!(Architecture::find("Multi"), None);
        assert_eq!(Architecture::Multi.in_cluster_version(), "Multi");
        assert_eq!(Architecture::Multi.of_machines(), "amd64");
    }
}

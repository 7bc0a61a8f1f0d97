//! The machines that a release image is for.

/// The architecture of a release image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Architecture {
    /// x86-64 alone.
    #[default]
    Amd64,
    /// 64-bit Arm alone.
    Arm64,
    /// POWER, little-endian, alone.
    Ppc64le,
    /// IBM Z alone.
    S390x,
    /// All of them: each machine takes its part of the image.
    Multi,
}

impl Architecture {
    /// All of them, in order of their names.
    const ALL: [Self; 5] = [Self::Amd64, Self::Arm64, Self::Multi, Self::Ppc64le, Self::S390x];
    /// The names of all of them.
    pub const NAMES: &[&str] = &["amd64", "arm64", "multi", "ppc64le", "s390x"];

    /// The architecture of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|architecture| architecture.name() == name)
    }

    /// Its name for the update service, and in graph data.
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

    /// What the machines are that a cluster is installed on with such an image.
    pub fn of_machines(self) -> &'static str {
        if self == Self::Multi { Self::default().name() } else { self.name() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_name() {
        assert!(Architecture::ALL.iter().map(|one| one.name()).eq(Architecture::NAMES.iter().copied()));
        assert_eq!(Architecture::find("arm64"), Some(Architecture::Arm64));
        assert_eq!(Architecture::find("Multi"), None);
        assert_eq!(Architecture::Multi.in_cluster_version(), "Multi");
        assert_eq!(Architecture::Multi.of_machines(), "amd64");
    }
}

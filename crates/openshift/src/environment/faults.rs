//! Faults of the image of a release, and of its signatures.

use windtunnel_controllers::registry::{Containers, Contents, Image, OpenPgp, Pull, Signature};

/// A temporary fault of the image of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseFault {
    /// The outcome of pulls that start now.
    Pull(Pull),
    /// The container runtime finds this signature.
    Sigstore(Signature),
    /// Signature stores return this.
    OpenPgp(OpenPgp),
    /// The contents of the image.
    Contents(Contents),
    /// The behavior of its containers.
    Containers(Containers),
}

const ALL: [(ReleaseFault, &str); 22] = [
    (ReleaseFault::Pull(Pull::ManifestUnknown), "manifest-unknown"),
    (ReleaseFault::Pull(Pull::WrongDigest), "wrong-digest"),
    (ReleaseFault::Pull(Pull::Unauthorized), "unauthorized"),
    (ReleaseFault::Pull(Pull::Unreachable), "unreachable"),
    (ReleaseFault::Pull(Pull::Unavailable), "unavailable"),
    (ReleaseFault::Pull(Pull::Slow), "slow"),
    (ReleaseFault::Pull(Pull::Hangs), "hangs"),
    (ReleaseFault::Sigstore(Signature::Missing), "sigstore-missing"),
    (ReleaseFault::Sigstore(Signature::WrongKey), "sigstore-wrong-key"),
    (ReleaseFault::Sigstore(Signature::WrongIdentity), "sigstore-wrong-identity"),
    (ReleaseFault::Sigstore(Signature::Expired), "sigstore-expired"),
    (ReleaseFault::OpenPgp(OpenPgp::Missing), "openpgp-missing"),
    (ReleaseFault::OpenPgp(OpenPgp::WrongKey), "openpgp-wrong-key"),
    (ReleaseFault::OpenPgp(OpenPgp::Unanswered), "openpgp-unanswered"),
    (ReleaseFault::Contents(Contents::UnreadableManifest), "corrupt"),
    (ReleaseFault::Contents(Contents::NoImageReferences), "no-image-references"),
    (ReleaseFault::Contents(Contents::OtherImageReferences), "other-image-references"),
    (ReleaseFault::Contents(Contents::UnreadableMetadata), "unreadable-metadata"),
    (ReleaseFault::Contents(Contents::NoPayload), "no-payload"),
    (ReleaseFault::Containers(Containers::Crash), "containers-crash"),
    (ReleaseFault::Containers(Containers::OutOfMemory), "containers-out-of-memory"),
    (ReleaseFault::Containers(Containers::CannotBeCreated), "containers-cannot-be-created"),
];

impl ReleaseFault {
    /// All names, as scenarios use them.
    pub const NAMES: [&str; ALL.len()] = {
        let mut names = [""; ALL.len()];
        let mut index = 0;
        while index < ALL.len() {
            names[index] = ALL[index].1;
            index += 1;
        }
        names
    };

    /// Finds a fault by its name.
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|(_, known)| *known == name).map(|(fault, _)| *fault)
    }

    /// The name, such as `openpgp-missing`; empty for a value that is no fault.
    pub fn name(self) -> &'static str {
        ALL.iter().find(|(fault, _)| *fault == self).map_or("", |(_, name)| name)
    }

    /// Applies the fault to an image.
    pub(crate) fn apply_to(self, image: &mut Image) {
        match self {
            Self::Pull(pull) => image.pull = pull,
            Self::Sigstore(signature) => image.sigstore = signature,
            Self::OpenPgp(signature) => image.openpgp = signature,
            Self::Contents(contents) => image.contents = contents,
            Self::Containers(containers) => image.containers = containers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_belongs_to_one_fault() {
        for name in ReleaseFault::NAMES {
            assert_eq!(ReleaseFault::named(name).map(ReleaseFault::name), Some(name));
        }
        assert_eq!(ReleaseFault::named("succeeds"), None);
        // Pulls have the same names in the descriptions of releases.
        let pulls = Pull::NAMES.into_iter().filter_map(ReleaseFault::named);
        assert!(
            pulls.eq(Pull::NAMES[1..].iter().filter_map(|name| Pull::named(name)).map(ReleaseFault::Pull))
        );
    }
}

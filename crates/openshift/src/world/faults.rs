//! What goes wrong with the image of a release, and with its signatures.

use windtunnel_controllers::registry::{Containers, Contents, Image, OpenPgp, Pull, Signature};

/// How the image of a release can fail for the time being.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseFault {
    /// Pulls that begin now come to this.
    Pull(Pull),
    /// The container runtime finds this signature.
    Sigstore(Signature),
    /// Signature stores answer this.
    OpenPgp(OpenPgp),
    /// This is what its image holds.
    Contents(Contents),
    /// This becomes of its containers.
    Containers(Containers),
}

const ALL: [(ReleaseFault, &str); 19] = [
    (ReleaseFault::Pull(Pull::ManifestUnknown), "manifest-unknown"),
    (ReleaseFault::Pull(Pull::WrongDigest), "wrong-digest"),
    (ReleaseFault::Pull(Pull::Unauthorized), "unauthorized"),
    (ReleaseFault::Pull(Pull::Unreachable), "unreachable"),
    (ReleaseFault::Pull(Pull::Unavailable), "unavailable"),
    (ReleaseFault::Pull(Pull::Slow), "slow"),
    (ReleaseFault::Pull(Pull::Hangs), "hangs"),
    (ReleaseFault::Sigstore(Signature::Missing), "sigstore-missing"),
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
    /// The names of all of them, as scenarios have them.
    pub const NAMES: [&str; ALL.len()] = {
        let mut names = [""; ALL.len()];
        let mut index = 0;
        while index < ALL.len() {
            names[index] = ALL[index].1;
            index += 1;
        }
        names
    };

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|(_, known)| *known == name).map(|(fault, _)| *fault)
    }

    /// Its name, such as `openpgp-missing`; empty for what is no fault.
    pub fn name(self) -> &'static str {
        ALL.iter().find(|(fault, _)| *fault == self).map_or("", |(_, name)| name)
    }

    /// Has an image be like this.
    pub(crate) fn spoil(self, image: &mut Image) {
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
    fn each_name_is_of_one_fault() {
        for name in ReleaseFault::NAMES {
            assert_eq!(ReleaseFault::named(name).map(ReleaseFault::name), Some(name));
        }
        assert_eq!(ReleaseFault::named("succeeds"), None);
        // Pulls are called as they are where releases are described.
        let pulls = Pull::NAMES.into_iter().filter_map(ReleaseFault::named);
        assert!(
            pulls.eq(Pull::NAMES[1..].iter().filter_map(|name| Pull::named(name)).map(ReleaseFault::Pull))
        );
    }
}

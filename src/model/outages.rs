//! What goes wrong with releases outside of the cluster while it runs.

use std::collections::BTreeMap;
use std::mem::discriminant;
use std::sync::{Arc, PoisonError, RwLock};

use super::release::Release;
use super::world::{Containers, Contents, Image, OpenPgp, Pull, Signature, digest_of};

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

    fn spoil(self, image: &mut Image) {
        match self {
            Self::Pull(pull) => image.pull = pull,
            Self::Sigstore(signature) => image.sigstore = signature,
            Self::OpenPgp(signature) => image.openpgp = signature,
            Self::Contents(contents) => image.contents = contents,
            Self::Containers(containers) => image.containers = containers,
        }
    }
}

/// What releases are like for the time being, whatever the registry has. Clones share it: there is one registry.
#[derive(Debug, Clone, Default)]
pub struct Outages(Arc<RwLock<BTreeMap<String, Vec<ReleaseFault>>>>);

impl Outages {
    /// Has a release be like this from now on; what was said before of the same side of it is over.
    pub fn begin(&self, release: &Release, fault: ReleaseFault) {
        self.change(release, |faults| {
            faults.retain(|other| discriminant(other) != discriminant(&fault));
            faults.push(fault);
        });
    }

    /// This fault of a release is over; others stay.
    pub fn end(&self, release: &Release, fault: ReleaseFault) {
        self.change(release, |faults| faults.retain(|other| *other != fault));
    }

    /// A release is what it was before any fault.
    pub fn heal(&self, release: &Release) {
        self.change(release, Vec::clear);
    }

    fn change(&self, release: &Release, change: impl Fn(&mut Vec<ReleaseFault>)) {
        let mut faults = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for image in [release.image.clone(), release.multi_image()] {
            if let Some(digest) = digest_of(&image) {
                change(faults.entry(digest.to_owned()).or_default());
            }
        }
    }

    /// An image as it is now.
    pub(super) fn over(&self, pullspec: &str, mut image: Image) -> Image {
        let faults = self.0.read().unwrap_or_else(PoisonError::into_inner);
        for fault in digest_of(pullspec).and_then(|digest| faults.get(digest)).into_iter().flatten() {
            fault.spoil(&mut image);
        }
        image
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_several_sides_come_and_go_by_themselves() {
        let release = Release::find(&"4.18.3".parse().unwrap()).unwrap();
        let (outages, pullspec) = (Outages::default(), release.image.clone());
        let now = || outages.over(&pullspec, Image::default());
        let (slow, hangs) = (ReleaseFault::Pull(Pull::Slow), ReleaseFault::Pull(Pull::Hangs));
        let corrupt = ReleaseFault::Contents(Contents::UnreadableManifest);
        outages.begin(&release, slow);
        outages.begin(&release, corrupt);
        outages.begin(&release, hangs);
        assert_eq!(
            now(),
            Image { pull: Pull::Hangs, contents: Contents::UnreadableManifest, ..Image::default() }
        );
        outages.end(&release, slow);
        assert_eq!(now().pull, Pull::Hangs, "another one began since");
        outages.end(&release, corrupt);
        assert_eq!(now(), Image { pull: Pull::Hangs, ..Image::default() });
        outages.heal(&release);
        assert_eq!(now(), Image::default());
    }

    #[test]
    fn each_name_is_of_one_fault() {
        for name in ReleaseFault::NAMES {
            assert_eq!(ReleaseFault::named(name).map(ReleaseFault::name), Some(name));
        }
        assert_eq!(ReleaseFault::named("succeeds"), None);
    }
}

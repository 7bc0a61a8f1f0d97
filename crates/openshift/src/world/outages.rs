//! What goes wrong with releases outside of the cluster while it runs.

use std::collections::BTreeMap;
use std::mem::discriminant;
use std::sync::{Arc, PoisonError, RwLock};

use windtunnel_controllers::registry::{Image, digest_of};

use crate::release::Release;
use crate::world::ReleaseFault;

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
    use windtunnel_controllers::registry::{Contents, Pull};

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
}

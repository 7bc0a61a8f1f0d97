//! Faults of releases outside of the cluster during a run.

use std::collections::BTreeMap;
use std::mem::discriminant;
use std::sync::{Arc, PoisonError, RwLock};

use windtunnel_controllers::registry::{Image, digest_of};

use crate::environment::ReleaseFault;
use crate::release::Release;

/// The current faults of releases, on top of the registry. Clones share them: there is one registry.
#[derive(Debug, Clone, Default)]
pub struct ReleaseFaults(Arc<RwLock<BTreeMap<String, Vec<ReleaseFault>>>>);

impl ReleaseFaults {
    /// A copy with the same faults, which shares no later ones.
    pub(super) fn separate(&self) -> Self {
        Self(Arc::new(RwLock::new(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())))
    }

    /// Begins a fault of a release, which replaces an earlier one of the same aspect.
    pub fn begin(&self, release: &Release, fault: ReleaseFault) {
        self.change(release, |faults| {
            faults.retain(|other| discriminant(other) != discriminant(&fault));
            faults.push(fault);
        });
    }

    /// Ends a fault of a release; other faults stay.
    pub fn end(&self, release: &Release, fault: ReleaseFault) {
        self.change(release, |faults| faults.retain(|other| *other != fault));
    }

    /// Ends all faults of a release.
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

    /// Applies the current faults to an image.
    pub(super) fn with_faults(&self, pullspec: &str, mut image: Image) -> Image {
        let faults = self.0.read().unwrap_or_else(PoisonError::into_inner);
        for fault in digest_of(pullspec).and_then(|digest| faults.get(digest)).into_iter().flatten() {
            fault.apply_to(&mut image);
        }
        image
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_controllers::registry::{Contents, Pull};

    use super::*;

    #[test]
    fn faults_of_different_aspects_are_independent() {
        let release = Release::find(&"4.18.3".parse().unwrap()).unwrap();
        let (release_faults, pullspec) = (ReleaseFaults::default(), release.image.clone());
        let now = || release_faults.with_faults(&pullspec, Image::default());
        let (slow, hangs) = (ReleaseFault::Pull(Pull::Slow), ReleaseFault::Pull(Pull::Hangs));
        let corrupt = ReleaseFault::Contents(Contents::UnreadableManifest);
        release_faults.begin(&release, slow);
        release_faults.begin(&release, corrupt);
        release_faults.begin(&release, hangs);
        assert_eq!(
            now(),
            Image { pull: Pull::Hangs, contents: Contents::UnreadableManifest, ..Image::default() }
        );
        release_faults.end(&release, slow);
        assert_eq!(now().pull, Pull::Hangs, "another fault replaced it");
        release_faults.end(&release, corrupt);
        assert_eq!(now(), Image { pull: Pull::Hangs, ..Image::default() });
        let separate = release_faults.separate();
        release_faults.heal(&release);
        assert_eq!(now(), Image::default());
        assert_eq!(separate.with_faults(&pullspec, Image::default()).pull, Pull::Hangs);
    }
}

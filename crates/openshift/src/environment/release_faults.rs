//! Faults of releases and registries outside of the cluster during a run.

use std::collections::BTreeMap;
use std::mem::discriminant;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use windtunnel_controllers::registry::{Image, Pull, digest_of, repository_of};

use crate::environment::ReleaseFault;
use crate::release::Release;

/// The current faults of releases and registries, on top of the registry. Clones share them: there is one registry.
#[derive(Debug, Clone, Default)]
pub struct ReleaseFaults(Arc<RwLock<CurrentFaults>>);

#[derive(Debug, Clone, Default)]
struct CurrentFaults {
    /// By the digest of the release's image.
    of_releases: BTreeMap<String, Vec<ReleaseFault>>,
    /// The result of pulls by registry, namespace or repository.
    of_registries: BTreeMap<String, Pull>,
}

impl ReleaseFaults {
    /// A copy with the same faults, which shares no later ones.
    pub(super) fn separate(&self) -> Self {
        Self(Arc::new(RwLock::new(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())))
    }

    fn write(&self) -> RwLockWriteGuard<'_, CurrentFaults> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a fault of all images in a registry, namespace or repository.
    pub fn begin_at(&self, scope: &str, pull: Pull) {
        self.write().of_registries.insert(scope.to_owned(), pull);
    }

    /// Ends the fault of a registry, namespace or repository.
    pub fn heal_at(&self, scope: &str) {
        self.write().of_registries.remove(scope);
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
        let mut faults = self.write();
        for image in [release.image.clone(), release.multi_image()] {
            if let Some(digest) = digest_of(&image) {
                change(faults.of_releases.entry(digest.to_owned()).or_default());
            }
        }
    }

    /// Applies the current faults to an image.
    pub(super) fn with_faults(&self, pullspec: &str, mut image: Image) -> Image {
        let faults = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let of_release = digest_of(pullspec).and_then(|digest| faults.of_releases.get(digest));
        for fault in of_release.into_iter().flatten() {
            fault.apply_to(&mut image);
        }
        if let Some(pull) = faults.at(repository_of(pullspec)) {
            image.pull = pull;
        }
        image
    }
}

impl CurrentFaults {
    /// The result of pulls from a repository: that of the closest scope with a fault.
    fn at(&self, repository: &str) -> Option<Pull> {
        let covers = |scope: &str| {
            repository.strip_prefix(scope).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // Of the scopes that cover a repository the longest is the last.
        self.of_registries.iter().rfind(|(scope, _)| covers(scope)).map(|(_, pull)| *pull)
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_controllers::registry::Contents;

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

    #[test]
    fn a_fault_of_a_registry_is_one_of_all_its_images_unless_a_namespace_has_its_own() {
        let faults = ReleaseFaults::default();
        faults.begin_at("m.com", Pull::Unreachable);
        faults.begin_at("m.com/a", Pull::Slow);
        let now = |image: &str| faults.with_faults(image, Image::default()).pull;
        let images = ["m.com/b:1", "m.com/a/c@sha256:00", "m.com/ab", "m.com.org/b", "q.com/b"];
        assert_eq!(
            images.map(now),
            [Pull::Unreachable, Pull::Slow, Pull::Unreachable, Pull::Succeeds, Pull::Succeeds]
        );
        faults.heal_at("m.com");
        assert_eq!(images.map(now)[..2], [Pull::Succeeds, Pull::Slow]);
    }
}

//! What goes wrong with pulls of releases while a cluster runs.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::release::Release;
use super::world::{Image, Pull, digest_of};

/// What pulls of releases come to for the time being, whatever the registry has. Clones share it: there is one registry.
#[derive(Debug, Clone, Default)]
pub struct Outages(Arc<RwLock<BTreeMap<String, Pull>>>);

impl Outages {
    /// Has each pull of a release that begins from now on come to this; `None`: to what it came to before.
    pub fn set(&self, release: &Release, pull: Option<Pull>) {
        let mut pulls = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for image in [release.image.clone(), release.multi_image()] {
            let Some(digest) = digest_of(&image) else { continue };
            match pull {
                Some(pull) => pulls.insert(digest.to_owned(), pull),
                None => pulls.remove(digest),
            };
        }
    }

    /// An image as it is pulled now.
    pub(super) fn over(&self, pullspec: &str, image: Image) -> Image {
        let pulls = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let pull = digest_of(pullspec).and_then(|digest| pulls.get(digest)).copied();
        Image { pull: pull.unwrap_or(image.pull), ..image }
    }
}

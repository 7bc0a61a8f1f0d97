//! The causes of a failed signature verification for Events: each exhausted place, then the stores that
//! contain it.

use windtunnel_controllers::registry::OpenPgp;
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::resources::CONFIG_MAPS;

use super::{SignatureSources, verifiable_digest};
use crate::signature;

const EXHAUSTED: &str = "no more signatures to check";

impl SignatureSources<'_> {
    /// The causes of the error that `image` cannot be verified. Empty if the operator searched for no
    /// signature.
    pub(in crate::cvo) fn causes(&self, image: &str, now: Time) -> String {
        let Ok(digest) = verifiable_digest(image, self.keyrings) else { return String::new() };
        let mut causes = self.in_config_maps(digest);
        if self.own_stores && self.stores.is_empty() {
            causes.push(
                "ClusterVersion spec.signatureStores is an empty array. Unset signatureStores entirely if you want \
                 to enable the default signature stores"
                    .to_owned(),
            );
        } else {
            causes.extend(self.stores.iter().map(|store| self.in_store(store, image, digest)));
            causes.extend(self.wrapping_stores().map(|store| format!("{store}: {EXHAUSTED}")));
        }
        let at = rfc3339(now);
        let causes: Vec<String> = causes.iter().map(|cause| format!("{at}: {cause}")).collect();
        format!("[{}]", causes.join(", "))
    }

    fn in_config_maps(&self, digest: &str) -> Vec<String> {
        let prefix = signature::key_prefix(digest);
        let prefix = prefix.trim_end_matches('-');
        let mut causes = Vec::new();
        for map in self.view.list_in(&CONFIG_MAPS, signature::NAMESPACE) {
            if map.label(signature::LABEL).is_some() {
                causes.push(format!("prefix {prefix} in config map {}: {EXHAUSTED}", map.name()));
            }
        }
        causes
    }

    /// The result of a request to a store: it has no further signature, or did not answer.
    fn in_store(&self, store: &str, image: &str, digest: &str) -> String {
        let found = self.environment.release_image(image);
        let (number, cause) = match found.openpgp {
            OpenPgp::Unanswered => (1, "context deadline exceeded"),
            _ => (1 + self.in_stores(image, digest).len().min(1), EXHAUSTED),
        };
        let digest = digest.replacen(':', "=", 1);
        format!("unable to retrieve signature from {store}/{digest}/signature-{number}: {cause}")
    }

    /// The stores that wrap other stores, from the innermost outwards.
    fn wrapping_stores(&self) -> impl Iterator<Item = String> + use<> {
        let each = self.stores.iter().map(|store| format!("containers/image signature store under {store}"));
        let parallel = format!("parallel signature store wrapping {}", each.collect::<Vec<_>>().join(", "));
        let fallback = (self.may_have_own && !self.own_stores).then(|| {
            format!("serial signature store wrapping ClusterVersion signatureStores unset, falling back to default stores, {parallel}")
        });
        let inner = fallback.as_ref().unwrap_or(&parallel);
        let outer = format!(
            "serial signature store wrapping config maps in {} with label \"{}\", {inner}",
            signature::NAMESPACE,
            signature::LABEL
        );
        [Some(parallel), fallback, Some(outer)].into_iter().flatten()
    }
}

//! Verification of release signatures against the keyrings of the loaded payload. Valid signatures are
//! cached, and written to a ConfigMap periodically.

mod causes;
mod persist;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_controllers::registry::{OpenPgp, digest_of};
use windtunnel_core::View;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::CONFIG_MAPS;

use super::OperatorContext;
use crate::environment::Environment;
use crate::payload::{Selection, Verification};
use crate::release::Release;
use crate::signature;

/// How long it takes to check the cache and the ConfigMaps.
const LOCAL_CHECK: SignedDuration = SignedDuration::from_millis(200);
/// How long signature stores take to answer. The operator queries all of them in parallel.
const ANSWER: SignedDuration = SignedDuration::from_secs(1);
/// The time limit for signature stores, half of that of a retrieval. It applies in releases that limit
/// retrievals, and to forced updates in all releases.
pub(in crate::cvo) const STORE_TIMEOUT: SignedDuration = SignedDuration::from_mins(2);
/// The maximum of images in the cache.
const CACHED_MAX: usize = 64;

/// The verifier of one process, with its cache.
#[derive(Debug, Clone)]
pub(in crate::cvo) struct Verifier {
    /// Valid signatures by digest.
    verified: BTreeMap<String, Vec<String>>,
    schedule: persist::PersistSchedule,
}

/// The keyrings and signature stores in the payload that a process runs from. Empty if the payload configures
/// no verification.
#[derive(Debug, Clone, Default)]
pub(in crate::cvo) struct Trust(Verification);

impl Trust {
    /// The keyrings and stores in the manifests of `release` that a cluster includes. Without manifests they
    /// are Red Hat's.
    pub(in crate::cvo) fn of(release: &Release, feature_gate: Option<&Value>) -> Self {
        let Some(payload) = &release.payload else { return Self::by_facts() };
        let selection = Selection::of(feature_gate, &release.version);
        Self(payload.verification(&selection).unwrap_or_default())
    }

    /// Red Hat's keyring and stores.
    pub(in crate::cvo) fn by_facts() -> Self {
        let keyrings = vec![signature::KEYRING.to_owned()];
        Self(Verification { keyrings, stores: signature::STORES.map(str::to_owned).to_vec() })
    }

    /// Its keyrings, unless the environment has others for all payloads.
    fn keyrings<'a>(&'a self, environment: &'a Environment) -> &'a [String] {
        environment.keyrings.as_ref().unwrap_or(&self.0.keyrings)
    }

    /// Its stores. Keyrings of the environment come with Red Hat's stores where the payload has none.
    fn stores(&self, environment: &Environment) -> Vec<&str> {
        if self.0.stores.is_empty() && environment.keyrings.is_some() {
            return signature::STORES.to_vec();
        }
        self.0.stores.iter().map(String::as_str).collect()
    }
}

impl OperatorContext {
    /// Returns whether there is any keyring to verify releases.
    pub(in crate::cvo) fn can_verify(&self) -> bool {
        !self.trust.keyrings(&self.environment).is_empty()
    }
}

/// The places with signatures.
pub(in crate::cvo) struct SignatureSources<'a> {
    view: &'a View,
    environment: &'a Environment,
    /// The keyrings that must have signed a release.
    keyrings: &'a [String],
    /// URLs of the stores.
    stores: Vec<String>,
    /// Whether the spec can name stores, and whether it does.
    may_have_own: bool,
    own_stores: bool,
    /// The time limit for the stores. `None` means that there is none.
    store_timeout: Option<SignedDuration>,
}

impl<'a> SignatureSources<'a> {
    /// The places that this operator uses: ConfigMaps, and the payload's stores unless the spec names its
    /// own. An empty list in the spec is an error, but only Events report it, because conditions have only
    /// the outermost error.
    pub(in crate::cvo) fn of(site: &'a OperatorContext, view: &'a View) -> Self {
        let own = view
            .cluster_version()
            .filter(|_| site.behaviour.custom_signature_stores)
            .and_then(|cluster_version| cluster_version["spec"]["signatureStores"].as_array());
        let url = |store: &str| store.trim_end_matches('/').to_owned();
        let stores = match own {
            Some(list) => list.iter().filter_map(|store| store["url"].as_str()).map(url).collect(),
            None => site.trust.stores(&site.environment).into_iter().map(url).collect(),
        };
        let keyrings = site.trust.keyrings(&site.environment);
        let may_have_own = site.behaviour.custom_signature_stores;
        let store_timeout = site.behaviour.limits_retrieval.then_some(STORE_TIMEOUT);
        Self {
            view,
            environment: &site.environment,
            keyrings,
            stores,
            may_have_own,
            own_stores: own.is_some(),
            store_timeout,
        }
    }

    /// Signatures of `digest` in the cluster, in the order of ConfigMaps and of keys.
    fn in_cluster(&self, digest: &str) -> Vec<String> {
        let prefix = signature::key_prefix(digest);
        let maps: Vec<_> = self.view.list_in(&CONFIG_MAPS, signature::NAMESPACE).collect();
        let labelled = maps.into_iter().filter(|map| map.label(signature::LABEL).is_some());
        let mut found = Vec::new();
        for data in labelled.filter_map(|map| map["binaryData"].as_object()) {
            let entries = data.iter().filter(|(key, _)| key.starts_with(&prefix));
            let bytes = entries.filter_map(|(_, value)| STANDARD.decode(value.as_str()?).ok());
            found.extend(bytes.filter_map(|bytes| String::from_utf8(bytes).ok()));
        }
        found
    }

    /// Signatures in the stores.
    fn in_stores(&self, image: &str, digest: &str) -> Vec<String> {
        let found = self.environment.release_image(image);
        let keyring = match found.openpgp {
            OpenPgp::Valid => signature::KEYRING,
            OpenPgp::WrongKey => "another-key",
            OpenPgp::Missing | OpenPgp::Unanswered => return Vec::new(),
        };
        let holds = |store: &String| {
            let holders = &found.signature_stores;
            let by_default = holders.is_empty() && signature::STORES.contains(&store.as_str());
            by_default || holders.iter().any(|holder| holder.trim_end_matches('/') == store)
        };
        self.stores
            .iter()
            .filter(|store| holds(store))
            .map(|_| signature::document(digest, keyring))
            .collect()
    }

    /// How long the stores take to answer about `image`. `None` means forever.
    fn answer_time(&self, image: &str) -> Option<SignedDuration> {
        match self.environment.release_image(image).openpgp {
            _ if self.stores.is_empty() => Some(LOCAL_CHECK),
            OpenPgp::Unanswered => self.store_timeout,
            OpenPgp::Valid | OpenPgp::Missing | OpenPgp::WrongKey => Some(ANSWER),
        }
    }
}

impl Verifier {
    /// A verifier with an empty cache, in a process with this reconcile interval.
    pub(in crate::cvo) fn new(interval: SignedDuration, now: Time) -> Self {
        Self { verified: BTreeMap::new(), schedule: persist::PersistSchedule::new(interval * 2, now) }
    }

    /// The time at which the verification of `image` is complete. `None` if a store never answers and there
    /// is no time limit.
    pub(in crate::cvo) fn known_at(
        &self,
        image: &str,
        places: &SignatureSources<'_>,
        now: Time,
    ) -> Option<Time> {
        match verifiable_digest(image, places.keyrings) {
            Ok(digest) if !self.verified.contains_key(digest) => {
                let unsigned = unsigned_by(digest, places.keyrings, &places.in_cluster(digest)).is_some();
                let takes = if unsigned { places.answer_time(image) } else { Some(LOCAL_CHECK) };
                takes.map(|takes| now + takes)
            }
            Ok(_) | Err(_) => Some(now + LOCAL_CHECK),
        }
    }

    /// Verifies `image`. Returns its digest and valid signatures, for [`Self::remember`].
    ///
    /// # Errors
    /// The text after `The update cannot be verified: `, if the image is not signed by all keyrings or cannot
    /// be checked.
    pub(in crate::cvo) fn verify(
        &self,
        image: &str,
        places: &SignatureSources<'_>,
    ) -> Result<(String, Vec<String>), String> {
        let digest = verifiable_digest(image, places.keyrings)?;
        if let Some(known) = self.verified.get(digest) {
            return Ok((digest.to_owned(), known.clone()));
        }
        let mut documents = places.in_cluster(digest);
        // The operator queries the stores only if the cluster lacks signatures.
        if unsigned_by(digest, places.keyrings, &documents).is_some() {
            documents.extend(places.in_stores(image, digest));
        }
        if let Some(keyrings) = unsigned_by(digest, places.keyrings, &documents) {
            return Err(format!("unable to verify {digest} against keyrings: {keyrings}"));
        }
        let mut wanted: BTreeSet<&String> = places.keyrings.iter().collect();
        documents.retain(|document| {
            signature::signer(document, digest).is_some_and(|signer| wanted.remove(&signer))
        });
        Ok((digest.to_owned(), documents))
    }

    /// Adds valid signatures to the cache.
    pub(in crate::cvo) fn remember(&mut self, (digest, documents): (String, Vec<String>)) {
        if self.verified.insert(digest, documents).is_none() {
            self.schedule.is_stale = true;
        }
        while self.verified.len() > CACHED_MAX {
            self.verified.pop_first();
        }
    }
}

/// The digest of an image, if it can be verified at all.
fn verifiable_digest<'a>(image: &'a str, keyrings: &[String]) -> Result<&'a str, String> {
    if keyrings.is_empty() {
        return Err("verification is not possible".to_owned());
    }
    let digest = digest_of(image).filter(|digest| !digest.is_empty());
    let Some(digest) = digest else {
        return Err("release images that are not accessed via digest cannot be verified".to_owned());
    };
    if digest.chars().all(|c| c.is_ascii_alphanumeric() || c == ':') {
        return Ok(digest);
    }
    Err(format!("the provided release image digest has an invalid format: \"{digest}\""))
}

/// The keyrings without a signature of `digest` among these documents, as errors name them. `None` if all
/// have one.
fn unsigned_by(digest: &str, keyrings: &[String], documents: &[String]) -> Option<String> {
    let signers: BTreeSet<String> =
        documents.iter().filter_map(|document| signature::signer(document, digest)).collect();
    let missing: BTreeSet<&str> =
        keyrings.iter().filter(|keyring| !signers.contains(*keyring)).map(String::as_str).collect();
    (!missing.is_empty()).then(|| missing.into_iter().collect::<Vec<_>>().join(", "))
}

//! By whose certificate the cluster-version operator serves, and whom Prometheus trusts to sign it.

use windtunnel_controllers::counter::Counter;
use windtunnel_core::resources::CONFIG_MAPS;
use windtunnel_core::{Key, View};

use crate::certificate::{BUNDLE_KEY, Certificate};

/// What who connects to the operator sees of its certificate: 1 for the key that signed it. It is no metric.
pub(crate) const SERVING_CERTIFICATE: &str = "serving_certificate";

/// The ConfigMap with the certificates of those whom Prometheus trusts to sign others.
const BUNDLE: (&str, &str) = ("openshift-monitoring", "serving-certs-ca-bundle");
/// The Secret with the operator's certificate.
pub(crate) const CERTIFICATE: &str = "cluster-version-operator-serving-cert";

/// Whether Prometheus trusts the certificate by which the operator serves: whoever signed it is in its bundle. Without a certificate
/// there is nobody in the cluster who signs, and nothing to look at.
pub(super) fn is_trusted(view: &View, counters: &[Counter]) -> bool {
    let mut served = certificates_served(counters).peekable();
    if served.peek().is_none() {
        return true;
    }
    let bundle = view.get(&CONFIG_MAPS, BUNDLE.0, BUNDLE.1);
    let bundle = bundle.and_then(|map| map["data"][BUNDLE_KEY].as_str()).unwrap_or_default();
    let trusted = Certificate::all_in(bundle);
    served.all(|signer| trusted.iter().any(|one| one.key == *signer))
}

/// The keys that signed what the operator's processes serve by.
pub(in crate::monitoring) fn certificates_served(counters: &[Counter]) -> impl Iterator<Item = &String> {
    let served = counters.iter().filter(|one| one.metric == SERVING_CERTIFICATE && one.count > 0);
    served.filter_map(|one| one.labels.get("signer"))
}

pub(super) fn is_bundle(key: &Key) -> bool {
    key.is(&CONFIG_MAPS) && (&*key.namespace, &*key.name) == BUNDLE
}

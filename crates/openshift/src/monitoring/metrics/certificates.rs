//! The serving certificate of the cluster-version operator, and whether Prometheus trusts its signer.

use windtunnel_controllers::counter::Counter;
use windtunnel_core::resources::CONFIG_MAPS;
use windtunnel_core::{Key, View};

use crate::certificate::{BUNDLE_KEY, Certificate};

/// An internal counter about the operator's serving certificate: 1 for the key that signed it. It is not
/// exported as a metric.
pub(crate) const SERVING_CERTIFICATE: &str = "serving_certificate";

/// Namespace and name of the ConfigMap with the CA certificates that Prometheus trusts.
const BUNDLE: (&str, &str) = ("openshift-monitoring", "serving-certs-ca-bundle");
/// The Secret with the operator's certificate.
pub(crate) const CERTIFICATE: &str = "cluster-version-operator-serving-cert";

/// Returns whether Prometheus trusts the operator's serving certificate, because its bundle contains the
/// signer. A cluster without such certificates has no signer, and everything is trusted.
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

/// The keys that signed the serving certificates of the operator's processes.
pub(in crate::monitoring) fn certificates_served(counters: &[Counter]) -> impl Iterator<Item = &String> {
    let served = counters.iter().filter(|one| one.metric == SERVING_CERTIFICATE && one.count > 0);
    served.filter_map(|one| one.labels.get("signer"))
}

pub(super) fn is_bundle(key: &Key) -> bool {
    key.is_kind(&CONFIG_MAPS) && (&*key.namespace, &*key.name) == BUNDLE
}

//! The expiry of certificates that kubelets trust, in a pool's `status.certExpirys`.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, after, rfc3339};

use crate::manifests::MajorMinor;

/// The first minors whose pools report certificates, and their expiry.
const REPORTS_SIGNERS: MajorMinor = (4, 14);
const REPORTS_EXPIRY: MajorMinor = (4, 15);

/// The bundle of all these certificates.
const BUNDLE: &str = "KubeAPIServerServingCAData";

/// The signers of a cluster and their validity in days. The creation time follows an `@`.
const SIGNERS: [(&str, i64); 7] = [
    ("CN=admin-kubeconfig-signer,OU=openshift", 3650),
    ("CN=kube-csr-signer_@", 1),
    ("CN=kubelet-signer,OU=openshift", 1),
    ("CN=kube-apiserver-to-kubelet-signer,OU=openshift", 365),
    ("CN=kube-control-plane-signer,OU=openshift", 365),
    ("CN=kubelet-bootstrap-kubeconfig-signer,OU=openshift", 3650),
    ("CN=openshift-kube-apiserver-operator_node-system-admin-signer@", 365),
];

/// The entries of certificates that were created at `made`. `None` in releases without them.
pub(super) fn expirys(line: MajorMinor, made: Time) -> Option<Value> {
    let entry = |(subject, days): &(&str, i64)| {
        let seconds = if subject.ends_with('@') { made.as_second().to_string() } else { String::new() };
        let mut entry = json!({ "bundle": BUNDLE, "subject": format!("{subject}{seconds}") });
        if line >= REPORTS_EXPIRY {
            entry["expiry"] = json!(rfc3339(after(made, SignedDuration::from_hours(24 * days))));
        }
        entry
    };
    (line >= REPORTS_SIGNERS).then(|| SIGNERS.iter().map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_report_signers_from_4_14_on_and_their_expiry_from_4_15_on() {
        let made: Time = "2024-11-20T22:35:20Z".parse().unwrap();
        assert_eq!(expirys((4, 13), made), None);
        assert_eq!(expirys((4, 14), made).unwrap()[0].get("expiry"), None);
        let entries = expirys((4, 18), made).unwrap();
        assert_eq!(entries[0]["expiry"], "2034-11-18T22:35:20Z");
        let last = json!({
            "bundle": BUNDLE,
            "subject": "CN=openshift-kube-apiserver-operator_node-system-admin-signer@1732142120",
            "expiry": "2025-11-20T22:35:20Z",
        });
        assert_eq!(entries[6], last);
    }
}

//! When a Job replaces terminating pods (`spec.podReplacementPolicy`).

use windtunnel_core::Object;

/// Whether terminating pods are replaced only after they have failed.
pub(super) fn replaces_failed_only(job: &Object) -> bool {
    let spec = &job["spec"];
    match spec["podReplacementPolicy"].as_str() {
        Some(policy) => policy == "Failed",
        None => !spec["podFailurePolicy"].is_null(),
    }
}

//! The checks of seccomp profiles, which filter the system calls of containers.

use serde_json::Value;
use windtunnel_core::text_of;

use super::restricted::WINDOWS_EXEMPTION;
use super::{Versions, Violation};
use crate::admission::builtin::pod_security::pod::{Pod, Texts, containers, plural, quoted};
use crate::gotext::quote;

const REASON: &str = "seccompProfile";
/// The first version of the standard that checks fields, not annotations.
const FIELDS: u32 = 19;

/// Profiles other than the default and local ones.
pub(super) fn baseline(pod: Pod<'_>, versions: Versions) -> Option<Violation> {
    if versions.standard < FIELDS { annotations(pod) } else { fields(pod) }
}

/// Bad profiles, and containers without a profile.
pub(super) fn restricted(pod: Pod<'_>, versions: Versions) -> Option<Violation> {
    if versions.standard >= WINDOWS_EXEMPTION && pod.is_windows() {
        return None;
    }
    let bad = fields(pod);
    if bad.is_some() || profile(&pod.spec["securityContext"]).is_some() {
        return bad;
    }
    let missing = pod.containers_where(|container| profile(&container["securityContext"]).is_none());
    let detail = || {
        let containers = containers(&missing);
        format!(
            r#"pod or {containers} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost""#
        )
    };
    (!missing.is_empty()).then(|| Violation::new(REASON, detail()))
}

/// The type of the profile in a security context, if it has one.
fn profile(context: &Value) -> Option<&str> {
    let profile = &context["seccompProfile"];
    profile.is_object().then(|| text_of(profile, "type"))
}

fn fields(pod: Pod<'_>) -> Option<Violation> {
    let mut types = Texts::new();
    let setters = pod.setters(|context| {
        let bad = profile(context).filter(|kind| !["RuntimeDefault", "Localhost"].contains(kind));
        bad.map(|kind| types.insert(kind.to_owned())).is_some()
    });
    let detail = || {
        let setters = setters.join(" and ");
        format!("{setters} must not set securityContext.seccompProfile.type to {}", quoted(&types))
    };
    (!setters.is_empty()).then(|| Violation::new(REASON, detail()))
}

fn annotations(pod: Pod<'_>) -> Option<Violation> {
    let mut bad = Texts::new();
    let of_containers = pod.containers().map(|container| text_of(container, "name"));
    let of_containers =
        of_containers.map(|name| format!("container.seccomp.security.alpha.kubernetes.io/{name}"));
    let of_pod = "seccomp.security.alpha.kubernetes.io/pod".to_owned();
    for name in std::iter::once(of_pod).chain(of_containers) {
        let Some(profile) = pod.annotations[&name].as_str() else { continue };
        let is_allowed =
            ["runtime/default", "docker/default"].contains(&profile) || profile.starts_with("localhost/");
        if !is_allowed {
            bad.insert(format!("{name}={}", quote(profile)));
        }
    }
    let detail = || {
        let texts: Vec<&str> = bad.iter().map(String::as_str).collect();
        format!("forbidden {} {}", plural(bad.len(), "annotation", "annotations"), texts.join(", "))
    };
    (!bad.is_empty()).then(|| Violation::new(REASON, detail()))
}

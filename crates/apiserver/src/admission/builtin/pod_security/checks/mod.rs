//! The checks of the Pod Security Standards.

mod baseline;
mod restricted;
mod seccomp;

use self::Level::{Baseline, Restricted};
use super::pod::Pod;
use super::policy::{Level, Standard};
use crate::profile::since;

/// The reason why a pod violates a standard.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Violation {
    reason: String,
    /// The offending fields; empty if the reason says everything.
    detail: String,
}

impl Violation {
    fn new(reason: &str, detail: String) -> Self {
        Self { reason: reason.to_owned(), detail }
    }
}

/// The versions that a check depends on.
#[derive(Debug, Clone, Copy)]
struct Versions {
    /// The minor of the standard.
    standard: u32,
    /// The minor of the server.
    server: u32,
}

/// A check of a level.
struct Check {
    level: Level,
    /// The first version of the standard that has the check.
    since: u32,
    /// The first version in which a check of the restricted level replaces this one there.
    replaced: Option<u32>,
    find: fn(Pod<'_>, Versions) -> Option<Violation>,
}

const fn baseline(since: u32, find: fn(Pod<'_>, Versions) -> Option<Violation>) -> Check {
    Check { level: Baseline, since, replaced: None, find }
}

const fn replaced(replaced: u32, find: fn(Pod<'_>, Versions) -> Option<Violation>) -> Check {
    Check { level: Baseline, since: 0, replaced: Some(replaced), find }
}

const fn restricted(since: u32, find: fn(Pod<'_>, Versions) -> Option<Violation>) -> Check {
    Check { level: Restricted, since, replaced: None, find }
}

/// All checks, in the order of messages: baseline before restricted, each by the name of the check in Kubernetes.
const CHECKS: [Check; 19] = [
    baseline(0, baseline::app_armor),
    replaced(22, baseline::capabilities),
    baseline(0, baseline::host_namespaces),
    replaced(0, baseline::host_paths),
    baseline(0, baseline::host_ports),
    baseline(34, baseline::hosts_of_probes),
    baseline(0, baseline::privileged),
    replaced(35, baseline::proc_mount),
    baseline(0, baseline::se_linux),
    replaced(19, seccomp::baseline),
    baseline(0, baseline::sysctls),
    baseline(0, baseline::host_process),
    restricted(8, restricted::privilege_escalation),
    restricted(22, restricted::capabilities),
    restricted(35, restricted::proc_mount),
    restricted(0, restricted::volumes),
    restricted(0, restricted::non_root),
    restricted(23, restricted::user),
    restricted(19, seccomp::restricted),
];

/// The violations of a standard by a pod, on a server of this minor.
pub(super) fn violations(pod: Pod<'_>, standard: Standard, server: u32) -> Vec<Violation> {
    let versions = Versions { standard: standard.version.known_to(server), server };
    let replaces = standard.level == Restricted && server >= since::POD_SECURITY_REPLACEMENTS;
    let checks = CHECKS.iter().filter(|check| {
        let is_replaced = check.replaced.is_some_and(|replaced| versions.standard >= replaced);
        check.level <= standard.level && check.since <= versions.standard && !(replaces && is_replaced)
    });
    checks.filter_map(|check| (check.find)(pod, versions)).collect()
}

/// The reasons in short: `host namespaces, privileged`.
pub(super) fn reasons(violations: &[Violation]) -> String {
    let reasons: Vec<&str> = violations.iter().map(|violation| &*violation.reason).collect();
    reasons.join(", ")
}

/// The reasons with details: `host namespaces (hostPID=true), privileged (container "a" must not ...)`.
pub(super) fn details(violations: &[Violation]) -> String {
    let details = violations.iter().map(|violation| match &*violation.detail {
        "" => violation.reason.clone(),
        detail => format!("{} ({detail})", violation.reason),
    });
    details.collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests;

//! Checks of MachineConfigPools, and their messages in the ClusterOperator.

use serde_json::Value;
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, MACHINE_CONFIGS};
use windtunnel_core::text::go_quote::quote;
use windtunnel_core::{Object, View, condition};

use crate::manifests::MajorMinor;
use crate::mco::annotations::{GENERATED_BY, RELEASE_VERSION, REQUIRED};
use crate::mco::layering;

/// Up to this minor messages about pools start with `error`.
const PREFIXES_ERROR: MajorMinor = (4, 22);
/// From this minor on the reason of a degraded pool is reported.
const REPORTS_REASON: MajorMinor = (4, 19);

/// Why the operator cannot continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PoolSyncError {
    /// It retries until its time limit.
    Waits(String),
    /// It fails at once.
    Fails(String),
    /// It fails before it looks at the pools, because it cannot start the builder of custom images.
    HasNoBuilder(String),
}

impl PoolSyncError {
    /// The possible reasons of the condition Degraded.
    pub(super) const REASONS: [&str; 2] = ["RequiredPoolsFailed", "MachineOSBuilderFailed"];

    /// Why it cannot continue.
    pub(super) fn why(&self) -> &str {
        let (Self::Waits(why) | Self::Fails(why) | Self::HasNoBuilder(why)) = self;
        why
    }

    /// The reason of the condition Degraded, by the part of the operator that failed.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Waits(_) | Self::Fails(_) => Self::REASONS[0],
            Self::HasNoBuilder(_) => Self::REASONS[1],
        }
    }
}

/// The release that the pools must have.
#[derive(Debug)]
pub(super) struct WantedRelease<'a> {
    pub(super) version: &'a str,
    pub(super) commit: &'a str,
    pub(super) os_image: &'a str,
    pub(super) line: MajorMinor,
}

/// Returns the first error, unless the builder of custom images can run, all required pools have the release
/// and no pool is degraded.
pub(super) fn check_pools(view: &View, wanted: &WantedRelease<'_>) -> Result<(), PoolSyncError> {
    if let Some(why) = layering::objection(view) {
        return Err(PoolSyncError::HasNoBuilder(why));
    }
    for pool in view.list(&MACHINE_CONFIG_POOLS) {
        if condition::is_true(pool, "Degraded") {
            return Err(PoolSyncError::Waits(degraded(pool, wanted.line)));
        }
        if !is_required(pool) {
            continue;
        }
        if let Err(why) = has_reached(pool, view, wanted) {
            let name = pool.name();
            return Err(PoolSyncError::Waits(format!(
                "MachineConfigPool {name} has not progressed to latest configuration: {why}, retrying"
            )));
        }
        if !condition::is_true(pool, "Updated") {
            return Err(not_updated(pool, wanted.line));
        }
    }
    Ok(())
}

/// Returns whether a cluster update requires the update of this pool.
pub(super) fn is_required(pool: &Object) -> bool {
    pool.label(REQUIRED).is_some()
}

/// The prefix of errors.
pub(super) fn error(line: MajorMinor) -> &'static str {
    if line <= PREFIXES_ERROR { "error " } else { "" }
}

fn degraded(pool: &Object, line: MajorMinor) -> String {
    let error = error(line);
    let [total, ready, updated, unavailable, _] = counts(pool);
    let reason = if line >= REPORTS_REASON {
        let message = condition::find_in_status(pool, "Degraded").map_or("", |found| text(&found["message"]));
        format!(", reason: {message}")
    } else {
        String::new()
    };
    format!(
        "{error}MachineConfigPool {} is not ready, retrying. Status: (pool degraded: true total: {total}, ready {ready}, updated: {updated}, unavailable: {unavailable}{reason})",
        pool.name()
    )
}

fn has_reached(pool: &Object, view: &View, wanted: &WantedRelease<'_>) -> Result<(), String> {
    let name = pool.text("/status/configuration/name");
    if name.is_empty() || pool.text("/spec/configuration/name").is_empty() {
        return Err(format!("configuration spec/status for pool {} is empty", pool.name()));
    }
    let Some(config) = view.get(&MACHINE_CONFIGS, "", name) else {
        return Err(format!("machineconfig.machineconfiguration.openshift.io \"{name}\" not found"));
    };
    let commit = config.annotation(GENERATED_BY).unwrap_or_default();
    if commit != wanted.commit {
        let (expected, pool_text) = (wanted.commit, extension_text(pool));
        return Err(format!(
            "controller version mismatch for {name} expected {expected} has {commit}: {pool_text}"
        ));
    }
    let os_image = config.text("/spec/osImageURL");
    if os_image != wanted.os_image {
        let pool = pool.name();
        return Err(format!(
            "osImageURL mismatch for {pool} in {name} expected: {} got: {os_image}",
            wanted.os_image
        ));
    }
    let version = config.annotation(RELEASE_VERSION).unwrap_or_default();
    if version != wanted.version {
        let pool = pool.name();
        return Err(format!(
            "release image version mismatch for {pool} in {name} expected: {} got: {version}",
            wanted.version
        ));
    }
    Ok(())
}

fn not_updated(pool: &Object, line: MajorMinor) -> PoolSyncError {
    let name = pool.name();
    if pool["spec"]["paused"] == true {
        let error = error(line);
        return PoolSyncError::Fails(format!(
            "{error}required MachineConfigPool {name} is paused and cannot sync until it is unpaused"
        ));
    }
    let [total, ready, updated, unavailable, degraded] = counts(pool);
    PoolSyncError::Waits(format!(
        "required MachineConfigPool {name} is not ready, retrying. Status: (total: {total}, ready {ready}, updated: {updated}, unavailable: {unavailable}, degraded: {degraded})"
    ))
}

/// The message about a pool in `status.extension`.
pub(super) fn extension_text(pool: &Object) -> String {
    let config = pool.text("/spec/configuration/name");
    let [total, ready, updated, _, _] = counts(pool);
    for (kind, what) in [("NodeDegraded", "nodes fail"), ("RenderDegraded", "rendering fails")] {
        if let Some(found) = condition::find_in_status(pool, kind).filter(|found| found["status"] == "True") {
            let [reason, message] = ["reason", "message"].map(|field| quote(text(&found[field])));
            return format!("pool is degraded because {what} with {reason}: {message}");
        }
    }
    if condition::is_true(pool, "Updated") {
        format!("all {total} nodes are at latest configuration {config}")
    } else if condition::is_true(pool, "Updating") {
        format!(
            "{updated} (ready {ready}) out of {total} nodes are updating to latest configuration {config}"
        )
    } else {
        "<unknown>".to_owned()
    }
}

/// The node counts of a pool: all, ready, updated, unavailable and degraded.
fn counts(pool: &Object) -> [i64; 5] {
    let count = |field: &str| pool.number(&format!("/status/{field}MachineCount")).unwrap_or(0);
    let all = pool.number("/status/machineCount").unwrap_or(0);
    [all, count("ready"), count("updated"), count("unavailable"), count("degraded")]
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

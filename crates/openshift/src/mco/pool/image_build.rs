//! What the status of a pool says about the builds of its custom image.

use windtunnel_core::condition::{self, Condition};
use windtunnel_core::{Object, pool};

use crate::mco::layering::{BuildState, Layering};

/// The pool's condition about its build.
pub(super) const DEGRADED: &str = "ImageBuildDegraded";

/// The pool's target in messages: its MachineConfig, and the custom image.
pub(super) fn target_text(config: &str, layering: Option<&Layering<'_>>) -> String {
    match layering.map(Layering::last_image) {
        Some(image) if !image.is_empty() => format!("MachineConfig {config} / Image {image}"),
        _ => format!("MachineConfig {config}"),
    }
}

/// The condition Updating of a pool with a custom image. `None` if it is the same as without one.
pub(super) fn updating(pool: &Object, layering: &Layering<'_>, all_updated: bool) -> Option<Condition> {
    let is_degraded = ["RenderDegraded", "NodeDegraded", "PinnedImageSetsDegraded"]
        .map(|kind| condition::is_true(pool, kind));
    let name = layering.build.map_or("", |build| build.name());
    let config = layering.config.name();
    if pool::is_paused(pool) {
        return Some(paused(layering.state(), name, config));
    }
    if is_degraded.contains(&true) {
        return Some(condition("False", "Pool update paused due to degraded condition".to_owned()));
    }
    let (status, message) = match layering.state() {
        None => ("True", format!("Pool is waiting for a new OS image build to start (mosc: {config})")),
        Some(BuildState::Initial | BuildState::Prepared) => {
            ("True", format!("Pool is waiting for OS image build to start (mosb: {name})"))
        }
        Some(BuildState::Building) => {
            ("True", format!("Pool is waiting for OS image build to complete (mosb: {name})"))
        }
        Some(BuildState::Succeeded) if all_updated => return None,
        Some(BuildState::Succeeded) => {
            ("True", format!("Pool is waiting for nodes to apply OS image (mosb: {name})"))
        }
        Some(BuildState::Failed) => {
            ("False", format!("Pool update stopped due to OS image build failure (mosb: {name})"))
        }
        Some(BuildState::Interrupted) => {
            ("False", format!("Pool update stopped due to OS image build being interrupted (mosb: {name})"))
        }
    };
    Some(condition(status, message))
}

fn condition(status: &str, message: String) -> Condition {
    Condition::new("Updating", status, "", message)
}

/// The condition Updating of a paused pool with a custom image.
fn paused(state: Option<BuildState>, build: &str, config: &str) -> Condition {
    let (status, what) = match state {
        None => {
            let message =
                format!("Pool is paused; waiting for a new OS image build to start (mosc: {config})");
            return condition("True", message);
        }
        Some(BuildState::Initial) => ("True", "has been created but not yet started"),
        Some(BuildState::Prepared) => ("True", "has been prepared but will not rollout"),
        Some(BuildState::Building) => ("True", "in progress"),
        Some(BuildState::Succeeded) => ("False", "completed successfully"),
        Some(BuildState::Failed) => ("False", "failed"),
        Some(BuildState::Interrupted) => ("False", "was interrupted"),
    };
    condition(status, format!("Pool is paused; OS image build {what} (mosb: {build})"))
}

/// The new condition ImageBuildDegraded, if the node controller changes it. Only the builder sets it to True.
pub(super) fn recovered(pool: &Object, layering: Option<&Layering<'_>>) -> Option<Condition> {
    let is_degraded = condition::is_true(pool, DEGRADED);
    let (reason, message) = match layering {
        Some(layering) => match layering.state() {
            Some(BuildState::Building | BuildState::Prepared) => ("Building", "New build started"),
            Some(BuildState::Succeeded) => ("BuildSuccess", "Build completed successfully"),
            None if is_degraded => {
                ("BuildPending", "MachineOSConfig updated/created, waiting for MachineOSBuild")
            }
            Some(_) | None => return None,
        },
        None if is_degraded => {
            ("NoLayeredObjects", "No layered pool objects found, clearing stale build degraded condition")
        }
        None => return None,
    };
    Some(Condition::new(DEGRADED, "False", reason, message))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `status message` of Updating, for a build with this true condition. `-` is no build, and no condition is the
    /// initial state.
    fn text(state: &str, paused: bool, degraded: &str) -> String {
        let pool = Object::new(json!({
            "spec": { "paused": paused },
            "status": { "conditions": [{ "type": degraded, "status": "True" }] },
        }));
        let config = Object::new(json!({ "metadata": { "name": "c" } }));
        let build = Object::new(json!({
            "metadata": { "name": "b" },
            "status": { "conditions": [{ "type": state, "status": "True" }] },
        }));
        let layering = Layering { config: &config, build: (state != "-").then_some(&build) };
        updating(&pool, &layering, false)
            .map_or_else(String::new, |found| format!("{} {}", found.status, found.message))
    }

    #[test]
    fn a_pool_says_what_its_update_waits_for() {
        for (state, expected) in [
            ("-", "True Pool is waiting for a new OS image build to start (mosc: c)"),
            ("", "True Pool is waiting for OS image build to start (mosb: b)"),
            ("Prepared", "True Pool is waiting for OS image build to start (mosb: b)"),
            ("Building", "True Pool is waiting for OS image build to complete (mosb: b)"),
            ("Succeeded", "True Pool is waiting for nodes to apply OS image (mosb: b)"),
            ("Failed", "False Pool update stopped due to OS image build failure (mosb: b)"),
            ("Interrupted", "False Pool update stopped due to OS image build being interrupted (mosb: b)"),
        ] {
            assert_eq!(text(state, false, ""), expected);
        }
        let paused = "False Pool update paused due to degraded condition";
        assert_eq!(text("Building", false, "NodeDegraded"), paused);
        assert_eq!(text("Building", false, DEGRADED), text("Building", false, ""));
    }

    #[test]
    fn a_paused_pool_says_how_far_its_build_is() {
        for (state, expected) in [
            ("-", "True Pool is paused; waiting for a new OS image build to start (mosc: c)"),
            ("", "True Pool is paused; OS image build has been created but not yet started (mosb: b)"),
            ("Building", "True Pool is paused; OS image build in progress (mosb: b)"),
            ("Succeeded", "False Pool is paused; OS image build completed successfully (mosb: b)"),
            ("Failed", "False Pool is paused; OS image build failed (mosb: b)"),
        ] {
            assert_eq!(text(state, true, "NodeDegraded"), expected);
        }
    }
}

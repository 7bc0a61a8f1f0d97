//! Warnings about releases that no step uses.

use crate::plan::{Action, Attempt, Plan, Step, Target};
use crate::scenario::Problem;

/// Returns warnings about releases that the text mentions only where it declares them. An update service with
/// its own data is exempt, since a folder of graph data may mention them.
pub(super) fn warnings(plan: &Plan, text: &str) -> Vec<Problem> {
    let service = &plan.cluster.update_service;
    if service.channels.is_some() || service.edges.is_some() || !service.conditional.is_empty() {
        return Vec::new();
    }
    let is_requested = |version: &semver::Version| {
        let requests_version = |action: &Action| matches!(action, Action::Update { to: Target::Version(to), .. } if to == version);
        plan.timeline.iter().any(|step| match &step.step {
            Step::Act(action) | Step::Try(Attempt { action, .. }) => requests_version(action),
            _ => false,
        })
    };
    let mut found = Vec::new();
    for release in &plan.cluster.releases {
        let version = &release.release.version;
        let name = version.to_string();
        let mut named = text.lines().enumerate().filter_map(|(index, line)| Some((index, line.find(&name)?)));
        if let (Some((line, column)), None, false) = (named.next(), named.next(), is_requested(version)) {
            found.push(Problem {
                file: plan.file.clone(),
                line: line + 1,
                column: column + 1,
                message: format!("release {name} is not used: no step updates to it or mentions it"),
            });
        }
    }
    found
}

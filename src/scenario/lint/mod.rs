//! Warnings about scenarios that are valid but probably do not mean what their author intends.

mod at_once;
mod names;
#[cfg(test)]
mod tests;
pub(super) mod vocabulary;

use at_once::Progress;
use names::Names;

use super::Problem;
use crate::plan::{Action, Attempt, ClusterPlan, Plan, PlannedStep, Run, Step, Target};

/// The state of a cluster after the steps so far, as far as the warnings need it.
#[derive(Debug, Clone)]
pub struct Steps {
    names: Names,
    progress: Progress,
}

impl Steps {
    /// Returns the state before the first step.
    pub fn new(cluster: &ClusterPlan) -> Self {
        Self { names: Names::new(cluster), progress: Progress::at_start(cluster) }
    }

    /// Returns warnings about the next step of the run.
    pub fn warnings_about(&mut self, step: &Step) -> Vec<String> {
        self.names.warnings_about(step).into_iter().chain(self.progress.warning_about(step)).collect()
    }
}

/// Returns warnings about the scenarios of a file, in the order of its text. `plans` are those that
/// [`super::parse_all`] returned for `text`.
pub fn warnings(plans: &[Plan], text: &str) -> Vec<Problem> {
    let mut found: Vec<Problem> = plans.iter().flat_map(|plan| plan_warnings(plan, text)).collect();
    found.sort();
    found.dedup();
    found
}

fn plan_warnings(plan: &Plan, text: &str) -> Vec<Problem> {
    let mut found = Vec::new();
    if !plan.timeline.iter().any(|step| can_fail(&step.step)) {
        found.push(at_start(plan, "this scenario expects nothing, so it always passes"));
    }
    if let Some(idle) =
        plan.timeline.last().filter(|step| matches!(step.step, Step::Advance(_) | Step::At(_)))
    {
        found.push(at(plan, idle, "no step expects anything of the time that passes at the end"));
    }
    found.extend(unused_releases(plan, text));
    let mut steps = Steps::new(&plan.cluster);
    for step in &plan.timeline {
        found.extend(steps.warnings_about(&step.step).iter().map(|message| at(plan, step, message)));
    }
    found
}

/// Returns whether the cluster's behavior can make the step fail.
fn can_fail(step: &Step) -> bool {
    match step {
        Step::Expect(_) | Step::Try(_) | Step::Run(Run { .. }) => true,
        Step::Retry(retry) => retry.steps.iter().any(|planned| can_fail(&planned.step)),
        Step::Act(_) | Step::Advance(_) | Step::At(_) | Step::Keep(_) => false,
    }
}

fn at_start(plan: &Plan, message: &str) -> Problem {
    Problem { file: plan.file.clone(), line: 1, column: 1, message: message.to_owned() }
}

fn at(plan: &Plan, step: &PlannedStep, message: &str) -> Problem {
    let file = plan.file.clone();
    Problem { file, line: step.line, column: step.column, message: message.to_owned() }
}

/// Returns warnings about releases that the text mentions only where it declares them. An update service with
/// its own data is exempt, since a folder of graph data may mention them.
fn unused_releases(plan: &Plan, text: &str) -> Vec<Problem> {
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

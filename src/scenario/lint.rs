//! What can be read and played, but says something else than its author may think.

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::Problem;
use super::plan::{Action, Attempt, ObjectRef, Plan, PlannedStep, Run, Step, Target, What};
use crate::base::text::did_you_mean;
use crate::model::fault::{Disturbance, Faulty};
use crate::model::resources::{CLUSTER_OPERATORS, NODES};

/// What is odd about the scenarios of a file, in the order of its text: `plans` are those that [`super::read_all`] found in
/// `text`.
pub fn warnings(plans: &[Plan], text: &str) -> Vec<Problem> {
    let mut found: Vec<Problem> = plans.iter().flat_map(|plan| of_plan(plan, text)).collect();
    found.sort();
    found.dedup();
    found
}

fn of_plan(plan: &Plan, text: &str) -> Vec<Problem> {
    let mut found = Vec::new();
    if !plan.timeline.iter().any(|step| checks(&step.step)) {
        found.push(at_start(plan, "nothing is expected: this scenario passes whatever happens"));
    }
    if let Some(idle) = plan.timeline.last().filter(|step| matches!(step.step, Step::Advance(_))) {
        found.push(at(plan, idle, "nothing is expected of the time that passes at the end"));
    }
    found.extend(unused_releases(plan, text));
    for step in &plan.timeline {
        found.extend(strangers(plan, &step.step).into_iter().map(|message| at(plan, step, &message)));
    }
    found
}

/// Whether a step can fail by what the cluster does.
fn checks(step: &Step) -> bool {
    match step {
        Step::Expect(_) | Step::Try(_) | Step::Run(Run { .. }) => true,
        Step::Retry(retry) => retry.steps.iter().any(|planned| checks(&planned.step)),
        Step::Act(_) | Step::Advance(_) | Step::Keep(_) => false,
    }
}

fn at_start(plan: &Plan, message: &str) -> Problem {
    Problem { file: plan.file.clone(), line: 1, column: 1, message: message.to_owned() }
}

fn at(plan: &Plan, step: &PlannedStep, message: &str) -> Problem {
    let file = plan.file.clone();
    Problem { file, line: step.line, column: step.column, message: message.to_owned() }
}

/// Releases that the text names once: where it says that they exist. What the update
/// service is told may name them in a folder of graph data.
fn unused_releases(plan: &Plan, text: &str) -> Vec<Problem> {
    let service = &plan.cluster.update_service;
    if service.channels.is_some() || service.edges.is_some() || !service.conditional.is_empty() {
        return Vec::new();
    }
    let asked = |version: &semver::Version| {
        let asks = |action: &Action| matches!(action, Action::Update { to: Target::Version(to), .. } if to == version);
        plan.timeline.iter().any(|step| match &step.step {
            Step::Act(action) | Step::Try(Attempt { action, .. }) => asks(action),
            _ => false,
        })
    };
    let mut found = Vec::new();
    for release in &plan.cluster.releases {
        let version = &release.release.version;
        let name = version.to_string();
        let mut named = text.lines().enumerate().filter_map(|(index, line)| Some((index, line.find(&name)?)));
        if let (Some((line, column)), None, false) = (named.next(), named.next(), asked(version)) {
            found.push(Problem {
                file: plan.file.clone(),
                line: line + 1,
                column: column + 1,
                message: format!("release {name} exists, and nothing goes to it or tells of it"),
            });
        }
    }
    found
}

/// Names of nodes and operators that the cluster has not.
fn strangers(plan: &Plan, step: &Step) -> Vec<String> {
    let (nodes, operators) = match step {
        Step::Act(
            Action::Fault { fault: Disturbance::Node(node, _), .. } | Action::Heal(Faulty::Node(node)),
        ) => (vec![node.as_str()], vec![]),
        Step::Act(
            Action::Fault { fault: Disturbance::Operator(operator, _), .. }
            | Action::Heal(Faulty::Operator(operator)),
        ) => (vec![], vec![operator.as_str()]),
        Step::Expect(expectation) => match &expectation.what {
            What::Phase { node, .. } | What::Phases { node, .. } => (vec![node.as_str()], vec![]),
            What::Object(ObjectRef { resource, name, .. }, _) if *resource == NODES => {
                (vec![name.as_str()], vec![])
            }
            What::Object(ObjectRef { resource, name, .. }, _) if *resource == CLUSTER_OPERATORS => {
                (vec![], vec![name.as_str()])
            }
            _ => return Vec::new(),
        },
        Step::Retry(retry) => {
            return retry.steps.iter().flat_map(|planned| strangers(plan, &planned.step)).collect();
        }
        _ => return Vec::new(),
    };
    let nodes = nodes.into_iter().filter_map(|name| unknown_node(plan, name));
    nodes.chain(operators.into_iter().filter_map(|name| unknown_operator(plan, name))).collect()
}

/// Why there can be no node of this name; one that an object of the scenario makes is none of ours.
fn unknown_node(plan: &Plan, name: &str) -> Option<String> {
    let (role, number) = name.rsplit_once('-')?;
    let number: u32 = number.parse().ok()?;
    let known: Range<u32> = match role {
        "worker" => 0..plan.cluster.worker_nodes,
        "master" => 0..plan.cluster.control_plane_nodes,
        _ => return None,
    };
    (!known.contains(&number)).then(|| match known.end {
        0 => format!("there is no node {name}: the cluster has no {role}s"),
        end => format!("there is no node {name}: the last one is {role}-{}", end - 1),
    })
}

/// Why there can be no operator of this name in any release of the run.
fn unknown_operator(plan: &Plan, name: &str) -> Option<String> {
    let releases = std::iter::once(&plan.cluster.release);
    let releases: Vec<_> = releases.chain(plan.cluster.releases.iter().map(|plan| &plan.release)).collect();
    let made = plan.cluster.objects.iter().any(|planned| planned.object["metadata"]["name"] == name);
    if made || name.ends_with('*') || releases.iter().any(|release| release.operator(name).is_some()) {
        return None;
    }
    let known = releases.iter().flat_map(|release| release.operators());
    let hint = did_you_mean(name, known.map(|operator| operator.cluster_operator.as_str()));
    Some(format!("no release of this scenario has an operator {name}{hint}"))
}

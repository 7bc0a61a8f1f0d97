//! The Gherkin steps: tables of patterns, and of the functions that make steps of a plan of what they match.

mod aliases;
mod call;
mod changes;
mod commands;
mod definition;
mod faults;
mod given;
mod history_steps;
mod insights;
mod projects;
mod registry_faults;
mod test_data;
mod then;
mod update_service;
mod watch_faults;
mod when;

use std::sync::LazyLock;

use cucumber::gherkin;
use cucumber::step::{Collection, Context};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use super::catalogue;
use super::world::{ClusterWorld, StepError};
use crate::plan::{Expectation, Step};

pub(super) use call::Call;
pub(super) use definition::{Definition, Make, regex};

/// The steps of each topic, by its title.
pub(super) const TOPICS: [(&str, &[Definition]); 14] = [
    ("Given: the initial cluster and its releases.", given::STEPS),
    ("Given: the answers of the update service.", update_service::STEPS),
    ("When: actions of an administrator, and the passing of time.", when::STEPS),
    ("When: labels, annotations and patches of objects.", changes::STEPS),
    ("When: faults of operators, nodes, pods and the API server, and their recovery.", faults::STEPS),
    ("When: faults of releases, registries, webhooks and CustomResourceDefinitions.", registry_faults::STEPS),
    ("When: faults of what clients see on their watches.", watch_faults::STEPS),
    ("Then: the state of objects now, within a time, or throughout a time.", then::STEPS),
    ("Then: the history since the start of the run", history_steps::STEPS),
    ("Then: published insights, and the output of `oc adm upgrade status`.", insights::STEPS),
    ("Then: the result of the last command.", commands::STEPS),
    ("Given, When or Then: the steps of verification-tests", aliases::STEPS),
    (
        "Given, When or Then: the steps of verification-tests about users, projects and clipboards",
        projects::STEPS,
    ),
    ("Given, When or Then: the steps of verification-tests about test data and pods", test_data::STEPS),
];

/// Returns all steps, as cucumber runs them.
pub(super) fn collection() -> &'static Collection<ClusterWorld> {
    static STEPS: LazyLock<Collection<ClusterWorld>> = LazyLock::new(|| {
        let steps = catalogue::topics().iter().flat_map(|topic| &topic.steps);
        steps.fold(Collection::new(), |all, step| match step.keyword {
            "Given" => all.given(None, step.pattern.clone(), run_or_panic),
            "When" => all.when(None, step.pattern.clone(), run_or_panic),
            _ => all.then(None, step.pattern.clone(), run_or_panic),
        })
    });
    &STEPS
}

/// Runs a step for cucumber, to which a panic is an error.
fn run_or_panic(world: &mut ClusterWorld, context: Context) -> LocalBoxFuture<'_, ()> {
    async move {
        if let Err(error) = run(world, &context.step).await {
            panic!("{error}");
        }
    }
    .boxed_local()
}

/// Runs a step of a feature. Ignores a step that no pattern matches.
pub(super) async fn run(world: &mut ClusterWorld, step: &gherkin::Step) -> Result<(), StepError> {
    let Some((make, call)) = catalogue::call(step) else { return Ok(()) };
    world.begin_step(step.position);
    let planned = match make {
        Make::Setting(set) => {
            set(world, &call)?;
            Vec::new()
        }
        Make::Step(make) => vec![call.planned(make(world, &call)?)],
        Make::State(state) => {
            let what = state(world, &call)?;
            vec![call.planned(Step::Expect(Expectation { what, when: call.expected_time()? }))]
        }
        Make::Steps(make) => make(world, &call)?,
    };
    if let Some(moment) = call.moment()? {
        world.wait_until(moment).await?;
    }
    for planned in planned {
        world.run_step(&planned.text, planned.step).await?;
    }
    Ok(())
}

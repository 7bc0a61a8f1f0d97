//! The Gherkin steps, a table for each topic.

pub(super) mod aliases;
mod call;
pub(super) mod changes;
pub(super) mod commands;
mod definition;
pub(super) mod faults;
pub(super) mod given;
pub(super) mod history_steps;
pub(super) mod insights;
pub(super) mod projects;
pub(super) mod registry_faults;
pub(super) mod test_data;
pub(super) mod then;
pub(super) mod update_service;
pub(super) mod watch_faults;
pub(super) mod when;

use cucumber::World as _;
use cucumber::gherkin;
use cucumber::step::{Collection, Context};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use super::catalogue;
use super::world::{ClusterWorld, StepError};
use crate::plan::{Expectation, Step};

pub(super) use call::Call;
pub(super) use definition::{Definition, Make};

/// Returns all steps, as cucumber runs them.
pub(super) fn collection() -> Collection<ClusterWorld> {
    let steps = catalogue::topics().iter().flat_map(|topic| &topic.steps).filter(|step| step.make.is_some());
    steps.fold(ClusterWorld::collection(), |all, step| match step.keyword {
        "Given" => all.given(None, step.pattern.clone(), perform),
        "When" => all.when(None, step.pattern.clone(), perform),
        _ => all.then(None, step.pattern.clone(), perform),
    })
}

/// Runs a step of a feature. An error becomes a panic, which is how cucumber takes it.
fn perform(world: &mut ClusterWorld, context: Context) -> LocalBoxFuture<'_, ()> {
    async move {
        if let Err(error) = run(world, &context.step).await {
            panic!("{error}");
        }
    }
    .boxed_local()
}

async fn run(world: &mut ClusterWorld, step: &gherkin::Step) -> Result<(), StepError> {
    let Some((make, call)) = catalogue::call(step) else { return Ok(()) };
    let planned = match make {
        Make::Setting(set) => return Ok(set(world, &call)?),
        Make::Step(make) => make(world, &call)?,
        Make::State(make) => {
            let what = make(world, &call)?;
            Step::Expect(Expectation { what, when: call.expected_time()? })
        }
        Make::Steps(make) => {
            for planned in make(world, &call)? {
                world.run_step(&planned.text, planned.step).await?;
            }
            return Ok(());
        }
    };
    if let Some(moment) = call.moment()? {
        world.wait_until(moment).await?;
    }
    world.run_one_step(&step.value, planned).await
}

//! When: what an administrator does, and time that passes.

use cucumber::gherkin::Step;
use cucumber::when;
use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Propagation, Resource};
use windtunnel_update_status::status::Details;

use super::phrase::{docstring_object, duration, object, one_object};
use super::world::{ClusterWorld, StepError};
use crate::plan;
use crate::plan::{
    Action, Attempt, CommandCheck, Expectation, Keep, Kept, Run, StatusMatch, Target, TextMatch, What, When,
};

/// How long is waited for a share of the operators.
const REACHES: SignedDuration = SignedDuration::from_hours(3);

/// Runs a command of the client, as an administrator. Variables may stand before it, as in a shell, and `$(image 4.14.8)`
/// for the image of a release. It must succeed, unless the steps that follow say how it is refused.
///
/// ```gherkin
/// When I run "oc adm upgrade --to-latest"
/// ```
#[when(regex = r#"^I run "(.+)"$"#)]
async fn run(world: &mut ClusterWorld, line: String, step: &Step) -> Result<(), StepError> {
    let command = world.command_line(&line)?;
    let checks = if world.is_refused_next() { Vec::new() } else { vec![CommandCheck::Code(0)] };
    world.play(&step.value, plan::Step::Run(Run { command, checks })).await
}

/// Requests an update to a release, past the guards of the client (`by force`: past the operator's, too).
/// Also: I upgrade to 4.14.8; I upgrade the cluster; the cluster is upgraded
///
/// ```gherkin
/// When I update to 4.14.8
/// ```
#[when(regex = r"^I update to (\d+\.\d+\.\S+)( by force)?$")]
async fn update(
    world: &mut ClusterWorld,
    version: String,
    force: String,
    step: &Step,
) -> Result<(), StepError> {
    let version = version
        .parse()
        .map_err(|_| StepError::Words(format!("expected a version such as 4.14.8, found `{version}`")))?;
    let action = Action::Update { to: Target::Version(version), force: !force.is_empty() };
    world.act(&step.value, action).await
}

/// Requests an update to an image, past the guards of the client (`by force`: past the operator's, too).
///
/// ```gherkin
/// When I update to image "quay.io/openshift-release-dev/ocp-release@sha256:0" by force
/// ```
#[when(regex = r#"^I update to image "([^"]+)"( by force)?$"#)]
async fn update_image(
    world: &mut ClusterWorld,
    image: String,
    force: String,
    step: &Step,
) -> Result<(), StepError> {
    let action = Action::Update { to: Target::Image(image), force: !force.is_empty() };
    world.act(&step.value, action).await
}

/// Requests the release that the cluster had before, as `oc adm upgrade rollback` does it.
/// Also: I downgrade the cluster; I go back to 4.14.3; the update is rolled back
///
/// ```gherkin
/// When I roll back
/// ```
#[when(regex = r"^I roll back$")]
async fn roll_back(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    let command = world.command_line("OC_ENABLE_CMD_UPGRADE_ROLLBACK=true oc adm upgrade rollback")?;
    let checks = vec![CommandCheck::Code(0)];
    world.play(&step.value, plan::Step::Run(Run { command, checks })).await
}

/// Lets time pass until so many operators are updated, by the `Completion` of `oc adm upgrade status`: 3 hours at most.
/// Also: 45% of the update is done; the update is at 45%
///
/// ```gherkin
/// When the update reaches 45% of operators
/// ```
#[when(regex = r"^the update reaches (\d+)% of operators$")]
async fn update_reaches(world: &mut ClusterWorld, percent: u32, step: &Step) -> Result<(), StepError> {
    if percent > 100 {
        return Err(StepError::Words(format!("expected up to 100%, found {percent}%")));
    }
    let enough: Vec<String> = (percent..=100).map(|percent| percent.to_string()).collect();
    let pattern = format!("/Completion: +({})% /", enough.join("|"));
    let has = vec![TextMatch::read(&pattern).map_err(StepError::Words)?];
    let what = What::Status(StatusMatch { details: Details::None, has, snapshot: None });
    world.expect(&step.value, Expectation { what, when: When::Within(REACHES) }).await
}

/// Takes the update request back.
///
/// ```gherkin
/// When I clear the update request
/// ```
#[when(regex = r"^I clear the update request$")]
async fn clear(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    world.act(&step.value, Action::ClearUpdate).await
}

/// Creates the ConfigMap that asks the update status controller to publish.
///
/// ```gherkin
/// When I ask for published insights
/// ```
#[when(regex = r"^I ask for published insights$")]
async fn publish_insights(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    world.act(&step.value, Action::PublishInsights).await
}

/// Creates or changes an object, as YAML in the doc string.
///
/// ```gherkin
/// When I apply this object:
/// ```
#[when(regex = r"^I apply this object:$")]
async fn apply(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    let object = docstring_object(step.docstring.as_ref())?;
    world.act(&step.value, Action::Apply(object)).await
}

/// Tries to create or change an object, as YAML in the doc string, which the API server must refuse. The steps that follow
/// may say with which words.
///
/// ```gherkin
/// When I try to apply this object:
/// ```
#[when(regex = r"^I try to apply this object:$")]
async fn try_to_apply(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    let action = Action::Apply(docstring_object(step.docstring.as_ref())?);
    world.play(&step.value, plan::Step::Try(Attempt { action, refused: Vec::new() })).await
}

/// Deletes an object. What it owns goes, too (`with cascade foreground`: before it; `with cascade orphan`: it stays).
///
/// ```gherkin
/// When I delete ConfigMap/openshift-config/admin-acks
/// When I delete Deployment/default/web with cascade foreground
/// ```
#[when(regex = r"^I delete (\S+/\S+?)(?: with cascade (background|foreground|orphan))?$")]
async fn delete(
    world: &mut ClusterWorld,
    name: String,
    cascade: String,
    step: &Step,
) -> Result<(), StepError> {
    let object = one_object(&name)?;
    world.act(&step.value, Action::Delete { object, cascade: Propagation::named(&cascade) }).await
}

/// Tries to delete an object, which the API server must refuse. The steps that follow may say with which words.
///
/// ```gherkin
/// When I try to delete ClusterVersion/version
/// ```
#[when(regex = r"^I try to delete (\S+/\S+)$")]
async fn try_to_delete(world: &mut ClusterWorld, name: String, step: &Step) -> Result<(), StepError> {
    let action = Action::Delete { object: one_object(&name)?, cascade: None };
    world.play(&step.value, plan::Step::Try(Attempt { action, refused: Vec::new() })).await
}

/// Has a pool of nodes stay where it is, or go on.
/// Also: pool worker is paused; pool worker is unpaused
///
/// ```gherkin
/// When I pause pool worker
/// ```
#[when(regex = r"^I (pause|unpause) pool (\S+)$")]
async fn pause(world: &mut ClusterWorld, how: String, pool: String, step: &Step) -> Result<(), StepError> {
    let spec = json!({ "paused": how == "pause" });
    world.act(&step.value, Action::Apply(spec_of(&MACHINE_CONFIG_POOLS, &pool, &spec))).await
}

/// Lets so many nodes of a pool be unavailable at once: a number, or a percentage.
///
/// ```gherkin
/// When I let 2 of the nodes of pool worker be unavailable
/// ```
#[when(regex = r"^I let (\d+%?) of the nodes of pool (\S+) be unavailable$")]
async fn max_unavailable(
    world: &mut ClusterWorld,
    number: String,
    pool: String,
    step: &Step,
) -> Result<(), StepError> {
    let number = number.parse::<u32>().map_or_else(|_| json!(number), |number| json!(number));
    let spec = json!({ "maxUnavailable": number });
    world.act(&step.value, Action::Apply(spec_of(&MACHINE_CONFIG_POOLS, &pool, &spec))).await
}

/// Keeps pods away from a node, or no longer.
///
/// ```gherkin
/// When I cordon node worker-0
/// ```
#[when(regex = r"^I (cordon|uncordon) node (\S+)$")]
async fn cordon(world: &mut ClusterWorld, how: String, node: String, step: &Step) -> Result<(), StepError> {
    let spec = json!({ "unschedulable": how == "cordon" });
    world.act(&step.value, Action::Apply(spec_of(&NODES, &node, &spec))).await
}

/// Adds a machine, which becomes a worker of this name once it has started. Labels of its node may follow.
///
/// ```gherkin
/// When machine worker-3 joins
/// When machine worker-3 joins with "topology.kubernetes.io/zone=a"
/// ```
#[when(regex = r#"^machine (\S+) joins(?: with "([^"]*)")?$"#)]
async fn join(world: &mut ClusterWorld, node: String, labels: String, step: &Step) -> Result<(), StepError> {
    let labels = labels.split(',').map(str::trim).filter(|label| !label.is_empty());
    let labels = labels.map(|label| match label.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(StepError::Words(format!("expected labels such as `zone=a`, found `{label}`"))),
    });
    let labels = labels.collect::<Result<_, _>>()?;
    world.act(&step.value, Action::Join { node, labels }).await
}

fn spec_of(resource: &Resource, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": { "name": name },
        "spec": spec,
    })
}

/// Keeps a field of an object, or what the command that was run last printed. In the steps that follow `$(kept <name>)`
/// stands for it: in commands, and in texts that are compared.
///
/// ```gherkin
/// When I keep ClusterVersion field "status.desired.image" as "image"
/// When I keep what it printed as "before"
/// ```
#[when(regex = r#"^I keep (?:([A-Z]\w+(?:/\S+)?) field "([^"]+)"|what it printed) as "([^"\s]+)"$"#)]
async fn keep(
    world: &mut ClusterWorld,
    of: String,
    path: String,
    name: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = if of.is_empty() { Kept::Output } else { Kept::Field(object(&of)?, path) };
    world.play(&step.value, plan::Step::Keep(Keep { name, what })).await
}

/// Lets virtual time pass.
/// Also: I wait for 40 minutes; I wait 40 minutes
///
/// ```gherkin
/// When 40 minutes pass
/// ```
#[when(regex = r"^(\d+ (?:second|minute|hour|day)s?) pass(?:es)?$")]
async fn time_passes(world: &mut ClusterWorld, span: String, step: &Step) -> Result<(), StepError> {
    world.play(&step.value, plan::Step::Advance(duration(&span)?)).await
}

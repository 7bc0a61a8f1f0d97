//! When: actions of an administrator, and the passing of time.

use cucumber::gherkin::Step;
use cucumber::when;
use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Propagation, Resource};
use windtunnel_openshift::mco;
use windtunnel_update_status::status::Details;

use super::given::known;
use crate::plan::{
    self, Action, Attempt, CommandCheck, Expectation, ExpectedState, ExpectedTime, FEATURE_SETS, Keep, Run,
    StatusMatch, Target, TextMatch, ValueSource,
};
use crate::steps::phrase::{self, docstring_object, duration, object, one_object};
use crate::steps::world::{ClusterWorld, StepError};

/// The time limit for a share of the operators.
const REACHES: SignedDuration = SignedDuration::from_hours(3);

/// Runs an `oc` command as an administrator. Environment variables may precede it, as in a shell, and
/// `$(image 4.14.8)` is the image of a release. The command must succeed, unless the steps that follow expect
/// a rejection.
///
/// ```gherkin
/// When I run "oc adm upgrade --to-latest"
/// ```
#[when(regex = r#"^(?:at \d+ \w+ )?I run "(.+)"$"#)]
async fn run(world: &mut ClusterWorld, line: String, step: &Step) -> Result<(), StepError> {
    let command = world.command_line(&line)?;
    let checks = if world.is_refused_next() { Vec::new() } else { vec![CommandCheck::Code(0)] };
    world.run_step(&step.value, plan::Step::Run(Run { command, checks })).await
}

/// Requests an update to a release, without the checks of the client (`by force`: also without those of the
/// operator).
/// Also: I upgrade to 4.14.8; I upgrade the cluster; the cluster is upgraded
///
/// ```gherkin
/// When I update to 4.14.8
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?I update to (\d+\.\d+\.\S+)( by force)?$")]
async fn update(
    world: &mut ClusterWorld,
    version: String,
    force: String,
    step: &Step,
) -> Result<(), StepError> {
    let version = version
        .parse()
        .map_err(|_| StepError::Usage(format!("expected a version such as 4.14.8, found `{version}`")))?;
    let action = Action::Update { to: Target::Version(version), force: !force.is_empty() };
    world.act(&step.value, action).await
}

/// Requests an update to an image, without the checks of the client (`by force`: also without those of the
/// operator).
///
/// ```gherkin
/// When I update to image "quay.io/openshift-release-dev/ocp-release@sha256:0" by force
/// ```
#[when(regex = r#"^(?:at \d+ \w+ )?I update to image "([^"]+)"( by force)?$"#)]
async fn update_image(
    world: &mut ClusterWorld,
    image: String,
    force: String,
    step: &Step,
) -> Result<(), StepError> {
    let action = Action::Update { to: Target::Image(image), force: !force.is_empty() };
    world.act(&step.value, action).await
}

/// Requests the previous release, as `oc adm upgrade rollback` does.
/// Also: I downgrade the cluster; I go back to 4.14.3; the update is rolled back
///
/// ```gherkin
/// When I roll back
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?I roll back$")]
async fn roll_back(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    let command = world.command_line("OC_ENABLE_CMD_UPGRADE_ROLLBACK=true oc adm upgrade rollback")?;
    let checks = vec![CommandCheck::Code(0)];
    world.run_step(&step.value, plan::Step::Run(Run { command, checks })).await
}

/// Lets time pass until this share of operators is updated, by the `Completion` of `oc adm upgrade status`;
/// at most 3 hours.
/// Also: 45% of the update is done; the update is at 45%
///
/// ```gherkin
/// When the update reaches 45% of operators
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?the update reaches (\d+)% of operators$")]
async fn update_reaches(world: &mut ClusterWorld, percent: u32, step: &Step) -> Result<(), StepError> {
    if percent > 100 {
        return Err(StepError::Usage(format!("expected up to 100%, found {percent}%")));
    }
    let enough: Vec<String> = (percent..=100).map(|percent| percent.to_string()).collect();
    let pattern = format!("/Completion: +({})% /", enough.join("|"));
    let has = vec![TextMatch::parse(&pattern).map_err(StepError::Usage)?];
    let what = ExpectedState::Status(StatusMatch { details: Details::None, has, snapshot: None });
    world.expect(&step.value, Expectation { what, when: ExpectedTime::Within(REACHES) }).await
}

/// Withdraws the update request.
///
/// ```gherkin
/// When I clear the update request
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?I clear the update request$")]
async fn clear(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    world.act(&step.value, Action::ClearUpdate).await
}

/// Creates the ConfigMap that makes the update status controller publish insights.
///
/// ```gherkin
/// When I ask for published insights
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?I ask for published insights$")]
async fn publish_insights(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    world.act(&step.value, Action::PublishInsights).await
}

/// Switches the cluster to another feature set. All nodes reboot for it, which takes about 13 minutes. After a
/// quick switch they do not: their kubelets get the gates with the next release.
///
/// ```gherkin
/// When I switch to the feature set "DevPreviewNoUpgrade"
/// When I switch quickly to the feature set "DevPreviewNoUpgrade"
/// ```
#[when(regex = r#"^(?:at \d+ \w+ )?I switch( quickly)? to the feature set "([^"]+)"$"#)]
async fn feature_set(
    world: &mut ClusterWorld,
    quickly: String,
    name: String,
    step: &Step,
) -> Result<(), StepError> {
    known(&name, FEATURE_SETS.iter().copied(), "feature set")?;
    let object = mco::feature_set_switch(&name, !quickly.is_empty());
    world.act(&step.value, Action::Apply(object)).await
}

/// Creates or changes an object, as YAML in the doc string.
///
/// ```gherkin
/// When I apply this object:
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?I apply this object:$")]
async fn apply(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    let object = docstring_object(&mut world.kinds, step.docstring.as_ref())?;
    world.act(&step.value, Action::Apply(object)).await
}

/// Tries to create or change an object, as YAML in the doc string, and requires that the API server rejects
/// it. The steps that follow can check the message.
///
/// ```gherkin
/// When I try to apply this object:
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?I try to apply this object:$")]
async fn try_to_apply(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    let action = Action::Apply(docstring_object(&mut world.kinds, step.docstring.as_ref())?);
    world.run_step(&step.value, plan::Step::Try(Attempt { action, refused: Vec::new() })).await
}

/// Deletes an object and its dependents (`with cascade foreground`: dependents first; `with cascade orphan`:
/// dependents stay).
///
/// ```gherkin
/// When I delete ConfigMap/openshift-config/admin-acks
/// When I delete Deployment/default/web with cascade foreground
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?I delete (\S+/\S+?)(?: with cascade (background|foreground|orphan))?$")]
async fn delete(
    world: &mut ClusterWorld,
    name: String,
    cascade: String,
    step: &Step,
) -> Result<(), StepError> {
    let object = one_object(&world.kinds, &name)?;
    world.act(&step.value, Action::Delete { object, cascade: Propagation::named(&cascade) }).await
}

/// Tries to delete an object, and requires that the API server rejects it. The steps that follow can check
/// the message.
///
/// ```gherkin
/// When I try to delete ClusterVersion/version
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?I try to delete (\S+/\S+)$")]
async fn try_to_delete(world: &mut ClusterWorld, name: String, step: &Step) -> Result<(), StepError> {
    let action = Action::Delete { object: one_object(&world.kinds, &name)?, cascade: None };
    world.run_step(&step.value, plan::Step::Try(Attempt { action, refused: Vec::new() })).await
}

/// Pauses or unpauses a MachineConfigPool.
/// Also: pool worker is paused; pool worker is unpaused
///
/// ```gherkin
/// When I pause pool worker
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?I (pause|unpause) pool (\S+)$")]
async fn pause(world: &mut ClusterWorld, how: String, pool: String, step: &Step) -> Result<(), StepError> {
    let spec = json!({ "paused": how == "pause" });
    world.act(&step.value, Action::Apply(spec_of(&MACHINE_CONFIG_POOLS, &pool, &spec))).await
}

/// Sets `maxUnavailable` of a MachineConfigPool to a number or a percentage.
///
/// ```gherkin
/// When I let 2 of the nodes of pool worker be unavailable
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?I let (\d+%?) of the nodes of pool (\S+) be unavailable$")]
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

/// Cordons or uncordons a node.
///
/// ```gherkin
/// When I cordon node worker-0
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?I (cordon|uncordon) node (\S+)$")]
async fn cordon(world: &mut ClusterWorld, how: String, node: String, step: &Step) -> Result<(), StepError> {
    let spec = json!({ "unschedulable": how == "cordon" });
    world.act(&step.value, Action::Apply(spec_of(&NODES, &node, &spec))).await
}

/// Adds a machine, which becomes a worker node of this name after its start, optionally with labels.
///
/// ```gherkin
/// When machine worker-3 joins
/// When machine worker-3 joins with "topology.kubernetes.io/zone=a"
/// ```
#[when(regex = r#"^(?:at \d+ \w+ )?machine (\S+) joins(?: with "([^"]*)")?$"#)]
async fn join(world: &mut ClusterWorld, node: String, labels: String, step: &Step) -> Result<(), StepError> {
    let labels = phrase::labels(&labels)?;
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

/// Keeps a field of an object, or the output of the last command. Later steps refer to it as
/// `$(kept <name>)`, in commands and in texts that are compared.
///
/// ```gherkin
/// When I keep ClusterVersion field "status.desired.image" as "image"
/// When I keep what it printed as "before"
/// ```
#[when(
    regex = r#"^(?:at \d+ \w+ )?I keep (?:([A-Z]\w+(?:/\S+)?) field "([^"]+)"|what it printed) as "([^"\s]+)"$"#
)]
async fn keep(
    world: &mut ClusterWorld,
    object_name: String,
    path: String,
    name: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = if object_name.is_empty() {
        ValueSource::Output
    } else {
        ValueSource::Field(object(&world.kinds, &object_name)?, path)
    };
    world.run_step(&step.value, plan::Step::Keep(Keep { name, what })).await
}

/// Keeps the state of the cluster, to compare it with later.
///
/// ```gherkin
/// When I keep the cluster as "before"
/// ```
#[when(regex = r#"^(?:at \d+ \w+ )?I keep the cluster as "([^"\s]+)"$"#)]
async fn keep_cluster(world: &mut ClusterWorld, name: String, step: &Step) -> Result<(), StepError> {
    world.run_step(&step.value, plan::Step::KeepCluster(name)).await
}

/// Lets virtual time pass.
/// Also: I wait for 40 minutes; I wait 40 minutes
///
/// ```gherkin
/// When 40 minutes pass
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?(\d+ (?:second|minute|hour|day)s?) pass(?:es)?$")]
async fn time_passes(world: &mut ClusterWorld, span: String, step: &Step) -> Result<(), StepError> {
    world.run_step(&step.value, plan::Step::Advance(duration(&span)?)).await
}

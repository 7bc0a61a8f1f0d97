//! Then: the state of objects now, within a time, or throughout a time.

use cucumber::gherkin::Step;
use cucumber::then;
use windtunnel_core::alert::AlertState;
use windtunnel_update_status::assessment::node::phase::Phase;

use crate::plan::{AlertMatch, Check, ExpectedState, LogMatch, TextMatch};
use crate::steps::phrase::{Timing, condition, object, text_match};
use crate::steps::world::{ClusterWorld, StepError};

/// A condition of an object.
///
/// ```gherkin
/// Then within 10 minutes ClusterVersion condition Progressing is True with reason "X" and message matching /Y/
/// ```
#[then(
    regex = r"^((?:within|throughout) \d+ \w+ )?([A-Z]\w+(?:/\S+)?) condition (\w+) is (True|False|Unknown)(?: with (.+))?$"
)]
async fn object_condition(
    world: &mut ClusterWorld,
    timing: Timing,
    name: String,
    kind: String,
    status: String,
    with: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = ExpectedState::Object(object(&world.kinds, &name)?, vec![condition(&kind, &status, &with)?]);
    world.expect(&step.value, timing.expectation(what)?).await
}

/// The requested release, if any, is `Completed`, and no update is in progress.
/// Also: the update is finished; the upgrade is complete; the upgrade is finished; the cluster is updated
///
/// ```gherkin
/// Then within 3 hours the update is complete
/// ```
#[then(regex = r"^(within \d+ \w+ )?the update is complete$")]
async fn update_complete(world: &mut ClusterWorld, timing: Timing, step: &Step) -> Result<(), StepError> {
    let what = ExpectedState::Object(object(&world.kinds, "ClusterVersion")?, vec![Check::Updated]);
    world.expect(&step.value, timing.expectation(what)?).await
}

/// A simulated program has printed a line with this text, or a line that matches a pattern. A prefix of the pod's name
/// is enough.
///
/// ```gherkin
/// Then within 5 minutes the log of pod "openshift-cluster-version/cluster-version-operator" contains "leader lease"
/// ```
#[then(
    regex = r#"^(within \d+ \w+ )?the (previous )?log of pod "([^"]+)"(?: container "([^"]+)")? contains (".+"|/.+/)$"#
)]
async fn pod_log(
    world: &mut ClusterWorld,
    timing: Timing,
    previous: String,
    pod: String,
    container: String,
    text: String,
    step: &Step,
) -> Result<(), StepError> {
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(&text);
    let wanted = LogMatch::parse(&pod, text).map_err(StepError::Usage)?;
    let container = Some(container).filter(|name| !name.is_empty());
    let wanted = LogMatch { container, previous: !previous.is_empty(), ..wanted };
    world.expect(&step.value, timing.expectation(ExpectedState::Log(wanted))?).await
}

/// An object has no condition of this type.
///
/// ```gherkin
/// Then within 10 minutes ClusterVersion has no condition Upgradeable
/// ```
#[then(regex = r"^((?:within|throughout) \d+ \w+ )?([A-Z]\w+(?:/\S+)?) has no condition (\w+)$")]
async fn object_without_condition(
    world: &mut ClusterWorld,
    timing: Timing,
    name: String,
    kind: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = ExpectedState::Object(object(&world.kinds, &name)?, vec![Check::NoCondition(kind)]);
    world.expect(&step.value, timing.expectation(what)?).await
}

/// A field of an object, by its path.
///
/// ```gherkin
/// Then within 10 minutes ClusterVersion field "status.history[0].state" is "Completed"
/// ```
#[then(regex = r#"^((?:within|throughout) \d+ \w+ )?([A-Z]\w+(?:/\S+)?) field "([^"]+)" is ("[^"]*"|/.+/)$"#)]
async fn object_field(
    world: &mut ClusterWorld,
    timing: Timing,
    name: String,
    path: String,
    value: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = ExpectedState::Object(
        object(&world.kinds, &name)?,
        vec![Check::Field { path, value: text_match(&value)? }],
    );
    world.expect(&step.value, timing.expectation(what)?).await
}

/// A field of an object keeps its value over a time.
///
/// ```gherkin
/// Then throughout 30 minutes ClusterVersion field "status" does not change
/// ```
#[then(regex = r#"^(throughout \d+ \w+ )([A-Z]\w+(?:/\S+)?) field "([^"]+)" does not change$"#)]
async fn object_unchanged(
    world: &mut ClusterWorld,
    timing: Timing,
    name: String,
    path: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = ExpectedState::Object(object(&world.kinds, &name)?, vec![Check::Unchanged { path }]);
    world.expect(&step.value, timing.expectation(what)?).await
}

/// An object exists or does not exist; its name may end in `*`.
///
/// ```gherkin
/// Then Pod/openshift-cluster-version/version-* does not exist
/// ```
#[then(regex = r"^((?:within|throughout) \d+ \w+ )?([A-Z]\w+/\S+) (exists|does not exist)$")]
async fn object_exists(
    world: &mut ClusterWorld,
    timing: Timing,
    name: String,
    exists: String,
    step: &Step,
) -> Result<(), StepError> {
    let object = object(&world.kinds, &name)?;
    let what = if exists == "exists" {
        ExpectedState::Object(object, Vec::new())
    } else {
        ExpectedState::Absent(object)
    };
    world.expect(&step.value, timing.expectation(what)?).await
}

/// The STATUS that `oc get pods` prints for a pod.
///
/// ```gherkin
/// Then within 2 minutes Pod/openshift-cluster-version/version-* has status "Init:ErrImagePull"
/// ```
#[then(regex = r#"^((?:within|throughout) \d+ \w+ )?(Pod/\S+/\S+) has status "([^"]+)"$"#)]
async fn pod_status(
    world: &mut ClusterWorld,
    timing: Timing,
    name: String,
    status: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = ExpectedState::Object(
        object(&world.kinds, &name)?,
        vec![Check::PodStatus(TextMatch::Equals(status))],
    );
    world.expect(&step.value, timing.expectation(what)?).await
}

/// The state of a Prometheus alert, optionally with the value of its label `name`.
///
/// ```gherkin
/// Then within 15 minutes alert "ClusterOperatorDown" about "etcd" is not firing
/// ```
#[then(
    regex = r#"^((?:within|throughout) \d+ \w+ )?alert "(\w+)"(?: about "([^"]+)")? is( not)? (pending|firing)$"#
)]
async fn alert(
    world: &mut ClusterWorld,
    timing: Timing,
    name: String,
    about: String,
    not: String,
    state: String,
    step: &Step,
) -> Result<(), StepError> {
    let wanted = alert_match(name, about, &state);
    let what = if not.is_empty() { ExpectedState::Alert(wanted) } else { ExpectedState::NoAlert(wanted) };
    world.expect(&step.value, timing.expectation(what)?).await
}

/// Returns a pattern for an alert in a state; a non-empty `about` is the value of its label `name`.
pub(in crate::steps) fn alert_match(name: String, about: String, state: &str) -> AlertMatch {
    let labels =
        if about.is_empty() { Vec::new() } else { vec![("name".to_owned(), TextMatch::Equals(about))] };
    AlertMatch { name, state: AlertState::named(state), labels, annotations: Vec::new() }
}

/// An annotation of an object.
///
/// ```gherkin
/// Then Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Done"
/// ```
#[then(
    regex = r#"^((?:within|throughout) \d+ \w+ )?([A-Z]\w+(?:/\S+)?) annotation "([^"]+)" is ("[^"]*"|/.+/)$"#
)]
async fn object_annotation(
    world: &mut ClusterWorld,
    timing: Timing,
    name: String,
    key: String,
    value: String,
    step: &Step,
) -> Result<(), StepError> {
    let path = format!("metadata.annotations[\"{key}\"]");
    let what = ExpectedState::Object(
        object(&world.kinds, &name)?,
        vec![Check::Field { path, value: text_match(&value)? }],
    );
    world.expect(&step.value, timing.expectation(what)?).await
}

/// The update phase of a node, in the terms of `oc adm upgrade status`.
///
/// ```gherkin
/// Then within 2 hours node worker-0 is Draining
/// ```
#[then(
    regex = r"^((?:within|throughout) \d+ \w+ )?node (\S+) is (Draining|Updating|Rebooting|Paused|Pending|Updated)$"
)]
async fn node_phase(
    world: &mut ClusterWorld,
    timing: Timing,
    node: String,
    phase: String,
    step: &Step,
) -> Result<(), StepError> {
    let phase = Phase::named(&phase).ok_or_else(|| StepError::Usage(format!("unknown phase `{phase}`")))?;
    world.expect(&step.value, timing.expectation(ExpectedState::Phase { node, phase })?).await
}

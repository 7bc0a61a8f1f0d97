//! Then: what must hold, now, within a time, or throughout a time.

use cucumber::gherkin::Step;
use cucumber::then;

use super::phrase::{Timing, condition, insight, object, text_match};
use super::world::{ClusterWorld, StepError};
use crate::model::alert::AlertState;
use crate::model::node_phase::Phase;
use crate::scenario::plan::{AlertMatch, Check, Subject, TextMatch, What, WriteMatch};

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
    of: String,
    kind: String,
    status: String,
    with: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = What::Object(object(&of)?, vec![condition(&kind, &status, &with)?]);
    world.expect(&step.value, timing.expectation(what)?).await
}

/// The control plane is where ClusterVersion asks it to be, and nothing is under way.
/// Also: the update is finished; the upgrade is complete; the upgrade is finished; the cluster is updated
///
/// ```gherkin
/// Then within 3 hours the update is complete
/// ```
#[then(regex = r"^(within \d+ \w+ )?the update is complete$")]
async fn update_complete(world: &mut ClusterWorld, timing: Timing, step: &Step) -> Result<(), StepError> {
    let what = What::Object(object("ClusterVersion")?, vec![Check::Updated]);
    world.expect(&step.value, timing.expectation(what)?).await
}

/// A condition that an object does not have.
///
/// ```gherkin
/// Then within 10 minutes ClusterVersion has no condition Upgradeable
/// ```
#[then(regex = r"^((?:within|throughout) \d+ \w+ )?([A-Z]\w+(?:/\S+)?) has no condition (\w+)$")]
async fn object_without_condition(
    world: &mut ClusterWorld,
    timing: Timing,
    of: String,
    kind: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = What::Object(object(&of)?, vec![Check::NoCondition(kind)]);
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
    of: String,
    path: String,
    value: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = What::Object(object(&of)?, vec![Check::Field { path, value: text_match(&value)? }]);
    world.expect(&step.value, timing.expectation(what)?).await
}

/// A field of an object that must keep its value while time passes.
///
/// ```gherkin
/// Then throughout 30 minutes ClusterVersion field "status" does not change
/// ```
#[then(regex = r#"^(throughout \d+ \w+ )([A-Z]\w+(?:/\S+)?) field "([^"]+)" does not change$"#)]
async fn object_unchanged(
    world: &mut ClusterWorld,
    timing: Timing,
    of: String,
    path: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = What::Object(object(&of)?, vec![Check::Unchanged { path }]);
    world.expect(&step.value, timing.expectation(what)?).await
}

/// An object that is, or is not, there; its name may end in `*`.
///
/// ```gherkin
/// Then Pod/openshift-cluster-version/version-* does not exist
/// ```
#[then(regex = r"^((?:within|throughout) \d+ \w+ )?([A-Z]\w+/\S+) (exists|does not exist)$")]
async fn object_exists(
    world: &mut ClusterWorld,
    timing: Timing,
    of: String,
    exists: String,
    step: &Step,
) -> Result<(), StepError> {
    let of = object(&of)?;
    let what = if exists == "exists" { What::Object(of, Vec::new()) } else { What::Absent(of) };
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
    of: String,
    status: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = What::Object(object(&of)?, vec![Check::PodStatus(TextMatch::Equals(status))]);
    world.expect(&step.value, timing.expectation(what)?).await
}

/// An alert of Prometheus, with the value of its label `name` where one is given.
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
    let labels =
        if about.is_empty() { Vec::new() } else { vec![("name".to_owned(), TextMatch::Equals(about))] };
    let wanted = AlertMatch { name, state: AlertState::named(&state), labels, annotations: Vec::new() };
    let what = if not.is_empty() { What::Alert(wanted) } else { What::NoAlert(wanted) };
    world.expect(&step.value, timing.expectation(what)?).await
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
    of: String,
    key: String,
    value: String,
    step: &Step,
) -> Result<(), StepError> {
    let path = format!("metadata.annotations[\"{key}\"]");
    let what = What::Object(object(&of)?, vec![Check::Field { path, value: text_match(&value)? }]);
    world.expect(&step.value, timing.expectation(what)?).await
}

/// Where a node is on its way to another release, as `oc adm upgrade status` tells it.
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
    let phase = Phase::named(&phase).ok_or_else(|| StepError::Words(format!("no phase `{phase}`")))?;
    world.expect(&step.value, timing.expectation(What::Phase { node, phase })?).await
}

/// All phases of a node since the start, none left out.
///
/// ```gherkin
/// Then node worker-0 was Updated, Pending, Draining, Updating, Updated in turn
/// ```
#[then(regex = r"^(within \d+ \w+ )?node (\S+) was ([A-Z]\w+(?:, [A-Z]\w+)*) in turn$")]
async fn node_phases(
    world: &mut ClusterWorld,
    timing: Timing,
    node: String,
    phases: String,
    step: &Step,
) -> Result<(), StepError> {
    let named = |name: &str| Phase::named(name).ok_or_else(|| StepError::Words(format!("no phase `{name}`")));
    let phases = phases.split(", ").map(named).collect::<Result<_, _>>()?;
    world.expect(&step.value, timing.expectation(What::Phases { node, phases })?).await
}

/// How often a node was rebooted since the start.
///
/// ```gherkin
/// Then node worker-0 was rebooted 2 times
/// ```
#[then(regex = r"^(within \d+ \w+ )?node (\S+) was rebooted (\d+) times?$")]
async fn node_reboots(
    world: &mut ClusterWorld,
    timing: Timing,
    node: String,
    times: u32,
    step: &Step,
) -> Result<(), StepError> {
    world.expect(&step.value, timing.expectation(What::Reboots { node, times })?).await
}

/// The statuses that a condition went through since the start, none left out.
///
/// ```gherkin
/// Then condition Updating of the insight about ClusterVersion/version was False, True, False in turn
/// ```
#[then(
    regex = r"^(within \d+ \w+ )?condition (\w+) of (the insight about )?(\S+) was ((?:True|False|Unknown)(?:, (?:True|False|Unknown))*) in turn$"
)]
async fn statuses_in_turn(
    world: &mut ClusterWorld,
    timing: Timing,
    kind: String,
    of_insight: String,
    of: String,
    statuses: String,
    step: &Step,
) -> Result<(), StepError> {
    let of =
        if of_insight.is_empty() { Subject::Object(object(&of)?) } else { Subject::Insight(insight(&of)?) };
    let statuses = statuses.split(", ").map(str::to_owned).collect();
    let what = What::Statuses { of, condition: kind, statuses };
    world.expect(&step.value, timing.expectation(what)?).await
}

/// Writes since the start, in this order; the table has the columns `by`, `verb`, `object`, `part`, `code` and
/// `message`, and an empty cell stands for anything.
///
/// ```gherkin
/// Then these writes were made in this order:
/// ```
#[then(regex = r"^these writes were made in this order:$")]
async fn writes_in_order(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    let rows = step.table.as_ref().map(|table| table.rows.as_slice()).unwrap_or_default();
    let Some((head, rows)) = rows.split_first() else {
        return Err(StepError::Words("expected a table of writes below the step".to_owned()));
    };
    let wanted = rows.iter().map(|row| write(head, row)).collect::<Result<_, _>>()?;
    world.expect(&step.value, Timing::default().expectation(What::Writes(wanted))?).await
}

fn write(head: &[String], row: &[String]) -> Result<WriteMatch, StepError> {
    let mut wanted = WriteMatch::default();
    for (column, cell) in head.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
        match column.as_str() {
            "by" => wanted.by = Some(text_match(cell)?),
            "verb" => wanted.verb = Some(cell.clone()),
            "object" => wanted.object = Some(object(cell)?),
            "part" => wanted.subresource = Some(if cell == "itself" { String::new() } else { cell.clone() }),
            "message" => wanted.message = Some(text_match(cell)?),
            "code" => {
                let code = cell.parse().map_err(|_| StepError::Words(format!("`{cell}` is no HTTP code")))?;
                wanted.code = Some(code);
            }
            other => {
                return Err(StepError::Words(format!(
                    "unknown column `{other}`: there are by, verb, object, part, code, message"
                )));
            }
        }
    }
    Ok(wanted)
}

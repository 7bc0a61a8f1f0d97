//! Then: the history since the start of the run

use cucumber::gherkin::Step;
use cucumber::then;
use windtunnel_update_status::assessment::node::phase::Phase;

use super::then::alert_match;
use crate::plan::{Check, ExpectedState, Leadership, PastState, Restoration, Subject, WriteMatch};
use crate::scenario::{self, Kinds};
use crate::steps::phrase::{Timing, condition, duration, insight, object, text_match};
use crate::steps::world::{ClusterWorld, StepError, find_release};

/// A condition of an object has never had this status since the start.
///
/// ```gherkin
/// Then ClusterOperator/etcd condition Degraded was never True with reason "Broken"
/// ```
#[then(regex = r"^([A-Z]\w+(?:/\S+)?) condition (\w+) was never (True|False|Unknown)(?: with (.+))?$")]
async fn condition_never(
    world: &mut ClusterWorld,
    name: String,
    kind: String,
    status: String,
    with: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = ExpectedState::Never(object(&world.kinds, &name)?, vec![condition(&kind, &status, &with)?]);
    world.expect(&step.value, Timing::default().expectation(what)?).await
}

/// A field of an object has never had this value since the start.
///
/// ```gherkin
/// Then ClusterVersion field "status.history[0].version" was never "4.14.9"
/// ```
#[then(regex = r#"^([A-Z]\w+(?:/\S+)?) field "([^"]+)" was never ("[^"]*"|/.+/)$"#)]
async fn field_never(
    world: &mut ClusterWorld,
    name: String,
    path: String,
    value: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = ExpectedState::Never(
        object(&world.kinds, &name)?,
        vec![Check::Field { path, value: text_match(&value)? }],
    );
    world.expect(&step.value, Timing::default().expectation(what)?).await
}

/// An object has never existed since the start; its name may end in `*`.
///
/// ```gherkin
/// Then Pod/openshift-cluster-version/version-* never existed
/// ```
#[then(regex = r"^([A-Z]\w+/\S+) never existed$")]
async fn object_never(world: &mut ClusterWorld, name: String, step: &Step) -> Result<(), StepError> {
    let what = ExpectedState::Never(object(&world.kinds, &name)?, Vec::new());
    world.expect(&step.value, Timing::default().expectation(what)?).await
}

/// An alert has never been in this state since the start.
///
/// ```gherkin
/// Then alert "ClusterOperatorDown" about "etcd" was never firing
/// ```
#[then(regex = r#"^alert "(\w+)"(?: about "([^"]+)")? was never (pending|firing)$"#)]
async fn alert_never(
    world: &mut ClusterWorld,
    name: String,
    about: String,
    state: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = ExpectedState::NeverAlert(alert_match(name, about, &state));
    world.expect(&step.value, Timing::default().expectation(what)?).await
}

/// All phases of a node since the start, in order.
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
    let named =
        |name: &str| Phase::named(name).ok_or_else(|| StepError::Usage(format!("unknown phase `{name}`")));
    let phases = phases.split(", ").map(named).collect::<Result<_, _>>()?;
    world.expect(&step.value, timing.expectation(ExpectedState::Phases { node, phases })?).await
}

/// The number of reboots of a node since the start.
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
    world.expect(&step.value, timing.expectation(ExpectedState::Reboots { node, times })?).await
}

/// All statuses of a condition since the start, in order.
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
    name: String,
    statuses: String,
    step: &Step,
) -> Result<(), StepError> {
    let subject = if of_insight.is_empty() {
        Subject::Object(object(&world.kinds, &name)?)
    } else {
        Subject::Insight(insight(&name)?)
    };
    let statuses = statuses.split(", ").map(str::to_owned).collect();
    let what = ExpectedState::Statuses { subject, condition: kind, statuses };
    world.expect(&step.value, timing.expectation(what)?).await
}

/// Writes since the start, in this order. The table has the columns `by`, `verb`, `object`, `part`, `code`
/// and `message`; an empty cell matches anything. With `exactly`, no other write matches a row.
///
/// ```gherkin
/// Then these writes were made in this order:
/// Then exactly these writes were made in this order:
/// ```
#[then(regex = r"^(exactly )?these writes were made in this order:$")]
async fn writes_in_order(world: &mut ClusterWorld, exactly: String, step: &Step) -> Result<(), StepError> {
    let rows = step.table.as_ref().map(|table| table.rows.as_slice()).unwrap_or_default();
    let Some((head, rows)) = rows.split_first() else {
        return Err(StepError::Usage("expected a table of writes below the step".to_owned()));
    };
    let wanted = rows.iter().map(|row| write(&world.kinds, head, row)).collect::<Result<_, _>>()?;
    let what =
        if exactly.is_empty() { ExpectedState::Writes(wanted) } else { ExpectedState::OnlyWrites(wanted) };
    world.expect(&step.value, Timing::default().expectation(what)?).await
}

/// Since the start, only the holder of a Lease made writes, of all clients that have held it or have one of these names.
/// The Lease passed from one holder to another this many times, each time at most this long after the last renewal or the
/// release by the one before.
///
/// ```gherkin
/// Then throughout 30 minutes only the holder of Lease/default/mine wrote
/// Then within 5 minutes only the holder of Lease/default/mine wrote, after 1 handover
/// Then only the holder of Lease/default/mine wrote, after 2 handovers with gaps of at most 30 seconds
/// Then of "one, two" only the holder of Lease/default/mine wrote
/// ```
#[then(
    regex = r#"^((?:within|throughout) \d+ \w+ )?(?:of "([^"]+)" )?only the holder of Lease/(\S+/[^\s,]+) wrote(?:, after (\d+) handovers?(?: with gaps of at most (\d+ \w+))?)?$"#
)]
async fn only_the_leader_wrote(
    world: &mut ClusterWorld,
    timing: Timing,
    candidates: String,
    lease: String,
    handovers: String,
    gap: String,
    step: &Step,
) -> Result<(), StepError> {
    let candidates = candidates.split(',').map(str::trim).filter(|name| !name.is_empty());
    let what = ExpectedState::Leader(Leadership {
        candidates: candidates.map(str::to_owned).collect(),
        handovers: handovers.parse().ok(),
        gap: if gap.is_empty() { None } else { Some(duration(&gap)?) },
        ..Leadership::of(&lease).map_err(StepError::Usage)?
    });
    world.expect(&step.value, timing.expectation(what)?).await
}

/// Nothing is left over of an update that was taken back: the cluster is what it was right before it last left the release
/// that it runs, or this version, or what it was at the start of the run, or in a state that was kept. `except` names what
/// may be left over, separated by commas: kinds, objects, and fields.
///
/// ```gherkin
/// Then within 30 minutes the cluster is restored
/// Then the cluster is restored to 4.14.1
/// Then the cluster is restored to its start
/// Then the cluster is restored to "before" except "Secret, status.capabilities of ClusterVersion/version"
/// ```
#[then(
    regex = r#"^((?:within|throughout) \d+ \w+ )?the cluster is restored(?: to (its start|"[^"]+"|\d+\.\d+\.\d+\S*))?(?: except "([^"]+)")?$"#
)]
async fn restored(
    world: &mut ClusterWorld,
    timing: Timing,
    to: String,
    except: String,
    step: &Step,
) -> Result<(), StepError> {
    let to = match to.as_str() {
        "" => PastState::CurrentRelease,
        "its start" => PastState::Start,
        kept if kept.starts_with('"') => PastState::Kept(kept.trim_matches('"').to_owned()),
        version => PastState::Release(find_release(version)?.version),
    };
    let texts = except.split(',').map(str::trim).filter(|text| !text.is_empty());
    let ignored = texts.map(|text| scenario::ignored(&world.kinds, text)).collect::<Result<_, _>>();
    let ignored = ignored.map_err(StepError::Usage)?;
    let what = ExpectedState::Restored(Restoration { to, ignored });
    world.expect(&step.value, timing.expectation(what)?).await
}

fn write(kinds: &Kinds, head: &[String], row: &[String]) -> Result<WriteMatch, StepError> {
    let mut wanted = WriteMatch::default();
    for (column, cell) in head.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
        match column.as_str() {
            "by" => wanted.by = Some(text_match(cell)?),
            "verb" => wanted.verb = Some(cell.clone()),
            "object" => wanted.object = Some(object(kinds, cell)?),
            "part" => wanted.subresource = Some(if cell == "itself" { String::new() } else { cell.clone() }),
            "message" => wanted.message = Some(text_match(cell)?),
            "code" => {
                let code = cell
                    .parse()
                    .map_err(|_| StepError::Usage(format!("expected an HTTP status code, found `{cell}`")))?;
                wanted.code = Some(code);
            }
            other => {
                return Err(StepError::Usage(format!(
                    "unknown column `{other}`: expected one of by, verb, object, part, code, message"
                )));
            }
        }
    }
    Ok(wanted)
}

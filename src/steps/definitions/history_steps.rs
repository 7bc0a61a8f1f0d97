//! Then: the history since the start of the run

use super::definition::{Definition, then};
use super::then::alert_match;
use crate::plan::{ExpectedState, Leadership, PastState, Restoration, Subject, WriteMatch};
use crate::scenario::{self, Kinds};
use crate::steps::phrase::{condition, duration, field, insight, object, phase_named, text_match, whole};
use crate::steps::world::find_release;

const STATUSES: &str = concat!(
    r"{within}condition (\w+) of (the insight about )?(\S+) was ",
    r"((?:True|False|Unknown)(?:, (?:True|False|Unknown))*) in turn",
);

const LEADER: &str = concat!(
    r#"{timing}(?:of "([^"]+)" )?only the holder of Lease/(\S+/[^\s,]+) wrote"#,
    r"(?:, after (\d+) handovers?(?: with gaps of at most (\d+ \w+))?)?",
);

const RESTORED: &str = concat!(
    r#"{timing}the cluster is restored(?: to (its start|"[^"]+"|\d+\.\d+\.\d+\S*))?"#,
    r#"(?: except "([^"]+)")?"#,
);

pub(in crate::steps) const STEPS: &[Definition] = &[
    then(
        r"{object} condition (\w+) was never (True|False|Unknown)(?: with (.+))?",
        "A condition of an object has never had this status since the start.",
        &[r#"ClusterOperator/etcd condition Degraded was never True with reason "Broken""#],
        |world, call| {
            let [name, kind, status, with] = call.values();
            Ok(ExpectedState::Never(object(&world.kinds, &name)?, vec![condition(&kind, &status, &with)?]))
        },
    ),
    then(
        r#"{object} field "([^"]+)" was never {text}"#,
        "A field of an object has never had this value since the start.",
        &[r#"ClusterVersion field "status.history[0].version" was never "4.14.9""#],
        |world, call| {
            let [name, path, value] = call.values();
            Ok(ExpectedState::Never(object(&world.kinds, &name)?, vec![field(path, &value)?]))
        },
    ),
    then(
        r"([A-Z]\w+/\S+) never existed",
        "An object has never existed since the start; its name may end in `*`.",
        &["Pod/openshift-cluster-version/version-* never existed"],
        |world, call| {
            let [name] = call.values();
            Ok(ExpectedState::Never(object(&world.kinds, &name)?, Vec::new()))
        },
    ),
    then(
        r#"alert "(\w+)"(?: about "([^"]+)")? was never (pending|firing)"#,
        "An alert has never been in this state since the start.",
        &[r#"alert "ClusterOperatorDown" about "etcd" was never firing"#],
        |_, call| {
            let [name, about, state] = call.values();
            Ok(ExpectedState::NeverAlert(alert_match(name, about, &state)))
        },
    ),
    then(
        r"{within}node (\S+) was ([A-Z]\w+(?:, [A-Z]\w+)*) in turn",
        "All phases of a node since the start, in order.",
        &["node worker-0 was Updated, Pending, Draining, Updating, Updated in turn"],
        |_, call| {
            let [node, phases] = call.values();
            let phases = phases.split(", ").map(phase_named).collect::<Result<_, _>>()?;
            Ok(ExpectedState::Phases { node, phases })
        },
    ),
    then(
        r"{within}node (\S+) was rebooted (\d+) times?",
        "The number of reboots of a node since the start.",
        &["node worker-0 was rebooted 2 times"],
        |_, call| {
            let [node, times] = call.values();
            Ok(ExpectedState::Reboots { node, times: whole(&times)? })
        },
    ),
    then(
        STATUSES,
        "All statuses of a condition since the start, in order.",
        &["condition Updating of the insight about ClusterVersion/version was False, True, False in turn"],
        |world, call| {
            let [kind, of_insight, name, statuses] = call.values();
            let subject = if of_insight.is_empty() {
                Subject::Object(object(&world.kinds, &name)?)
            } else {
                Subject::Insight(insight(&name)?)
            };
            let statuses = statuses.split(", ").map(str::to_owned).collect();
            Ok(ExpectedState::Statuses { subject, condition: kind, statuses })
        },
    ),
    then(
        r"(exactly )?these writes were made in this order{since}:",
        "Writes in this order, of those since the last action, or since another moment. The table has the columns `by`, `verb`, `object`, `part`, \
         `code` and `message`; an empty cell matches anything. With `exactly`, no other write matches a \
         row.",
        &[
            "these writes were made in this order:",
            "exactly these writes were made in this order since the start:",
            "these writes were made in this order since the last update:",
            "these writes were made in this order since step 3:",
            "these writes were made in this order in the last 5 minutes:",
        ],
        |world, call| {
            let [exactly] = call.values();
            let Some((head, rows)) = call.rows().unwrap_or_default().split_first() else {
                return Err("expected a table of writes below the step".to_owned());
            };
            let wanted = rows.iter().map(|row| write(&world.kinds, head, row)).collect::<Result<_, _>>()?;
            Ok(if exactly.is_empty() {
                ExpectedState::Writes(wanted, call.since()?)
            } else {
                ExpectedState::OnlyWrites(wanted, call.since()?)
            })
        },
    ),
    then(
        LEADER,
        "Since the start, only the holder of a Lease made writes, of all clients that have held it or \
         have one of these names. The Lease passed from one holder to another this many times, each time \
         at most this long after the last renewal or the release by the one before.",
        &[
            "throughout 30 minutes only the holder of Lease/default/mine wrote",
            "within 5 minutes only the holder of Lease/default/mine wrote, after 1 handover",
            "only the holder of Lease/default/mine wrote, after 2 handovers with gaps of at most 30 seconds",
            r#"of "one, two" only the holder of Lease/default/mine wrote"#,
        ],
        |_, call| {
            let [candidates, lease, handovers, gap] = call.values();
            let candidates = candidates.split(',').map(str::trim).filter(|name| !name.is_empty());
            Ok(ExpectedState::Leader(Leadership {
                candidates: candidates.map(str::to_owned).collect(),
                handovers: handovers.parse().ok(),
                gap: if gap.is_empty() { None } else { Some(duration(&gap)?) },
                ..Leadership::of(&lease)?
            }))
        },
    ),
    then(
        RESTORED,
        "Nothing is left over of an update that was taken back: the cluster is what it was right before \
         it last left the release that it runs, or this version, or what it was at the start of the run, \
         or in a state that was kept. `except` names what may be left over, separated by commas: kinds, \
         objects, and fields.",
        &[
            "within 30 minutes the cluster is restored",
            "the cluster is restored to 4.14.1",
            "the cluster is restored to its start",
            r#"the cluster is restored to "before" except "Secret, status.capabilities of ClusterVersion/version""#,
        ],
        |world, call| {
            let [to, except] = call.values();
            let to = match to.as_str() {
                "" => PastState::CurrentRelease,
                "its start" => PastState::Start,
                kept if kept.starts_with('"') => PastState::Kept(kept.trim_matches('"').to_owned()),
                version => PastState::Release(find_release(version)?.version),
            };
            let texts = except.split(',').map(str::trim).filter(|text| !text.is_empty());
            let ignored =
                texts.map(|text| scenario::ignored(&world.kinds, text)).collect::<Result<_, _>>()?;
            Ok(ExpectedState::Restored(Restoration { to, ignored }))
        },
    ),
];

fn write(kinds: &Kinds, head: &[String], row: &[String]) -> Result<WriteMatch, String> {
    let mut wanted = WriteMatch::default();
    for (column, cell) in head.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
        match column.as_str() {
            "by" => wanted.by = Some(text_match(cell)?),
            "verb" => wanted.verb = Some(cell.clone()),
            "object" => wanted.object = Some(object(kinds, cell)?),
            "part" => wanted.subresource = Some(if cell == "itself" { String::new() } else { cell.clone() }),
            "message" => wanted.message = Some(text_match(cell)?),
            "code" => {
                let code =
                    cell.parse().map_err(|_| format!("expected an HTTP status code, found `{cell}`"))?;
                wanted.code = Some(code);
            }
            other => {
                return Err(format!(
                    "unknown column `{other}`: expected one of by, verb, object, part, code, message"
                ));
            }
        }
    }
    Ok(wanted)
}

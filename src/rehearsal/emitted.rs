//! The scenario of a rehearsal: the cluster of the dump, the update, and the changes that let it go on as comments.
//!
//! The scenario fails where the rehearsal stopped first. With the comments of a stop as steps, it goes on as the rehearsal did.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use jiff::SignedDuration;
use semver::Version;
use windtunnel_core::text::{one_line, short_duration};
use windtunnel_core::yaml::{comment, quoted, scalar};

use super::milestones::SETTLING;
use super::run::{Rehearsed, Stop};
use crate::plan::{Action, FaultTarget};

/// How long an accepted release may take to be so.
const ACCEPTED: SignedDuration = SignedDuration::from_hours(2);
/// The time beside twice that of the rehearsal. It is longer than the stops that the rehearsal notices.
const BESIDE: SignedDuration = SignedDuration::from_hours(3);

/// What a scenario says besides the run.
#[derive(Debug, Clone, Copy)]
pub struct Emitted<'a> {
    /// The release of the cluster.
    pub from: &'a Version,
    /// The dump, for people.
    pub source: &'a str,
    /// The path of its objects, relative to the scenario.
    pub objects: &'a str,
    /// The kinds of objects that the cluster leaves out.
    pub left_out: &'a [String],
}

/// Returns the scenario of a run. `goes_on`: whether the changes that let it go on are steps instead of comments.
pub fn scenario_text(emitted: &Emitted<'_>, run: &Rehearsed, goes_on: bool) -> String {
    let to = run.requests.last().map_or("", |(to, _)| to);
    let mut text = comment(&format!(
        "The update of {}, as `windtunnel rehearse` ran it. Edit the steps here, and the objects in {}.",
        one_line(emitted.source),
        emitted.objects
    ));
    let _ = write!(
        text,
        "name: {}\nstrict: false\ncluster:\n  version: {}\n  start-from: {{dump: {}, ignore: [{}]}}\ninvariants: false\nreleases:\n",
        quoted(&format!("update from {} to {to}, rehearsed", emitted.from)),
        scalar(&emitted.from.to_string()),
        quoted(emitted.objects),
        emitted.left_out.iter().map(|kind| scalar(kind)).collect::<Vec<_>>().join(", "),
    );
    for (release, _) in &run.requests {
        let _ = writeln!(text, "  {}:", scalar(release));
    }
    let _ = writeln!(text, "timeline:\n- advance: {}", short_duration(SETTLING));
    for (index, (release, at)) in run.requests.iter().enumerate() {
        if index > 0 {
            let _ = writeln!(text, "- at: {}", short_duration(*at));
        }
        let _ = writeln!(text, "- update: {{to: {}}}", scalar(release));
        text += &phases(run, release, goes_on);
    }
    text
}

/// The steps of one update: for each phase its stops, and what to expect of it.
fn phases(run: &Rehearsed, release: &str, goes_on: bool) -> String {
    let stops: Vec<(usize, &Stop)> = (1..).zip(&run.stops).filter(|(_, stop)| stop.to == release).collect();
    let of = |is_meant: &dyn Fn(&str) -> bool| -> String {
        stops
            .iter()
            .filter(|(_, stop)| is_meant(&stop.phase))
            .map(|(n, stop)| changes(*n, stop, goes_on))
            .collect()
    };
    let mut text = of(&|phase| phase == "accept");
    text += &expect(
        "ClusterVersion/version",
        &format!("fields: {{\"status.history[0].version\": {}}}", scalar(release)),
        ACCEPTED,
    );
    text += &of(&|phase| phase == "control-plane");
    let completed = format!(
        "fields: {{\"status.history[0].version\": {}, \"status.history[0].state\": Completed}}",
        scalar(release)
    );
    text += &expect("ClusterVersion/version", &completed, limit(run.control_plane));
    text += &of(&|phase| phase.starts_with("pool "));
    let of_stops = stops.iter().filter_map(|(_, stop)| stop.phase.strip_prefix("pool "));
    let pools: BTreeSet<&str> = run.pools.keys().map(String::as_str).chain(of_stops).collect();
    for pool in pools {
        let object = format!("MachineConfigPool/{pool}");
        text += &expect(
            &object,
            "condition: {type: Updated, status: \"True\"}",
            limit(run.pools.get(pool).copied()),
        );
    }
    text
}

/// Twice the time of the rehearsal, and more.
fn limit(took: Option<SignedDuration>) -> SignedDuration {
    let took = took.unwrap_or(BESIDE);
    let limit = took.saturating_add(took).saturating_add(BESIDE);
    SignedDuration::from_mins(limit.as_mins())
}

fn expect(object: &str, check: &str, within: SignedDuration) -> String {
    format!(
        "- expect:\n    object: {}\n    {check}\n    within: {}\n",
        scalar(object),
        short_duration(within)
    )
}

/// The steps that let the update go on from a stop, as comments unless it goes on.
fn changes(number: usize, stop: &Stop, goes_on: bool) -> String {
    let cause =
        stop.cause.as_ref().map_or_else(|| "something that nothing explains".to_owned(), ToString::to_string);
    let phase = &stop.phase;
    let Some(repair) = &stop.repair else {
        return comment(&format!("{number}. Stops at {phase}, because of {cause}. The rehearsal ends here."));
    };
    let Some(step) = step(repair.action()) else {
        return comment(&format!(
            "{number}. Stops at {phase}, because of {cause}. To go on: {}",
            one_line(&repair.text)
        ));
    };
    let steps = format!("- at: {}\n- {step}\n", short_duration(stop.found_at));
    let advice = if goes_on { "" } else { " To go on, make steps of the next two lines." };
    comment(&format!("{number}. Stops at {phase}, because of {cause}.{advice}"))
        + &if goes_on { steps } else { comment(&steps) }
}

/// A change as a step of a scenario.
fn step(action: &Action) -> Option<String> {
    Some(match action {
        Action::Patch { object, patch, status } => {
            let subresource = if *status { ", subresource: status" } else { "" };
            format!("patch: {{object: {}, merge: {patch}{subresource}}}", quoted(&object.to_string()))
        }
        Action::Delete { object, .. } => format!("delete: {}", quoted(&object.to_string())),
        Action::Heal(target) => {
            let (kind, name) = match target {
                FaultTarget::Operator(name) => ("operator", name),
                FaultTarget::Node(name) => ("node", name),
                FaultTarget::Pool(name) => ("pool", name),
                FaultTarget::Crd(name) => ("crd", name),
                _ => return None,
            };
            format!("heal: {{{kind}: {}}}", quoted(name))
        }
        _ => return None,
    })
}

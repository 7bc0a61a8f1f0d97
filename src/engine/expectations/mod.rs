//! Whether what a scenario expects is so, and if not, what was seen instead.

pub(in crate::engine) mod captures;
pub(in crate::engine) mod invariants;
pub(in crate::engine) mod matching;
mod monitoring;
pub(in crate::engine) mod node_order;
mod nodes;
pub(in crate::engine) mod status;
mod writes;

use serde_json::Value;
use windtunnel_core::rng::Streams;
use windtunnel_core::{Object, View};

use super::command;
use super::error::SessionError;
use super::expectations::matching::{all, insights, objects};
use super::runtime::Simulation;
use crate::plan::{ObjectRef, TextMatch, What, WriteMatch};

/// Checks one expectation at this moment. `baseline` is the cluster at the beginning of a check over time.
///
/// The error says what was seen instead.
pub(in crate::engine) fn check(
    simulation: &Simulation,
    what: &What,
    baseline: Option<&View>,
) -> Result<(), String> {
    match what {
        What::Object(object, checks) => {
            one_of(objects(&simulation.view, object), &format!("there is no {object}"), |found| {
                let before = baseline.and_then(|view| before(view, found, object));
                all(found, before.map(|object| &**object), checks)
            })
        }
        What::Absent(object) => match objects(&simulation.view, object).next() {
            None => Ok(()),
            Some(found) => Err(format!("{object} is there: {}", found.name())),
        },
        What::Insight(insight, checks) => {
            let missing = format!("no {insight} is published");
            one_of(insights(&simulation.view, insight).into_iter(), &missing, |found| {
                all(found, None, checks)
            })
        }
        What::NoInsight(insight, checks) => {
            match insights(&simulation.view, insight).iter().find(|found| all(found, None, checks).is_ok()) {
                None => Ok(()),
                Some(found) => Err(format!("it is published: {found}")),
            }
        }
        What::Never(object, checks) => writes::never_object(&simulation.record, object, checks),
        What::NeverInsight(insight, checks) => writes::never(&simulation.record, insight, checks),
        What::Command(checks) => command::check_last(simulation, checks),
        What::Alert(wanted) => monitoring::alert(simulation, wanted),
        What::NoAlert(wanted) => monitoring::no_alert(simulation, wanted),
        What::NeverAlert(wanted) => monitoring::never_alert(&simulation.record, wanted),
        What::Metric(wanted) => monitoring::metric(simulation, wanted),
        What::NoMetric(wanted) => monitoring::no_metric(simulation, wanted),
        What::Status(wanted) => status::check(simulation, wanted),
        What::Phases { node, phases } => nodes::phases(&simulation.phases, node, phases),
        What::Phase { node, phase } => nodes::phase(&simulation.phases, node, *phase),
        What::Reboots { node, times } => nodes::reboots(simulation, node, *times),
        What::Writes(wanted) => writes::in_order(&simulation.record, &recorded(simulation, wanted)),
        What::OnlyWrites(wanted) => writes::exactly(&simulation.record, wanted),
        What::Statuses { of, condition, statuses } => {
            writes::statuses(&simulation.record, of, condition, statuses)
        }
    }
}

/// The writes that a record has if they were made: none of the cluster's own controllers, where it has some.
fn recorded<'w>(simulation: &Simulation, wanted: &'w [WriteMatch]) -> Vec<&'w WriteMatch> {
    if !simulation.door.capabilities().controllers {
        return wanted.iter().collect();
    }
    let controllers = windtunnel_controllers::kubernetes(&Streams::new(0));
    let is_of_one = |write: &&WriteMatch| match &write.by {
        Some(TextMatch::Equals(by)) => controllers.iter().any(|controller| controller.name() == by),
        _ => false,
    };
    wanted.iter().filter(|write| !is_of_one(write)).collect()
}

/// Refuses expectations about all that there was, where others write what is in no record.
///
/// # Errors
/// [`SessionError::Unable`]
pub(in crate::engine) fn can_be_known(simulation: &Simulation, what: &What) -> Result<(), SessionError> {
    let is_of_all = match what {
        What::Never(..) | What::OnlyWrites(_) => true,
        What::Writes(wanted) => recorded(simulation, wanted).is_empty(),
        _ => false,
    };
    if is_of_all && simulation.door.capabilities().controllers {
        let why =
            "nobody records what the cluster's own controllers write, so nobody knows all that there was";
        return Err(SessionError::Unable(why.to_owned()));
    }
    Ok(())
}

/// The error for an expectation that does not hold: what was seen instead, and what the run is waiting for.
pub(in crate::engine) fn unmet(simulation: &Simulation, why: &str) -> SessionError {
    let mut text = format!("seen: {why}");
    for pending in simulation.pending() {
        text += &format!("\n  pending: {} waits for: {}", pending.actor, pending.why);
    }
    SessionError::Unmet(text)
}

fn before<'a>(view: &'a View, found: &Value, object: &ObjectRef) -> Option<&'a Object> {
    view.get(&object.resource, &object.namespace, found["metadata"]["name"].as_str()?)
}

fn one_of<T>(
    candidates: impl Iterator<Item = T>,
    missing: &str,
    fits: impl Fn(&T) -> Result<(), String>,
) -> Result<(), String> {
    let mut seen = missing.to_owned();
    for candidate in candidates {
        match fits(&candidate) {
            Ok(()) => return Ok(()),
            Err(why) => seen = why,
        }
    }
    Err(seen)
}

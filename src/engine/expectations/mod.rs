//! Checks the expectations of a scenario, and describes what was seen instead.
//!
//! `captures.rs` has `keep` and `$(kept NAME)`.

mod acceptance;
pub(in crate::engine) mod captures;
mod cause;
pub(in crate::engine) mod held_before;
mod leader;
mod logs;
pub(in crate::engine) mod matching;
mod monitoring;
mod nodes;
mod requests;
pub(in crate::engine) mod status_text;
pub(in crate::engine) mod texts;
mod unknown_field;
mod unknown_name;
mod unmet;
mod writes;

use serde_json::Value;
use windtunnel_core::rng::Streams;
use windtunnel_core::{Object, View};

use super::command;
use super::error::SessionError;
use super::expectations::matching::{check_all, insights, objects};
use super::restored;
use super::runtime::Simulation;
use crate::plan::{ExpectedState, ObjectRef, TextMatch, WriteMatch};
pub use leader::stray_write;
pub(in crate::engine) use unmet::unmet_error;

/// Checks one expectation now. `baseline` is the cluster at the start of a check over time.
///
/// The error describes what was seen instead.
pub(in crate::engine) fn check(
    simulation: &Simulation,
    what: &ExpectedState,
    baseline: Option<&View>,
) -> Result<(), String> {
    match what {
        ExpectedState::Object(..)
        | ExpectedState::Absent(_)
        | ExpectedState::Insight(..)
        | ExpectedState::NoInsight(..) => check_in(&simulation.view, what, baseline),
        ExpectedState::Never(object, checks) => writes::never_object(&simulation.record, object, checks),
        ExpectedState::NeverInsight(insight, checks) => {
            writes::expect_never_insight(&simulation.record, insight, checks)
        }
        ExpectedState::Command(checks) => command::check_last(simulation, checks),
        ExpectedState::Alert(wanted) => monitoring::alert(simulation, wanted),
        ExpectedState::NoAlert(wanted) => monitoring::no_alert(simulation, wanted),
        ExpectedState::NeverAlert(wanted) => monitoring::never_alert(&simulation.record, wanted),
        ExpectedState::Metric(wanted) => monitoring::metric(simulation, wanted),
        ExpectedState::NoMetric(wanted) => monitoring::no_metric(simulation, wanted),
        ExpectedState::Log(wanted) => logs::log(simulation, wanted),
        ExpectedState::Status(wanted) => status_text::check(simulation, wanted),
        ExpectedState::Phases { node, phases } => {
            nodes::phases(simulation.observers.invariants.phases(), node, phases)
        }
        ExpectedState::Phase { node, phase } => {
            nodes::phase(simulation.observers.invariants.phases(), node, *phase)
        }
        ExpectedState::Reboots { node, times } => nodes::reboots(simulation, node, *times),
        ExpectedState::Writes(wanted, since) => {
            let counted = simulation.counted(*since)?;
            writes::in_order(&simulation.record, &counted, &recorded(simulation, wanted))
        }
        ExpectedState::OnlyWrites(wanted, since) => {
            writes::expect_exact_writes(&simulation.record, &simulation.counted(*since)?, wanted)
        }
        ExpectedState::Restored(wanted) => {
            restored::check(&simulation.observers.states, wanted, &simulation.view, &simulation.environment)
        }
        ExpectedState::Requests(limit) => {
            let counted = simulation.counted(limit.since)?;
            requests::expect_few(&simulation.record, &simulation.reads, &counted, limit)
        }
        ExpectedState::Leader(wanted) => leader::expect_one_writer(&simulation.record, wanted),
        ExpectedState::Statuses { subject, condition, statuses } => {
            writes::statuses(&simulation.record, subject, condition, statuses)
        }
    }
}

/// Checks an expectation about the objects or insights in a cluster as `view` shows it. Other expectations
/// need more than the objects, and hold here.
fn check_in(view: &View, what: &ExpectedState, baseline: Option<&View>) -> Result<(), String> {
    match what {
        ExpectedState::Object(object, checks) => {
            any_matches(objects(view, object), &format!("there is no {object}"), |found| {
                let before = baseline.and_then(|view| baseline_object(view, found, object));
                check_all(found, before.map(|object| &**object), checks)
            })
        }
        ExpectedState::Absent(object) => match objects(view, object).next() {
            None => Ok(()),
            Some(found) => Err(format!("{object} exists: {}", found.name())),
        },
        ExpectedState::Insight(insight, checks) => {
            let missing = format!("no {insight} is published");
            any_matches(insights(view, insight).into_iter(), &missing, |found| check_all(found, None, checks))
        }
        ExpectedState::NoInsight(insight, checks) => {
            match insights(view, insight).iter().find(|found| check_all(found, None, checks).is_ok()) {
                None => Ok(()),
                Some(found) => Err(format!("the insight is published: {found}")),
            }
        }
        _ => Ok(()),
    }
}

/// Returns the wanted writes that the record can contain: without those of the cluster's own controllers.
fn recorded<'w>(simulation: &Simulation, wanted: &'w [WriteMatch]) -> Vec<&'w WriteMatch> {
    if !simulation.connection.capabilities().controllers {
        return wanted.iter().collect();
    }
    let controllers = windtunnel_controllers::kubernetes(&Streams::new(0));
    let is_by_controller = |write: &&WriteMatch| match &write.by {
        Some(TextMatch::Equals(by)) => controllers.iter().any(|controller| controller.name() == by),
        _ => false,
    };
    wanted.iter().filter(|write| !is_by_controller(write)).collect()
}

/// Rejects expectations about all writes if the record lacks those of the cluster's own controllers.
///
/// # Errors
/// [`SessionError::Unsupported`]
pub(in crate::engine) fn check_observable(
    simulation: &Simulation,
    what: &ExpectedState,
) -> Result<(), SessionError> {
    let is_about_all_writes = match what {
        ExpectedState::Never(..)
        | ExpectedState::OnlyWrites(..)
        | ExpectedState::Requests(_)
        | ExpectedState::Leader(_) => true,
        ExpectedState::Writes(wanted, _) => recorded(simulation, wanted).is_empty(),
        _ => false,
    };
    if is_about_all_writes && simulation.connection.capabilities().controllers {
        let why = "the record lacks the writes of the cluster's own controllers, so an expectation about all writes \
                   cannot be checked";
        return Err(SessionError::Unsupported(why.to_owned()));
    }
    Ok(())
}

fn baseline_object<'a>(view: &'a View, found: &Value, object: &ObjectRef) -> Option<&'a Object> {
    view.get(&object.resource, &object.namespace, found["metadata"]["name"].as_str()?)
}

fn any_matches<T>(
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

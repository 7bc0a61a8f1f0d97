//! Continues a plan once per write in a copy of the cluster, with a crash of the process after that write, and compares
//! the final clusters.

mod batch;
#[cfg(test)]
mod continuation;
mod finder;

use std::collections::BTreeSet;

use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_core::{Key, View};

use self::batch::CrashBatch;
use self::finder::{Finder, Origins};
use super::error::SessionError;
use super::restored::volatile::BETWEEN_RUNS;
use super::restored::{Contents, differences, object_name};
use super::run::{Failure, run_in_session};
use super::session::Session;
use super::workers::with_workers;
use crate::plan::Plan;

/// A crash of a process right after one of its writes, before it sees the answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Restart {
    /// The process, by its name in the timeline.
    pub process: String,
    /// The number of the write since the run began, from 1.
    pub write: u32,
}

impl std::fmt::Display for Restart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} restarted after write {}", self.process, self.write)
    }
}

/// The result of all restarts of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The number of restarts, one for each write of a simulated process.
    pub restarts: usize,
    /// The restarts after which the plan ends in another way, each with the difference.
    pub differences: Vec<(Restart, String)>,
}

/// The end of a plan: the cluster, or the step that failed.
pub(in crate::engine) type End = Result<Contents, Failure>;

/// Runs a plan in process with a seed, then again with a copy of the cluster for each write of a simulated process. The
/// process crashes in the copy right after the write, and the copy runs the rest of the plan, on one of `jobs` threads.
///
/// # Errors
/// The cluster could not be set up.
pub fn check(plan: &Plan, seed: u64, jobs: usize) -> Result<Report, SessionError> {
    check_with(plan, seed, jobs, Origins::Copies)
}

fn check_with(plan: &Plan, seed: u64, jobs: usize, origins: Origins) -> Result<Report, SessionError> {
    let mut session = Session::start(&plan.cluster, &plan.name, &plan.ids, seed)?;
    let failure = run_in_session(&mut session, plan);
    let end = end_of(&session, failure);
    let processes = session.simulation.schedule.names().map(|(_, name)| name.to_owned()).collect();
    let mut session = Session::start(&plan.cluster, &plan.name, &plan.ids, seed)?;
    let difference = |batch: CrashBatch| batch.differences(plan, seed, &end);
    let ((), found) = with_workers(jobs, difference, |sender| {
        let finder = Finder::new(&session.simulation, processes, origins, sender);
        finder::find_in(&mut session, plan, finder);
    });
    let mut found: Vec<_> = found.into_iter().flatten().collect();
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    let restarts = found.len();
    let differences =
        found.into_iter().filter_map(|(restart, difference)| Some((restart, difference?))).collect();
    Ok(Report { restarts, differences })
}

pub(in crate::engine) fn end_of(session: &Session, failure: Option<Failure>) -> End {
    failure.map_or_else(|| Ok(comparable_state(&session.simulation.view)), Err)
}

/// How a plan ends with a restart in another way than without, if it does.
fn difference(without: &End, with: &End) -> Option<String> {
    match (without, with) {
        (Ok(one), Ok(other)) => first_difference(one, other),
        (Ok(_), Err(failure)) => Some(format!("{}: {}", failure.step, failure.error)),
        // A plan that fails anyway has no end to compare.
        (Err(_), _) => None,
    }
}

fn first_difference(one: &Contents, other: &Contents) -> Option<String> {
    let keys: BTreeSet<&Key> = one.iter().chain(other.iter()).map(|(key, _)| key).collect();
    keys.into_iter().find_map(|key| {
        let (without, with) = (one.get(key), other.get(key));
        let name = object_name(&without.or(with)?.kind, key);
        match (without, with) {
            (Some(_), None) => Some(format!("{name} is missing, and is there without the restart")),
            (None, Some(_)) => Some(format!("{name} is there, and is missing without the restart")),
            (Some(one), Some(other)) => {
                differences(&one.kind, &one.value, &other.value).first().map(|first| {
                    if first.is_hidden() {
                        return format!("{name}: {} differs from that without the restart", first.field);
                    }
                    format!(
                        "{name}: {} is {}, and {} without the restart",
                        first.field, first.after, first.before
                    )
                })
            }
            (None, None) => None,
        }
    })
}

/// The cluster without times, generated names and records of the past.
///
/// Of ClusterVersion's history only the newest entry is compared: an operator that restarts before it has replaced itself
/// first retargets to its own release, and records that.
fn comparable_state(view: &View) -> Contents {
    let mut contents = Contents::of(view, &[BETWEEN_RUNS]);
    for (_, content) in contents.iter_mut().filter(|(key, _)| key.is_kind(&CLUSTER_VERSIONS)) {
        for (part, field) in [("metadata", "generation"), ("status", "observedGeneration")] {
            content.value[part].as_object_mut().and_then(|fields| fields.remove(field));
        }
        if let Some(history) = content.value["status"]["history"].as_array_mut() {
            history.truncate(1);
        }
    }
    contents
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::resources::NODES;
    use windtunnel_core::{Change, ChangeKind, Object};

    use super::*;

    #[test]
    fn a_difference_names_its_field() {
        let end = |list: Value| {
            let object = Object::new(json!({ "kind": "Node", "metadata": { "name": "w" }, "list": list }));
            let mut view = View::default();
            view.apply(&Change { key: NODES.key("", "w"), kind: ChangeKind::Added, object, old: None });
            comparable_state(&view)
        };
        let one = end(json!([{ "b": 1 }, { "b": 2 }]));
        let other = end(json!([{ "b": 1 }, { "b": 3 }]));
        assert_eq!(first_difference(&one, &one), None);
        let difference = first_difference(&one, &other).unwrap();
        assert_eq!(difference, "Node/w: list[1].b is 3, and 2 without the restart");
        let gone = first_difference(&one, &Contents::default()).unwrap();
        assert_eq!(gone, "Node/w is missing, and is there without the restart");
    }
}

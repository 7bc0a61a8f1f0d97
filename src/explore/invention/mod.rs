//! Invents cases: clusters, and what is done to them.

mod cluster;
mod disturbance;
mod fault;
mod timeline;

use serde_json::{Map, Value, json};

use self::cluster::Cluster;
use super::case::{Case, Moment};
use super::dice::Dice;

/// The time in which invented steps begin, in minutes.
const LENGTH_MINUTES: u64 = 240;

/// The names of an invented cluster that steps refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    /// The release of the cluster.
    version: String,
    /// The other releases that exist.
    releases: Vec<String>,
    nodes: Vec<String>,
    pools: Vec<String>,
    operators: Vec<String>,
    /// The names of the programs of these operators.
    programs: Vec<String>,
}

/// Invents a cluster and its timeline.
pub(super) fn invent(dice: &mut Dice) -> Case {
    let Cluster { environment, names } = Cluster::invent(dice);
    let mut case = Case { environment, moments: Vec::new(), own_steps: Vec::new() };
    case.moments.extend(timeline::beginning(dice, &names));
    extend(&mut case, dice, &names, 0);
    case
}

/// Invents another continuation of a case from a moment on, in seconds. The moment is a step of its own, so that cases
/// with equal steps before it can share a run.
pub(super) fn continue_from(parent: &Case, at: u64, dice: &mut Dice) -> Case {
    let mut case = prefix(parent, at);
    if case.own_steps.is_empty() {
        // Promises of earlier steps are kept: a paused pool continues, a MachineConfig is removed.
        let begun = case.moments.clone();
        let is_promised = |moment: &&Moment| {
            moment.at > at && begun.iter().any(|begun| timeline::ends(&moment.step, &begun.step))
        };
        case.moments.extend(parent.moments.iter().filter(is_promised).cloned());
        extend(&mut case, dice, &Names::of(parent), at);
    } else {
        disturb(&mut case, dice);
    }
    case
}

/// The steps of a case up to a moment, in seconds, with the moment itself as their end.
pub(super) fn prefix(parent: &Case, at: u64) -> Case {
    let mut case = parent.clone();
    case.moments.retain(|moment| moment.at <= at);
    if case.own_steps.is_empty() {
        case.moments.push(Moment::new(at, json!({ "advance": "1s" })));
    }
    case
}

/// Adds short faults to a user's scenario, which it should survive.
pub(super) fn disturb(case: &mut Case, dice: &mut Dice) {
    let nodes = Names::of(case).nodes;
    for _ in 0..dice.between(1, 3) {
        let at = dice.between(0, 60 * 120);
        case.moments.push(Moment::new(at, disturbance::invent(dice, &nodes)));
    }
    case.sort();
}

/// Adds steps from a moment on, in seconds.
fn extend(case: &mut Case, dice: &mut Dice, names: &Names, from: u64) {
    let first = from / 60 + 1;
    let last = first + dice.between(10, LENGTH_MINUTES);
    for _ in 0..dice.between(1, 4) {
        let at = 60 * dice.between(first, last);
        case.moments.extend(timeline::steps(dice, names, at));
    }
    for _ in 0..dice.between(1, 5) {
        let at = 60 * dice.between(if from == 0 { 0 } else { first }, last);
        case.moments.push(Moment::new(at, fault::invent(dice, names)));
    }
    case.sort();
}

impl Names {
    /// The names in the cluster of a case.
    pub(super) fn of(case: &Case) -> Self {
        let texts = |value: &Value| {
            value.as_object().map_or_else(Vec::new, |map: &Map<String, Value>| map.keys().cloned().collect())
        };
        let cluster = case.environment.get("cluster").cloned().unwrap_or_default();
        let version = cluster["version"].as_str().unwrap_or_default().to_owned();
        let releases = texts(case.environment.get("releases").unwrap_or(&Value::Null));
        cluster::names(version, releases, &cluster)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use windtunnel_openshift::release::Release;

    use super::*;

    #[test]
    fn every_invented_case_is_a_valid_scenario_with_a_varied_vocabulary() {
        let (mut keys, mut kinds) = (BTreeSet::new(), BTreeSet::new());
        for number in 0..200 {
            let mut dice = Dice::new(7, &format!("case {number}"));
            let mut case = invent(&mut dice);
            let later = continue_from(&case, 1800, &mut dice);
            for case in [&mut case, &mut later.clone()] {
                let text = case.to_yaml("n", &[]);
                let plan = case.plan(&Release::find).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
                assert!(!plan.timeline.is_empty());
            }
            for moment in &case.moments {
                keys.extend(moment.step.as_object().and_then(|step| step.keys().next().cloned()));
                kinds.extend(moment.fault().and_then(|fault| fault.get("is")).map(ToString::to_string));
            }
        }
        for key in ["update", "patch", "apply", "delete", "join", "feature-set", "fault"] {
            assert!(keys.contains(key), "{key}: {keys:?}");
        }
        assert!(kinds.len() > 40, "{kinds:?}");
    }

    #[test]
    fn a_continuation_has_the_steps_of_its_origin_up_to_the_moment() {
        let mut dice = Dice::new(1, "origin");
        let origin = invent(&mut dice);
        let (one, other) = (continue_from(&origin, 3600, &mut dice), continue_from(&origin, 3600, &mut dice));
        let shared = prefix(&origin, 3600).timeline();
        assert!(one.timeline().starts_with(&shared) && other.timeline().starts_with(&shared));
        assert_ne!(one, other);
    }

    #[test]
    fn names_can_be_read_from_a_case() {
        for number in 0..50 {
            let mut dice = Dice::new(2, &format!("{number}"));
            let Cluster { environment, names } = Cluster::invent(&mut dice);
            let case = Case { environment, moments: Vec::new(), own_steps: Vec::new() };
            assert_eq!(Names::of(&case), names);
        }
    }
}

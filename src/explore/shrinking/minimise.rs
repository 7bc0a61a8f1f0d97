//! A failing scenario of a user, made as small as its failure allows.

use serde_json::{Value, json};
use windtunnel_core::text::one_line;
use windtunnel_core::yaml::{self, comment};

use super::candidates::Scope;
use super::{Ran, Shrinking, run_text};
use crate::explore::case::Case;
use crate::explore::place::Place;
use crate::oracles::normalise;
use crate::record::{Event, Record};
use crate::scenario::Releases;

/// A scenario that is smaller than another, and fails as that one does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Minimised {
    /// The failure in words.
    pub failure: String,
    /// The scenario, with comments for its reader.
    pub scenario: String,
    /// The number of steps before and after.
    pub steps: (usize, usize),
    /// The number of runs that it took.
    pub runs: u64,
    /// Whether nothing is left to make smaller within the number of runs.
    pub is_done: bool,
}

/// How a case fails.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CaseFailure {
    /// The step and the error without numbers, by which failures are equal.
    cause: String,
    text: String,
    place: Option<Place>,
    /// The number of steps up to the one that failed.
    length: usize,
}

/// Makes a scenario of a user smaller as long as the same step fails for the same reason. `file` is its name, for the
/// comment. Returns `None` if the scenario does not fail.
///
/// # Errors
/// The scenario cannot be explored, such as one with `parameters`.
pub fn minimise(
    file: &str,
    text: &str,
    releases: &dyn Releases,
    runs: u64,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Minimised>, String> {
    let mut case = Case::of_scenario(text)?;
    let tree = yaml::parse_tree(text).map_err(|error| error.to_string())?.0.to_json();
    let name = tree["name"].as_str().unwrap_or("A scenario").to_owned();
    if tree["strict"] == true {
        case.environment.insert("strict".to_owned(), json!(true));
    }
    let mut used = 0;
    let mut fault_of = |case: &Case| {
        used += 1;
        fault(case, &name, releases)
    };
    let Some(mut found) = fault_of(&case) else { return Ok(None) };
    let before = case.own_steps.len();
    // Nothing runs after the step that failed.
    case.own_steps.truncate(found.length);
    let cause = found.cause.clone();
    let mut find = |case: &Case| fault_of(case).filter(|again| again.cause == cause);
    let scope = Scope { has_own_steps: true, needs_ends: true };
    let mut shrinking = Shrinking::new(scope, runs);
    let is_done = shrinking.smallest(&mut case, &mut found, &mut find, stop) && shrinking.left > 0;
    Ok(Some(Minimised {
        scenario: comments(file, &found) + &case.to_yaml(&name, &[]),
        failure: found.text,
        steps: (before, case.own_steps.len()),
        runs: used,
        is_done,
    }))
}

fn comments(file: &str, found: &CaseFailure) -> String {
    let text = found.text.lines().next().unwrap_or_default();
    let place = found.place.as_ref().map_or_else(String::new, |place| format!("Shows in {place}\n"));
    comment(&format!("Fails: {text}\n{place}Made smaller from {}", one_line(file)))
}

/// Runs a case as a scenario. Returns its failure, if it fails.
fn fault(case: &Case, name: &str, releases: &dyn Releases) -> Option<CaseFailure> {
    let length = case.own_steps.len();
    match run_text("minimised.yaml", &case.to_yaml(name, &[]), releases) {
        Ran::Invalid => None,
        Ran::Panicked(panic) => {
            let text = format!("a component panicked: {panic}");
            Some(CaseFailure { cause: normalise(&text), text, place: None, length })
        }
        Ran::Ended(outcome) => {
            let failure = outcome.failure?;
            let error = failure.error.to_string();
            let length = ended_steps(&outcome.record).min(length);
            let failed = length.checked_sub(1).and_then(|last| case.own_steps.get(last));
            let failed: Vec<Value> = failed.cloned().into_iter().collect();
            let place = Place::find(&outcome.record, "", &error, &failed);
            let cause = format!("{}: {}", normalise(&failure.step), normalise(&error));
            Some(CaseFailure { cause, text: format!("{}: {error}", failure.step), place, length })
        }
    }
}

/// The number of steps that ended, also by failing.
fn ended_steps(record: &Record) -> usize {
    record.entries.iter().filter(|entry| matches!(entry.event, Event::Outcome { .. })).count()
}

#[cfg(test)]
mod tests {
    use windtunnel_openshift::release::Release;

    use super::*;

    #[test]
    fn a_scenario_loses_all_that_its_failure_does_not_need() {
        let text = "name: own\ncluster: {version: 4.18.1, nodes: {control-plane: 1, workers: 2}}\nreleases: {4.18.5: }\ntimeline:\n\
                    - fault: {operator: dns, is: degraded, for: 5m}\n- fault: {node: worker-1, is: not-ready, for: 2h}\n\
                    - advance: 10m\n- expect: {object: Node/worker-1, condition: {type: Ready, status: \"True\"}}\n\
                    - advance: 5h\n";
        let found = minimise("own.yaml", text, &Release::find, 60, &|| false).unwrap().unwrap();
        let lines: Vec<&str> = found.scenario.lines().skip_while(|line| line.starts_with('#')).collect();
        assert_eq!(lines[0], "name: own");
        assert_eq!(found.steps.0, 5);
        assert!(found.scenario.starts_with("# Fails: expect Node/worker-1"), "{}", found.scenario);
        assert!(found.scenario.contains("# Shows in record line "), "{}", found.scenario);
        assert!(
            !found.scenario.contains("dns") && !found.scenario.contains("releases"),
            "{}",
            found.scenario
        );
        assert!(found.scenario.contains("node: worker-1"), "{}", found.scenario);
        let again = minimise("own.yaml", &found.scenario, &Release::find, 60, &|| false).unwrap().unwrap();
        assert_eq!(again.steps.0, again.steps.1, "{}", again.scenario);
    }

    #[test]
    fn a_scenario_that_passes_is_none() {
        let text = "name: own\ncluster: {version: 4.18.1, nodes: {control-plane: 1, workers: 0}}\ntimeline: [advance: 1m]\n";
        assert_eq!(minimise("own.yaml", text, &Release::find, 60, &|| false).unwrap(), None);
    }
}

//! Runs all shipped scenarios.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use windtunnel::engine::Outcome;
use windtunnel::plan::{ExpectedState, Plan, PlannedStep, Step, Subject};
use windtunnel::record::{Event, INSTALLER, Record};
use windtunnel::report::CANARY;

use super::nodes::contradiction;
use super::{plans, run, shipped};

/// Runs a scenario, and returns the reason if it does not pass. A canary passes by failing.
fn passes(plan: &Plan, seed: u64) -> Result<Outcome, String> {
    let (outcome, failure) = run(plan, seed);
    let is_canary = plan.tags.iter().any(|tag| tag == CANARY);
    match (is_canary, failure.is_empty()) {
        (true, true) => Err(format!("{}: the canary passes, but it must fail", plan.file)),
        (false, false) => Err(format!("with seed {seed}: {failure}")),
        _ => match contradiction(&outcome.record).or_else(|| idle_write(&outcome.record)) {
            Some(why) => Err(format!("{}: with seed {seed}: {why}", plan.file)),
            None => Ok(outcome),
        },
    }
}

/// Returns a write that changes nothing. If such a write woke its own writer, the writer would never settle.
/// A replaced machine-config daemon may repeat the state of its node. A newer cluster-version operator writes
/// capabilities that the definition of 4.10 prunes.
fn idle_write(record: &Record) -> Option<String> {
    let is_allowed = |by: &str| by == INSTALLER || by.starts_with("machine-config-daemon/");
    record.entries.iter().find_map(|entry| {
        let Event::Write(write) = &entry.event else { return None };
        let is_idle =
            matches!((&write.before, &write.after), (Some(before), Some(after)) if before.is_same(after));
        let is_pruned = write.kind == "ClusterVersion"
            && write.after.as_ref().is_some_and(|after| after["status"]["capabilities"].is_null());
        let is_problem = is_idle && write.code < 400 && !is_allowed(&write.by) && !is_pruned;
        is_problem.then(|| format!("{}: {} writes {} without changing it", entry.at, write.by, write.key))
    })
}

/// Checks plans in parallel, one per core, and returns the failures.
fn failures(plans: &[Plan], check: impl Fn(&Plan) -> Result<(), String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mine = std::iter::from_fn(|| plans.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.filter_map(|plan| check(plan).err()).collect::<Vec<_>>()
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

/// Runs the first row of each table of parameters. `windtunnel run scenarios/ --check-determinism` runs all
/// rows, three times each.
#[test]
fn every_shipped_scenario_passes() {
    let shipped = shipped("scenarios", "yaml");
    let firsts = shipped.iter().filter_map(|(file, text)| plans(file, text).into_iter().next());
    let failures = failures(&firsts.collect::<Vec<_>>(), |plan| passes(plan, 1).map(drop));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn shipped_scenarios_have_unique_names() {
    let mut files_by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, text) in shipped("scenarios", "yaml") {
        for plan in plans(&file, &text) {
            files_by_name.entry(plan.name).or_default().push(file.clone());
        }
    }
    files_by_name.retain(|_, files| files.len() > 1);
    assert_eq!(files_by_name, BTreeMap::new(), "scenarios with the same name");
}

/// All expectations, including those of retried steps.
fn expected(steps: &[PlannedStep]) -> Vec<&ExpectedState> {
    let mut found = Vec::new();
    for planned in steps {
        match &planned.step {
            Step::Expect(expectation) => found.push(&expectation.what),
            Step::Retry(retry) => found.extend(expected(&retry.steps)),
            _ => (),
        }
    }
    found
}

/// Returns whether an insight must exist. An expected absence also passes if no insight is published.
fn requires_insight(what: &ExpectedState) -> bool {
    matches!(what, ExpectedState::Insight(..) | ExpectedState::Statuses { subject: Subject::Insight(_), .. })
}

/// Returns the parts that every scenario of the library must have and this one does not.
pub(super) fn missing_parts(tags: &[String], ids: &[String], steps: &[PlannedStep]) -> Vec<&'static str> {
    let tagged = |tag: &str| tags.iter().any(|found| found == tag);
    let expected = expected(steps);
    let of_insights = |what: &ExpectedState| {
        requires_insight(what)
            || matches!(what, ExpectedState::NoInsight(..) | ExpectedState::NeverInsight(..))
    };
    let mut missing_parts = Vec::new();
    // Insights have times, so a cluster with them never is what it was.
    if !expected.iter().any(|what| requires_insight(what)) && !tagged("restored") {
        missing_parts.push("expects no insight");
    }
    if expected.iter().all(|what| of_insights(what)) && !tagged(CANARY) {
        missing_parts.push("expects nothing but insights");
    }
    if ids.is_empty() != tagged("own") {
        missing_parts.push("needs either ids, or the tag `own` if no case is known");
    }
    missing_parts
}

#[test]
fn every_shipped_scenario_expects_insights_and_state_and_names_its_source() {
    let plans = shipped("scenarios", "yaml");
    let plans = plans.iter().flat_map(|(file, text)| super::plans(file, text));
    let mut problems: Vec<String> = plans
        .flat_map(|plan| {
            let missing_parts = missing_parts(&plan.tags, &plan.ids, &plan.timeline);
            missing_parts.into_iter().map(move |what| format!("{}: {what}", plan.file))
        })
        .collect();
    problems.dedup();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

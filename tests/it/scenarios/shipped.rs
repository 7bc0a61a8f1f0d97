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

/// Runs a scenario. Returns why it does not pass. A canary passes by failing.
fn passes(plan: &Plan, seed: u64) -> Result<Outcome, String> {
    let (outcome, failure) = run(plan, seed);
    let is_canary = plan.tags.iter().any(|tag| tag == CANARY);
    match (is_canary, failure.is_empty()) {
        (true, true) => Err(format!("{}: a canary in which nobody notices anything", plan.file)),
        (false, false) => Err(format!("with seed {seed}: {failure}")),
        _ => match contradiction(&outcome.record).or_else(|| idle_write(&outcome.record)) {
            Some(why) => Err(format!("{}: with seed {seed}: {why}", plan.file)),
            None => Ok(outcome),
        },
    }
}

/// A write that changes nothing: a component that such a write of its own wakes would never come to rest. A
/// replaced machine-config daemon reports the state of its node once more.
fn idle_write(record: &Record) -> Option<String> {
    let may = |by: &str| by == INSTALLER || by.starts_with("machine-config-daemon/");
    record.entries.iter().find_map(|entry| {
        let Event::Write(write) = &entry.event else { return None };
        let is_idle =
            matches!((&write.before, &write.after), (Some(before), Some(after)) if before.is_same(after));
        let is_told = is_idle && write.code < 400 && !may(&write.by);
        is_told.then(|| format!("{}: {} writes to {} what stands there", entry.at, write.by, write.key))
    })
}

/// The same seed twice must give the same record, and another seed must pass as well.
fn repeats(plan: &Plan) -> Result<(), String> {
    let (one, again) = (passes(plan, 1)?, passes(plan, 1)?);
    if one.record.hash() != again.record.hash() {
        let (one, again) = (one.record.to_lines(), again.record.to_lines());
        let line = one.lines().zip(again.lines()).position(|(a, b)| a != b);
        return Err(format!("{}: two records with seed 1 differ at line {line:?}", plan.file));
    }
    passes(plan, 2).map(drop)
}

/// The failures of these plans, which run in parallel, one per core.
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

/// Runs one row of a table of runs. `windtunnel run scenarios/ --check-determinism` runs all rows, three
/// times each.
#[test]
fn every_shipped_scenario_passes() {
    let shipped = shipped("scenarios", "yaml");
    let firsts = shipped.iter().filter_map(|(file, text)| plans(file, text).into_iter().next());
    let failures = failures(&firsts.collect::<Vec<_>>(), |plan| passes(plan, 1).map(drop));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn records_of_updates_are_reproducible_and_another_seed_passes_as_well() {
    let shipped = shipped("scenarios/update", "yaml");
    let plans: Vec<Plan> = shipped.iter().flat_map(|(file, text)| plans(file, text)).collect();
    let failures = failures(&plans, repeats);
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

/// Whether an insight must exist: expecting its absence also passes if none is published.
fn tells(what: &ExpectedState) -> bool {
    matches!(what, ExpectedState::Insight(..) | ExpectedState::Statuses { of: Subject::Insight(_), .. })
}

/// What a scenario lacks that every scenario of the library must have.
pub(super) fn lacks(tags: &[String], ids: &[String], steps: &[PlannedStep]) -> Vec<&'static str> {
    let tagged = |tag: &str| tags.iter().any(|found| found == tag);
    let expected = expected(steps);
    let of_insights = |what: &ExpectedState| {
        tells(what) || matches!(what, ExpectedState::NoInsight(..) | ExpectedState::NeverInsight(..))
    };
    let mut lacks = Vec::new();
    if !expected.iter().any(|what| tells(what)) {
        lacks.push("expects no insight");
    }
    if expected.iter().all(|what| of_insights(what)) && !tagged(CANARY) {
        lacks.push("expects nothing but insights");
    }
    if ids.is_empty() != tagged("own") {
        lacks.push("has either ids, or the tag `own` where no case is known");
    }
    lacks
}

#[test]
fn every_shipped_scenario_expects_insights_and_state_and_names_its_source() {
    let plans = shipped("scenarios", "yaml");
    let plans = plans.iter().flat_map(|(file, text)| super::plans(file, text));
    let mut problems: Vec<String> = plans
        .flat_map(|plan| {
            let lacks = lacks(&plan.tags, &plan.ids, &plan.timeline);
            lacks.into_iter().map(move |what| format!("{}: {what}", plan.file))
        })
        .collect();
    problems.dedup();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

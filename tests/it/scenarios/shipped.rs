//! All scenarios that are shipped.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use windtunnel::engine::Outcome;
use windtunnel::plan::{Plan, PlannedStep, Step, Subject, What};
use windtunnel::record::{Event, INSTALLER, Record};
use windtunnel::report::CANARY;

use super::nodes::contradiction;
use super::{plans, play, shipped};

/// Why a scenario does not pass. A canary passes by failing.
fn passes(plan: &Plan, seed: u64) -> Result<Outcome, String> {
    let (outcome, failure) = play(plan, seed);
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

/// Who writes what stands there already, if anybody does: a component would never come to rest by that, if its own write woke
/// it. A machine-config daemon that was replaced says once more how its node is.
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

/// What goes wrong with these plans, which are played side by side, one for each core at a time.
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

/// Of a table of runs, one: `windtunnel run scenarios/ --check-determinism` plays all of them, each three times.
#[test]
fn every_shipped_scenario_passes() {
    let shipped = shipped("scenarios", "yaml");
    let firsts = shipped.iter().filter_map(|(file, text)| plans(file, text).into_iter().next());
    let failures = failures(&firsts.collect::<Vec<_>>(), |plan| passes(plan, 1).map(drop));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_record_of_an_update_is_the_same_twice_and_another_seed_passes_as_well() {
    let shipped = shipped("scenarios/update", "yaml");
    let plans: Vec<Plan> = shipped.iter().flat_map(|(file, text)| plans(file, text)).collect();
    let failures = failures(&plans, repeats);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn shipped_scenarios_have_names_of_their_own() {
    let mut files_by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, text) in shipped("scenarios", "yaml") {
        for plan in plans(&file, &text) {
            files_by_name.entry(plan.name).or_default().push(file.clone());
        }
    }
    files_by_name.retain(|_, files| files.len() > 1);
    assert_eq!(files_by_name, BTreeMap::new(), "scenarios with the same name");
}

/// All that is expected, also of steps that are played again and again.
fn expected(steps: &[PlannedStep]) -> Vec<&What> {
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

/// Whether an insight must be there: that one is absent holds as well where nobody publishes any.
fn tells(what: &What) -> bool {
    matches!(what, What::Insight(..) | What::Statuses { of: Subject::Insight(_), .. })
}

/// What a scenario lacks that each one of the library has.
pub(super) fn lacks(tags: &[String], ids: &[String], steps: &[PlannedStep]) -> Vec<&'static str> {
    let tagged = |tag: &str| tags.iter().any(|found| found == tag);
    let expected = expected(steps);
    let of_insights =
        |what: &What| tells(what) || matches!(what, What::NoInsight(..) | What::NeverInsight(..));
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

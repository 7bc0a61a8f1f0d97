//! Deliberately broken components, and the runs that find them.

use std::collections::{BTreeMap, BTreeSet};

use super::dice::Dice;
use super::invention;
use super::search::Settings;
use super::trial::{AnyMutant, run_for_mutants};
use crate::engine::SeededMutant;
use crate::engine::mutation::Mutant;
use crate::engine::workers::map_in_parallel;

/// The number of cases without mutants, if only the time with each mutant is limited.
const CASES: u64 = 8;

/// A mutant, and the run that found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutantRow {
    /// The name of the mutant.
    pub mutant: String,
    /// The number of the run that found it, and the cause of the finding.
    pub found: Option<(u64, String)>,
    /// Whether it changed anything in any run.
    pub had_effect: bool,
}

/// The mutants that an exploration finds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MutantTable {
    /// The mutants that were tried, in the order of their names.
    pub rows: Vec<MutantRow>,
    /// The number of runs without mutants.
    pub clean_runs: usize,
    /// The findings of runs without mutants, by the number of the run: bugs of windtunnel, or false alarms.
    pub clean_findings: Vec<(u64, String)>,
}

impl MutantTable {
    /// The number of mutants that were found.
    pub fn found(&self) -> usize {
        self.rows.iter().filter(|row| row.found.is_some()).count()
    }

    /// The number of runs without mutants that broke a rule.
    pub fn alarms(&self) -> usize {
        self.clean_findings.iter().map(|(run, _)| run).collect::<BTreeSet<_>>().len()
    }
}

/// The findings of a run without mutants, and the mutants that it can notice.
struct CleanRun {
    causes: BTreeSet<String>,
    mutants: Vec<Mutant>,
}

/// Invents cases and runs them without mutants. Then explores clusters with each of `count` mutants until a run finds it.
/// `stop` gets the number of the exploration: 0 for the cases without mutants. `progress` gets each mutant's row.
pub fn find_mutants(
    settings: &Settings<'_>,
    count: usize,
    stop: &(dyn Fn(usize) -> bool + Sync),
    progress: &(dyn Fn(&MutantRow) + Sync),
) -> MutantTable {
    let numbers: Vec<u64> = (0..settings.runs.unwrap_or(CASES)).collect();
    let clean =
        map_in_parallel(&numbers, settings.jobs, |number| (!stop(0)).then(|| clean_run(settings, *number)));
    let clean: Vec<CleanRun> = clean.into_iter().flatten().collect();
    let mutants = sample(&clean, count, settings.seed);
    let mutants: Vec<(usize, Mutant)> = (1..).zip(mutants).collect();
    let rows = map_in_parallel(&mutants, settings.jobs, |(number, mutant)| {
        let stop = || stop(*number);
        (!stop()).then(|| {
            let row = try_mutant(settings, mutant, &stop);
            progress(&row);
            row
        })
    });
    let numbered =
        (1..).zip(&clean).flat_map(|(run, clean)| clean.causes.iter().map(move |cause| (run, cause.clone())));
    let rows = rows.into_iter().flatten().collect();
    MutantTable { rows, clean_runs: clean.len(), clean_findings: numbered.collect() }
}

fn clean_run(settings: &Settings<'_>, number: u64) -> CleanRun {
    let case = invention::invent(&mut Dice::new(settings.seed, &format!("case of mutants {number}")));
    let (report, mutants) = run_for_mutants(&case, settings.releases, settings.terms);
    let causes = report.oracle_findings.iter().map(super::oracles::OracleFinding::cause).collect();
    CleanRun { causes, mutants }
}

/// Draws mutants that some case can notice, of as many components as possible.
fn sample(clean: &[CleanRun], count: usize, seed: u64) -> Vec<Mutant> {
    let all: BTreeSet<&Mutant> =
        clean.iter().flat_map(|run| &run.mutants).filter(|mutant| !mutant.is_insight()).collect();
    let mut by_component: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
    for mutant in all {
        by_component.entry(&mutant.component).or_default().push(mutant);
    }
    let mut dice = Dice::new(seed, "sample of mutants");
    let mut taken = Vec::new();
    while taken.len() < count && !by_component.is_empty() {
        for mutants in by_component.values_mut().filter(|mutants| !mutants.is_empty()) {
            let last = mutants.len() as u64 - 1;
            taken.push(mutants.swap_remove(usize::try_from(dice.between(0, last)).unwrap_or(0)).clone());
        }
        by_component.retain(|_, mutants| !mutants.is_empty());
    }
    taken.truncate(count);
    taken.sort_by_cached_key(ToString::to_string);
    taken
}

/// Explores clusters with a mutant until a case has a finding that it has not without the mutant.
fn try_mutant(settings: &Settings<'_>, mutant: &Mutant, stop: &(dyn Fn() -> bool + Sync)) -> MutantRow {
    let exploration = settings.explore_broken(Some(AnyMutant::Mutant(mutant)), stop);
    let found = exploration.findings.first().map(|finding| (finding.found_in_run, finding.cause.clone()));
    // A panic leaves no states.
    let had_effect = exploration.has_reached(SeededMutant::mark()) || found.is_some();
    MutantRow { mutant: mutant.to_string(), found, had_effect }
}

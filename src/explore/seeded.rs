//! Seeded mutants, and the explorations that find them.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::search::{Exploration, Settings};
use super::trial::AnyMutant;
use crate::engine::SeededMutant;
use crate::engine::workers::map_in_parallel;

/// A seeded mutant, and the exploration of clusters with it.
#[derive(Debug, Clone)]
pub struct SeededRow {
    /// The mutant.
    pub mutant: &'static SeededMutant,
    /// The first finding that the same case does not have without the mutant.
    pub found: Option<Finding>,
    /// The number of runs.
    pub runs: u64,
    /// Whether the mutant changed anything in any run.
    pub had_effect: bool,
}

/// The mutants that an exploration finds.
#[derive(Debug, Clone, Default)]
pub struct SeededTable {
    /// The mutants that were tried.
    pub rows: Vec<SeededRow>,
    /// The number of runs without a mutant.
    pub clean_runs: u64,
    /// The findings of runs without a mutant, with the number of the run: bugs of windtunnel, or false alarms.
    pub clean_findings: Vec<(u64, String)>,
}

impl SeededTable {
    /// The number of mutants that were found.
    pub fn found(&self) -> usize {
        self.rows.iter().filter(|row| row.found.is_some()).count()
    }

    /// The number of runs without a mutant that broke a rule.
    pub fn alarms(&self) -> usize {
        self.clean_findings.iter().map(|(run, _)| run).collect::<BTreeSet<_>>().len()
    }
}

/// Explores clusters with each of these mutants until a run finds it, and as many without a mutant. `stop` gets the number
/// of the exploration.
pub fn find_seeded(
    settings: &Settings<'_>,
    mutants: &[&'static SeededMutant],
    stop: &(dyn Fn(usize) -> bool + Sync),
    progress: &(dyn Fn(&SeededRow) + Sync),
) -> SeededTable {
    let explore = |number: usize, mutant: Option<&'static SeededMutant>| {
        settings.explore_broken(mutant.map(AnyMutant::Seeded), &|| stop(number))
    };
    let numbered: Vec<(usize, &'static SeededMutant)> = (1..).zip(mutants.iter().copied()).collect();
    let rows = map_in_parallel(&numbered, settings.jobs, |(number, mutant)| {
        let row = row(mutant, &explore(*number, Some(mutant)));
        progress(&row);
        row
    });
    let clean = explore(0, None);
    let oracle_findings = clean.findings.iter().map(|finding| (finding.found_in_run, finding.cause.clone()));
    SeededTable { rows, clean_runs: clean.runs, clean_findings: oracle_findings.collect() }
}

fn row(mutant: &'static SeededMutant, exploration: &Exploration) -> SeededRow {
    // A panic leaves no states.
    let had_effect = exploration.has_reached(SeededMutant::mark()) || !exploration.findings.is_empty();
    let found = exploration.findings.first().cloned();
    SeededRow { mutant, found, runs: exploration.runs, had_effect }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::SignedDuration;
    use serde_json::json;
    use windtunnel_openshift::release::Release;

    use super::*;
    use crate::engine::seeded_mutants;
    use crate::explore::case::{Case, Moment};
    use crate::explore::trial::{Terms, run};

    /// The causes of the findings in an update of a small cluster with this mutant.
    fn causes(mutant: Option<AnyMutant<'_>>) -> Vec<String> {
        let environment = json!({
            "cluster": { "version": "4.18.1", "nodes": { "control-plane": 1, "workers": 1 } },
            "releases": { "4.18.5": null },
        });
        let case = Case {
            environment: environment.as_object().cloned().unwrap(),
            moments: vec![Moment::new(60, json!({ "update": { "to": "4.18.5" } }))],
            own_steps: Vec::new(),
        };
        let terms = Terms { within: SignedDuration::from_hours(3), mutant };
        run(&case, &Release::find, terms)
            .oracle_findings
            .iter()
            .map(super::super::oracles::OracleFinding::cause)
            .collect()
    }

    #[test]
    fn an_update_finds_defects_and_has_no_false_alarm() {
        assert_eq!(causes(None), Vec::<String>::new());
        for name in ["status-frozen-by-retrieval", "daemon-reads-secrets"] {
            let mutant = SeededMutant::find(name).unwrap();
            assert!(!causes(Some(AnyMutant::Seeded(mutant))).is_empty(), "{name}");
        }
    }

    #[test]
    fn each_defect_has_a_name_of_its_own_and_there_are_at_least_forty() {
        let names: BTreeSet<&str> = seeded_mutants().map(|mutant| mutant.name).collect();
        assert_eq!(names.len(), seeded_mutants().count());
        assert!(names.len() >= 40, "{}", names.len());
    }
}

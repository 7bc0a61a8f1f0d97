//! The report of mutation tests, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use windtunnel_core::text::{counted, one_line};

use crate::engine::mutation::{Baseline, Check, Mutant, MutantRun, Verdict};
use crate::engine::secrets_of;
use crate::plan::Plan;
use crate::record::Secrets;

/// A mutant and its run.
pub(super) struct Tested {
    pub(super) mutant: Mutant,
    pub(super) run: MutantRun,
}

/// An expectation of a scenario.
struct Expectation {
    index: usize,
    line: usize,
    text: String,
    held_before: bool,
    /// The number of mutants that it was checked with, and of those that broke it.
    checked: usize,
    broken: usize,
}

/// The report of one scenario.
pub(super) struct ScenarioReport {
    file: String,
    name: String,
    /// Why the scenario fails without mutants, with the line.
    failure: Option<(usize, String)>,
    /// The names of mutants that did not run.
    listed: Vec<String>,
    tested: Vec<Tested>,
    expectations: Vec<Expectation>,
    /// The values of Secrets, which steps may contain.
    secrets: Secrets,
}

impl ScenarioReport {
    fn new(plan: &Plan) -> Self {
        let (file, name) = (plan.file.clone(), plan.name.clone());
        let (listed, tested, expectations) = (Vec::new(), Vec::new(), Vec::new());
        Self { file, name, failure: None, listed, tested, expectations, secrets: secrets_of(plan) }
    }

    /// Creates the report of a scenario that fails without mutants.
    pub(super) fn failed(plan: &Plan, line: usize, why: &str) -> Self {
        Self { failure: Some((line, why.to_owned())), ..Self::new(plan) }
    }

    /// Creates the list of a scenario's mutants.
    pub(super) fn listed(plan: &Plan, mutants: &[Mutant]) -> Self {
        Self { listed: mutants.iter().map(ToString::to_string).collect(), ..Self::new(plan) }
    }

    /// Creates the report of a scenario whose mutants ran.
    pub(super) fn tested(plan: &Plan, baseline: &Baseline, tested: Vec<Tested>) -> Self {
        let expectation = |check: &Check| {
            let planned = &plan.timeline[check.index];
            let runs = || tested.iter().filter(|tested| !matches!(tested.run.verdict, Verdict::Stuck(_)));
            Expectation {
                index: check.index,
                line: planned.line,
                text: planned.text.clone(),
                held_before: check.held_before,
                checked: runs().filter(|tested| tested.run.reached > check.index).count(),
                broken: runs().filter(|tested| tested.run.broken.contains(&check.index)).count(),
            }
        };
        let expectations = baseline.checks.iter().map(expectation).collect();
        Self { tested, expectations, ..Self::new(plan) }
    }

    /// Returns whether the scenario fails without mutants.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    fn count(&self, is_meant: impl Fn(&Verdict) -> bool) -> usize {
        self.tested.iter().filter(|tested| is_meant(&tested.run.verdict)).count()
    }

    fn killed(&self) -> usize {
        self.count(|verdict| *verdict == Verdict::Killed)
    }

    fn unbroken(&self) -> impl Iterator<Item = &Expectation> {
        self.expectations.iter().filter(|expectation| expectation.broken == 0)
    }

    /// Returns whether the scenario tests something: it kills a mutant, and in a strict test each of its expectations
    /// does.
    pub(super) fn passes(&self, strict: bool, only_lists: bool) -> bool {
        let kills = only_lists || self.killed() > 0;
        !self.has_failed() && kills && !(strict && self.unbroken().next().is_some())
    }

    /// Renders the report for people.
    pub(super) fn to_text(&self, only_lists: bool) -> String {
        self.secrets.hide(&self.full_text(only_lists))
    }

    fn full_text(&self, only_lists: bool) -> String {
        let mut text = format!("{}: {}\n", one_line(&self.file), one_line(&self.name));
        if let Some((line, why)) = &self.failure {
            let _ = writeln!(text, "  FAILED without mutants at line {line}: {why}\n");
            return text;
        }
        if only_lists {
            for mutant in &self.listed {
                let _ = writeln!(text, "  {mutant}");
            }
            let _ = writeln!(text, "  {}\n", counted(self.listed.len(), "mutant"));
            return text;
        }
        let _ = writeln!(text, "  {}", counts(&[self]));
        for tested in &self.tested {
            let mutant = &tested.mutant;
            let _ = match &tested.run.verdict {
                Verdict::Killed | Verdict::NoEffect => Ok(()),
                Verdict::Survived => writeln!(text, "  survived     {mutant}"),
                Verdict::HeldBefore => writeln!(text, "  held before  {mutant}"),
                Verdict::Stuck(why) => writeln!(text, "  stuck        {mutant}\n                 {why}"),
            };
        }
        for expectation in self.unbroken() {
            let Expectation { line, text: step, checked, held_before, .. } = expectation;
            let note = if *held_before { ", held before" } else { "" };
            let _ = writeln!(text, "  no mutant breaks {}:{line}: {step} ({checked} tried{note})", self.file);
        }
        text.push('\n');
        text
    }

    fn to_json(&self) -> Value {
        let line_of = |index: &usize| {
            let known = self.expectations.iter().find(|expectation| expectation.index == *index);
            known.map(|expectation| expectation.line)
        };
        let mutant = |Tested { mutant, run }: &Tested| {
            let broken: Vec<usize> = run.broken.iter().filter_map(line_of).collect();
            let mut value = json!({
                "name": mutant.to_string(), "component": mutant.component, "kind": mutant.kind,
                "verdict": word(&run.verdict), "breaksLines": broken,
            });
            if let Verdict::Stuck(why) = &run.verdict {
                value["reason"] = json!(why);
            }
            value
        };
        let expectation = |expectation: &Expectation| {
            json!({
                "line": expectation.line, "step": expectation.text, "heldBefore": expectation.held_before,
                "checkedWith": expectation.checked, "brokenBy": expectation.broken,
            })
        };
        let mut report = json!({
            "file": self.file,
            "name": self.name,
            "failure": self.failure.as_ref().map(|(line, why)| json!({"line": line, "reason": why})),
            "listed": self.listed,
            "mutants": self.tested.iter().map(mutant).collect::<Vec<_>>(),
            "expectations": self.expectations.iter().map(expectation).collect::<Vec<_>>(),
        });
        self.secrets.hide_in_value(&mut report);
        report
    }
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Killed => "killed",
        Verdict::HeldBefore => "held before",
        Verdict::Stuck(_) => "stuck",
        Verdict::Survived => "survived",
        Verdict::NoEffect => "no effect",
    }
}

/// Returns the counts of outcomes, such as `killed 12 of 15, stuck 1, survived 2`.
fn counts(reports: &[&ScenarioReport]) -> String {
    let mut by_word: BTreeMap<&str, usize> = BTreeMap::new();
    for tested in reports.iter().flat_map(|report| &report.tested) {
        *by_word.entry(word(&tested.run.verdict)).or_default() += 1;
    }
    let mut of = |name: &str| by_word.remove(name).unwrap_or(0);
    let (killed, no_effect) = (of("killed"), of("no effect"));
    let others: Vec<(&str, usize)> =
        ["held before", "stuck", "survived"].map(|name| (name, of(name))).to_vec();
    let all = killed + others.iter().map(|(_, count)| count).sum::<usize>();
    let mut text = format!("killed {killed} of {all}");
    for (name, count) in others.into_iter().chain([("without effect", no_effect)]) {
        if count > 0 {
            let _ = write!(text, ", {name} {count}");
        }
    }
    text
}

/// Renders the last line, about all scenarios.
pub(super) fn total(reports: &[ScenarioReport]) -> String {
    let unbroken: usize = reports.iter().map(|report| report.unbroken().count()).sum();
    let idle = reports.iter().filter(|report| report.killed() == 0).count();
    format!(
        "{}: {}; {idle} of them kill no mutant; no mutant breaks {}\n",
        counted(reports.len(), "scenario"),
        counts(&reports.iter().collect::<Vec<_>>()),
        counted(unbroken, "expectation"),
    )
}

/// Renders the reports for machines.
pub(super) fn to_json(reports: &[ScenarioReport], seed: u64) -> String {
    let scenarios: Vec<Value> = reports.iter().map(ScenarioReport::to_json).collect();
    format!("{:#}\n", json!({"seed": seed, "scenarios": scenarios}))
}

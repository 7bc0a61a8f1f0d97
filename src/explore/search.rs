//! The search: batches of runs, which are drawn from the seed and what earlier batches saw.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use {windtunnel_controllers as controllers, windtunnel_openshift as openshift};

use super::case::Case;
use super::coverage;
use super::dice::Dice;
use super::finding::Finding;
use super::invention;
use super::oracles::OracleFinding;
use super::reasons;
use super::shrinking;
use super::trial::{AnyMutant, RunReport, Terms, run, run_forked};
use crate::engine::workers::map_in_parallel;
use crate::oracles::normalise;
use crate::scenario::Releases;

/// The number of jobs of a batch. It does not depend on the number of threads, so that findings do not.
const BATCH: u64 = 8;

/// The number of continuations of a case that saw something new.
const FORKS: u64 = 3;

/// The percentage of jobs that continue a case of the corpus.
const CONTINUED: u64 = 60;

/// How much more a mark counts than another state.
const MARK_WEIGHT: f64 = 4.0;

impl Settings<'_> {
    /// Explores clusters with a broken component until it is found, or as many without one.
    pub(super) fn explore_broken(
        &self,
        mutant: Option<AnyMutant<'_>>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Exploration {
        let mut exploration = Exploration::default();
        let stop = Stop { is_interrupted: &|| false, is_over: stop };
        exploration.explore(&self.with_mutant(mutant), stop, &mut |_| {});
        exploration
    }

    /// The same settings for a broken component, on one thread.
    pub(super) fn with_mutant<'b>(&'b self, mutant: Option<AnyMutant<'b>>) -> Settings<'b> {
        let jobs = if mutant.is_some() { 1 } else { self.jobs };
        let terms = Terms { mutant, ..self.terms };
        Settings { jobs, terms, scenarios: self.scenarios.clone(), releases: self.releases, ..*self }
    }

    /// The number of jobs of a batch. The exploration of a broken component ends with its first finding.
    fn batch(&self) -> u64 {
        if self.terms.mutant.is_some() { 1 } else { BATCH }
    }
}

/// What to explore, and how.
pub struct Settings<'a> {
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of runs; `None` for as many as there is time for.
    pub runs: Option<u64>,
    /// The number of runs at a time.
    pub jobs: usize,
    /// The terms of each run.
    pub terms: Terms<'a>,
    /// The user's scenarios, which are disturbed; without any, cases are invented.
    pub scenarios: Vec<Case>,
    /// The source of releases.
    pub releases: &'a (dyn Releases + Sync),
}

/// When an exploration stops.
#[derive(Clone, Copy)]
pub struct Stop<'s> {
    /// Returns whether everything stops now. The batch in flight is dropped, and runs again when the exploration continues.
    pub is_interrupted: &'s (dyn Fn() -> bool + Sync),
    /// Returns whether time is up: the batch in flight is finished, and findings stay as large as they are.
    pub is_over: &'s (dyn Fn() -> bool + Sync),
}

impl Stop<'_> {
    fn is_stopped(&self) -> bool {
        (self.is_interrupted)() || (self.is_over)()
    }
}

/// A case that saw something new.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The case.
    pub case: Case,
    /// The moment at which the first new mark was reached or else the first new state was seen, in seconds.
    pub fork_at: u64,
    /// The states that no case had reached before.
    pub states: Vec<String>,
    /// How often it was continued.
    pub picks: u64,
}

/// Everything that an exploration has seen so far. It can be stored as JSON, and continued.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Exploration {
    /// The number of batches.
    pub batches: u64,
    /// The number of runs, without those for shrinking.
    pub runs: u64,
    /// The runs that a failed request of the administrator ended, by its error without numbers.
    pub cut_short: BTreeMap<String, u64>,
    /// The cluster time of all runs, in seconds.
    pub virtual_seconds: u64,
    /// The states that were seen, with the number of runs that saw each.
    pub states: BTreeMap<String, u64>,
    /// The cases that saw something new.
    pub corpus: Vec<Kept>,
    /// What was found, one for each cause.
    pub findings: Vec<Finding>,
    /// The alerts that rules in the clusters define.
    pub alerts: BTreeSet<String>,
    /// The number of runs for shrinking.
    pub shrinking_runs: u64,
    /// The number of findings in runs with a mutant that the same case has without it.
    #[serde(default)]
    pub false_alarms: u64,
}

/// Known states that no run has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NeverSeen {
    /// Alerts that the clusters have rules for.
    pub alerts: Vec<String>,
    /// Marks of branches of the components.
    pub marks: Vec<&'static str>,
    /// Reasons that components give for conditions of objects and of insights.
    pub reasons: Vec<String>,
}

/// Some cases that run one after the other on a thread.
enum Job {
    /// Runs a case from its start.
    Single(Case),
    /// Runs cases that begin alike.
    Forks { prefix: Case, forks: Vec<Case> },
}

impl Job {
    fn cases(&self) -> &[Case] {
        match self {
            Self::Single(case) => std::slice::from_ref(case),
            Self::Forks { forks, .. } => forks,
        }
    }

    fn run(&self, releases: &dyn Releases, terms: Terms<'_>) -> Vec<RunReport> {
        let mut reports = match self {
            Self::Single(case) => vec![run(case, releases, terms)],
            Self::Forks { prefix, forks } => run_forked(prefix, forks, releases, terms),
        };
        for (case, report) in
            self.cases().iter().zip(&mut reports).filter(|(_, report)| !report.hash.is_empty())
        {
            let again = run(case, releases, terms);
            if again.hash != report.hash {
                report.oracle_findings.push(OracleFinding::other_record(&report.hash, &again.hash));
            }
        }
        reports
    }
}

impl Exploration {
    /// Runs batches until the number of runs is reached, or it is stopped. Calls `progress` after each batch, and again when
    /// its findings are shrunk.
    pub fn explore(&mut self, settings: &Settings<'_>, stop: Stop<'_>, progress: &mut dyn FnMut(&Self)) {
        self.shrink_rest(settings, stop);
        while !stop.is_stopped() && !self.is_done(settings) {
            let picks: Vec<u64> = self.corpus.iter().map(|kept| kept.picks).collect();
            let jobs = self.jobs(settings);
            let numbered: Vec<(usize, &Job)> = jobs.iter().enumerate().collect();
            let done = map_in_parallel(&numbered, settings.jobs, |(index, job)| {
                (!(stop.is_interrupted)()).then(|| (*index, job.run(settings.releases, settings.terms)))
            });
            if done.iter().any(Option::is_none) {
                self.corpus.iter_mut().zip(picks).for_each(|(kept, picks)| kept.picks = picks);
                break;
            }
            for (index, reports) in done.into_iter().flatten() {
                for (case, report) in jobs[index].cases().iter().zip(reports) {
                    self.merge(case, report, settings);
                }
            }
            self.batches += 1;
            progress(self);
            self.shrink_rest(settings, stop);
            progress(self);
        }
    }

    /// Whether nothing is left to do: all runs are made, or the broken component is found.
    fn is_done(&self, settings: &Settings<'_>) -> bool {
        let is_found = settings.terms.mutant.is_some() && !self.findings.is_empty();
        is_found || settings.runs.is_some_and(|runs| self.runs >= runs)
    }

    /// The number of different states.
    pub fn states_seen(&self) -> usize {
        self.states.len()
    }

    /// Whether a component has reached a mark in some run.
    pub(super) fn has_reached(&self, mark: &str) -> bool {
        self.states.contains_key(&coverage::marked(mark))
    }

    /// The states that no run has seen, although they are known to exist.
    pub fn never_seen(&self) -> NeverSeen {
        let is_unfired = |name: &&String| !self.states.contains_key(&coverage::firing(name));
        let marks = controllers::marks::ALL.iter().chain(openshift::marks::ALL);
        NeverSeen {
            alerts: self.alerts.iter().filter(is_unfired).cloned().collect(),
            marks: marks.map(|mark| mark.name()).filter(|name| !self.has_reached(name)).collect(),
            reasons: reasons::never_given(self.states.keys()),
        }
    }

    /// The reasons that runs have seen and that the list of known ones does not have.
    pub fn unlisted_reasons(&self) -> Vec<String> {
        reasons::unlisted(self.states.keys())
    }

    /// Draws the jobs of the next batch, with no more runs than there are left.
    fn jobs(&mut self, settings: &Settings<'_>) -> Vec<Job> {
        let mut left = settings.runs.map_or(u64::MAX, |runs| runs.saturating_sub(self.runs));
        let mut jobs = Vec::new();
        for slot in 0..settings.batch() {
            if left == 0 {
                break;
            }
            let mut dice = Dice::new(settings.seed, &format!("batch {} slot {slot}", self.batches));
            let job = self
                .continued(&mut dice, left)
                .unwrap_or_else(|| Job::Single(fresh(settings, &mut dice, self.batches, slot)));
            left -= job.cases().len() as u64;
            jobs.push(job);
        }
        jobs
    }

    /// Draws continuations of a case of the corpus: rather one that saw rare states and was seldom continued.
    fn continued(&mut self, dice: &mut Dice, left: u64) -> Option<Job> {
        if !dice.chance(CONTINUED) {
            return None;
        }
        let weights: Vec<f64> = self.corpus.iter().map(|kept| self.energy(kept)).collect();
        let kept = self.corpus.get_mut(dice.weighted(&weights)?)?;
        kept.picks += 1;
        let count = FORKS.min(left);
        let forks = (0..count).map(|_| invention::continue_from(&kept.case, kept.fork_at, dice)).collect();
        Some(Job::Forks { prefix: invention::prefix(&kept.case, kept.fork_at), forks })
    }

    /// The weight of a case: the rarity of its states, divided by the number of its continuations. Marks count more.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn energy(&self, kept: &Kept) -> f64 {
        let weight = |state: &String| if coverage::is_mark(state) { MARK_WEIGHT } else { 1.0 };
        let rarity =
            |state: &String| weight(state) / (self.states.get(state).copied().unwrap_or(1).max(1) as f64);
        kept.states.iter().map(rarity).sum::<f64>() / (1 + kept.picks) as f64
    }

    /// Takes the report of a run.
    fn merge(&mut self, case: &Case, report: RunReport, settings: &Settings<'_>) {
        self.runs += 1;
        self.virtual_seconds += u64::try_from(report.virtual_time.as_secs()).unwrap_or(0);
        self.take_states(case, &report);
        self.alerts.extend(report.alerts);
        let mut oracle_findings = report.oracle_findings;
        let unknown = oracle_findings
            .iter()
            .any(|oracle_finding| self.findings.iter().all(|known| known.cause != oracle_finding.cause()));
        if settings.terms.mutant.is_some() && unknown {
            let clean = run(case, settings.releases, settings.terms.with_sound_components());
            let before = oracle_findings.len();
            oracle_findings.retain(|oracle_finding| {
                clean.oracle_findings.iter().all(|known| known.cause() != oracle_finding.cause())
            });
            self.false_alarms += (before - oracle_findings.len()) as u64;
        }
        for oracle_finding in oracle_findings {
            self.take_oracle_finding(case, &oracle_finding);
        }
    }

    /// Counts the states of a run, and keeps its case if one of them is new.
    fn take_states(&mut self, case: &Case, report: &RunReport) {
        let seen = &report.seen;
        let new = || seen.iter().filter(|(state, _)| !self.states.contains_key(*state));
        if let Some(why) = &report.cut_short {
            *self.cut_short.entry(normalise(why)).or_default() += 1;
        } else if let Some(first) = first_moment(&mut new().filter(|(state, _)| coverage::is_mark(state)))
            .or_else(|| first_moment(&mut new()))
        {
            let states = new().map(|(state, _)| state.clone()).collect();
            let fork_at = u64::try_from(first.as_secs()).unwrap_or(0) + 1;
            self.corpus.push(Kept { case: case.clone(), fork_at, states, picks: 0 });
        }
        for state in seen.keys() {
            *self.states.entry(state.clone()).or_default() += 1;
        }
    }

    /// Counts a finding whose cause is known, and adds another one as a finding that is not shrunk yet.
    fn take_oracle_finding(&mut self, case: &Case, oracle_finding: &OracleFinding) {
        let cause = oracle_finding.cause();
        match self.findings.iter_mut().find(|finding| finding.cause == cause) {
            Some(known) => known.runs += 1,
            None => {
                let finding = Finding::new(case, oracle_finding);
                self.findings.push(Finding { found_in_run: self.runs, ..finding });
            }
        }
    }

    /// Shrinks the findings that are not shrunk yet. One whose shrinking is interrupted stays as it was, so that it shrinks to
    /// the same case later.
    fn shrink_rest(&mut self, settings: &Settings<'_>, stop: Stop<'_>) {
        let rest: Vec<usize> =
            (0..self.findings.len()).filter(|index| !self.findings[*index].is_shrunk).collect();
        let shrunk = map_in_parallel(&rest, settings.jobs, |index| {
            let finding = &self.findings[*index];
            let oracle_finding = finding.oracle_finding();
            let shrunk =
                shrinking::shrink(&finding.case, &oracle_finding, settings.releases, settings.terms, &|| {
                    stop.is_stopped()
                });
            (*index, shrunk)
        });
        for (index, (finding, runs)) in shrunk {
            if !finding.is_shrunk && (stop.is_interrupted)() {
                continue;
            }
            self.shrinking_runs += runs;
            let Finding { runs, found_in_run, ref shard, .. } = self.findings[index];
            self.findings[index] = Finding { found_in_run, runs, shard: shard.clone(), ..finding };
        }
    }
}

/// The first moment of some states.
fn first_moment(states: &mut dyn Iterator<Item = (&String, &SignedDuration)>) -> Option<SignedDuration> {
    states.map(|(_, at)| *at).min()
}

/// A case without an origin: an invented one, or a scenario of the user with disturbances. The first run of each scenario
/// has none.
fn fresh(settings: &Settings<'_>, dice: &mut Dice, batch: u64, slot: u64) -> Case {
    let number = usize::try_from(batch * BATCH + slot).unwrap_or(usize::MAX);
    if settings.scenarios.is_empty() {
        return invention::invent(dice);
    }
    let mut case = settings.scenarios[number % settings.scenarios.len()].clone();
    if number >= settings.scenarios.len() {
        invention::disturb(&mut case, dice);
    }
    case
}

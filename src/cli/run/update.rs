//! `--update`: writes what a run printed and reported in place of expected texts, in the files of scenarios and features.
//!
//! It runs the scenarios of a file until they pass or fail for another reason, each time with the texts of the last failed step
//! replaced. It writes the file only if all selected scenarios pass with the new texts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use similar::TextDiff;

use super::{Input, features, scenarios};
use crate::cli::args::RunArgs;
use crate::cli::backend::Place;
use crate::cli::{files, print_notice};
use crate::engine::{self, Failure, Outcome, SessionError};
use crate::plan::{Plan, Snapshot, TextDifference};
use crate::scenario::{self, Rewritten};

/// Context lines around a change.
const CONTEXT: usize = 1;

/// The most texts that are replaced in a file, and the most runs of it.
const ROUNDS_MAX: usize = 300;

/// The result of an update.
#[derive(Debug, Default)]
pub(super) struct Updated {
    /// Whether a file was written, or would be.
    pub(super) changed: bool,
    /// Whether a scenario still fails.
    pub(super) fails: bool,
}

/// A replaced text.
struct Change {
    /// The line, from 1, at the time of the change.
    line: usize,
    plan: String,
    difference: TextDifference,
}

/// Replaces the differing texts in the files of the scenarios. With `--dry-run`, only prints what would change.
///
/// # Errors
/// A file cannot be read or written.
pub(super) fn update(args: &RunArgs, place: &Place, input: &Input) -> Result<Updated, String> {
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for plan in input.plans.iter().chain(&input.features.plans()) {
        names.entry(plan.file.clone()).or_default().insert(plan.name.clone());
    }
    let mut updated = Updated::default();
    for (file, names) in names {
        let outcome = FileUpdate::new(args, place, &file, names)?.run();
        outcome.print(args.suite.dry_run);
        updated.fails |= outcome.failure.is_some();
        updated.changed |= outcome.is_changed() || outcome.snapshots.iter().any(is_new);
        if outcome.is_changed() && !args.suite.dry_run {
            files::overwrite(Path::new(&file), &outcome.text)?;
        }
    }
    Ok(updated)
}

/// Whether the file of a snapshot has another text, or none.
fn is_new(snapshot: &Snapshot) -> bool {
    files::read(Path::new(&snapshot.path)).ok() != snapshot.text
}

/// The update of a file.
struct FileUpdate<'a> {
    args: &'a RunArgs,
    place: &'a Place,
    file: &'a str,
    /// The names of the selected scenarios.
    names: BTreeSet<String>,
    original: String,
    text: String,
    changes: Vec<Change>,
    snapshots: Vec<Snapshot>,
    /// Line and reason of what still fails.
    failure: Option<(usize, String)>,
}

/// The name of a scenario, its failure, and the texts that differ.
type FailedScenario = (String, Failure, Vec<TextDifference>);

impl<'a> FileUpdate<'a> {
    fn new(
        args: &'a RunArgs,
        place: &'a Place,
        file: &'a str,
        names: BTreeSet<String>,
    ) -> Result<Self, String> {
        let original = files::read(Path::new(file))?;
        let text = original.clone();
        let (changes, snapshots) = (Vec::new(), Vec::new());
        Ok(Self { args, place, file, names, original, text, changes, snapshots, failure: None })
    }

    /// Replaces texts until the scenarios pass, or one fails that no text can help.
    fn run(mut self) -> Self {
        for _ in 0..ROUNDS_MAX {
            match self.first_failure() {
                Ok(None) => return self,
                Ok(Some((plan, failure, differences))) => {
                    for difference in differences {
                        if let Err(why) = self.replace(&plan, &failure, difference) {
                            return self.failed(failure.line, why);
                        }
                    }
                }
                Err((line, why)) => return self.failed(line, why),
            }
        }
        self.failed(1, format!("after {ROUNDS_MAX} changes a scenario still fails"))
    }

    fn failed(mut self, line: usize, why: String) -> Self {
        self.failure = Some((line, why));
        self
    }

    /// Runs the scenarios up to the first that fails. Returns its name, its failure and the texts that differ.
    ///
    /// # Errors
    /// The line of a failure that no text can help, and why.
    fn first_failure(&mut self) -> Result<Option<FailedScenario>, (usize, String)> {
        self.snapshots.clear();
        for plan in self.plans().map_err(|why| (1, why))? {
            let outcome = engine::run_plan_on(self.place.backend(), &plan, self.args.suite.first_seed());
            let outcome = outcome.map_err(|error| (1, error.to_string()))?;
            let Outcome { failure, differences, snapshots, .. } = outcome;
            let Some(failure) = failure else {
                self.snapshots.extend(snapshots);
                continue;
            };
            let line = failure.line;
            return match (failure.error.clone(), differences) {
                (SessionError::Unsupported(_), _) => continue,
                (_, Some(Ok(found))) if !found.is_empty() => Ok(Some((plan.name, failure, found))),
                (_, Some(Err(why))) => Err((line, why)),
                (error, _) => {
                    let error = error.to_string();
                    let first = error.lines().next().unwrap_or_default().to_owned();
                    Err((line, format!("not a text: {first}")))
                }
            };
        }
        Ok(None)
    }

    /// Parses the selected scenarios.
    fn plans(&self) -> Result<Vec<Plan>, String> {
        let source = (self.file.to_owned(), self.text.clone());
        let is_feature = Path::new(self.file).extension().is_some_and(|found| found == files::FEATURE);
        let found = if is_feature {
            features::parse(vec![source], self.args)?.map(|features| features.plans())
        } else {
            scenarios::parse(&[source], self.args)?
        };
        if let Some(invalid) = found.invalid.first() {
            return Err(invalid.failure.clone().unwrap_or_default());
        }
        let mut plans = found.runnable;
        plans.retain(|plan| self.names.contains(&plan.name));
        if is_feature {
            scenarios::complete(&mut plans, self.args);
        }
        scenarios::prepare(&mut plans, self.args)?;
        Ok(plans)
    }

    /// Replaces a text of the step that failed.
    fn replace(&mut self, plan: &str, failure: &Failure, difference: TextDifference) -> Result<(), String> {
        let same_place = |change: &&Change| {
            change.difference.place == difference.place && change.difference.seen == difference.wanted
        };
        if let Some(other) = self.changes.iter().filter(same_place).find(|change| change.plan != plan) {
            return Err(format!("{} and {plan} share this text and need different ones", other.plan));
        }
        let is_feature = Path::new(self.file).extension().is_some_and(|found| found == files::FEATURE);
        let Rewritten { text, line } = if is_feature {
            features::with_text(&self.text, failure.line, &difference)?
        } else {
            scenario::with_text(&self.text, (failure.line, failure.column), &difference)?
        };
        self.text = text;
        self.changes.push(Change { line, plan: plan.to_owned(), difference });
        Ok(())
    }

    /// Whether the file gets another text.
    fn is_changed(&self) -> bool {
        self.failure.is_none() && self.text != self.original
    }

    fn print(&self, is_dry: bool) {
        let Self { file, changes, .. } = self;
        if let Some((line, why)) = &self.failure {
            print_notice(&format!("{file}:{line}: not updated: {why}"));
            if !changes.is_empty() {
                let lines: Vec<String> = changes.iter().map(|change| change.line.to_string()).collect();
                print_notice(&format!(
                    "{file}: nothing is written, because this step fails; other texts in line {} would be",
                    lines.join(", ")
                ));
            }
            return;
        }
        let verb = if is_dry { "would update" } else { "updated" };
        for Change { line, difference, .. } in changes {
            print_notice(&format!("{file}:{line}: {verb} {}", difference.place));
        }
        self.print_diff(file, &self.original, &self.text);
        for snapshot in self.snapshots.iter().filter(|snapshot| is_new(snapshot)) {
            let Snapshot { path, text } = snapshot;
            print_notice(&format!("{path}: {verb} the status"));
            let before = files::read(Path::new(path)).unwrap_or_default();
            self.print_diff(path, &before, text.as_deref().unwrap_or_default());
        }
    }

    fn print_diff(&self, file: &str, before: &str, after: &str) {
        if before != after && !self.args.suite.quiet {
            let diff = TextDiff::from_lines(before, after);
            let diff = diff.unified_diff().context_radius(CONTEXT).header(file, file).to_string();
            diff.lines().for_each(print_notice);
        }
    }
}

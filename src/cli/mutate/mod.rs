//! `windtunnel mutate`: runs scenarios with deliberately broken components, and reports the expectations that
//! none of them breaks.

mod report;

use std::collections::BTreeSet;

use windtunnel_core::text::did_you_mean;

use self::report::{ScenarioReport, Tested};
use super::args::{MutateArgs, jobs_or_cores};
use super::files::FoundFiles;
use super::parallel::in_parallel;
use super::payload::Releases;
use super::terminal::progress::Progress;
use super::{Exit, files, print_output};
use crate::engine::mutation::{Baseline, Mutant, run_baseline};
use crate::plan::Plan;
use crate::scenario;

pub(super) fn mutate(args: &MutateArgs) -> Result<Exit, String> {
    let plans = read(args)?;
    let progress = Progress::of(plans.len());
    let (mut reports, mut components) = (Vec::new(), BTreeSet::new());
    for (index, plan) in plans.iter().enumerate() {
        let report = test(plan, args, &mut components);
        let text = if args.json { String::new() } else { report.to_text(args.list) };
        progress.done(index, text, &plan.name, !report.passes(args.strict, args.list));
        reports.push(report);
    }
    progress.end();
    // An empty shard has no mutants, and those of a scenario that fails without them are unknown.
    let are_known = !reports.is_empty() && !reports.iter().any(ScenarioReport::has_failed);
    if are_known && let Some(unknown) = args.component.iter().find(|name| !components.contains(*name)) {
        return Err(no_component(unknown, &components));
    }
    if args.json {
        print_output(&report::to_json(&reports, args.seed));
    } else if plans.len() > 1 && !args.list {
        print_output(&report::total(&reports));
    }
    let passed = reports.iter().all(|report| report.passes(args.strict, args.list));
    Ok(if passed { Exit::Passed } else { Exit::Failed })
}

/// Reads the scenarios.
///
/// # Errors
/// All problems of all files, or there is nothing to run.
fn read(args: &MutateArgs) -> Result<Vec<Plan>, String> {
    let FoundFiles { sources, unreadable } = files::read_sources(&args.paths)?;
    let releases = Releases::read(&args.payload)?;
    let mut problems: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
    let mut plans = Vec::new();
    for (file, text) in &sources {
        match read_file(file, text, &releases) {
            Ok(found) => plans.extend(found),
            Err(found) => problems.push(found),
        }
    }
    if !problems.is_empty() {
        return Err(problems.join("\n"));
    }
    plans.retain(|plan| args.fits(&plan.name, &plan.tags, &plan.ids));
    if plans.is_empty() {
        return Err("found no scenario with these tags and names".to_owned());
    }
    let mut number = 0..;
    plans.retain(|_| args.shard.is_none_or(|shard| number.next().is_some_and(|number| shard.has(number))));
    Ok(plans)
}

fn read_file(file: &str, text: &str, releases: &Releases) -> Result<Vec<Plan>, String> {
    #[cfg(feature = "gherkin")]
    if file.ends_with(".feature") {
        let source = (file.to_owned(), text.to_owned());
        let suite = crate::steps::Suite::parse_with_files(&[source], files::BESIDE_FEATURES);
        return suite.map(|suite| suite.plans()).map_err(|problems| problems.to_string());
    }
    scenario::parse_all(file, text, releases).map_err(|problems| problems.to_string())
}

/// Tests a scenario. Adds the components that it has mutants of to `components`.
fn test(plan: &Plan, args: &MutateArgs, components: &mut BTreeSet<String>) -> ScenarioReport {
    let baseline = match run_baseline(plan, args.seed) {
        Ok(Ok(baseline)) => baseline,
        Ok(Err(failure)) => {
            return ScenarioReport::failed(
                plan,
                failure.line,
                &format!("{}: {}", failure.step, failure.error),
            );
        }
        Err(error) => {
            return ScenarioReport::failed(plan, 0, &format!("the cluster could not be installed: {error}"));
        }
    };
    components.extend(baseline.mutants.iter().map(|mutant| mutant.component.clone()));
    let mutants = select(plan, &baseline, args);
    if args.list {
        return ScenarioReport::listed(plan, &mutants);
    }
    let run = |mutant: &Mutant| baseline.run_mutant(plan, args.seed, mutant, args.strict);
    let runs = in_parallel(&mutants, jobs_or_cores(args.jobs), run);
    let tested = mutants.into_iter().zip(runs).map(|(mutant, run)| Tested { mutant, run }).collect();
    ScenarioReport::tested(plan, &baseline, tested)
}

/// Returns the mutants to run.
fn select(plan: &Plan, baseline: &Baseline, args: &MutateArgs) -> Vec<Mutant> {
    let is_wanted =
        |mutant: &&Mutant| args.component.is_empty() || args.component.contains(&mutant.component);
    let wanted: Vec<Mutant> = baseline.mutants.iter().filter(is_wanted).cloned().collect();
    match args.mutants.map(usize::try_from) {
        Some(Ok(count)) => Baseline::sample(plan, &wanted, count, args.seed),
        _ => wanted,
    }
}

fn no_component(unknown: &str, components: &BTreeSet<String>) -> String {
    let known: Vec<&str> = components.iter().map(String::as_str).collect();
    if known.is_empty() {
        return format!("--component: no scenario has a mutant of `{unknown}`, or of any other component");
    }
    let hint = did_you_mean(unknown, known.iter().copied());
    format!(
        "--component: no scenario has a mutant of `{unknown}`; there are mutants of {}{hint}",
        known.join(", ")
    )
}

//! `windtunnel explore minimise`: makes a failing scenario of a user smaller.

use super::GRACE;
use crate::cli::args::MinimiseArgs;
use crate::cli::files::{self, FoundFiles};
use crate::cli::output::Shown as _;
use crate::cli::payload::Releases;
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::{Exit, print_notice, print_output};
use crate::explore::{Minimised, minimise as minimise_scenario};
use crate::scenario;

pub(super) fn minimise(args: &MinimiseArgs) -> Result<Exit, String> {
    let releases = Releases::read(&args.payload)?;
    let (file, text) = read(args, &releases)?;
    args.output.as_deref().map_or(Ok(()), files::check_file)?;
    let interrupt = Interrupt::listen();
    interrupt.finish_within(GRACE, || print_notice("the running case takes too long: nothing is printed"));
    let stop = || interrupt.is_interrupted();
    let found = minimise_scenario(&file, &text, &releases, args.runs.into(), &stop)
        .map_err(|why| format!("{file}: {why}"));
    interrupt.has_finished();
    let found = found?;
    let Some(minimised) = found else {
        print_notice(&format!(
            "{file}: the scenario does not fail with seed 1, so there is nothing to make smaller"
        ));
        return Ok(interrupt.exit().unwrap_or(Exit::Failed));
    };
    match &args.output {
        Some(output) => files::write(output, &minimised.scenario)?,
        None => print_output(&minimised.scenario),
    }
    print_notice(&outcome(&minimised));
    Ok(interrupt.exit().unwrap_or(Exit::Passed))
}

/// The result in one line.
fn outcome(minimised: &Minimised) -> String {
    let Minimised { steps: (before, after), runs, is_done, .. } = minimised;
    let rest = if *is_done { "nothing more can go" } else { "more runs (--runs) may make it smaller still" };
    format!("{before} steps became {after} in {runs} runs; {rest}")
}

/// Reads the scenario. Returns its name and its text.
///
/// # Errors
/// It cannot be read or has mistakes, or there are several.
fn read(args: &MinimiseArgs, releases: &Releases) -> Result<(String, String), String> {
    let FoundFiles { mut sources, unreadable } =
        files::read_all(std::slice::from_ref(&args.scenario), "yaml")?;
    if let Some(problem) = unreadable.first() {
        return Err(problem.to_string());
    }
    match (sources.len(), sources.pop()) {
        (1, Some((file, text))) => {
            scenario::parse_all(&file, &text, releases).map_err(|problems| problems.to_string())?;
            Ok((file, text))
        }
        _ => Err(format!("{}: expected one scenario, not a folder", args.scenario.shown())),
    }
}

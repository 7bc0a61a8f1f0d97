//! `windtunnel sweep`: asks a copy of a cluster to go back at each moment of an update.

mod emit;
mod groups;
mod picture;
mod report;
mod times;

pub(super) use self::groups::word;
use self::report::Report;
pub(super) use self::times::time;
use super::args::{SweepArgs, jobs_or_cores};
use super::files::{self, FoundFiles};
use super::payload::Releases;
use super::{Exit, print_output};
use crate::cli::output::Shown as _;
use crate::engine::sweep::{Options, Request, sweep as run_sweep};
use crate::plan::Plan;
use crate::scenario;

pub(super) fn sweep(args: &SweepArgs) -> Result<Exit, String> {
    let releases = Releases::read(&args.payload)?;
    let (plan, source) = read(args, &releases)?;
    args.emit.as_deref().map_or(Ok(()), files::check_new_folder)?;
    args.svg.as_deref().map_or(Ok(()), files::check_report)?;
    let options = options(args, &plan)?;
    let sweep = run_sweep(&plan, args.seed, &options).map_err(|error| match error.place() {
        Some((line, column)) => format!("{}:{line}:{column}: {error}", plan.file),
        None => format!("{}: {error}", plan.file),
    })?;
    let report = Report::new(&plan, args, &options.request, &sweep);
    let text = if args.json { report.to_json() } else { report.to_text() };
    print_output(&sweep.secrets.hide(&text));
    if let Some(path) = &args.svg {
        let picture = picture::svg(&plan.name, &report.asked(), &sweep.branches);
        files::write(path, &sweep.secrets.hide(&picture))?;
    }
    if let Some(folder) = &args.emit {
        emit::write_scenarios(&report, &source, &releases, folder)?;
    }
    Ok(if report.passes() { Exit::Passed } else { Exit::Failed })
}

/// Reads the scenario. Returns its plan and its text.
///
/// # Errors
/// The file is invalid, or has another number of scenarios than one.
fn read(args: &SweepArgs, releases: &Releases) -> Result<(Plan, String), String> {
    let FoundFiles { sources, unreadable } = files::read_all(std::slice::from_ref(&args.scenario), "yaml")?;
    if let Some(problem) = unreadable.first() {
        return Err(problem.to_string());
    }
    let [(file, text)] = sources.as_slice() else {
        return Err(format!("{}: sweep takes one scenario, not a folder", args.scenario.shown()));
    };
    let mut plans = scenario::parse_all(file, text, releases).map_err(|problems| problems.to_string())?;
    match (plans.len(), plans.pop()) {
        (1, Some(plan)) => Ok((plan, text.clone())),
        (count, _) => Err(format!(
            "{file}: sweep takes one scenario, and this file has {count} by its `parameters`: write the values of one \
             of them into a file without `parameters`"
        )),
    }
}

fn options(args: &SweepArgs, plan: &Plan) -> Result<Options, String> {
    let known: Vec<_> = std::iter::once(&plan.cluster.release.version)
        .chain(plan.cluster.releases.iter().map(|planned| &planned.release.version))
        .collect();
    let request = match (&args.abort, &args.kill) {
        (Some(version), _) if !known.contains(&version) => {
            let known: Vec<String> = known.iter().map(ToString::to_string).collect();
            return Err(format!(
                "--abort: the scenario has no release {version}; it has {}: add it to `releases`",
                known.join(", ")
            ));
        }
        (Some(version), _) => Request::GoTo(version.clone()),
        (None, Some(component)) => Request::Kill(component.clone()),
        (None, None) => Request::GoTo(plan.cluster.release.version.clone()),
    };
    Ok(Options {
        moments: args.rollback_at.clone(),
        request,
        within: args.within,
        must_be_restored: args.restored,
        jobs: jobs_or_cores(args.jobs),
    })
}

//! `run --check-restarts`, `--check-staleness` and `--check-gaps` for scenarios with programs of the user's machine.

use super::reproduction;
use super::restarts;
use crate::backends::{INTERRUPTED, Stop};
use crate::cli::args::{CONSENT, CheckArgs, jobs_or_cores};
use crate::cli::print_notice;
use crate::engine::program_checks::{self, CheckReport, CheckSettings, Finding, ProgramCheck};
use crate::plan::{Permission, Plan, ProgramPlan};

/// Runs the checks. Returns all differences; `None` if there are none.
pub(super) fn check(plan: &Plan, seed: u64, args: &CheckArgs, stop: &Stop) -> Option<String> {
    let problems: Vec<String> = args
        .flags()
        .filter_map(|flag| match (flag, plan.cluster.programs.is_empty()) {
            ("--check-restarts", true) => restarts::check(plan, seed),
            (flag, true) => Some(format!("`{flag}` needs a scenario with `programs`, and this one has none")),
            ("--check-restarts", false) => check_programs(plan, seed, args, stop, ProgramCheck::Restarts),
            ("--check-staleness", false) => check_programs(plan, seed, args, stop, ProgramCheck::Staleness),
            (_, false) => check_programs(plan, seed, args, stop, ProgramCheck::Gaps),
        })
        .collect();
    (!problems.is_empty()).then(|| problems.join("\n"))
}

fn check_programs(
    plan: &Plan,
    seed: u64,
    args: &CheckArgs,
    stop: &Stop,
    kind: ProgramCheck,
) -> Option<String> {
    let runs_max = args.check_runs.and_then(|runs| usize::try_from(runs).ok());
    let settings = CheckSettings { runs_max, jobs: jobs_or_cores(None), stop: stop.clone() };
    let report = match program_checks::check(plan, seed, kind, &settings) {
        Ok(report) => report,
        Err(_) if stop.is_requested() => return Some(INTERRUPTED.to_owned()),
        Err(error) => return Some(format!("the run without faults failed: {error}")),
    };
    let CheckReport { runs, possible, findings } = report;
    let of_possible = if runs < possible { format!(" of {possible} possible") } else { String::new() };
    print_notice(&format!(
        "{}: {runs}{of_possible} runs with {} of programs, {} with another end",
        plan.file,
        kind.name(),
        findings.len()
    ));
    let numbered = findings.iter().enumerate();
    restarts::first_differences(numbered.map(|(index, finding)| report_one(plan, args, kind, index, finding)))
}

/// The difference, with the steps that reproduce it, or the file that has them.
fn report_one(plan: &Plan, args: &CheckArgs, kind: ProgramCheck, index: usize, finding: &Finding) -> String {
    let mut text = finding.difference.clone();
    if let Some(folder) = &args.emit {
        let written = reproduction::write(plan, folder, kind, index, finding);
        match written {
            Ok(path) => {
                let is_of_file = |program: &ProgramPlan| program.permission != Permission::Typed;
                let has_any = plan.cluster.programs.iter().any(is_of_file);
                let consent = if has_any { format!(" {CONSENT}") } else { String::new() };
                return format!("{text}\n  reproduce it with: windtunnel run {path}{consent}");
            }
            Err(why) => text.push_str(&format!("\n  no scenario was written: {why}")),
        }
    }
    for fault in &finding.faults {
        let step = plan.timeline.get(fault.step);
        let place = step.map_or_else(|| "the end".to_owned(), |step| format!("line {}", step.line));
        text.push_str(&format!("\n  before {place}: - {}", fault.yaml()));
    }
    for step in &finding.last_steps {
        text.push_str(&format!("\n  at the end: - {step}"));
    }
    text
}

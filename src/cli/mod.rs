//! The command line: arguments, files, exit codes. Only this module prints, reads files and uses the wall
//! clock.
//!
//! Exit codes: 0 everything passed, or a signal ended a server; 1 a scenario failed, or the result of another
//! command is negative (`docs/cli.md` has a list); 2 wrong usage, unreadable input, or a server that cannot
//! start; 3 a rehearsal found nothing, and could not see everything; 130 and 143 a run that SIGINT or SIGTERM ended.
//!
//! A command has its arguments in `args/`, a file or a folder here, and a section in `docs/cli.md`. Standard output and
//! standard error: `output.rs`; colours and progress: `terminal/`. `files/` checks every path, and `files/target/` is
//! the only place that writes files of the user. `consent.rs` has `--allow-programs`, `backend.rs` has `--backend`.
//!
//! Commands in files: `check.rs`, `clock.rs`, `lint.rs`, `logs.rs`, `must_gather.rs`, `new.rs`, `schema.rs`,
//! `steps.rs`, `split_upgrade.rs`. All others have folders of their names; `test` is `run`.

#[cfg(feature = "live")]
mod adm;
mod args;
mod backend;
mod check;
#[cfg(feature = "live")]
mod clock;
mod consent;
mod dump_files;
#[cfg(feature = "serve")]
mod endpoint;
#[cfg(feature = "serve")]
mod envtest;
mod explore;
#[cfg(feature = "serve")]
mod faults;
mod files;
#[cfg(all(feature = "live", feature = "serve"))]
mod insights;
mod lint;
#[cfg(feature = "live")]
mod live;
mod logs;
mod moment;
mod must_gather;
mod mutate;
mod new;
mod output;
mod parallel;
mod payload;
#[cfg(feature = "live")]
mod rbac;
#[cfg(feature = "live")]
mod record;
mod rehearse;
mod report;
mod risks;
mod rollback_check;
mod rollback_pairs;
mod run;
mod schema;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "gherkin")]
mod split_upgrade;
mod start_from;
mod status;
#[cfg(feature = "gherkin")]
mod steps;
mod suite;
mod sweep;
mod templates;
mod terminal;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser as _};
use windtunnel_core::text::visible;

use self::args::{Args, Command};
pub use self::dump_files::read_all as read_dump;
use self::output::{print_complaint, print_errors, print_notice, print_output, print_painted};
pub use self::payload::Releases;
use crate::report::ScenarioResult;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// Everything passed.
    Passed,
    /// A scenario failed, a cluster or its client reported an error, or a check found something.
    Failed,
    /// Wrong usage, or unreadable input.
    Usage,
    /// Nothing was found, and not everything that matters could be seen.
    Unknown,
    /// A signal ended the run before everything ran; with the exit code that shells use for the signal.
    Interrupted(u8),
    /// The exit code of the command that it ran.
    #[cfg(feature = "serve")]
    OfCommand(u8),
}

impl Exit {
    /// The exit of a run with these results.
    fn of<'r>(results: impl Iterator<Item = &'r ScenarioResult>) -> Self {
        let (mut is_invalid, mut failed) = (false, false);
        for result in results {
            is_invalid |= result.invalid;
            failed |= result.failed();
        }
        match (is_invalid, failed) {
            (true, _) => Self::Usage,
            (false, true) => Self::Failed,
            (false, false) => Self::Passed,
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unknown => 3,
            Self::Interrupted(code) => code,
            #[cfg(feature = "serve")]
            Self::OfCommand(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    #[cfg(feature = "serve")]
    let code = envtest::run_under_other_name().unwrap_or_else(run_command);
    #[cfg(not(feature = "serve"))]
    let code = run_command();
    let Some(why) = output::failure() else { return code };
    print_errors(&why);
    Exit::Usage.into()
}

/// Runs the command that the arguments name.
fn run_command() -> ExitCode {
    let args = match parsed_arguments() {
        Ok(args) => args,
        Err(exit) => return exit.into(),
    };
    files::input::set_unpack_limit(args.unpack_limit);
    let allowed = args.allow_folder.iter().try_for_each(|folder| files::allowed::allow(folder));
    match allowed.and_then(|()| command_exit(args.command)) {
        Ok(exit) => exit.into(),
        Err(message) => {
            print_errors(&message);
            Exit::Usage.into()
        }
    }
}

/// Returns the arguments. Prints help and errors as clap does, unless an argument has characters that act on a terminal: it may be
/// the name of a file of unknown origin.
fn parsed_arguments() -> Result<Args, Exit> {
    Args::try_parse().map_err(with_similar_flag).map_err(|error| {
        let text = error.to_string();
        if visible(&text) == text {
            error.exit();
        }
        print_complaint(&text);
        Exit::Usage
    })
}

/// Adds the only flag of the command that has the unknown flag as a part: `--rollback-at` for `--at`.
fn with_similar_flag(mut error: clap::Error) -> clap::Error {
    let found = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(found)) if error.get(ContextKind::SuggestedArg).is_none() => found.clone(),
        _ => return error,
    };
    let Some(word) = found.strip_prefix("--").filter(|word| !word.is_empty()) else { return error };
    let command = std::env::args_os().nth(1).unwrap_or_default();
    let all = Args::command();
    let flags = all.find_subcommand(&command).into_iter().flat_map(clap::Command::get_arguments);
    let mut similar =
        flags.filter_map(clap::Arg::get_long).filter(|flag| flag.split('-').any(|part| part == word));
    if let (Some(flag), None) = (similar.next(), similar.next()) {
        let flag = format!("--{flag}");
        drop(similar);
        error.insert(ContextKind::SuggestedArg, ContextValue::String(flag));
        error.remove(ContextKind::Suggested);
    }
    error
}

fn command_exit(command: Command) -> Result<Exit, String> {
    match command {
        Command::Run(args) => run::run(&args, run::RUN),
        Command::Report(args) => report::report(&args),
        Command::Logs(args) => logs::logs(&args),
        Command::MustGather(args) => must_gather::must_gather(&args),
        Command::Rehearse(args) => rehearse::rehearse(&args),
        Command::Risks(args) => risks::risks(&args),
        Command::RollbackCheck(args) => rollback_check::rollback_check(&args),
        Command::RollbackPairs(args) => rollback_pairs::rollback_pairs(&args),
        Command::Dump(args) => dump_files::listing::list(&args),
        Command::Status(args) => status::status(&args),
        #[cfg(feature = "live")]
        Command::Adm(command) => adm::adm(&command),
        #[cfg(all(feature = "live", feature = "serve"))]
        Command::Insights(args) => insights::insights(&args),
        #[cfg(feature = "live")]
        Command::Record(args) => record::record(&args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::serve(&args),
        #[cfg(feature = "live")]
        Command::Clock(args) => clock::clock(&args),
        #[cfg(feature = "live")]
        Command::Rbac(args) => rbac::rbac(&args),
        #[cfg(feature = "serve")]
        Command::Envtest(args) => envtest::envtest(&args),
        #[cfg(feature = "serve")]
        Command::Replay(args) => serve::replay::replay(&args),
        #[cfg(feature = "gherkin")]
        Command::Test(args) => run::run(&args, run::TEST),
        #[cfg(feature = "gherkin")]
        Command::SplitUpgrade(args) => split_upgrade::split_upgrade(&args),
        #[cfg(feature = "gherkin")]
        Command::Steps(args) => Ok(steps::steps(&args)),
        #[cfg(feature = "live")]
        Command::Clean(args) => backend::clean(&args),
        Command::ScenarioFrom { record, output } => report::scenario_from(&record, output.as_deref()),
        Command::Lint(args) => lint::lint(&args),
        Command::Mutate(args) => mutate::mutate(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Check(args) => check::check(&args),
        Command::Explore(args) => explore::explore(&args),
        Command::New(args) => new::new(&args),
        Command::Schema { kind } => schema::schema(kind),
        Command::Completions { shell } => Ok(completions(shell)),
    }
}

fn completions(shell: clap_complete::Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "windtunnel", &mut script);
    print_output(&String::from_utf8_lossy(&script));
    Exit::Passed
}

/// Prints the output of a client, and returns its exit status.
#[cfg(feature = "live")]
fn print_client_output(output: &windtunnel_openshift::oc::CommandOutput) -> Exit {
    print_output(&output.stdout);
    print_complaint(&output.stderr);
    if output.code == 0 { Exit::Passed } else { Exit::Failed }
}

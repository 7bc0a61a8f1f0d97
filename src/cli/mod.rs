//! The command line: arguments, files, exit codes. Only here does the program print, read files or look at the wall
//! clock.
//!
//! Exit codes: 0 everything passed, 1 a scenario failed, 2 wrong usage or unreadable input.

mod args;
mod files;
mod report;
mod run;
#[cfg(feature = "gherkin")]
mod test;

use std::process::ExitCode;

use clap::Parser as _;

use self::args::{Args, Command};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// Everything passed.
    Passed,
    /// A scenario failed.
    Failed,
    /// Wrong usage, or input that cannot be read.
    Usage,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Passed => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
        })
    }
}

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    let exit = match Args::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Report(args) => report::report(&args),
        #[cfg(feature = "gherkin")]
        Command::Test(args) => test::test(&args),
    };
    match exit {
        Ok(exit) => exit.into(),
        Err(message) => {
            complain(&message);
            Exit::Usage.into()
        }
    }
}

/// Prints what is for the one who asked, as it is.
#[expect(clippy::print_stdout, reason = "the command line prints")]
fn say(text: &str) {
    print!("{text}");
}

/// Prints what is wrong, a line each.
#[expect(clippy::print_stderr, reason = "the command line prints")]
fn complain(text: &str) {
    for line in text.lines() {
        eprintln!("error: {line}");
    }
}

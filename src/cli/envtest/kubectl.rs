//! A substitute for `kubectl` if none was on the PATH: it explains how to get one.

use super::flags::Flags;
use crate::cli::print_output;

const HELP: &str =
    "This kubectl is a placeholder: there was none on the PATH when `windtunnel envtest` filled this folder.
It runs no command. Install kubectl, then run `windtunnel envtest` again.

Usage:
  kubectl [flags]

Flags:
  --help, -h  Print this text
";

/// Prints the help text, if it is requested or if there are no arguments, as kubectl does.
///
/// # Errors
/// Any other command.
pub(super) fn main(words: &[String]) -> Result<(), String> {
    let requests_help = Flags::read(words).requests_help() || words.first().is_none_or(|word| word == "help");
    if requests_help {
        print_output(HELP);
        return Ok(());
    }
    Err("this kubectl is a placeholder and runs no command: install kubectl, then run `windtunnel envtest` again"
        .to_owned())
}

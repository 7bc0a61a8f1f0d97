//! A substitute for `kubectl` if none was on the PATH: it explains how to get one.

use super::flags::Flags;
use crate::cli::print_output;

const HELP: &str = "There was no kubectl on the PATH when `windtunnel envtest` filled this folder, so windtunnel takes its place.
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
    let asked = Flags::read(words).ask_for_help() || words.first().is_none_or(|word| word == "help");
    if asked {
        print_output(HELP);
        return Ok(());
    }
    Err("windtunnel stands here for kubectl, which was not on the PATH when the folder was filled: install it and run \
         `windtunnel envtest` again"
        .to_owned())
}

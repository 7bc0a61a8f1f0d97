//! Then: the result of the last command.

use super::definition::{Definition, then};
use crate::plan::{CommandCheck, ExpectedState, TextMatch};
use crate::steps::phrase::{output_match, whole};

pub(in crate::steps) const STEPS: &[Definition] = &[
    then(
        r#"it (prints|warns) ((?:a text with )?"[^"]*(?:"[^"]*)*"|/.+/)"#,
        "The output of the last command: the whole text, a pattern, or a part.",
        &[r#"it prints "Requested update to 4.14.8""#],
        |_, call| {
            let [how, text] = call.values();
            Ok(output(&how, output_match(&text)?))
        },
    ),
    then(
        r"it (prints|warns):",
        "The output of the last command equals the doc string.",
        &["it warns:"],
        |_, call| {
            let [how] = call.values();
            Ok(output(&how, TextMatch::Equals(call.docstring()?.trim_end().to_owned())))
        },
    ),
    then(
        r#"it is refused with ((?:a text with )?"[^"]*(?:"[^"]*)*"|/.+/)"#,
        "The error message of the last command, or of the last request that was tried.",
        &[r#"it is refused with a text with "is not one of the possible targets""#],
        |_, call| {
            let [text] = call.values();
            Ok(command(CommandCheck::Refused(output_match(&text)?)))
        },
    ),
    then(
        r"it exits with code (\d+)",
        "The exit code of the last command.",
        &["it exits with code 1"],
        |_, call| {
            let [code] = call.values();
            Ok(command(CommandCheck::Code(whole(&code)?)))
        },
    ),
];

fn command(check: CommandCheck) -> ExpectedState {
    ExpectedState::Command(vec![check])
}

/// Returns the expectation of what a command `prints` or `warns`.
fn output(how: &str, text: TextMatch) -> ExpectedState {
    command(if how == "prints" { CommandCheck::Prints(text) } else { CommandCheck::Warns(text) })
}

//! Then: the result of the last command.

use cucumber::gherkin::Step;
use cucumber::then;

use crate::plan::{CommandCheck, ExpectedState, TextMatch};
use crate::steps::phrase::{Timing, docstring, output_match};
use crate::steps::world::{ClusterWorld, StepError};

/// The output of the last command: the whole text, a pattern, or a part.
///
/// ```gherkin
/// Then it prints "Requested update to 4.14.8"
/// ```
#[then(regex = r#"^it (prints|warns) ((?:a text with )?"[^"]*(?:"[^"]*)*"|/.+/)$"#)]
async fn command_prints(
    world: &mut ClusterWorld,
    how: String,
    text: String,
    step: &Step,
) -> Result<(), StepError> {
    let text = output_match(&text)?;
    let check = if how == "prints" { CommandCheck::Prints(text) } else { CommandCheck::Warns(text) };
    command(world, check, step).await
}

/// The output of the last command equals the doc string.
///
/// ```gherkin
/// Then it warns:
/// ```
#[then(regex = r"^it (prints|warns):$")]
async fn command_prints_lines(world: &mut ClusterWorld, how: String, step: &Step) -> Result<(), StepError> {
    let text = docstring(step.docstring.as_ref())?;
    let text = TextMatch::Equals(text.trim_end().to_owned());
    let check = if how == "prints" { CommandCheck::Prints(text) } else { CommandCheck::Warns(text) };
    command(world, check, step).await
}

/// The error message of the last command, or of the last request that was tried.
///
/// ```gherkin
/// Then it is refused with a text with "is not one of the possible targets"
/// ```
#[then(regex = r#"^it is refused with ((?:a text with )?"[^"]*(?:"[^"]*)*"|/.+/)$"#)]
async fn command_refused(world: &mut ClusterWorld, text: String, step: &Step) -> Result<(), StepError> {
    command(world, CommandCheck::Refused(output_match(&text)?), step).await
}

/// The exit code of the last command.
///
/// ```gherkin
/// Then it exits with code 1
/// ```
#[then(regex = r"^it exits with code (\d+)$")]
async fn command_exits(world: &mut ClusterWorld, code: u8, step: &Step) -> Result<(), StepError> {
    command(world, CommandCheck::Code(code), step).await
}

async fn command(world: &mut ClusterWorld, check: CommandCheck, step: &Step) -> Result<(), StepError> {
    world.expect(&step.value, Timing::default().expectation(ExpectedState::Command(vec![check]))?).await
}

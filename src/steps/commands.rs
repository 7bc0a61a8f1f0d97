//! Then: what came of the command that was run last.

use cucumber::gherkin::Step;
use cucumber::then;

use super::phrase::{Timing, docstring, printed};
use super::world::{ClusterWorld, StepError};
use crate::plan::{CommandCheck, TextMatch, What};

/// What the command that was run last printed: all of it, a pattern, or a part.
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
    let text = printed(&text)?;
    let check = if how == "prints" { CommandCheck::Prints(text) } else { CommandCheck::Warns(text) };
    command(world, check, step).await
}

/// What the command that was run last printed, as the doc string has it.
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

/// The error that the command that was run last ended with, or the refusal of what was tried after it.
///
/// ```gherkin
/// Then it is refused with a text with "is not one of the possible targets"
/// ```
#[then(regex = r#"^it is refused with ((?:a text with )?"[^"]*(?:"[^"]*)*"|/.+/)$"#)]
async fn command_refused(world: &mut ClusterWorld, text: String, step: &Step) -> Result<(), StepError> {
    command(world, CommandCheck::Refused(printed(&text)?), step).await
}

/// The exit code of the command that was run last.
///
/// ```gherkin
/// Then it exits with code 1
/// ```
#[then(regex = r"^it exits with code (\d+)$")]
async fn command_exits(world: &mut ClusterWorld, code: u8, step: &Step) -> Result<(), StepError> {
    command(world, CommandCheck::Code(code), step).await
}

async fn command(world: &mut ClusterWorld, check: CommandCheck, step: &Step) -> Result<(), StepError> {
    world.expect(&step.value, Timing::default().expectation(What::Command(vec![check]))?).await
}

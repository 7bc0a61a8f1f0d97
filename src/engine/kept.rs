//! What steps keep for later ones, and `$(kept <name>)` in those.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::command;
use super::matching::objects;
use super::simulation::Simulation;
use crate::base::text::did_you_mean;
use crate::scenario::path;
use crate::scenario::plan::{Check, CommandCheck, Kept, Step, TextMatch, What};

/// `$(kept image)`.
#[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\$\(\s*kept\s+([^\s)]+)\s*\)").expect("pattern"));

/// What is to be kept, as it is now.
///
/// # Errors
/// There is no such object, or no command was run.
pub(super) fn value(simulation: &Simulation, what: &Kept) -> Result<String, String> {
    match what {
        Kept::Output => Ok(command::last(&simulation.record)?.stdout.trim_end().to_owned()),
        Kept::Field(object, field) => {
            let found = objects(&simulation.view, object).next();
            let found = found.ok_or_else(|| format!("there is no {object}"))?;
            Ok(path::text_at(found, field))
        }
    }
}

/// The step with what was kept where it asks for it: in commands, and in texts that are compared.
///
/// # Errors
/// Nothing was kept by that name.
pub(super) fn filled<'s>(step: &'s Step, kept: &BTreeMap<String, String>) -> Result<Cow<'s, Step>, String> {
    let mut unknown = None;
    let mut changed = false;
    let mut fill = |text: &mut String| {
        if !PLACE.is_match(text) {
            return;
        }
        changed = true;
        let full = PLACE.replace_all(text, |found: &Captures<'_>| {
            kept.get(&found[1]).cloned().unwrap_or_else(|| {
                unknown = Some(found[1].to_owned());
                String::new()
            })
        });
        *text = full.into_owned();
    };
    let mut copy = step.clone();
    each_text(&mut copy, &mut fill);
    if let Some(name) = unknown {
        let hint = did_you_mean(&name, kept.keys().map(String::as_str));
        return Err(format!("nothing was kept as `{name}` before{hint}"));
    }
    Ok(if changed { Cow::Owned(copy) } else { Cow::Borrowed(step) })
}

fn each_text(step: &mut Step, fill: &mut impl FnMut(&mut String)) {
    match step {
        Step::Run(run) => {
            run.command.words.iter_mut().for_each(&mut *fill);
            commands(&mut run.checks, fill);
        }
        Step::Expect(expectation) => match &mut expectation.what {
            What::Object(_, checks) | What::Insight(_, checks) => {
                for wanted in checks {
                    check(wanted, fill);
                }
            }
            What::Command(checks) => commands(checks, fill),
            What::Status(status) => status.has.iter_mut().for_each(|wanted| text(wanted, fill)),
            _ => {}
        },
        // The steps of a retry are filled when they are played.
        Step::Act(_) | Step::Try(_) | Step::Advance(_) | Step::Keep(_) | Step::Retry(_) => {}
    }
}

fn commands(checks: &mut [CommandCheck], fill: &mut impl FnMut(&mut String)) {
    for check in checks {
        match check {
            CommandCheck::Prints(wanted)
            | CommandCheck::Warns(wanted)
            | CommandCheck::Refused(wanted)
            | CommandCheck::Says(wanted) => text(wanted, fill),
            CommandCheck::Code(_) | CommandCheck::Fails => {}
        }
    }
}

fn check(check: &mut Check, fill: &mut impl FnMut(&mut String)) {
    match check {
        Check::Condition { status, reason, message, .. } => {
            [status, reason, message].into_iter().flatten().for_each(|wanted| text(wanted, fill));
        }
        Check::Field { value, .. } => text(value, fill),
        Check::PodStatus(wanted) => text(wanted, fill),
        Check::Unchanged { .. } | Check::NoCondition(_) => {}
    }
}

fn text(wanted: &mut TextMatch, fill: &mut impl FnMut(&mut String)) {
    match wanted {
        TextMatch::Equals(text) | TextMatch::Contains(text) | TextMatch::Lacks(text) => fill(text),
        TextMatch::Matches(_) => {}
    }
}

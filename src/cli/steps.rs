//! `windtunnel steps`: the sentences that features may say.

use std::fmt::Write as _;

use super::args::StepsArgs;
use super::{Exit, say};
use crate::steps::catalogue::{self, Found, StepDoc};

/// Lists the steps, or tells which one a sentence is.
pub(super) fn steps(args: &StepsArgs) -> Exit {
    if let Some(sentence) = &args.sentence {
        let (text, exit) = told(sentence);
        say(&text);
        return exit;
    }
    say(&if args.markdown { catalogue::markdown() } else { list() });
    Exit::Passed
}

/// All steps by topic, an example each.
fn list() -> String {
    let mut text = String::new();
    for topic in catalogue::topics() {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{}", topic.title);
        for step in &topic.steps {
            for example in &step.examples {
                let _ = writeln!(text, "  {} {example}", step.keyword);
            }
        }
    }
    text
}

/// Which step a sentence is.
fn told(sentence: &str) -> (String, Exit) {
    match catalogue::find(sentence) {
        Found::Step(step, values) => (explained(step, &values), Exit::Passed),
        Found::Like(like) if like.is_empty() => (
            "No step is said like that, and none is near; `windtunnel steps` lists all.\n".to_owned(),
            Exit::Failed,
        ),
        Found::Like(like) => {
            let lines = like.iter().map(|(step, example)| format!("  {} {example}\n", step.keyword));
            let lines: String = lines.collect();
            (format!("No step is said like that. Most like it:\n{lines}"), Exit::Failed)
        }
    }
}

fn explained(step: &StepDoc, values: &[String]) -> String {
    let mut text = format!("{} {}\n\n{}\n\n", step.keyword, step.form, step.text);
    for (index, value) in values.iter().enumerate() {
        let _ = writeln!(text, "  value {}: `{value}`", index + 1);
    }
    for example in &step.examples {
        let _ = writeln!(text, "  example: {} {example}", step.keyword);
    }
    text
}

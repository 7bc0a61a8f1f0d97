//! `windtunnel steps`: lists the Gherkin steps.

use std::fmt::Write as _;

use super::args::StepsArgs;
use super::{Exit, print_output};
use crate::steps::catalogue::{self, Lookup, StepDoc};

/// Lists the steps, or finds the one that matches a text.
pub(super) fn steps(args: &StepsArgs) -> Exit {
    if let Some(text) = &args.text {
        let (description, exit) = describe_match(text);
        print_output(&description);
        return exit;
    }
    print_output(&if args.markdown { catalogue::markdown() } else { list() });
    Exit::Passed
}

fn list() -> String {
    let mut text = String::new();
    for topic in catalogue::topics() {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{}", topic.title);
        for step in &topic.steps {
            for example in step.examples {
                let _ = writeln!(text, "  {} {example}", step.keyword);
            }
        }
    }
    text
}

/// Returns the description of the step that matches a text.
fn describe_match(text: &str) -> (String, Exit) {
    match catalogue::find(text) {
        Lookup::Step(step, values) => (explained(step, &values), Exit::Passed),
        Lookup::Nearest(similar) if similar.is_empty() => (
            "No step matches, and none is similar. List all steps with `windtunnel steps`.\n".to_owned(),
            Exit::Failed,
        ),
        Lookup::Nearest(similar) => {
            let lines = similar.iter().map(|(step, example)| format!("  {} {example}\n", step.keyword));
            let lines: String = lines.collect();
            (format!("No step matches. The nearest steps:\n{lines}"), Exit::Failed)
        }
    }
}

fn explained(step: &StepDoc, values: &[String]) -> String {
    let mut text = format!("{} {}\n\n{}\n\n", step.keyword, step.form, step.text);
    for (index, value) in values.iter().enumerate() {
        let _ = writeln!(text, "  value {}: `{value}`", index + 1);
    }
    for example in step.examples {
        let _ = writeln!(text, "  example: {} {example}", step.keyword);
    }
    text
}

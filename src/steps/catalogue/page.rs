//! The Markdown page of the catalogue, `docs/steps.md`.

use std::fmt::Write as _;

use super::{StepDoc, topics};

/// The introduction of the page.
const HEAD: &str = "# Steps

All steps that features can use, by topic. `<...>` is a value, `[...]` is optional, and `a|b` is a choice.
`windtunnel steps --match \"...\"` finds the step that matches a text, or else the most similar steps.

The steps of the last two topics accept any keyword. All other steps need the keyword shown.

This page is generated from the source of the steps: `windtunnel steps --markdown > docs/steps.md`.
";

/// Returns the page.
pub fn markdown() -> String {
    let mut page = HEAD.to_owned();
    for topic in topics() {
        let _ = write!(page, "\n## {}\n", topic.title.trim_end_matches('.'));
        for step in &topic.steps {
            let _ = write!(page, "\n### {}\n\n{}\n\n```gherkin\n", title(step), step.text);
            for example in step.examples {
                let _ = writeln!(page, "{} {example}", step.keyword);
            }
            page.push_str("```\n");
        }
    }
    page
}

/// Returns the step's text as inline code, since it may contain Markdown syntax.
fn title(step: &StepDoc) -> String {
    format!("`{} {}`", step.keyword, step.form)
}

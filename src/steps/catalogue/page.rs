//! The Markdown page of the catalogue, `docs/steps.md`.

use std::fmt::Write as _;

use super::{StepDoc, topics};

/// The introduction of the page.
const HEAD: &str = "# Steps

Every sentence that features may say, by topic. `<...>` stands for a value, what is in `[...]` may be left out, and of `a|b` one is
said. `windtunnel steps --match \"...\"` tells which step a sentence is, or which are most like it.

The steps of the last two topics may be said with any keyword; all others with theirs.

This page is made from the steps: `windtunnel steps --markdown`.
";

/// Returns the page.
pub fn markdown() -> String {
    let mut page = HEAD.to_owned();
    for topic in topics() {
        let _ = write!(page, "\n## {}\n", topic.title.trim_end_matches('.'));
        for step in &topic.steps {
            let _ = write!(page, "\n### {}\n\n{}\n\n```gherkin\n", title(step), step.text);
            for example in &step.examples {
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

//! Reports as Markdown.

use std::fmt::Write as _;

use super::{columns_of, header, place, saved_from};
use crate::report::Report;
use crate::trap::{Harm, Proof, Trap};

/// The longest message in a table, in characters.
const MESSAGE_MAX: usize = 240;

/// Reports as a Markdown page. `level` is the least harm to list.
pub fn markdown(reports: &[Report], level: Harm) -> String {
    let sections: Vec<String> = reports.iter().map(|report| section(report, level, "#")).collect();
    sections.join("\n")
}

/// The pairs of a series of releases as one page, with an overview.
pub fn page(reports: &[Report], level: Harm) -> String {
    let mut text = PREFACE.to_owned();
    let names: Vec<&str> = Harm::ALL.into_iter().map(Harm::name).collect();
    let _ = writeln!(text, "| From | to | judged by | {} | unproved | reworded |", names.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(names.len() + 5));
    for report in reports {
        let counts: Vec<String> = Harm::ALL.into_iter().map(|harm| report.count(harm).to_string()).collect();
        let _ = writeln!(
            text,
            "| {} | {} | 1.{} | {} | {} | {} |",
            report.source,
            report.target,
            report.kubernetes,
            counts.join(" | "),
            report.unproved().count(),
            report.reworded()
        );
    }
    for report in reports {
        text.push('\n');
        text += &section(report, level, "##");
    }
    text
}

/// The text before the overview.
const PREFACE: &str = "\
# Rollback traps, release by release

Look up what a rollback between two releases rejects or loses. Each row is proved: an API server with the definition of
the newer release stored an object, and the same server with the definition of the older release then rejected or
changed it. `windtunnel rollback-check` made this page; [how to](how-to/rollback-check.md) explains the columns.

The judge is the Kubernetes minor of the older release, with OpenShift's backport of ratcheting for status updates in
1.31 and 1.32.

| Harm | After the rollback |
|---|---|
| definition | the definition cannot be replaced |
| status | status updates are rejected, whatever they change |
| edits | edits of the object are rejected, whatever they change |
| lost | the value is lost or changed |
| again | the value stays, but cannot be set again |
| note | nothing is rejected or lost; not listed below |

Unproved: no object was found, with the reason. Reworded: the newer release has another restriction in place of one of the
older release, and the older release accepts every value that was tried and that the newer one accepts.

";

/// One report as a section below a heading of this rank, such as `##`.
fn section(report: &Report, level: Harm, heading: &str) -> String {
    let mut text = format!("{heading} {}\n\n{}.\n", report.heading(), report.totals());
    let traps: Vec<&Trap> = report.at_level(level).collect();
    if !traps.is_empty() {
        text += "\n";
        text += &rows(report, &traps);
        text += &proofs(&traps);
    }
    let unproved: Vec<&Trap> = report.unproved().collect();
    if !unproved.is_empty() {
        text += "\nUnproved, because no witness was found:\n\n";
    }
    for trap in unproved {
        if let Proof::Unproved(reason) = &trap.proof {
            let _ = writeln!(
                text,
                "* {} {}: {}. {}",
                trap.kind,
                code(&place(trap)),
                prose(&trap.detail),
                prose(reason)
            );
        }
    }
    text
}

fn rows(report: &Report, traps: &[&Trap]) -> String {
    let header: Vec<String> = header(report).into_iter().map(|name| capitalised(&name)).collect();
    let mut text = format!("| {} |\n|{}\n", header.join(" | "), "---|".repeat(header.len()));
    for trap in traps {
        let mut cells = vec![
            trap.harm.to_string(),
            trap.kind.clone(),
            code(&place(trap)),
            prose(&trap.detail),
            trap.writer.clone(),
            saved_from(trap),
        ];
        cells.extend(columns_of(report, trap));
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

/// The first rejection of each trap, as the server worded it. Lost values need no text.
fn proofs(traps: &[&Trap]) -> String {
    let mut text = String::new();
    for trap in traps {
        let Proof::Proved(witness) = &trap.proof else { continue };
        let rejected = witness.exchanges.iter().find(|exchange| exchange.is_rejected());
        if let Some(exchange) = rejected {
            let message: String = exchange.message.chars().take(MESSAGE_MAX).collect();
            let _ = writeln!(
                text,
                "* {} {}: {} is rejected with {}: {}",
                trap.kind,
                code(&place(trap)),
                exchange.purpose,
                exchange.code,
                code(&message)
            );
        }
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// `ONLY IN 4.14` becomes `Only in 4.14`.
fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_string() + &letters.as_str().to_lowercase())
}

/// A text in a code span, which may contain backticks. Only cells of tables need an escape of `|`.
fn code(text: &str) -> String {
    let text = text.replace('\n', " ");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// The text unchanged, or in a code span if Markdown has a meaning for its letters.
fn prose(text: &str) -> String {
    if text.contains(['[', '(', '*', '_', '<', '`', '|', '^']) { code(text) } else { text.to_owned() }
}

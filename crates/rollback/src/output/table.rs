//! A report as a table for terminals.

use std::fmt::Write as _;

use windtunnel_core::text::{columns, truncate};

use super::{columns_of, header, place, saved_from};
use crate::report::Report;
use crate::trap::{Harm, Proof, Trap};

/// The widest cell.
const CELL_MAX: usize = 70;

/// A report as a table: proved traps by harm, then those without a witness with the reasons, then totals. `level` is the least
/// harm to list.
pub fn table(report: &Report, level: Harm) -> String {
    let mut rows = vec![header(report)];
    rows.extend(report.at_level(level).map(|trap| row(report, trap)));
    let mut text = report.heading() + "\n";
    if rows.len() > 1 {
        text += &columns(&rows);
    }
    for trap in report.traps.iter().filter(|trap| !trap.hits.is_empty()) {
        let _ = writeln!(text, "in the cluster: {} {}: {}", trap.kind, place(trap), trap.hits.join(", "));
    }
    let mut unproved = report.unproved().peekable();
    if unproved.peek().is_some() {
        text += "Unproved, because no witness was found:\n";
    }
    for trap in unproved {
        if let Proof::Unproved(reason) = &trap.proof {
            let _ =
                writeln!(text, "  {} {}: {}: {}", trap.kind, place(trap), trap.detail, truncate(reason, 160));
        }
    }
    text + &report.totals() + "\n"
}

fn row(report: &Report, trap: &Trap) -> Vec<String> {
    let mut cells = vec![
        trap.harm.to_string(),
        trap.kind.clone(),
        truncate(&place(trap), CELL_MAX),
        truncate(&trap.detail, CELL_MAX),
        trap.writer.clone(),
        saved_from(trap),
    ];
    cells.extend(columns_of(report, trap));
    cells
}

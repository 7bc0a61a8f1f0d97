//! Reports as text and data.

mod html;
mod json;
mod markdown;
mod sarif;
mod scenario;
mod table;

pub use html::html;
pub use json::{fingerprints, json};
pub use markdown::{markdown, page};
pub use sarif::sarif;
pub use scenario::{ScenarioFile, scenario};
pub use table::table;

use crate::report::Report;
use crate::trap::Trap;

/// The path of a trap; `*` for the whole kind.
fn place(trap: &Trap) -> String {
    if trap.path.is_empty() { "*".to_owned() } else { trap.path.clone() }
}

/// The first minor that saves from a trap; `-` if none does.
fn saved_from(trap: &Trap) -> String {
    trap.saved_from().map_or_else(|| "-".to_owned(), |minor| format!("1.{minor}"))
}

/// The header of a table: the minors of its columns come last.
fn header(report: &Report) -> Vec<String> {
    let mut names: Vec<String> = ["HARM", "KIND", "PATH"].map(str::to_owned).to_vec();
    names.push(format!("ONLY IN {}", report.source));
    names.extend(["WRITTEN BY", "SAVED FROM"].map(str::to_owned));
    names.extend(report.columns.iter().map(|minor| format!("1.{minor}")));
    names
}

/// The harm of a trap at each minor with a column.
fn columns_of(report: &Report, trap: &Trap) -> Vec<String> {
    let harm = |minor: &u32| trap.by_minor.get(minor).map_or_else(|| "-".to_owned(), ToString::to_string);
    report.columns.iter().map(harm).collect()
}

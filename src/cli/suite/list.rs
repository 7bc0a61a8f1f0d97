//! `--list`: the scenarios that a command would run.

use windtunnel_core::text::columns;

use crate::cli::{Exit, print_output};

/// A scenario in the list.
#[derive(Debug)]
pub(in crate::cli) struct Listed {
    /// The file, with the line if it has several scenarios.
    pub(in crate::cli) place: String,
    pub(in crate::cli) name: String,
    /// Tags and ids.
    pub(in crate::cli) tags: Vec<String>,
}

/// Prints a line with place, name and tags for each scenario.
pub(in crate::cli) fn list(scenarios: &[Listed]) -> Exit {
    let row = |listed: &Listed| {
        let tags: Vec<String> = listed.tags.iter().map(|tag| format!("@{tag}")).collect();
        vec![listed.place.clone(), listed.name.clone(), tags.join(" ")]
    };
    let rows: Vec<Vec<String>> = scenarios.iter().map(row).collect();
    for line in columns(&rows).lines() {
        print_output(&format!("{}\n", line.trim_end()));
    }
    Exit::Passed
}

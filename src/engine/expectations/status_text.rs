//! Checks the text that `oc adm upgrade status` would print.

use similar::TextDiff;
use windtunnel_update_status::status::Details;

use crate::engine::command;
use crate::engine::runtime::Simulation;
use crate::plan::{ExpectedState, Snapshot, StatusMatch};

/// Context lines around a difference.
const CONTEXT: usize = 2;

/// Returns the current text, or why there is none.
fn text(simulation: &Simulation, details: Details) -> Result<String, String> {
    command::status_text(simulation, details)
        .map_err(|rejection| format!("`oc adm upgrade status` fails: {rejection}"))
}

/// Checks the text. The error shows how it differs.
pub(in crate::engine) fn check(simulation: &Simulation, wanted: &StatusMatch) -> Result<(), String> {
    let seen = text(simulation, wanted.details)?;
    if let Some(missing) = wanted.has.iter().find(|wanted| !wanted.fits(&seen)) {
        return Err(format!("expected the status to be {missing}; it is:\n{}", seen.trim_end()));
    }
    let snapshot = wanted.snapshot.as_ref();
    let Some((path, expected)) = snapshot.and_then(|Snapshot { path, text }| Some((path, text.as_ref()?)))
    else {
        return Ok(());
    };
    let [expected, seen] = [expected, &seen].map(|text| trimmed(text));
    if expected == seen {
        return Ok(());
    }
    let diff = TextDiff::from_lines(&expected, &seen);
    let diff = diff.unified_diff().context_radius(CONTEXT).header(path, "the status").to_string();
    Err(format!("the status differs from {path} (`--update` rewrites the file):\n{}", diff.trim_end()))
}

/// Stores the current text if the expectation has a snapshot file to write.
pub(in crate::engine) fn keep_snapshot(simulation: &mut Simulation, what: &ExpectedState) {
    let ExpectedState::Status(StatusMatch { details, snapshot: Some(Snapshot { path, text: None }), .. }) =
        what
    else {
        return;
    };
    if let Ok(text) = text(simulation, *details) {
        simulation.steps.snapshots.push(Snapshot { path: path.clone(), text: Some(text) });
    }
}

/// Removes blanks at line ends and empty lines at the end.
fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

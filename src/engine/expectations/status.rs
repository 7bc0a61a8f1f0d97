//! Checks the text that `oc adm upgrade status` would print.

use similar::TextDiff;
use windtunnel_update_status::status::{AlertsResponse, Details, Inputs, Moment, Refusal, render};

use crate::engine::runtime::Simulation;
use crate::plan::{ExpectedState, Snapshot, StatusMatch};

/// Context lines around a difference.
const CONTEXT: usize = 2;

/// Returns the current text, or why there is none.
fn text(simulation: &Simulation, details: Details) -> Result<String, String> {
    report(simulation, details).map_err(|refusal| format!("there is no status: {refusal}"))
}

/// Returns the current text, or the error that `oc` prints instead.
pub(in crate::engine) fn report(simulation: &Simulation, details: Details) -> Result<String, Refusal> {
    let now = simulation.now();
    let inputs = Inputs::gather(|resource| simulation.view.list(resource).cloned().collect());
    let status = inputs.and_then(|mut inputs| {
        let told = simulation.alerts.borrow();
        inputs.alerts =
            AlertsResponse::from_active(told.iter().map(|told| (told.active_at.unwrap_or(now), &told.alert)));
        render(&inputs, Moment::at(now), details)
    });
    status.map(|report| report.text)
}

/// Checks the text. The error shows how it differs.
pub(in crate::engine) fn check(simulation: &Simulation, wanted: &StatusMatch) -> Result<(), String> {
    let seen = text(simulation, wanted.details)?;
    if let Some(missing) = wanted.has.iter().find(|wanted| !wanted.fits(&seen)) {
        return Err(format!("the status is not {missing}:\n{}", seen.trim_end()));
    }
    let snapshot = wanted.snapshot.as_ref();
    let Some((path, kept)) = snapshot.and_then(|Snapshot { path, text }| Some((path, text.as_ref()?))) else {
        return Ok(());
    };
    let [kept, seen] = [kept, &seen].map(|text| trimmed(text));
    if kept == seen {
        return Ok(());
    }
    let diff = TextDiff::from_lines(&kept, &seen);
    let diff = diff.unified_diff().context_radius(CONTEXT).header(path, "the status").to_string();
    Err(format!(
        "the status is not as in {path} (`--update-snapshots` writes what it is):\n{}",
        diff.trim_end()
    ))
}

/// Keeps the text for an expectation that asks for it.
pub(in crate::engine) fn keep_snapshot(simulation: &mut Simulation, what: &ExpectedState) {
    let ExpectedState::Status(StatusMatch { details, snapshot: Some(Snapshot { path, text: None }), .. }) =
        what
    else {
        return;
    };
    if let Ok(text) = text(simulation, *details) {
        simulation.snapshots.push(Snapshot { path: path.clone(), text: Some(text) });
    }
}

/// Removes blanks at line ends and empty lines at the end.
fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

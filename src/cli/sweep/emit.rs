//! Scenarios of single moments: the scenario up to the moment, then the request, and the expectation that the cluster
//! arrives. Such a scenario fails as long as there is no way back.

use std::path::Path;

use windtunnel_core::text::short_duration;
use windtunnel_core::yaml::quoted;

use super::groups::word;
use super::report::Report;
use crate::cli::files;
use crate::cli::payload::Releases;
use crate::engine::sweep::{Branch, Request, Verdict};
use crate::scenario;

/// The time of the first moment of a run.
const START: &str = "0s";

/// Writes a scenario for the first moment of each group into a folder.
///
/// # Errors
/// The scenario cannot be cut, or a file cannot be written.
pub(super) fn write_scenarios(
    report: &Report<'_>,
    source: &str,
    releases: &Releases,
    folder: &Path,
) -> Result<(), String> {
    let Request::GoTo(version) = report.request else {
        return Err("--emit: a killed component is no request; write a `fault` into the scenario".to_owned());
    };
    for (index, group) in report.groups.iter().enumerate() {
        let branch = group.first();
        let name = format!(
            "{:02}-{}-at-{}.yaml",
            index + 1,
            word(&branch.verdict).replace(' ', "-"),
            short_duration(branch.moment.at)
        );
        let text = scenario_of(report, source, branch, &version.to_string())?;
        let file = folder.join(&name).display().to_string();
        scenario::parse_all(&file, &text, releases)
            .map_err(|problems| format!("--emit: this scenario cannot be cut at a step: {problems}"))?;
        files::write_into(folder, name, &text)?;
    }
    Ok(())
}

/// The scenario of a moment.
fn scenario_of(report: &Report<'_>, source: &str, branch: &Branch, target: &str) -> Result<String, String> {
    let running = report.plan.timeline.get(branch.moment.step);
    let running = running.ok_or_else(|| "--emit: the moment belongs to no step".to_owned())?;
    let at = short_duration(branch.moment.at);
    let mut kept: Vec<String> =
        source.lines().take(running.line.saturating_sub(1)).map(str::to_owned).collect();
    // Comments before the running step are about that step.
    while kept.last().is_some_and(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        kept.pop();
    }
    let name = format!("{}, {} {at} after the start", report.plan.name, report.asked());
    let name = format!("name: {}", quoted(&name));
    let named = kept.iter_mut().find(|line| line.starts_with("name:"));
    *named.ok_or_else(|| "--emit: the scenario has no line `name: ...`".to_owned())? = name;
    let indent = " ".repeat(running.column.saturating_sub(1).saturating_sub(2));
    // A scenario begins at its start, so there is no step that waits for it.
    if at != START {
        kept.push(format!("{indent}- at: {at}"));
    }
    kept.push(format!(
        "{indent}- update: {{to: {target}, force: true}}\n{indent}- expect:\n{indent}    object: \
         ClusterVersion/version\n{indent}    condition: {{type: Progressing, status: \"False\", message: Cluster version is \
         {target}}}\n{indent}    fields: {{\"status.history[0].state\": Completed, status.observedGeneration: \"{}\"}}\n{indent}    within: \
         6h\n",
        branch.generation
    ));
    if branch.verdict == Verdict::LeftOver {
        kept.push(format!("{indent}- expect: {{restored: true, within: 30m}}\n"));
    }
    Ok(kept.join("\n"))
}

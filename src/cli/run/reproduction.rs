//! A scenario with the faults that make a difference.

use std::path::Path;

use windtunnel_core::yaml::comment;

use crate::cli::files;
use crate::engine::program_checks::{Finding, ProgramCheck};
use crate::plan::Plan;

/// Writes the scenario of a plan with the faults of a finding. Returns the path of the new file.
///
/// # Errors
/// The scenario cannot be read or has another layout, or the file cannot be written.
pub(super) fn write(
    plan: &Plan,
    folder: &Path,
    what: ProgramCheck,
    index: usize,
    finding: &Finding,
) -> Result<String, String> {
    let source = Path::new(&plan.file);
    let text = files::read(source)?;
    let lines: Vec<usize> = plan.timeline.iter().map(|step| step.line).collect();
    let text = with_faults(&text, &lines, finding)
        .ok_or_else(|| format!("{}: the timeline is no block of lines that begin with `-`", plan.file))?;
    let name = source.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{name}-{}-{}.yaml", what.name().replace(' ', "-"), index + 1);
    files::write_into(folder, &name, &text)?;
    Ok(folder.join(name).display().to_string())
}

/// The text of a scenario whose steps are at these lines, with the steps of a finding.
fn with_faults(text: &str, lines: &[usize], finding: &Finding) -> Option<String> {
    let source: Vec<&str> = text.lines().collect();
    let last = lines.last()?.checked_sub(1)?;
    let indent = indent_of_item(source.get(last)?)?;
    let end =
        last + 1 + source.iter().skip(last + 1).take_while(|line| is_inside(line, indent.len())).count();
    let mut inserted: Vec<(usize, String)> = Vec::new();
    for fault in &finding.faults {
        let at = lines.get(fault.step).and_then(|line| line.checked_sub(1)).unwrap_or(end);
        if at < end {
            indent_of_item(source.get(at)?)?;
        }
        inserted.push((at, fault.yaml()));
    }
    inserted.extend(finding.last_steps.iter().map(|step| (end, step.clone())));
    let mut written = comment(&format!("A difference: {}", finding.difference));
    for (index, line) in source.iter().copied().map(Some).chain([None]).enumerate() {
        for (_, step) in inserted.iter().filter(|(at, _)| *at == index) {
            written.push_str(&format!("{indent}- {step}\n"));
        }
        if let Some(line) = line {
            written.push_str(&format!("{line}\n"));
        }
    }
    Some(written)
}

/// The spaces before the dash of an item.
fn indent_of_item(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    rest.starts_with("- ").then(|| &line[..line.len() - rest.len()])
}

/// Whether a line belongs to an item of this indentation that began before it.
fn is_inside(line: &str, indent: usize) -> bool {
    let rest = line.trim_start_matches(' ');
    !rest.is_empty() && line.len() - rest.len() > indent
}

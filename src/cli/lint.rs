//! `windtunnel lint`: reports errors and warnings in scenarios and features without running them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::args::LintArgs;
use super::files::FoundFiles;
use super::payload::Releases;
use super::{Exit, files, print_output};
use crate::scenario::{self, Problem, lint};

#[derive(Default)]
struct Findings {
    errors: Vec<Problem>,
    warnings: Vec<Problem>,
    /// The files of YAML scenarios, by scenario name.
    names: BTreeMap<String, Vec<String>>,
}

pub(super) fn lint(args: &LintArgs) -> Result<Exit, String> {
    let FoundFiles { sources, unreadable } = files::read_sources(&paths_to_check(&args.paths))?;
    let releases = Releases::read(&args.payload)?;
    let mut findings = Findings::default();
    for (file, text) in &sources {
        if file.ends_with(".feature") {
            feature(file, text, &mut findings);
        } else {
            yaml(file, text, &releases, &mut findings);
        }
    }
    let (errors, warnings) = (findings.errors.len() + unreadable.len(), findings.warnings.len());
    let duplicates = findings.names.iter().filter(|(_, files)| files.len() > 1);
    let duplicates: Vec<String> = duplicates
        .map(|(name, files)| {
            format!("warning: {} have the same scenario name `{name}`\n", files.join(" and "))
        })
        .collect();
    let lines = unreadable.iter().map(|(_, why)| format!("error: {why}\n"));
    let lines = lines.chain(findings.errors.iter().map(|problem| format!("error: {problem}\n")));
    let lines = lines.chain(findings.warnings.iter().map(|problem| format!("warning: {problem}\n")));
    print_output(&lines.chain(duplicates.iter().cloned()).collect::<String>());
    let warnings = warnings + duplicates.len();
    print_output(&format!(
        "{}: {}, {}\n",
        counted(sources.len() + unreadable.len(), "file"),
        counted(errors, "error"),
        counted(warnings, "warning")
    ));
    Ok(match (errors, warnings) {
        (0, 0) => Exit::Passed,
        (0, _) => Exit::Failed,
        _ => Exit::Usage,
    })
}

/// Returns the paths to check: the arguments, or the default folders that exist.
fn paths_to_check(paths: &[PathBuf]) -> Vec<PathBuf> {
    let default = ["scenarios", "features"].map(PathBuf::from);
    match paths {
        [] if default.iter().any(|path| path.is_dir()) => {
            default.into_iter().filter(|path| path.is_dir()).collect()
        }
        [] => default.to_vec(),
        paths => paths.to_vec(),
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn yaml(file: &str, text: &str, releases: &Releases, findings: &mut Findings) {
    match scenario::parse_all(file, text, releases) {
        Err(problems) => findings.errors.extend(problems.0),
        Ok(plans) => {
            findings.warnings.extend(lint::warnings(&plans, text));
            for plan in plans {
                findings.names.entry(plan.name).or_default().push(file.to_owned());
            }
        }
    }
}

#[cfg(feature = "gherkin")]
fn feature(file: &str, text: &str, findings: &mut Findings) {
    use crate::steps::Suite;
    let source = (file.to_owned(), text.to_owned());
    match Suite::parse_with_files(&[source], files::BESIDE_FEATURES) {
        Err(problems) => findings.errors.extend(problems.0),
        Ok(suite) => findings.warnings.extend(suite.warnings(text)),
    }
}

#[cfg(not(feature = "gherkin"))]
fn feature(_: &str, _: &str, _: &mut Findings) {}

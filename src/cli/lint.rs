//! `windtunnel lint`: reports errors and warnings in scenarios and features without running them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use windtunnel_core::text::counted;

use super::args::{LintArgs, LintFormat};
use super::files::FoundFiles;
use super::payload::Releases;
use super::{Exit, files, print_output, print_painted};
use crate::scenario::lint::sarif;
use crate::scenario::{self, ScenarioError, lint};

#[derive(Default)]
struct Findings {
    errors: Vec<ScenarioError>,
    warnings: Vec<ScenarioError>,
    /// The files of YAML scenarios, by scenario name.
    names: BTreeMap<String, Vec<String>>,
}

pub(super) fn lint(args: &LintArgs) -> Result<Exit, String> {
    let FoundFiles { sources, unreadable } = files::read_sources(&paths_to_check(&args.paths))?;
    let count = sources.len() + unreadable.len();
    let releases = Releases::read(&args.payload)?;
    let mut findings = Findings { errors: unreadable, ..Findings::default() };
    for (file, text) in &sources {
        if file.ends_with(".feature") {
            feature(file, text, &mut findings);
        } else {
            yaml(file, text, &releases, &mut findings);
        }
    }
    findings.warnings.extend(findings.duplicate_names());
    let Findings { errors, warnings, .. } = findings;
    match args.format {
        LintFormat::Sarif => print_output(&sarif::render(&errors, &warnings)),
        LintFormat::Text => print_findings(&errors, &warnings, count),
    }
    Ok(match (errors.len(), warnings.len()) {
        (0, 0) => Exit::Passed,
        (0, _) => Exit::Failed,
        _ => Exit::Usage,
    })
}

impl Findings {
    /// Returns a warning at the last of the files that have the same scenario name.
    fn duplicate_names(&self) -> Vec<ScenarioError> {
        let duplicates = self.names.iter().filter(|(_, files)| files.len() > 1);
        let problem = |(name, files): (&String, &Vec<String>)| {
            let (last, others) = files.split_last()?;
            let message = format!("{} has the same scenario name `{name}`", others.join(" and "));
            Some(ScenarioError { file: last.clone(), line: 1, column: 1, message })
        };
        duplicates.filter_map(problem).collect()
    }
}

fn print_findings(errors: &[ScenarioError], warnings: &[ScenarioError], files: usize) {
    let lines = errors.iter().map(|problem| format!("error: {problem}\n"));
    let lines = lines.chain(warnings.iter().map(|problem| format!("warning: {problem}\n")));
    print_painted(&lines.collect::<String>());
    print_output(&format!(
        "{}: {}, {}\n",
        counted(files, "file"),
        counted(errors.len(), "error"),
        counted(warnings.len(), "warning")
    ));
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

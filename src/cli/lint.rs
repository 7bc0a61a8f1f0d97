//! `windtunnel lint`: what is wrong or odd about scenarios and features, without playing them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::args::LintArgs;
use super::payload::Releases;
use super::{Exit, files, say};
use crate::scenario::{self, Problem, lint};

/// What was found in all files.
#[derive(Default)]
struct Findings {
    errors: Vec<Problem>,
    warnings: Vec<Problem>,
    /// Where each scenario of YAML stands, by its name.
    names: BTreeMap<String, Vec<String>>,
}

/// Looks at what the arguments name.
pub(super) fn lint(args: &LintArgs) -> Result<Exit, String> {
    let sources = files::read_played(&asked(&args.paths))?;
    let releases = Releases::read(&args.payload)?;
    let mut findings = Findings::default();
    for (file, text) in &sources {
        if file.ends_with(".feature") {
            feature(file, text, &mut findings);
        } else {
            yaml(file, text, &releases, &mut findings);
        }
    }
    let (errors, warnings) = (findings.errors.len(), findings.warnings.len());
    let twice = findings.names.iter().filter(|(_, files)| files.len() > 1);
    let twice: Vec<String> = twice
        .map(|(name, files)| format!("warning: {} are all called `{name}`\n", files.join(" and ")))
        .collect();
    let lines = findings.errors.iter().map(|problem| format!("error: {problem}\n"));
    let lines = lines.chain(findings.warnings.iter().map(|problem| format!("warning: {problem}\n")));
    say(&lines.chain(twice.iter().cloned()).collect::<String>());
    let warnings = warnings + twice.len();
    say(&format!(
        "{}: {}, {}\n",
        counted(sources.len(), "file"),
        counted(errors, "error"),
        counted(warnings, "warning")
    ));
    Ok(match (errors, warnings) {
        (0, 0) => Exit::Passed,
        (0, _) => Exit::Failed,
        _ => Exit::Usage,
    })
}

/// What is looked at: what was asked for, or those of the usual folders that there are.
fn asked(paths: &[PathBuf]) -> Vec<PathBuf> {
    let usual = ["scenarios", "features"].map(PathBuf::from);
    match paths {
        [] if usual.iter().any(|path| path.is_dir()) => {
            usual.into_iter().filter(|path| path.is_dir()).collect()
        }
        [] => usual.to_vec(),
        asked => asked.to_vec(),
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn yaml(file: &str, text: &str, releases: &Releases, findings: &mut Findings) {
    match scenario::read_all(file, text, releases) {
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
    use super::snapshots;
    use crate::steps::{Beside, Suite};
    let source = (file.to_owned(), text.to_owned());
    let beside = Beside { folder: files::read_beside, text: files::text_beside, snapshot: snapshots::kept };
    match Suite::read_with(&[source], beside) {
        Err(problems) => findings.errors.extend(problems.0),
        Ok(suite) => findings.warnings.extend(suite.warnings(text)),
    }
}

#[cfg(not(feature = "gherkin"))]
fn feature(_: &str, _: &str, _: &mut Findings) {}

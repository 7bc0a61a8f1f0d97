//! `windtunnel check`: the rules that records break.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windtunnel_core::clock::rfc3339;
use windtunnel_core::text::{clock_time, counted, did_you_mean, one_line};

use super::args::{CheckFormat, CheckRecordsArgs, jobs_or_cores};
use super::files::{self, records};
use super::parallel::in_parallel;
use super::{Exit, print_output};
use crate::cli::output::Shown as _;
use crate::oracles::{self, Ending, ORACLES, RuleFinding, judge};
use crate::record::Record;

/// A record, and the rules that it breaks.
struct Checked {
    path: PathBuf,
    record: Record,
    findings: Vec<RuleFinding>,
}

/// Prints the places at which records break rules.
///
/// # Errors
/// A record is unreadable, or there is no such rule.
pub(super) fn check(args: &CheckRecordsArgs) -> Result<Exit, String> {
    check_names(&args.rules)?;
    let paths = files::find_all(&args.records, "jsonl")?;
    let checked = in_parallel(&paths, jobs_or_cores(None), |path| checked(path, &args.rules));
    let checked = checked.into_iter().collect::<Result<Vec<_>, String>>()?;
    print_output(&match args.format {
        CheckFormat::Text => text(&checked),
        CheckFormat::Json => json(&checked),
    });
    let is_kept = checked.iter().all(|checked| checked.findings.is_empty());
    Ok(if is_kept { Exit::Passed } else { Exit::Failed })
}

/// Checks that these rules exist.
fn check_names(rules: &[String]) -> Result<(), String> {
    let known = oracles::ids();
    let unknown = rules.iter().find(|rule| !known.contains(rule));
    unknown.map_or(Ok(()), |rule| {
        let hint = did_you_mean(rule, known.iter().map(String::as_str));
        let hint = if hint.is_empty() { format!("; the rules are {}", known.join(", ")) } else { hint };
        Err(format!("there is no rule `{rule}`{hint}"))
    })
}

fn checked(path: &Path, rules: &[String]) -> Result<Checked, String> {
    let record = records::read(path)?;
    let mut findings = judge(&record, Ending::of(&record));
    findings.retain(|finding| rules.is_empty() || rules.contains(&finding.rule));
    Ok(Checked { path: path.to_owned(), record, findings })
}

impl Checked {
    /// The line of an entry in the file: the header is the first one.
    fn line(&self, finding: &RuleFinding) -> usize {
        let last = self.record.entries.len().saturating_sub(1);
        finding.entry.min(last) + 2
    }

    fn text(&self, finding: &RuleFinding) -> String {
        let RuleFinding { rule, object, how, .. } = finding;
        let at = clock_time(finding.at.duration_since(self.record.header.epoch));
        let text = format!("{}:{}: {at} {object} {how} [{rule}]", self.path.shown(), self.line(finding));
        one_line(&text).into_owned() + "\n"
    }

    fn json(&self) -> Value {
        let finding = |finding: &RuleFinding| {
            json!({
                "rule": finding.rule,
                "line": self.line(finding),
                "time": rfc3339(finding.at),
                "object": finding.object,
                "text": finding.how,
            })
        };
        json!({
            "file": self.path.display().to_string(),
            "scenario": self.record.header.scenario,
            "broken": self.findings.iter().map(finding).collect::<Vec<_>>(),
        })
    }
}

fn text(checked: &[Checked]) -> String {
    let lines =
        checked.iter().flat_map(|checked| checked.findings.iter().map(|finding| checked.text(finding)));
    let lines: String = lines.collect();
    let broken: usize = checked.iter().map(|checked| checked.findings.len()).sum();
    let records = counted(checked.len(), "record");
    let result = if broken == 0 {
        "no rule is broken".to_owned()
    } else {
        format!("rules are broken at {}", counted(broken, "place"))
    };
    format!("{lines}{records}: {result}\n")
}

fn json(checked: &[Checked]) -> String {
    let rule = |oracle: &oracles::Oracle| {
        let oracles::Oracle { id, rule, source } = oracle;
        json!({ "id": id, "rule": rule, "source": source })
    };
    let document = json!({
        "records": checked.iter().map(Checked::json).collect::<Vec<_>>(),
        "rules": ORACLES.iter().map(rule).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

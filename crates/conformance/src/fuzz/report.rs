//! The result of a run as text.

use serde_json::Value;

use super::{Finding, Findings};
use crate::compare::{Class, compare};

/// The most places of a difference in the report.
const PLACES_SHOWN: usize = 12;

/// A summary, and every cause with its smallest case and both answers.
pub fn report(findings: &Findings) -> String {
    let mut text = summary(findings);
    for (cause, finding) in findings.sorted() {
        text += &describe(cause, finding);
    }
    text
}

/// The numbers of requests, causes and differing answers.
pub fn summary(findings: &Findings) -> String {
    let mut text = format!(
        "{} requests in {} cases, {} accepted\n",
        findings.requests, findings.cases, findings.accepted
    );
    for class in [Class::A, Class::B, Class::C] {
        let answers = findings.classes.get(&class).copied().unwrap_or_default();
        let causes = findings.causes.values().filter(|finding| finding.class == class).count();
        let per_mille = answers * 100_000 / findings.requests.max(1);
        text += &format!(
            "class {class}: {causes} causes, {answers} answers, {}.{:03} %\n",
            per_mille / 1000,
            per_mille % 1000
        );
    }
    text
}

fn describe(cause: &str, finding: &Finding) -> String {
    let again = if finding.stable { "" } else { ", not reproduced" };
    let mut text = format!(
        "\n{cause}\n  {} times, first in case {} of {}{again}\n",
        finding.count,
        finding.number,
        finding.area.name()
    );
    let steps = finding.case["steps"].as_array().into_iter().flatten();
    if finding.stable {
        for (index, step) in steps.enumerate() {
            let mark = if finding.at.starts_with(&format!("/steps/{index}")) { ">" } else { " " };
            text += &format!("  {mark} {}\n", shown(step));
        }
    }
    if let Some(places) = places(&finding.right, &finding.checked) {
        return text + &places;
    }
    let (right, checked) = (trimmed(&finding.right), trimmed(&finding.checked));
    text + &format!("  right:   {right}\n  checked: {checked}\n")
}

/// The places at which two answers with data differ. Whole answers would hide them.
fn places(right: &Value, checked: &Value) -> Option<String> {
    if [right, checked].iter().any(|answer| answer["body"]["kind"] == "Status") {
        return None;
    }
    let mut places = Vec::new();
    compare(right, checked, "", &mut places);
    let more = places.len().saturating_sub(PLACES_SHOWN);
    let mut lines: Vec<String> = places.into_iter().take(PLACES_SHOWN).collect();
    if more > 0 {
        lines.push(format!("and {more} more places"));
    }
    Some(lines.iter().fold(String::new(), |text, line| text + "  " + line + "\n"))
}

fn shown(step: &Value) -> String {
    let request = &step["request"];
    if request.is_null() {
        return cut(&step.to_string());
    }
    let text = |field: &str| request[field].as_str().unwrap_or_default();
    let method = request["method"].as_str().unwrap_or("GET");
    let mut line = format!("{method} {}", text("path"));
    for member in ["query", "type", "accept", "headers", "body", "set", "remove"] {
        if let Some(value) = request.get(member) {
            line += &format!(" {member}={value}");
        }
    }
    cut(&line)
}

/// An answer: of a Status the parts that matter.
fn trimmed(answer: &Value) -> String {
    let body = &answer["body"];
    if body["kind"] != "Status" {
        return cut(&answer.to_string());
    }
    let causes = body["details"]["causes"].as_array().into_iter().flatten();
    let causes: Vec<String> = causes
        .map(|cause| format!("\n             {}: {} ({})", cause["field"], cause["message"], cause["reason"]))
        .collect();
    let warnings = answer
        .get("warnings")
        .map(|warnings| format!("\n             warnings {warnings}"))
        .unwrap_or_default();
    cut(&format!("{} {} {}{}{warnings}", answer["status"], body["reason"], body["message"], causes.concat()))
}

fn cut(text: &str) -> String {
    if text.chars().count() > 1500 {
        text.chars().take(1500).collect::<String>() + "…"
    } else {
        text.to_owned()
    }
}

//! Cases with the right answers, in the format of the corpus.

use serde_json::{Value, json};

use super::{Compared, Findings};
use crate::areas::Area;
use crate::corpus::difference;

/// The steps of a case on which both servers agree. Returns nothing if they agree on no step.
pub(super) fn agreed(case: &Value, answers: &[Compared]) -> Option<Value> {
    if answers.iter().any(|answer| !answer.differences.is_empty()) {
        return None;
    }
    let mut case = case.clone();
    let right = answers.iter().map(|answer| (answer.at.as_str(), &answer.right));
    record(&mut case, right);
    Some(case)
}

/// Writes answers into the steps of a case.
fn record<'a>(case: &mut Value, answers: impl Iterator<Item = (&'a str, &'a Value)>) {
    for (at, answer) in answers {
        let Some(step) = case.pointer_mut(at) else { continue };
        if step.get("watch").is_some() {
            for (name, value) in answer.as_object().into_iter().flatten() {
                step[name] = value.clone();
            }
        } else if step.get("crd").is_none() {
            step["response"] = answer.clone();
        }
    }
}

/// Replaces the bodies of answers that resemble an earlier one by their differences.
fn compact(case: &mut Value) {
    let mut known: Option<(String, Value)> = None;
    let mut defs = case["defs"].take();
    for (index, step) in case["steps"].as_array_mut().into_iter().flatten().enumerate() {
        let Some(body) = step.pointer("/response/body").cloned() else { continue };
        if body["kind"] == "Status" || body.get("kind").is_none() {
            continue;
        }
        match &known {
            Some((name, whole)) if whole["kind"] == body["kind"] => {
                let changes = difference(whole, &body);
                step["response"]["body"] = json!(format!("${{{name}}}"));
                for (member, value) in changes {
                    step["response"][member] = value;
                }
            }
            _ => {
                let name = format!("answer{index}");
                defs[&name] = body.clone();
                step["response"]["body"] = json!(format!("${{{name}}}"));
                known = Some((name, body));
            }
        }
    }
    if !defs.is_null() {
        case["defs"] = defs;
    }
}

/// A corpus file, one case a line: the smallest cases of all findings of an area, or its agreeing cases.
pub fn corpus_file(findings: &Findings, area: Area, agreeing: bool) -> Option<String> {
    let mut cases = Vec::new();
    if agreeing {
        let agreed = findings.agreed.iter().filter(|(of, _)| *of == area);
        for (number, (_, case)) in agreed.enumerate() {
            let mut case = case.clone();
            compact(&mut case);
            case["name"] = json!(format!("{} {number}", area.name()));
            cases.push(case);
        }
    } else {
        for (cause, finding) in findings.sorted().into_iter().filter(|(_, finding)| finding.area == area) {
            let mut case = finding.case.clone();
            record(&mut case, [(finding.at.as_str(), &finding.right)].into_iter());
            case["name"] = json!(cause);
            cases.push(case);
        }
    }
    let lines: Vec<String> = cases.iter().map(Value::to_string).collect();
    let head = json!(area.name());
    (!lines.is_empty()).then(|| format!("{{\"group\":{head},\"cases\":[\n{}\n]}}\n", lines.join(",\n")))
}

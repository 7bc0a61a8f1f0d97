//! Cases with the right answers, in the format of the corpus.

use serde_json::{Map, Value, json};

use super::{Compared, Findings};
use crate::areas::Area;
use crate::corpus::difference;

/// The requests of a sampled case beside those that it needs.
const SAMPLED: usize = 2;

/// The most bytes of a sampled case.
const LONGEST: usize = 3000;

/// The parts of a case on which both servers agree, as cases of their own. A case in which a request depends on
/// earlier ones ends before the first difference.
pub(super) fn agreed(case: &Value, answers: &[Compared]) -> Vec<Value> {
    let agrees = |index: usize| {
        let of_step = format!("/steps/{index}");
        let about = |at: &str| at == of_step || at.starts_with(&format!("{of_step}/"));
        answers.iter().filter(|answer| about(&answer.at)).all(|answer| answer.differences.is_empty())
    };
    let mut case = case.clone();
    record(&mut case, answers.iter().map(|answer| (answer.at.as_str(), &answer.right)));
    let steps: Vec<Value> = case["steps"].as_array().cloned().unwrap_or_default();
    let depends = case["stateful"] == true || steps.iter().any(|step| step.get("crd").is_some());
    if let Some(case) = case.as_object_mut() {
        case.remove("stateful");
    }
    let parts = if depends {
        vec![(0..steps.len()).take_while(|index| agrees(*index)).collect()]
    } else {
        independent(&steps, agrees)
    };
    let part = |indexes: Vec<usize>| {
        let mut case = case.clone();
        case["steps"] = indexes.iter().map(|index| steps[*index].clone()).collect();
        case
    };
    let cases = parts.into_iter().filter(|indexes| indexes.len() > 1).map(part);
    cases.map(small).map(|case| if depends { short(case) } else { case }).collect()
}

/// The case without the steps at its end that make it too long.
fn short(mut case: Value) -> Value {
    while case.to_string().len() > LONGEST
        && let Some(steps) = case["steps"].as_array_mut()
        && steps.len() > 2
    {
        steps.pop();
    }
    case
}

/// The case without empty members, and with only the reason and the texts of rejections.
fn small(mut case: Value) -> Value {
    for step in case["steps"].as_array_mut().into_iter().flatten() {
        if let Some(request) = step.get_mut("request").and_then(Value::as_object_mut) {
            let is_empty = |value: &Value| *value == json!({}) || *value == json!([]);
            request.retain(|name, value| {
                !["set", "remove", "query"].contains(&name.as_str()) || !is_empty(value)
            });
        }
        let Some(body) = step.pointer("/response/body") else { continue };
        if body["kind"] != "Status" || body["status"] != "Failure" {
            continue;
        }
        let causes = body["details"]["causes"].as_array().map_or(0, Vec::len);
        let pointers = ["/reason", "/message", "/details/causes/0/reason"];
        let pointers = if causes == 1 { &pointers[..] } else { &pointers[..2] };
        let picked = pointers.iter().filter(|pointer| body.pointer(pointer).is_some());
        let picked: Map<String, Value> = picked
            .map(|pointer| ((*pointer).to_owned(), body.pointer(pointer).cloned().unwrap_or_default()))
            .collect();
        step["pick"] = picked.keys().cloned().collect();
        step["response"]["body"] = Value::Object(picked);
    }
    case
}

/// A few agreeing steps at a time, with the steps that they need.
fn independent(steps: &[Value], agrees: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let is_needed = |index: &usize| {
        ["capture", "settle", "setup"].iter().any(|member| steps[*index].get(*member).is_some())
    };
    let (needed, others): (Vec<usize>, Vec<usize>) = (0..steps.len()).partition(is_needed);
    if needed.iter().any(|index| !agrees(*index)) {
        return Vec::new();
    }
    let others: Vec<usize> = others.into_iter().filter(|index| agrees(*index)).collect();
    let with_needed = |part: &[usize]| {
        let last = part.last().copied().unwrap_or_default();
        let mut indexes: Vec<usize> =
            needed.iter().copied().filter(|index| *index < last).chain(part.to_vec()).collect();
        indexes.sort_unstable();
        indexes
    };
    others.chunks(SAMPLED).map(with_needed).collect()
}

/// Writes answers into the steps of a case.
fn record<'a>(case: &mut Value, answers: impl Iterator<Item = (&'a str, &'a Value)>) {
    for (at, answer) in answers {
        let Some(step) = case.pointer_mut(at) else { continue };
        if step.get("watch").is_some() {
            for (name, value) in answer.as_object().into_iter().flatten() {
                step[name] = value.clone();
            }
        } else if step.get("crd").is_none() && step["setup"] != true {
            step["response"] = answer.clone();
        }
    }
}

/// A corpus file, one case a line: the smallest cases of all findings of an area, or its agreeing cases.
pub fn corpus_file(findings: &Findings, area: Area, agreeing: bool) -> Option<String> {
    let mut defs = Definitions::default();
    let mut cases = Vec::new();
    if agreeing {
        let agreed = findings.agreed.iter().filter(|(of, _)| *of == area);
        for (number, (_, case)) in agreed.enumerate() {
            let known = defs.named.len();
            let case = defs.hoist(case, &format!("{} {number}", subject(case)));
            if case.to_string().len() <= LONGEST {
                cases.push(case);
            } else {
                defs.forget(known);
            }
        }
    } else {
        for (cause, finding) in findings.sorted().into_iter().filter(|(_, finding)| finding.area == area) {
            let mut case = finding.case.clone();
            record(&mut case, [(finding.at.as_str(), &finding.right)].into_iter());
            let others =
                case["steps"].as_array_mut()?.iter_mut().filter(|step| step.get("request").is_some());
            others.filter(|step| step.get("response").is_none()).for_each(|step| step["setup"] = json!(true));
            case.as_object_mut()?.remove("stateful");
            cases.push(defs.hoist(&case, cause));
        }
    }
    let lines: Vec<String> = cases.iter().map(Value::to_string).collect();
    let (group, defs) = (json!(format!("fuzzed-{}", area.name())), Value::Object(defs.named));
    (!lines.is_empty())
        .then(|| format!("{{\"group\":{group},\"defs\":{defs},\"cases\":[\n{}\n]}}\n", lines.join(",\n")))
}

/// What the last step of a case is about.
fn subject(case: &Value) -> String {
    case["steps"].as_array().and_then(|steps| steps.last()).map_or_else(String::new, super::about)
}

/// The values that the cases of a file share.
#[derive(Default)]
struct Definitions {
    named: Map<String, Value>,
}

impl Definitions {
    /// Forgets all but the first definitions.
    fn forget(&mut self, known: usize) {
        for number in known..self.named.len() {
            self.named.remove(&format!("d{number}"));
        }
    }

    /// The text that names a value.
    fn reference(&mut self, value: &Value) -> Value {
        let known = self.named.iter().find(|(_, known)| *known == value).map(|(name, _)| name.clone());
        let name = known.unwrap_or_else(|| {
            let name = format!("d{}", self.named.len());
            self.named.insert(name.clone(), value.clone());
            name
        });
        json!(format!("${{{name}}}"))
    }

    /// The case with its definitions in those of the file, and with answers as changes of them.
    fn hoist(&mut self, case: &Value, name: &str) -> Value {
        let mut case = case.clone();
        case["name"] = json!(name);
        let own = case.as_object_mut().and_then(|case| case.remove("defs")).unwrap_or_default();
        for step in case["steps"].as_array_mut().into_iter().flatten() {
            if let Some(body) = step.pointer_mut("/request/body").filter(|body| *body == "${base}") {
                *body = self.reference(&own["base"]);
            }
        }
        let mut known: Option<Value> = None;
        for step in case["steps"].as_array_mut().into_iter().flatten() {
            let Some(body) = step.pointer("/response/body").cloned() else { continue };
            if body["metadata"]["name"].is_null() || own.is_null() {
                continue;
            }
            let whole = known.get_or_insert_with(|| body.clone());
            step["response"]["body"] = self.reference(whole);
            for (member, value) in difference(whole, &body) {
                step["response"][member] = value;
            }
        }
        case
    }
}

//! Shrinks a case while the same cause remains.

use futures_util::{StreamExt as _, stream};
use serde_json::Value;

use super::{Compared, Finding, Findings, Pair};
use crate::corpus::pointer::escaped;
use crate::corpus::{edit, remove};

/// The most runs of one case.
const TRIES: u32 = 40;

/// Shrinks the worst and most frequent findings, as many as `most`.
pub async fn shrink_all(pair: &Pair, findings: &mut Findings, most: usize, in_flight: usize) {
    let mut sorted: Vec<_> = findings.causes.iter_mut().collect();
    sorted.sort_by_key(|(_, finding)| (finding.class, std::cmp::Reverse(finding.count)));
    let smaller = sorted.into_iter().take(most).map(|(cause, finding)| shrink(pair, cause, finding));
    stream::iter(smaller).buffer_unordered(in_flight).collect::<Vec<()>>().await;
}

async fn shrink(pair: &Pair, cause: &str, finding: &mut Finding) {
    let mut shrinking = Shrinking { pair, cause, tries: 0 };
    let Some(first) = shrinking.run(&finding.case).await else {
        finding.stable = false;
        return;
    };
    keep(finding, first, None);
    drop_steps(&mut shrinking, finding).await;
    drop_members(&mut shrinking, finding, edits).await;
    if let Some((case, found)) = shrinking.holds(inlined(&finding.case)).await {
        keep(finding, found, Some(case));
        drop_members(&mut shrinking, finding, fields).await;
    }
}

fn keep(finding: &mut Finding, found: Compared, case: Option<Value>) {
    if let Some(case) = case {
        finding.case = case;
    }
    (finding.at, finding.right, finding.checked) = (found.at, found.right, found.checked);
}

struct Shrinking<'a> {
    pair: &'a Pair,
    cause: &'a str,
    tries: u32,
}

impl Shrinking<'_> {
    /// The first answer with the cause.
    async fn run(&mut self, case: &Value) -> Option<Compared> {
        if self.tries >= TRIES {
            return None;
        }
        self.tries += 1;
        let answers = self.pair.compare(case).await;
        answers.into_iter().find(|answer| answer.differences.iter().any(|found| found.cause == self.cause))
    }

    async fn holds(&mut self, case: Value) -> Option<(Value, Compared)> {
        let found = self.run(&case).await?;
        Some((case, found))
    }
}

/// Drops all steps after the one that differs, then those before it, as many as possible.
async fn drop_steps(shrinking: &mut Shrinking<'_>, finding: &mut Finding) {
    let index =
        |at: &str| at.split('/').nth(2).and_then(|part| part.parse::<usize>().ok()).unwrap_or_default();
    let with = |case: &Value, keep: &dyn Fn(usize) -> bool| {
        let mut case = case.clone();
        if let Some(steps) = case["steps"].as_array_mut() {
            let mut at = 0..;
            steps.retain(|_| keep(at.next().unwrap_or_default()));
        }
        case
    };
    let last = index(&finding.at);
    let creates = |step: usize| finding.case["steps"][step]["capture"].is_object();
    let guesses = [
        with(&finding.case, &|step| step == last),
        with(&finding.case, &|step| step == last || step < last && creates(step)),
    ];
    for guess in guesses {
        if let Some((case, found)) = shrinking.holds(guess).await {
            keep(finding, found, Some(case));
            break;
        }
    }
    let mut step = finding.case["steps"].as_array().map_or(0, Vec::len);
    while step > 0 && finding.case["steps"].as_array().is_some_and(|steps| steps.len() > 1) {
        step -= 1;
        let guess = with(&finding.case, &|other| other != step);
        if let Some((case, found)) = shrinking.holds(guess).await {
            keep(finding, found, Some(case));
        }
    }
}

/// Drops the parts of a case that `parts` names, one by one, while the cause remains.
async fn drop_members(
    shrinking: &mut Shrinking<'_>,
    finding: &mut Finding,
    parts: fn(&Value) -> Vec<String>,
) {
    let mut skipped = 0;
    loop {
        let pointers = parts(&finding.case);
        let Some(pointer) = pointers.get(skipped) else { return };
        let mut guess = finding.case.clone();
        remove(&mut guess, pointer);
        match shrinking.holds(guess).await {
            Some((case, found)) => keep(finding, found, Some(case)),
            // Its members come next, because the outermost fields are first.
            None => skipped += 1,
        }
        if shrinking.tries >= TRIES {
            return;
        }
    }
}

/// The pointers of all edits.
fn edits(case: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (index, step) in case["steps"].as_array().into_iter().flatten().enumerate() {
        let sets = step["request"]["set"].as_object().into_iter().flatten();
        found.extend(sets.map(|(name, _)| format!("/steps/{index}/request/set/{}", escaped(name))));
        let removes = step["request"]["remove"].as_array().map_or(0, Vec::len);
        found.extend((0..removes).map(|remove| format!("/steps/{index}/request/remove/{remove}")));
    }
    found
}

/// The pointers of all fields in bodies and queries, the outermost first.
fn fields(case: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for index in 0..case["steps"].as_array().map_or(0, Vec::len) {
        for place in ["request/body", "request/query", "crd/spec"] {
            let place = format!("/steps/{index}/{place}");
            if let Some(value) = case.pointer(&place) {
                collect(value, &place, &mut found);
            }
        }
    }
    found.sort_by_key(|pointer| pointer.matches('/').count());
    found
}

fn collect(value: &Value, pointer: &str, found: &mut Vec<String>) {
    let mut add = |name: String, inner: &Value| {
        let pointer = format!("{pointer}/{name}");
        found.push(pointer.clone());
        collect(inner, &pointer, found);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| add(escaped(key), inner)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, inner)| add(index.to_string(), inner));
        }
        _ => {}
    }
}

/// The case with its definitions and edits written out.
fn inlined(case: &Value) -> Value {
    let mut case = case.clone();
    let defs = case["defs"].take();
    for step in case["steps"].as_array_mut().into_iter().flatten() {
        let request = &mut step["request"];
        let Some(body) = request.get("body") else { continue };
        let mut body = named(body, &defs);
        edit(&mut body, request);
        request["body"] = body;
        for member in ["set", "remove"] {
            request.as_object_mut().map(|request| request.remove(member));
        }
    }
    if let Some(case) = case.as_object_mut() {
        case.remove("defs");
    }
    case
}

/// A body, or the definition that it names.
fn named(body: &Value, defs: &Value) -> Value {
    let name = body.as_str().and_then(|text| text.strip_prefix("${")).and_then(|text| text.strip_suffix('}'));
    name.and_then(|name| defs.get(name)).unwrap_or(body).clone()
}

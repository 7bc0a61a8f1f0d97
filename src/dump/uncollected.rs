//! Reports of the programs that write dumps about what they could not collect. What could not be collected may exist.

use std::collections::BTreeMap;

use serde_json::Value;

use super::inventory::Uncollected;
use super::{kinds, place};

/// The beginnings of texts that a client writes instead of objects.
const ERRORS: [&str; 4] = ["error:", "Error:", "Error from server", "Unable to connect to the server"];

/// The names of logs in which such programs report errors.
const LOGS: [&str; 4] = ["gather.logs", "gather.log", "must-gather.log", "must-gather.logs"];

/// Returns whether a file is the log of a program that writes dumps.
pub(super) fn is_log(path: &str) -> bool {
    LOGS.contains(&file_name(path)) || path.ends_with("execution-data/summary.txt")
}

/// Returns whether the name of a file says that it has errors only.
pub(super) fn is_of_errors(path: &str) -> bool {
    file_name(path).ends_with("-errors.json") || path.ends_with(".stderr")
}

/// Returns whether a text is the error of a client.
pub(super) fn is_error(text: &str) -> bool {
    let start = text.trim_start();
    ERRORS.iter().any(|error| start.starts_with(error))
}

/// Returns what a file of errors reports.
pub(super) fn of_text(path: &str, text: &str) -> Vec<Uncollected> {
    let why = text.trim().lines().next().unwrap_or_default();
    let what = quoted_type(why).unwrap_or_else(|| kind_in(path));
    vec![Uncollected { what, why: without_error(why), path: path.to_owned() }]
}

/// Returns the errors of a support bundle: by namespace, or in a list. `None` if the file has something else.
pub(super) fn of_json(path: &str, document: &Value) -> Option<Vec<Uncollected>> {
    let errors: Vec<(&str, &str)> = match document {
        Value::Object(fields) if fields.get("kind").is_none() => {
            fields.iter().map(|(name, why)| Some((name.as_str(), why.as_str()?))).collect::<Option<_>>()?
        }
        Value::Array(items) => items.iter().map(|why| Some(("", why.as_str()?))).collect::<Option<_>>()?,
        _ => return None,
    };
    let mut namespaces: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (namespace, why) in errors {
        namespaces.entry(why).or_default().push(namespace);
    }
    let what = kind_in(path);
    let line = |(why, names): (&str, Vec<&str>)| {
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let what = match names.len() {
            0 => what.clone(),
            1 => format!("{what} in namespace {}", names[0]),
            count => format!("{what} in {count} namespaces"),
        };
        Uncollected { what, why: why.to_owned(), path: path.to_owned() }
    };
    Some(namespaces.into_iter().map(line).collect())
}

/// Returns the errors in the log of a program that writes dumps. An object that does not exist is no error.
pub(super) fn of_log(path: &str, text: &str) -> Vec<Uncollected> {
    let mut found = Vec::new();
    let mut add = |what: String, why: &str| {
        found.push(Uncollected { what, why: without_error(why), path: path.to_owned() });
    };
    for line in text.lines() {
        if let Some(collector) = line.split_once("(F)").map(|(name, _)| name.trim())
            && path.ends_with("summary.txt")
            && !collector.is_empty()
            // The explanation of the letters.
            && !collector.contains("(S)")
        {
            add(collector.to_owned(), "the collector failed");
        }
        for part in line.split("skipping gathering ").skip(1) {
            let Some((what, why)) = part.split_once(" due to error: ") else { continue };
            let why = why.trim_end_matches([',', ']', ' ']);
            if !is_absent(why) {
                add(what.to_owned(), why);
            }
        }
        let message =
            line.split_once(' ').filter(|(time, _)| time.ends_with('Z')).map_or(line, |(_, rest)| rest);
        if is_error(message) && !message.contains("skipping gathering ") && !is_absent(message) {
            if let Some(what) = quoted_type(message) {
                add(what, message);
            } else if message.contains("(Forbidden)") || message.contains("is forbidden") {
                add(forbidden_type(message), message);
            }
        }
    }
    found
}

/// Returns the errors in Insights' report about its own work.
pub(super) fn of_insights(path: &str, report: &Value) -> Vec<Uncollected> {
    let mut found = Vec::new();
    for gatherer in report["status_reports"].as_array().into_iter().flatten() {
        let what = gatherer["name"].as_str().unwrap_or_default();
        let panic = gatherer["panic"].as_str();
        let errors = gatherer["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        // A group of gatherers repeats the errors of its members, and a record may be collected twice.
        let is_repeated = |why: &&str| !what.contains('/') || why.contains("was already recorded");
        for why in errors.chain(panic).filter(|why| !is_absent(why) && !is_repeated(why)) {
            let why = why.lines().next().unwrap_or_default().to_owned();
            found.push(Uncollected { what: what.to_owned(), why, path: path.to_owned() });
        }
    }
    found
}

/// Returns whether an error is that a single object does not exist: `secrets "support" not found`.
fn is_absent(why: &str) -> bool {
    why.trim_end().ends_with("not found")
}

/// Returns the type in `the server doesn't have a resource type "X"`.
fn quoted_type(why: &str) -> Option<String> {
    let (_, rest) = why.split_once("resource type \"")?;
    Some(rest.split('"').next().unwrap_or_default().to_owned())
}

/// Returns the type in `User "u" cannot list resource "pods" in API group ""`.
fn forbidden_type(why: &str) -> String {
    let named = why.split_once("resource \"").map(|(_, rest)| rest.split('"').next().unwrap_or_default());
    named.unwrap_or("some objects").to_owned()
}

fn without_error(why: &str) -> String {
    why.trim_start_matches("error: ").trim_start_matches("Error: ").to_owned()
}

/// Returns the kind that the name of a file has.
fn kind_in(path: &str) -> String {
    let stem = place::stem(file_name(path).trim_end_matches(".stderr"));
    let stem = stem.strip_suffix("-errors").unwrap_or(stem);
    kinds::by_word(None, stem).map_or_else(|| stem.to_owned(), |resource| resource.plural.to_string())
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

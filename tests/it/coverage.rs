//! Checks `docs/coverage.md`: every row names files that contain its case, and every case has a row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;

use crate::scenarios::{plans, shipped};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The rows of the tables with these columns: the first cell, and the files that the second cell links to.
fn rows(columns: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(Path::new(ROOT).join("docs/coverage.md")).unwrap();
    let link = Regex::new(r"\]\(\.\./([^)]+)\)").unwrap();
    let (mut found, mut column) = (BTreeMap::new(), "");
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cell = line.split('|').nth(1).unwrap().trim();
        let files: BTreeSet<String> = link.captures_iter(line).map(|found| found[1].to_owned()).collect();
        if files.is_empty() {
            column = cell;
        } else if columns.contains(&column) {
            found.insert(cell.to_owned(), files);
        }
    }
    found
}

/// The cases that files name: ids anywhere, and risks of the update graph among the ids of a scenario.
fn cases() -> BTreeMap<String, BTreeSet<String>> {
    let id = Regex::new(r"\b(?:NODES|OCP|OTA|OCPBUGS)-\d+\b|release#\d+").unwrap();
    let (scenarios, features) = (shipped("scenarios", "yaml"), shipped("features", "feature"));
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in scenarios.iter().chain(&features) {
        let ids = id.find_iter(text).map(|id| id.as_str().to_owned());
        let plans = if Path::new(file).extension().is_some_and(|kind| kind == "yaml") {
            plans(file, text)
        } else {
            Vec::new()
        };
        let risks = plans.iter().flat_map(|plan| &plan.ids).filter_map(|id| id.strip_prefix("risk#"));
        for case in ids.chain(risks.map(str::to_owned)) {
            found.entry(case).or_default().insert(file.clone());
        }
    }
    found
}

#[test]
fn every_case_has_its_row_and_every_row_its_files() {
    let (rows, cases) = (rows(&["id", "risk", "case"]), cases());
    let names: BTreeSet<&String> = rows.keys().chain(cases.keys()).collect();
    let differs = names.into_iter().filter(|name| rows.get(*name) != cases.get(*name));
    let differences: Vec<String> = differs
        .map(|name| format!("{name}: the row has {:?}, the files are {:?}", rows.get(name), cases.get(name)))
        .collect();
    assert!(differences.is_empty(), "docs/coverage.md:\n{}", differences.join("\n"));
}

#[test]
fn at_least_25_graph_risks_40_node_cases_and_all_kinds_of_cases_are_covered() {
    let rows = rows(&["id", "risk", "case"]);
    let count = |prefix: &str| rows.keys().filter(|case| case.starts_with(prefix)).count();
    let risks = rows
        .values()
        .filter(|files| files.iter().any(|file| file.starts_with("scenarios/failures/")))
        .count();
    assert!(
        risks >= 25
            && count("NODES-") >= 40
            && count("OCP-") >= 45
            && count("OTA-") >= 5
            && count("OCPBUGS-") >= 10,
        "{risks} {rows:?}"
    );
}

#[test]
fn behaviours_without_an_id_link_to_existing_files() {
    let rows = rows(&["behaviour"]);
    let files: BTreeSet<&String> = rows.values().flatten().collect();
    let missing: Vec<_> = files.iter().filter(|file| !Path::new(ROOT).join(file).is_file()).collect();
    assert!(rows.len() >= 15 && missing.is_empty(), "{missing:?}");
}

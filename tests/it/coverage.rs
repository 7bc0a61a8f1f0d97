//! Checks `docs/coverage.md`: every row names files that contain its case and the releases of its scenarios, and
//! every case has a row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;
use windtunnel_openshift::manifests::MajorMinor;
use windtunnel_openshift::release::Release;

use crate::scenarios::{plans, shipped};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A row: the files that it links to, and its cell of releases, the last but one.
#[derive(Debug, Default, PartialEq)]
struct Row {
    files: BTreeSet<String>,
    releases: String,
}

/// The files of [`table`].
fn rows(columns: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    table(columns).into_iter().map(|(case, row)| (case, row.files)).collect()
}

/// The rows of the tables with these first columns, by their first cell.
fn table(columns: &[&str]) -> BTreeMap<String, Row> {
    let text = fs::read_to_string(Path::new(ROOT).join("docs/coverage.md")).unwrap();
    let link = Regex::new(r"\]\(\.\./([^)]+)\)").unwrap();
    let (mut found, mut column) = (BTreeMap::new(), "");
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cell = line.split('|').nth(1).unwrap().trim();
        let files: BTreeSet<String> = link.captures_iter(line).map(|found| found[1].to_owned()).collect();
        if files.is_empty() {
            column = cell;
        } else if columns.contains(&column) {
            let releases = line.rsplit('|').nth(2).unwrap().trim().to_owned();
            found.insert(cell.to_owned(), Row { files, releases });
        }
    }
    found
}

/// The cases that files name: ids anywhere, and risks of the update graph among the ids of a scenario.
fn cases() -> BTreeMap<String, BTreeSet<String>> {
    let id = Regex::new(r"\b(?:NODES|OCP|OTA|OCPBUGS)-\d+\b|\b(?:release|okd|MCO|CVO|CNO|AKS)#\d+").unwrap();
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

/// Returns whether a text names a case.
fn names(text: &str, case: &str) -> bool {
    let case = regex::escape(case);
    Regex::new(&format!(r"(?:^|[^\w#-])(?:risk#)?{case}(?:$|[^\w-])")).unwrap().is_match(text)
}

/// The start of a feature, and each of its scenarios with the comments and tags before it.
fn scenarios_of(feature: &str) -> (String, Vec<String>) {
    let (mut start, mut scenarios) = (String::new(), Vec::<String>::new());
    let mut before = String::new();
    for line in feature.lines().map(|line| format!("{line}\n")) {
        let text = line.trim();
        if text.starts_with("Scenario") {
            scenarios.push(std::mem::take(&mut before) + &line);
        } else if text.starts_with(['#', '@']) {
            before += &line;
        } else {
            *scenarios.last_mut().unwrap_or(&mut start) += &(std::mem::take(&mut before) + &line);
        }
    }
    (start, scenarios)
}

/// The rows of parameters in a YAML scenario, and the other lines.
fn parameters_of(scenario: &str) -> (Vec<&str>, Vec<&str>) {
    let mut inside = false;
    scenario.lines().partition(|line| {
        if line.starts_with(|letter: char| letter.is_alphanumeric()) {
            inside = line.starts_with("parameters:");
        }
        inside && line.starts_with("- ")
    })
}

/// The parts of a file that run a case.
fn parts_with(file: &str, text: &str, case: &str) -> String {
    if Path::new(file).extension().is_some_and(|extension| extension == "feature") {
        let (start, scenarios) = scenarios_of(text);
        if names(&start, case) {
            return text.to_owned();
        }
        let of_case = scenarios.into_iter().filter(|scenario| names(scenario, case));
        return start + &of_case.collect::<String>();
    }
    let mut found = String::new();
    for scenario in text.split("\n---\n") {
        let (rows, others) = parameters_of(scenario);
        let rows: Vec<&str> = rows.into_iter().filter(|row| names(row, case)).collect();
        if !rows.is_empty() {
            found += &[others, rows].concat().join("\n");
        } else if names(scenario, case) {
            found += scenario;
        }
        found += "\n";
    }
    found
}

/// The minors with facts in a text, such as `4.11 to 4.14, 5.0`.
fn minors_in(text: &str) -> String {
    let version = Regex::new(r"(?:^|[^\d.\w])([45])\.(\d+)\.\d+").unwrap();
    let found: BTreeSet<MajorMinor> = version
        .captures_iter(text)
        .map(|found| (found[1].parse().unwrap(), found[2].parse().unwrap()))
        .collect();
    let known: Vec<MajorMinor> = Release::lines().collect();
    let spans = known.split(|line| !found.contains(line)).filter(|span| !span.is_empty());
    let name = |(major, minor): &MajorMinor| format!("{major}.{minor}");
    let texts = spans.map(|span| match span {
        [first, _, .., last] => format!("{} to {}", name(first), name(last)),
        few => few.iter().map(name).collect::<Vec<_>>().join(", "),
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(file)).unwrap()
}

#[test]
fn every_row_names_the_releases_of_its_scenarios() {
    let mut differences = Vec::new();
    let cases = table(&["id", "risk", "case"]).into_iter().map(|row| (row, true));
    for ((case, row), has_name) in cases.chain(table(&["behaviour"]).into_iter().map(|row| (row, false))) {
        let parts = row
            .files
            .iter()
            .map(|file| if has_name { parts_with(file, &read(file), &case) } else { read(file) });
        let releases = minors_in(&parts.collect::<Vec<_>>().join("\n"));
        if row.releases != releases || releases.is_empty() {
            differences.push(format!("{case}: the row has `{}`, the files have `{releases}`", row.releases));
        }
    }
    assert!(differences.is_empty(), "docs/coverage.md:\n{}", differences.join("\n"));
}

#[test]
fn the_releases_of_a_case_are_those_of_its_scenarios_and_rows() {
    let feature = "Feature: f\n  Background:\n    Given a 4.20.1 cluster\n\n  # OCP-1\n  Scenario: a\n    \
                   When I update to 4.21.1\n\n  # OCP-12\n  Scenario: b\n    When I update to 5.0.1\n";
    assert_eq!(minors_in(&parts_with("f.feature", feature, "OCP-1")), "4.20, 4.21");
    assert_eq!(minors_in(&parts_with("f.feature", feature, "OCP-12")), "4.20, 5.0");
    let scenario = "ids: [risk#<risk>]\nparameters:\n- {risk: A, from: 4.11.1}\n- {risk: B, from: 4.12.1}\n\
                    releases: {4.13.1: }\n";
    assert_eq!(minors_in(&parts_with("s.yaml", scenario, "A")), "4.11, 4.13");
    assert_eq!(minors_in(&parts_with("s.yaml", scenario, "B")), "4.12, 4.13");
    assert_eq!(
        minors_in("4.11.1 4.12.1 4.13.1 4.15.1, 5.0.0, 4.99.1 and 10.4.16.1"),
        "4.11 to 4.13, 4.15, 5.0"
    );
}

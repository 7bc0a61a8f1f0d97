//! `windtunnel rollback-pairs`, and the page that it made.

use std::fs;
use std::path::Path;

use super::environment::{TestEnvironment, check};

const PAGE: &str = "docs/rollback-pairs.md";

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE)).unwrap()
}

/// The rows of a pair in a page: each capability set, with the cells of its topologies.
fn rows(page: &str, pair: &str) -> Vec<Vec<String>> {
    let section =
        page.split(&format!("\n## {pair}\n")).nth(1).unwrap_or_else(|| panic!("no {pair} in {page}"));
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    rows.map(|row| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// The outcome in the cell of a capability set and a topology: `safe` of `safe: 0:50:46, back in 0:51:13`. Changes of any
/// component move the times behind it.
fn outcome(rows: &[Vec<String>], set: &str, topology: &str) -> String {
    let column = rows[0].iter().position(|name| name == topology).unwrap();
    let cell = &rows.iter().find(|row| row[0] == set).unwrap()[column];
    cell.split_once(':').map_or(cell.as_str(), |(outcome, _)| outcome).to_owned()
}

#[test]
fn some_outcomes_of_the_page_are_what_the_program_prints() {
    let page = page();
    for (from, to, set) in [("4.13", "4.14", "None"), ("4.20", "4.21", "None")] {
        let arguments = [
            "rollback-pairs",
            "--from",
            from,
            "--to",
            to,
            "--capabilities",
            set,
            "--topology",
            "SingleReplica",
            "--format",
            "markdown",
        ];
        let output = TestEnvironment::new().run(&arguments);
        let pair = format!("{from} to {to}");
        let printed = outcome(&rows(&output.stdout, &pair), set, "SingleReplica");
        assert_eq!(outcome(&rows(&page, &pair), set, "SingleReplica"), printed, "{pair}, {set}");
        assert_eq!(output.code, Some(i32::from(printed != "safe")), "{output}");
    }
}

/// Update the page with the command that it names, and `> docs/rollback-pairs.md`.
#[test]
#[ignore = "updates 22 clusters, and takes each update back: minutes without optimization"]
fn the_whole_page_is_what_its_command_prints() {
    let page = page();
    let command = page.split("Made by `windtunnel ").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
    let arguments: Vec<&str> = command.split(' ').collect();
    assert_eq!(TestEnvironment::new().run(&arguments).stdout, page);
}

#[test]
fn rejects_minors_and_sets_that_do_not_exist() {
    for (arguments, expected) in [
        (&["--from", "4.14", "--to", "4.13"][..], "--from 4.14 --to 4.13: there is no update between them"),
        (&["--from", "4.9"], "--from: there are no facts about 4.9; known minors: 4.10, 4.11"),
        (&["--from", "4.13", "--to", "4.14", "--capabilities", "v4.31"], "has the set `v4.31`; did you mean"),
        (&["--topology", "Single"], "expected HighlyAvailable, Compact, SingleReplica, not `Single`"),
        (&["--from", "413"], "expected a minor such as 4.14, not `413`"),
    ] {
        let output = check(&[], &[&["rollback-pairs"], arguments].concat());
        assert!(output.contains("exit 2") && output.contains(expected), "{expected} is not in {output}");
    }
}

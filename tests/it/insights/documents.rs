//! Checks `docs/insights.md` against the code.

use std::fs;
use std::path::Path;

use serde_json::Value;
use windtunnel_update_status::assessment::health;

/// The cells of a table in `docs/insights.md`, found by its first header.
fn documented(header: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/insights.md");
    let text = fs::read_to_string(path).unwrap();
    let start = format!("| {header} |");
    let rows =
        text.lines().skip_while(|line| !line.starts_with(&start)).take_while(|line| line.starts_with('|'));
    rows.skip(2)
        .map(|row| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

#[test]
fn the_table_of_health_insights_matches_the_code() {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let code: Vec<Vec<String>> = health::CAUSES
        .iter()
        .map(|cause| {
            let levels = cause.levels.iter().map(|level| word(&serde_json::to_value(level).unwrap()));
            let levels = levels.collect::<Vec<_>>().join(", ");
            vec![cause.name.to_owned(), levels, word(&serde_json::to_value(cause.impact).unwrap())]
        })
        .collect();
    let table = documented("insight");
    let documented_rows: Vec<Vec<String>> =
        table.iter().map(|row| [0, 2, 3].map(|cell| row[cell].clone()).to_vec()).collect();
    assert_eq!(documented_rows, code);
    for (row, cause) in table.iter().zip(health::CAUSES) {
        assert_eq!(row.len(), 6, "{}", cause.name);
        assert!(
            row[5].contains(cause.reference),
            "the row of {} does not name {}",
            cause.name,
            cause.reference
        );
    }
}

/// All Rust files below a folder, joined.
fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn each_trap_of_the_upstream_controller_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    for folder in ["crates/update-status/src", "tests/it"] {
        sources(&root.join(folder), &mut text);
    }
    let table = documented("trap");
    assert!(table.len() > 20, "{} traps", table.len());
    for row in table {
        let test = row[1].trim_matches('`');
        assert!(text.contains(&format!("fn {test}()")), "no test {test}");
    }
}

//! Checks that the paths in module docs and pages lead to files: they are the map of the source.

use std::path::Path;

use regex::Regex;

use super::{project_files, root};

/// The folders with which a path from the root of the project begins.
const FOLDERS: &[&str] =
    &["src/", "crates/", "docs/", "tests/", "manifests/", "features/", "scenarios/", "examples/", ".ci/"];

#[test]
fn paths_in_module_docs_and_pages_lead_to_files() {
    let faults: Vec<String> =
        project_files().iter().flat_map(|(path, text)| check_paths(path, text)).collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// Checks the paths between backquotes. They may begin at any folder above the file.
fn check_paths(file: &str, text: &str) -> Vec<String> {
    let is_source = has_extension(file, "rs");
    if !is_source && (!has_extension(file, "md") || file == "CHANGELOG.md") {
        return Vec::new();
    }
    let quoted = Regex::new("`([A-Za-z0-9_./-]+)`").unwrap();
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !is_source || line.starts_with("//!")) {
        let paths = quoted.captures_iter(line).map(|found| found.extract::<1>().1[0]);
        let lost = paths.filter(|path| is_path(path, is_source) && !exists(file, path));
        faults.extend(lost.map(|path| format!("{file}:{}: no file `{path}`", index + 1)));
    }
    faults
}

fn has_extension(path: &str, expected: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == expected)
}

fn is_path(text: &str, is_source: bool) -> bool {
    let is_module = has_extension(text, "rs") || text.ends_with('/') && !text.starts_with('/');
    // Folders with a hyphen contain no modules.
    FOLDERS.iter().any(|folder| text.starts_with(folder)) || is_source && is_module && !text.contains('-')
}

fn exists(file: &str, path: &str) -> bool {
    let file = root().join(file);
    let mut folders = file.ancestors().skip(1).take_while(|folder| folder.starts_with(root()));
    folders.any(|folder| folder.join(path).exists())
}

#[test]
fn a_path_without_a_file_is_found() {
    let docs = "//! `mod.rs` and `src/lib.rs` exist, `lost.rs` and `src/lost/` do not.\n// `lost.rs` is no module doc.\n";
    let found = check_paths("tests/it/tidy/mod.rs", docs);
    assert_eq!(
        found,
        ["tests/it/tidy/mod.rs:1: no file `lost.rs`", "tests/it/tidy/mod.rs:1: no file `src/lost/`"]
    );
    assert_eq!(
        check_paths("docs/a.md", "`src/lost.rs`, `lost.rs` and `src/lib.rs`"),
        ["docs/a.md:1: no file `src/lost.rs`"]
    );
}

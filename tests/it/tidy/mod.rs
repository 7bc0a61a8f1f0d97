//! Source rules that neither rustc nor clippy checks, above all which module may use which others.
//!
//! They apply to unit tests too. A test that needs more than its module or crate may use is an integration
//! test.

mod circles;
mod layers;
mod outputs;
mod paths;
mod source;
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use layers::{check_root, check_uses};
use outputs::check_writers;
use source::{Token, outline, tokens};

/// Banned token sequences: the tokens, the folder of the rule, an exempt folder, and what to write instead.
const BANS: &[(&str, &str, &str, &str)] = &[
    ("dbg !", "", "-", "remove it before you commit"),
    ("todo !", "", "-", "write it, or return an error that says what is missing"),
    ("unimplemented !", "", "-", "write it, or return an error that says what is missing"),
    ("print !", "src/", "src/cli/", "return the text; `cli` prints"),
    ("println !", "src/", "src/cli/", "return the text; `cli` prints"),
    ("eprint !", "src/", "src/cli/", "return an error; `cli` prints"),
    ("eprintln !", "src/", "src/cli/", "return an error; `cli` prints"),
    ("print !", "crates/", "crates/conformance/src/main.rs", "return the text; the program prints"),
    ("println !", "crates/", "crates/openshift/build.rs", "return the text; the program prints"),
    ("eprint !", "crates/", "crates/conformance/src/main.rs", "return an error; the program prints"),
    ("eprintln !", "crates/", "crates/conformance/src/main.rs", "return an error; the program prints"),
    ("# [ ignore ]", "", "-", "`#[ignore = \"why\"]`"),
    ("# [ path", "", "tests/it/tunnel/mod.rs", "a file named after its module"),
];

/// The most lines of a file. A whole state machine fits.
const LINES_MAX: usize = 800;

/// Texts that tie the project to one machine. No file may contain them, and this file has them in pieces.
const FOREIGN: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/tmp", "/wt"),
    concat!("/ro", "ot/"),
    concat!("arti", "factory"),
    concat!("replace", "-with"),
    concat!("registry", "-mirror"),
];

/// The source of every locked package.
const CRATES_IO: &str = "\"registry+https://github.com/rust-lang/crates.io-index\"";

/// The files of a folder by their path from the root of the project, with `/` between names.
type Files = BTreeMap<String, String>;

#[test]
fn all_files_follow_the_source_rules() {
    let files = rust_files();
    let mut faults: Vec<String> = files.iter().flat_map(|(path, text)| check_file(path, text)).collect();
    faults.extend(check_root(&files["src/lib.rs"]));
    faults.extend(unreached(&files, &fs::read_to_string(root().join("Cargo.toml")).unwrap()));
    for (path, text) in project_files() {
        faults.extend(check_text(&path, &text));
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

fn check_file(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if !text.starts_with("//!") {
        faults.push(format!("{path}:1: the first line is not `//!`: describe the file"));
    }
    let lines = text.lines().count();
    if lines > LINES_MAX {
        faults.push(format!("{path}: {lines} lines: split it"));
    }
    let tokens = tokens(text);
    faults.extend(check_uses(path, &tokens));
    faults.extend(check_bans(path, &tokens));
    faults.extend(check_writers(path, &tokens));
    faults
}

fn check_bans(path: &str, tokens: &[Token<'_>]) -> Vec<String> {
    let mut faults = Vec::new();
    for (words, within, except, instead) in BANS {
        let is_example = path.contains("/examples/") && instead.ends_with("prints");
        if !path.starts_with(within) || path.starts_with(except) || is_example {
            continue;
        }
        let words: Vec<&str> = words.split(' ').collect();
        let hits = tokens
            .windows(words.len())
            .filter(|seen| seen.iter().map(|token| token.text).eq(words.iter().copied()));
        faults.extend(hits.map(|seen| format!("{path}:{}: `{}`: {instead}", seen[0].line, words.concat())));
    }
    faults
}

/// Files that no target of the manifest reaches through `mod` lines.
fn unreached(files: &Files, manifest: &str) -> Vec<String> {
    let is_target = |path: &str| {
        let of_crate = path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
        of_crate.is_some_and(|(_, inner)| {
            matches!(inner, "build.rs" | "src/lib.rs" | "src/main.rs")
                || inner.starts_with("examples/")
                || inner.starts_with("tests/")
                || inner.contains("/fuzz_targets/")
        })
    };
    let named = |path: &&String| is_target(path) || manifest.contains(&format!("\"{path}\""));
    let mut open: Vec<String> = files.keys().filter(named).cloned().collect();
    let mut reached: BTreeSet<String> = open.iter().cloned().collect();
    while let Some(path) = open.pop() {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let home = if name == "mod.rs" || named(&&path) { folder } else { path.trim_end_matches(".rs") };
        for line in outline(&tokens(&files[&path])).1 {
            let stem = [&[home][..], &line.inside, &[line.name]].concat().join("/");
            let children = [format!("{stem}.rs"), format!("{stem}/mod.rs")];
            let new = children
                .into_iter()
                .filter(|child| files.contains_key(child) && reached.insert(child.clone()));
            open.extend(new);
        }
    }
    let lost = files.keys().filter(|path| !reached.contains(*path));
    lost.map(|path| format!("{path}: no `mod` line leads here, so nothing compiles it")).collect()
}

fn check_text(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let place = format!("{path}:{}", index + 1);
        let lower = line.to_lowercase();
        let words = FOREIGN.iter().filter(|word| lower.contains(**word));
        faults.extend(words.map(|word| format!("{place}: `{word}` belongs to one machine")));
        let source = line.strip_prefix("source = ").filter(|_| path == "Cargo.lock");
        faults.extend(
            source.filter(|from| *from != CRATES_IO).map(|from| format!("{place}: {from} is not crates.io")),
        );
    }
    faults
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files() -> Files {
    let mut files = Files::new();
    for folder in ["src", "crates", "tests", "benches"] {
        walk(folder, &mut files);
    }
    files.retain(|path, _| Path::new(path).extension().is_some_and(|extension| extension == "rs"));
    files
}

/// The text files that git tracks, or all text files outside a git clone.
fn project_files() -> Files {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    let listed =
        listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let mut files = Files::new();
    for path in listed.split_terminator('\0') {
        if let Ok(text) = fs::read_to_string(root().join(path)) {
            files.insert(path.to_owned(), text);
        }
    }
    if files.is_empty() {
        walk("", &mut files);
    }
    files
}

/// Reads the text files below a folder, without the folders of cargo and git.
fn walk(folder: &str, files: &mut Files) {
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if entry.file_type().unwrap().is_dir() {
            if path != ".git" && path.rsplit('/').next() != Some("target") {
                walk(&path, files);
            }
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            files.insert(path, text);
        }
    }
}

/// The most crates that the API server alone may need, itself included. Authors of controllers build them for
/// tests.
const API_SERVER_CRATES_MAX: usize = 90;

#[test]
fn the_api_server_without_features_needs_few_crates() {
    // A package outside of the workspace, in which no test turns features on.
    let author = tempfile::tempdir().unwrap();
    let place = root().join("crates/apiserver");
    let manifest = format!(
        "[package]\nname = \"author\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n[dependencies]\n\
         windtunnel-apiserver = {{ path = {place:?}, default-features = false }}\n[workspace]\n"
    );
    std::fs::write(author.path().join("Cargo.toml"), manifest).unwrap();
    std::fs::write(author.path().join("lib.rs"), "").unwrap();
    std::fs::copy(root().join("Cargo.lock"), author.path().join("Cargo.lock")).unwrap();
    let arguments = "tree --offline -p windtunnel-apiserver -e normal,build --prefix none";
    let output =
        Command::new(env!("CARGO")).args(arguments.split(' ')).current_dir(author.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let crates: BTreeSet<&str> = text.lines().filter_map(|line| line.split(" (").next()).collect();
    assert!(crates.contains("windtunnel-core v0.1.0"), "{crates:?}");
    assert!(crates.len() <= API_SERVER_CRATES_MAX, "{} crates: {crates:#?}", crates.len());
}

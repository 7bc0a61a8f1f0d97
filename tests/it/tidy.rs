//! The rules of this house that neither rustc nor clippy knows, above all which module may know which other.
//!
//! They hold for unit tests as well: a module must be able to become a crate together with its tests. What needs more
//! than its module may know is an integration test.

mod source;
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use source::{Token, outline, tokens};

/// All top-level modules, and what each may use. None uses one that stands after it.
const MODULES: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("model", &["base"]),
    ("record", &["base", "model"]),
    ("apiserver", &["base", "model"]),
    ("actors", &["base", "model"]),
    ("status", &["base", "model"]),
    ("insights", &["base", "model", "status"]),
    ("oc", &["base", "model"]),
    ("scenario", &["base", "model", "oc", "status::Details"]),
    ("backends", &["base", "model", "record", "apiserver"]),
    ("dump", &["base", "model"]),
    (
        "engine",
        &[
            "base",
            "model",
            "record",
            "actors",
            "insights",
            "oc",
            "scenario::plan",
            "scenario::path",
            "backends",
            "status",
        ],
    ),
    ("report", &["base", "model", "record", "status"]),
    ("steps", &["base", "model", "record", "oc", "status::Details", "scenario", "backends", "engine"]),
    (
        "cli",
        &[
            "base",
            "model",
            "record",
            "apiserver",
            "actors",
            "insights",
            "oc",
            "scenario",
            "backends",
            "engine",
            "status",
            "dump",
            "report",
            "steps",
        ],
    ),
];

/// Tokens that may not follow each other in files below one folder, except in another, and what to write instead.
const BANS: &[(&str, &str, &str, &str)] = &[
    ("dbg !", "", "-", "take it out before you commit"),
    ("todo !", "", "-", "write it, or return an error that says what is missing"),
    ("unimplemented !", "", "-", "write it, or return an error that says what is missing"),
    ("print !", "src/", "src/cli/", "return the text; `cli` prints"),
    ("println !", "src/", "src/cli/", "return the text; `cli` prints"),
    ("eprint !", "src/", "src/cli/", "return an error; `cli` prints"),
    ("eprintln !", "src/", "src/cli/", "return an error; `cli` prints"),
    ("# [ ignore ]", "", "-", "`#[ignore = \"why\"]`"),
    ("# [ path", "", "-", "a file named after its module"),
];

/// No file has more lines than this.
const LINES_MAX: usize = 400;

/// What no file of the project may contain: it would tie the project to one machine. (In pieces: this is a file, too.)
const FOREIGN: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/tmp", "/wt"),
    concat!("/ro", "ot/"),
    concat!("arti", "factory"),
    concat!("replace", "-with"),
    concat!("registry", "-mirror"),
];

/// Where every locked package comes from.
const CRATES_IO: &str = "\"registry+https://github.com/rust-lang/crates.io-index\"";

/// The files of a folder by their path from the root of the project, with `/` between names.
type Files = BTreeMap<String, String>;

#[test]
fn the_house_is_tidy() {
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
        faults.push(format!("{path}:1: the first line is not `//!`: say what the file is for"));
    }
    let lines = text.lines().count();
    if lines > LINES_MAX {
        faults.push(format!("{path}: {lines} lines: divide it"));
    }
    let tokens = tokens(text);
    faults.extend(check_uses(path, &tokens));
    faults.extend(check_bans(path, &tokens));
    faults
}

/// Holds the paths of a file against [`MODULES`].
fn check_uses(file: &str, tokens: &[Token<'_>]) -> Vec<String> {
    let Some(inner) = file.strip_prefix("src/") else { return Vec::new() };
    let module = inner.strip_suffix("/mod.rs").or_else(|| inner.strip_suffix(".rs")).unwrap_or(inner);
    let own = module.split('/').next().unwrap_or_default();
    let allowed = match own {
        "lib" => &[][..],
        "main" => &["cli"],
        _ => match MODULES.iter().find(|(name, _)| *name == own) {
            Some((_, allowed)) => allowed,
            None => return vec![format!("{file}:1: `{own}` does not stand in MODULES")],
        },
    };
    let depth = module.split('/').count();
    let (paths, _) = outline(tokens);
    let fault = |path: &source::Path<'_>| {
        check_use(path, own, allowed, depth).map(|fault| format!("{file}:{}: {fault}", path.line))
    };
    paths.iter().filter_map(fault).collect()
}

/// Checks one path in a file of module `own` that stands `depth` modules deep.
fn check_use(path: &source::Path<'_>, own: &str, allowed: &[&str], depth: usize) -> Option<String> {
    let names = path.names.strip_prefix(&["self"]).unwrap_or(&path.names);
    let up = names.iter().take_while(|name| **name == "super").count();
    if up > 0 && up >= depth + path.depth {
        return Some(format!("`{}` leaves `{own}`: write `crate::...`", path.names.join("::")));
    }
    if names.starts_with(&["std", "env"]) && own != "cli" {
        return Some(format!("`{own}` may not use `std::env`: take the value as an argument"));
    }
    let used = match names {
        ["crate" | "windtunnel", used @ ..] => used.join("::"),
        _ => return None,
    };
    let within =
        |of: &str| used.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
    if within(own) || allowed.iter().any(|of| within(of)) {
        return None;
    }
    let allowed = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") };
    Some(format!("`{own}` may not use `{used}`; it may use {allowed}"))
}

/// The crate root declares the modules of [`MODULES`] and nothing else: a name there would be a way around the table.
fn check_root(lib: &str) -> Vec<String> {
    let tokens = tokens(lib);
    let declared: BTreeSet<&str> = outline(&tokens).1.iter().map(|line| line.name).collect();
    let known: BTreeSet<&str> = MODULES.iter().map(|(name, _)| *name).collect();
    let differs = declared.symmetric_difference(&known);
    let mut faults: Vec<String> = differs
        .map(|name| format!("src/lib.rs: `{name}` stands only in one of src/lib.rs and MODULES"))
        .collect();
    let other = |token: &&Token<'_>| matches!(token.text, "use" | "fn" | "struct" | "enum" | "macro_rules");
    faults.extend(
        tokens
            .iter()
            .find(other)
            .map(|token| format!("src/lib.rs:{}: only `mod` lines stand here", token.line)),
    );
    faults
}

fn check_bans(path: &str, tokens: &[Token<'_>]) -> Vec<String> {
    let mut faults = Vec::new();
    for (words, within, except, instead) in BANS {
        if !path.starts_with(within) || path.starts_with(except) {
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

/// Files that no target of the manifest leads to, over any number of `mod` lines.
fn unreached(files: &Files, manifest: &str) -> Vec<String> {
    let named = |path: &&String| *path == "build.rs" || manifest.contains(&format!("\"{path}\""));
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
        faults.extend(words.map(|word| format!("{place}: `{word}` is of one machine only")));
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
    for folder in ["src", "tests", "benches"] {
        walk(folder, &mut files);
    }
    files.retain(|path, _| Path::new(path).extension().is_some_and(|extension| extension == "rs"));
    files.insert("build.rs".to_owned(), fs::read_to_string(root().join("build.rs")).unwrap());
    files
}

/// The text files that git knows; all that are there, where there is no git.
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

/// Reads the text files below a folder, but not what cargo and git keep for themselves.
fn walk(folder: &str, files: &mut Files) {
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if entry.file_type().unwrap().is_dir() {
            if path != "target" && path != ".git" {
                walk(&path, files);
            }
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            files.insert(path, text);
        }
    }
}

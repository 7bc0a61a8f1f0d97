//! Which sibling modules import each other in a circle. A reader of one of them has to read all.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{outline, tokens};
use super::{Files, rust_files};

/// A circle that may stay: the folder of the modules, the modules, and why they are one thought.
type Allowed = (&'static str, &'static [&'static str], &'static str);

/// The circles that may stay.
const ALLOWED: &[Allowed] = &[
    (
        "crates/openshift/src",
        &["environment", "mco", "operators"],
        "operators ask the environment for releases, which finds the mirrors of a node in the files that mco rendered",
    ),
    (
        "crates/apiserver/src/kinds/validation",
        &["pods", "storage"],
        "pods and persistent volumes have the same sources of volumes, and pods have templates of claims",
    ),
    (
        "crates/apiserver/src",
        &["admission", "server"],
        "the server runs its list of plug-ins, which draw names and convert objects with the server",
    ),
    (
        "crates/apiserver/src",
        &["discovery", "kinds", "store"],
        "a stored object is encoded in the order of the fields of its kind, which depends on its group",
    ),
    (
        "crates/apiserver/src",
        &["reply", "watch"],
        "a watch is one of the replies, and its lines are encoded like other replies",
    ),
    (
        "src/steps",
        &["catalogue", "definitions", "dry_run", "gherkin"],
        "a step may repeat the steps of its doc string, so a definition looks up and tries other steps",
    ),
];

/// For each folder, the imports among its modules.
type Imports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

#[test]
fn modules_import_each_other_in_allowed_circles_only() {
    let found = circles(&rust_files());
    let is_known = |folder: &str, modules: &[String]| {
        ALLOWED.iter().any(|(place, names, _)| *place == folder && modules == *names)
    };
    let unknown = found.iter().filter(|(folder, modules)| !is_known(folder, modules));
    let mut faults: Vec<String> = unknown
        .map(|(folder, modules)| {
            format!("{folder}: {modules:?} import each other: move what they share, or say in ALLOWED why they are one")
        })
        .collect();
    let is_found = |(folder, names, _): &&Allowed| {
        found.iter().any(|(place, modules)| place == folder && modules == names)
    };
    faults.extend(
        ALLOWED
            .iter()
            .filter(|allowed| !is_found(allowed))
            .map(|(folder, names, _)| format!("{folder}: {names:?} are no circle: take them out of ALLOWED")),
    );
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn circles_of_siblings_are_found_at_each_level() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let files = Files::from([
        file("crates/x/src/lib.rs", "mod a; mod b; mod c;"),
        file("crates/x/src/a/mod.rs", "mod one; mod two; use crate::b::B;"),
        file("crates/x/src/a/one.rs", "use super::two::Two;"),
        file("crates/x/src/a/two.rs", "fn f(_: super::one::One) {}"),
        file("crates/x/src/b.rs", "use super::a::one::One; mod tests { use crate::c::C; }"),
        file("crates/x/src/c.rs", "use crate::b::B;"),
    ]);
    let found: Vec<(String, String)> =
        circles(&files).into_iter().map(|(folder, modules)| (folder, modules.join(" "))).collect();
    let circle = |folder: &str, modules: &str| (folder.to_owned(), modules.to_owned());
    assert_eq!(found, [circle("crates/x/src", "a b"), circle("crates/x/src/a", "one two")]);
}

/// Returns each group of modules of one folder that import each other in a circle. Unit tests do not count.
fn circles(files: &Files) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for (folder, imports) in imports(files) {
        let mut done = BTreeSet::new();
        for module in imports.keys() {
            let from = reachable(&imports, module);
            let together: Vec<String> =
                from.iter().filter(|other| reachable(&imports, other).contains(module)).cloned().collect();
            if together.len() > 1 && done.insert(together.clone()) {
                found.push((folder.clone(), together));
            }
        }
    }
    found
}

/// Returns the modules that a module imports, directly or through others.
fn reachable(imports: &BTreeMap<String, BTreeSet<String>>, module: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![module.to_owned()];
    while let Some(next) = open.pop() {
        let new = imports.get(&next).into_iter().flatten();
        open.extend(new.filter(|other| reached.insert((*other).clone())).cloned());
    }
    reached
}

fn imports(files: &Files) -> Imports {
    let modules: BTreeMap<Vec<&str>, &str> =
        files.iter().filter_map(|(path, text)| Some((module(path)?, text.as_str()))).collect();
    let mut imports = Imports::new();
    for (own, text) in &modules {
        if own.contains(&"tests") {
            continue;
        }
        let tokens = tokens(text);
        for path in outline(&tokens).0.iter().filter(|path| path.depth == 0) {
            let Some(target) = resolve(own, &path.names) else { continue };
            let known = (1..=target.len()).rev().find(|length| modules.contains_key(&target[..*length]));
            let target = &target[..known.unwrap_or(1)];
            let shared = own.iter().zip(target).take_while(|(one, other)| one == other).count();
            if shared < own.len() && shared < target.len() {
                let folder = imports.entry(own[..shared].join("/")).or_default();
                folder.entry(own[shared].to_owned()).or_default().insert(target[shared].to_owned());
            }
        }
    }
    imports
}

/// Returns the names of the module of a file, with the source folder of its crate as the first.
fn module(path: &str) -> Option<Vec<&str>> {
    let at = if path.starts_with("src/") {
        3
    } else {
        path.find("/src/").filter(|_| path.starts_with("crates/"))? + 4
    };
    let inner = path[at + 1..].strip_suffix(".rs")?;
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    let names = inner.split('/').filter(|_| !matches!(inner, "lib" | "main"));
    Some([path[..at].trim_end_matches('/')].into_iter().chain(names).collect())
}

/// Returns the full path of names that a module writes, if they are of its crate.
fn resolve<'t>(own: &[&'t str], names: &[&'t str]) -> Option<Vec<&'t str>> {
    let (base, rest) = match names.split_first()? {
        (&"crate", rest) => (&own[..1], rest),
        (&"self", rest) => (own, rest),
        (&"super", rest) => {
            let more = rest.iter().take_while(|name| **name == "super").count();
            (own.get(..own.len().checked_sub(1 + more)?)?, &rest[more..])
        }
        _ => return None,
    };
    Some([base, rest].concat())
}

//! Tests the source rules on small texts: each rule reports its violation, and ignores text that only
//! resembles one.

use super::layers::{CRATES, MODULES};
use super::*;

/// Compares the faults of one file with the expected ones, without the name of the file.
#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    let faults = check_file(path, &format!("//! What it is for.\n{text}"));
    let faults: Vec<&str> = faults.iter().map(|fault| fault.strip_prefix(path).unwrap()).collect();
    assert_eq!(faults, expected);
}

#[test]
fn the_tables_have_no_cycles() {
    let crates: Vec<String> = CRATES.iter().map(|(name, _)| name.replace('-', "_")).collect();
    for (index, (name, allowed)) in CRATES.iter().enumerate() {
        let known = |other: &&str| {
            let place = crates.iter().position(|known| known == other);
            place.is_some_and(|place| place != index && !CRATES[place].1.contains(name))
        };
        assert!(allowed.iter().all(known), "{name}: {allowed:?}");
    }
    for (index, (name, allowed)) in MODULES.iter().enumerate() {
        for other in *allowed {
            let other = other.split("::").next().unwrap();
            let is_earlier = MODULES[..index].iter().any(|(earlier, _)| *earlier == other);
            assert!(is_earlier || crates.iter().any(|known| known == other), "{name}: {other:?}");
        }
    }
}

/// The beginning of a line of a manifest after the prefix of our crates, or with the name of the program.
fn dependency(line: &str) -> Option<&str> {
    line.strip_prefix("windtunnel-").or_else(|| line.starts_with("windtunnel ").then_some(line))
}

#[test]
fn the_table_of_crates_matches_the_manifests() {
    for (name, allowed) in CRATES {
        let manifest = fs::read_to_string(root().join(format!("crates/{name}/Cargo.toml"))).unwrap();
        let ours = manifest.lines().filter_map(dependency);
        let ours: BTreeSet<&str> = ours.filter_map(|line| line.split(['.', ' ']).next()).collect();
        let allowed: Vec<String> = allowed.iter().map(|name| name.replace('_', "-")).collect();
        assert_eq!(ours, allowed.iter().map(String::as_str).collect(), "{name}");
    }
}

#[test]
fn files_are_written_in_one_place() {
    let text = "use std::fs;\nuse std::fs::{File, write};\nfn f() {\n    fs::write(a, b);\n    std::fs::File::create(a);\n}\n\
                mod tests {\n    fn f() {\n        fs::write(a, b);\n    }\n}\n";
    let advice = "write files by `cli::files`";
    let calls = [(3, "std::fs::write"), (5, "fs::write"), (6, "std::fs::File::create")];
    let expected = calls.map(|(line, call)| format!(":{line}: `{call}`: {advice}"));
    check("src/cli/new.rs", text, &expected.each_ref().map(String::as_str));
    for path in ["src/cli/files/target/draft.rs", "src/backends/programs/folder.rs", "tests/it/docs.rs"] {
        check(path, text, &[]);
    }
}

#[test]
fn a_forbidden_use_in_a_group_is_found_on_its_line() {
    check(
        "src/record/mod.rs",
        "use crate::{\n    record::{Entry, Event},\n    plan, cli::main,\n};\n",
        &[
            ":4: `record` may not use `plan`; it may use core",
            ":4: `record` may not use `cli::main`; it may use core",
        ],
    );
}

#[test]
fn a_forbidden_path_in_code_or_in_a_unit_test_is_found() {
    check(
        "src/record/fold.rs",
        "fn f() -> windtunnel_core::clock::Time { g(crate::engine::run) }\nmod tests {\n    use windtunnel_openshift::oc;\n}\n",
        &[
            ":2: `record` may not use `engine::run`; it may use core",
            ":4: `record` may not use `openshift::oc`; it may use core",
        ],
    );
    check(
        "crates/controllers/src/kubelet/mod.rs",
        "use windtunnel_core::View;\nuse crate::anything;\nuse super::super::x;\nuse windtunnel_openshift::cvo;\n",
        &[":5: `controllers` may not use `openshift::cvo`; it may use apiserver, core"],
    );
}

#[test]
fn only_the_program_uses_the_command_line() {
    let faults = check_file("src/steps/when.rs", "//! x\nuse crate::cli::main;\n");
    assert_eq!(faults.len(), 1, "{faults:?}");
    check("src/main.rs", "fn main() { windtunnel::cli::main() }\n", &[]);
    check("src/main.rs", "use windtunnel::engine;\n", &[":2: `main` may not use `engine`; it may use cli"]);
}

#[test]
fn the_engine_uses_plans_but_not_the_scenario_language() {
    check("src/engine/act.rs", "use crate::plan::{Action, path};\nuse crate::engine::Session;\n", &[]);
    let faults = check_file("src/engine/act.rs", "//! x\nuse crate::scenario::{self, read};\n");
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].contains(":2: `engine` may not use `scenario::self`"), "{faults:?}");
}

#[test]
fn the_crate_root_cannot_bypass_the_table() {
    let faults = |text: &str| check_file("src/record/fold.rs", &format!("//! x\n{text}"));
    for text in ["use crate as all;", "use crate::{self as all};", "use crate::*;", "use crate::unknown::X;"]
    {
        assert_eq!(faults(text).len(), 1, "{text}");
    }
    let known: String = MODULES.iter().map(|(name, _)| ["pub mod ", name, ";\n"].concat()).collect();
    assert!(check_root(&known).is_empty());
    assert_eq!(
        check_root(&format!("{known}pub use engine::Session;\n")),
        [format!("src/lib.rs:{}: only `mod` lines are allowed here", MODULES.len() + 1)]
    );
    assert_eq!(check_root(&format!("{known}mod more;\n")).len(), 1);
    assert_eq!(check_file("src/more.rs", "//! x\n"), ["src/more.rs:1: MODULES has no `more`"]);
    assert_eq!(
        check_file("crates/more/src/lib.rs", "//! x\n"),
        ["crates/more/src/lib.rs:1: CRATES has no `more`"]
    );
}

#[test]
fn super_may_not_leave_a_top_level_module() {
    check(
        "src/engine/cvo/lease.rs",
        "use super::super::Step;\nuse super::super::super::record;\nmod tests {\n    use super::super::super::Step;\n}\n",
        &[":3: `super::super::super::record` leaves `engine`: write `crate::...`"],
    );
    check(
        "src/engine/mod.rs",
        "use self::super::{record, plan};\nmod tests {\n    use super::*;\n}\n",
        &[
            ":2: `self::super::record` leaves `engine`: write `crate::...`",
            ":2: `self::super::plan` leaves `engine`: write `crate::...`",
        ],
    );
}

#[test]
fn comments_and_literals_are_ignored() {
    check(
        "crates/core/src/text.rs",
        "/// See [`crate::engine`].\n/* use crate::cli; */\nconst URL: &str = \"https://x/crate::cli dbg!()\"; // todo!()\n",
        &[],
    );
}

#[test]
fn banned_words_are_found_where_they_are_banned() {
    check(
        "crates/core/src/text.rs",
        "fn f() {\n    dbg!(1);\n}\n",
        &[":3: `dbg!`: remove it before you commit"],
    );
    check(
        "tests/it/cli.rs",
        "#[ignore]\nfn f() { println!() }\n",
        &[":2: `#[ignore]`: `#[ignore = \"why\"]`"],
    );
    check("tests/it/cli.rs", "#[ignore = \"takes an hour\"]\nfn f() {}\n", &[]);
    check(
        "src/report/mod.rs",
        "fn f() { eprintln!() }\n",
        &[":2: `eprintln!`: return an error; `cli` prints"],
    );
    check("src/cli/mod.rs", "use std::{env, fs};\nfn f() { println!() }\n", &[]);
    check(
        "src/report/mod.rs",
        "use std::{env, fs};\nfn f() -> &'static str { env!(\"X\") }\n",
        &[":2: `report` may not use `std::env`: take the value as an argument"],
    );
}

#[test]
fn a_file_needs_a_doc_line_and_at_most_800_lines() {
    assert_eq!(check_file("tests/it/a.rs", "use b;\n").len(), 1);
    let text = |lines: usize| format!("//! x\n{}", "\n".repeat(lines - 1));
    assert_eq!(check_file("tests/it/a.rs", &text(800)), [""; 0]);
    assert_eq!(check_file("tests/it/a.rs", &text(801)).len(), 1);
}

#[test]
fn a_file_without_a_mod_line_is_found() {
    let files = [
        ("src/lib.rs", "mod a; mod b { mod inner; }"),
        ("src/a/mod.rs", "mod c;"),
        ("src/a/c.rs", "mod d; // mod lost;"),
        ("src/a/c/d.rs", ""),
        ("src/a/c/lost.rs", "mod too;"),
        ("src/a/c/lost/too.rs", ""),
        ("src/b/inner.rs", ""),
        ("tests/it/main.rs", "mod e;"),
        ("tests/it/e.rs", ""),
        ("tests/forgotten.rs", ""),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
    let faults = unreached(&files, "path = \"src/lib.rs\"\npath = \"tests/it/main.rs\"\n");
    let lost: Vec<&str> = faults.iter().filter_map(|fault| fault.split(':').next()).collect();
    assert_eq!(lost, ["src/a/c/lost.rs", "src/a/c/lost/too.rs", "tests/forgotten.rs"]);
}

#[test]
fn texts_that_belong_to_one_machine_are_found() {
    for word in FOREIGN {
        assert_eq!(check_text("docs/a.md", &format!("fine\nsee {word}x\n")).len(), 1, "{word}");
    }
    assert!(check_text("docs/a.md", "source = \"elsewhere\"\n").is_empty());
    assert!(check_text("Cargo.lock", &format!("source = {CRATES_IO}\n")).is_empty());
    let faults = check_text("Cargo.lock", "a\nsource = \"registry+https://example.test/index\"\n");
    assert_eq!(faults, ["Cargo.lock:2: \"registry+https://example.test/index\" is not crates.io"]);
}

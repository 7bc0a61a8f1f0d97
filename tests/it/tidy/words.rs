//! Words and phrases that a reader has to read twice. They are banned in all texts of the project: docs, comments, messages, names.

use super::project_files;

/// A banned phrase, and what to write. In pieces, because this file is one of the texts.
const PHRASES: &[(&str, &str)] = &[
    (concat!("to", "ld"), "report, print, return, reject, mention, notify"),
    (concat!("tel", "ls of"), "reports, mentions, describes"),
    (concat!("tel", "l of"), "report, mention, describe"),
    (concat!("who", "ever"), "the user, the client, the caller"),
    (concat!("who as", "ks"), "the client, the caller"),
    (concat!("stan", "ds in for"), "represents"),
    (concat!("stan", "ds for"), "represents, means"),
    (concat!("is pla", "yed"), "runs"),
    (concat!("are pla", "yed"), "run"),
    (concat!("has it t", "hat"), "says that"),
    (concat!("lets it", "self"), "can be"),
    (concat!("goes by it", "self"), "expires, is deleted"),
    (concat!("go by them", "selves"), "expire, are deleted"),
    (concat!("otherwise t", "han"), "differently from"),
    (concat!("so ma", "ny"), "the number"),
    (concat!("without a w", "ord"), "silently, without a message"),
    (concat!("brought ab", "out"), "caused, created"),
    (concat!("turns ro", "und"), "rolls back, changes its target"),
    (concat!("what it la", "cks"), "missing fields"),
    (concat!("nobody h", "as"), "does not exist"),
    (concat!("men", "ded"), "fixed, repaired"),
];

/// Folders whose texts are recorded from other programs, or copied from them.
const QUOTED: &[&str] = &[
    "tests/conformance/",
    "tests/status/",
    "tests/insights/",
    "tests/oc/",
    "tests/dumps/",
    "manifests/",
    "Cargo.lock",
];

#[test]
fn no_text_has_a_banned_phrase() {
    let files = project_files();
    let own = files.iter().filter(|(path, _)| !QUOTED.iter().any(|folder| path.starts_with(folder)));
    let faults: Vec<String> = own.flat_map(|(path, text)| check_words(path, text)).collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn banned_phrases_are_found_as_whole_words_in_any_case() {
    let banned = concat!("to", "ld");
    let text = format!("A {banned} B\nun{banned}\n{}_x\n", banned.to_uppercase());
    let instead = PHRASES[0].1;
    assert_eq!(check_words("a.md", &text), [format!("a.md:1: `{banned}`: write {instead}")]);
}

fn check_words(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.to_lowercase();
        let found = PHRASES.iter().filter(|(phrase, _)| has_words(&line, phrase));
        faults.extend(
            found.map(|(phrase, instead)| format!("{path}:{}: `{phrase}`: write {instead}", index + 1)),
        );
    }
    faults
}

/// Whether a phrase occurs in a line and is not a part of longer words.
fn has_words(line: &str, phrase: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(phrase)
        .any(|(at, _)| !line[..at].ends_with(is_word) && !line[at + phrase.len()..].starts_with(is_word))
}

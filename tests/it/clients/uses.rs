//! Reads lists of everyday uses (`tests/clients/*.txt`) and runs them, each twice.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::process::{Command, Output};

/// A command, and what its output has at the first and at the second time.
struct Use {
    command: String,
    outputs: Vec<Expected>,
    /// Saves the output of the first time under this name.
    keep: Option<String>,
    /// The minors of the program that know the command.
    minors: RangeInclusive<u32>,
}

/// The expected output of a command.
#[derive(Clone, Default)]
struct Expected {
    fails: bool,
    text: String,
}

impl Expected {
    fn read(text: &str) -> Self {
        let failure = text.strip_prefix("fails: ");
        Self { fails: failure.is_some(), text: failure.unwrap_or(text).to_owned() }
    }

    /// Whether a command had this result.
    fn is_met(&self, output: &Output) -> bool {
        output.status.success() != self.fails && text(output).contains(&self.text)
    }
}

/// Reads a list.
fn read(list: &str) -> Vec<Use> {
    let mut uses: Vec<Use> = Vec::new();
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let Some(property) = line.strip_prefix("  ") else {
            let (command, minors) = (line.to_owned(), 0..=u32::MAX);
            uses.push(Use { command, outputs: vec![Expected::default(); 2], keep: None, minors });
            continue;
        };
        let (name, value) = property.split_once(": ").unwrap_or_else(|| panic!("no value: {line}"));
        let last = uses.last_mut().unwrap_or_else(|| panic!("no command before: {line}"));
        match name {
            "first" => last.outputs[0] = Expected::read(value),
            "again" => last.outputs[1] = Expected::read(value),
            "both" => last.outputs = vec![Expected::read(value); 2],
            "once" => last.outputs = vec![Expected::read(value)],
            "keep" => last.keep = Some(value.to_owned()),
            "since" => last.minors = value.parse().unwrap()..=*last.minors.end(),
            "until" => last.minors = *last.minors.start()..=value.parse().unwrap(),
            _ => panic!("unknown property: {line}"),
        }
    }
    uses
}

/// Runs the uses of a list that `minor` knows, each twice, and panics with all that have another result. `program` is the
/// command without arguments.
pub(super) fn run(list: &str, minor: u32, program: impl Fn() -> Command) {
    let mut kept = BTreeMap::new();
    let mut problems = Vec::new();
    for item in read(list).into_iter().filter(|item| item.minors.contains(&minor)) {
        for (time, expected) in ["first", "again"].into_iter().zip(&item.outputs) {
            let arguments = words(&item.command, &kept);
            let output = program().args(&arguments).output().unwrap();
            if let (Some(name), "first") = (&item.keep, time) {
                let stdout = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                kept.insert(name.clone(), stdout);
            }
            if !expected.is_met(&output) {
                let (fails, expected) = (if expected.fails { "a failure with " } else { "" }, &expected.text);
                let found = format!("{}, {}", output.status, text(&output));
                problems
                    .push(format!("{time}: {}\nexpected {fails}`{expected}`, found {found}", item.command));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

/// Everything that a command printed.
fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The arguments of a command: words, in which single quotes protect spaces, with kept values.
fn words(command: &str, kept: &BTreeMap<String, String>) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    for (name, value) in kept {
        for word in &mut words {
            *word = word.replace(&format!("$({name})"), value);
        }
    }
    words
}

#[test]
fn lists_are_read_with_their_properties() {
    let uses = read("# list\na 'b c'\n  first: x\n  again: fails: y\n  since: 24\n\nd $(T)\n");
    assert_eq!(words(&uses[0].command, &BTreeMap::new()), ["a", "b c"]);
    assert_eq!((uses[0].outputs[0].fails, &*uses[0].outputs[0].text), (false, "x"));
    assert_eq!((uses[0].outputs[1].fails, &*uses[0].outputs[1].text), (true, "y"));
    assert!(!uses[0].minors.contains(&23) && uses[0].minors.contains(&24));
    assert_eq!(words(&uses[1].command, &BTreeMap::from([("T".to_owned(), "v".to_owned())])), ["d", "v"]);
}

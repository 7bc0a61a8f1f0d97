//! The definition of a step: its pattern, its documentation, and the function that makes a step of a plan of it.

use cucumber::gherkin::StepType;
use regex::Regex;

use super::Call;
use crate::plan::{ExpectedState, PlannedStep, Step};
use crate::steps::world::ClusterWorld;

/// The definition of a step.
#[derive(Debug, Clone, Copy)]
pub(in crate::steps) struct Definition {
    /// The keyword that the step needs.
    pub(in crate::steps) keyword: StepType,
    /// The pattern of the text. It may contain the names of [`PARTS`], and `{word}` for one of `words`.
    pub(in crate::steps) pattern: &'static str,
    /// The words at `{word}`.
    pub(in crate::steps) words: fn() -> Vec<&'static str>,
    /// The description.
    pub(in crate::steps) text: &'static str,
    /// Example texts without the keyword; at least one.
    pub(in crate::steps) examples: &'static [&'static str],
    /// The function that makes the step.
    pub(in crate::steps) make: Make,
}

/// The function of a step, by its result.
#[derive(Debug, Clone, Copy)]
pub(in crate::steps) enum Make {
    /// Changes the plan of the cluster, or what later steps use.
    Setting(fn(&mut ClusterWorld, &Call<'_>) -> Result<(), String>),
    /// Returns one step.
    Step(fn(&mut ClusterWorld, &Call<'_>) -> Result<Step, String>),
    /// Returns the state that is expected at the time that the text names.
    State(fn(&ClusterWorld, &Call<'_>) -> Result<ExpectedState, String>),
    /// Returns any number of steps.
    Steps(fn(&mut ClusterWorld, &Call<'_>) -> Result<Vec<PlannedStep>, String>),
}

/// Parts of many patterns, by their names in patterns. [`Call`] parses the values of their groups.
const PARTS: [(&str, &str); 10] = [
    ("{at}", r"(?:at (?<at>\d+ \w+) )?"),
    (
        "{at or change}",
        r"(?:at (?:(?<at>\d+ \w+)|change (?<change>\d+) of (?<changed>\S+)) |after (?<after>\d+ \w+) )?",
    ),
    ("{timing}", r"(?<timing>(?:within|throughout) \d+ \w+ )?"),
    ("{within}", r"(?<timing>within \d+ \w+ )?"),
    (
        "{since}",
        r"(?: since (?:the (?<since>start|last action|last update)|step (?<step>\d+))| in the last (?<back>\d+ \w+))?",
    ),
    ("{for}", r"(?: for (?<for>\d+ \w+))?"),
    ("{of}", r"(?: of (?<kind>[^\s/]+)(?:/(?<name>\S+))?)?"),
    ("{by}", r"(?: by (?<by>\S+))?"),
    ("{object}", r"([A-Z]\w+(?:/\S+)?)"),
    ("{text}", r#"("[^"]*"|/.+/)"#),
];

impl Definition {
    /// Returns the definition with these words at `{word}`.
    pub(super) const fn with_words(self, words: fn() -> Vec<&'static str>) -> Self {
        Self { words, ..self }
    }

    /// Returns the pattern of the whole text.
    pub(in crate::steps) fn regex(&self) -> Regex {
        regex(&self.pattern.replace("{word}", &format!("({})", (self.words)().join("|"))))
    }
}

/// Returns the expression for the whole text of a pattern with [`PARTS`].
#[expect(clippy::expect_used, reason = "constant patterns, which a test compiles")]
pub(in crate::steps) fn regex(pattern: &str) -> Regex {
    let pattern = PARTS.iter().fold(pattern.to_owned(), |pattern, (name, part)| pattern.replace(name, part));
    Regex::new(&format!("^{pattern}$")).expect("pattern")
}

/// Returns a step that changes the plan of the cluster.
pub(super) const fn given(
    pattern: &'static str,
    text: &'static str,
    examples: &'static [&'static str],
    make: fn(&mut ClusterWorld, &Call<'_>) -> Result<(), String>,
) -> Definition {
    step(StepType::Given, pattern, text, examples, Make::Setting(make))
}

/// Returns a step that acts.
pub(super) const fn when(
    pattern: &'static str,
    text: &'static str,
    examples: &'static [&'static str],
    make: fn(&mut ClusterWorld, &Call<'_>) -> Result<Step, String>,
) -> Definition {
    step(StepType::When, pattern, text, examples, Make::Step(make))
}

/// Returns a step that expects a state.
pub(super) const fn then(
    pattern: &'static str,
    text: &'static str,
    examples: &'static [&'static str],
    make: fn(&ClusterWorld, &Call<'_>) -> Result<ExpectedState, String>,
) -> Definition {
    step(StepType::Then, pattern, text, examples, Make::State(make))
}

/// Returns a step with this keyword.
pub(super) const fn step(
    keyword: StepType,
    pattern: &'static str,
    text: &'static str,
    examples: &'static [&'static str],
    make: Make,
) -> Definition {
    Definition { keyword, pattern, words: Vec::new, text, examples, make }
}

/// Returns a step of a plan without a place.
pub(super) fn planned(text: &str, step: Step) -> PlannedStep {
    PlannedStep { line: 0, column: 0, text: text.to_owned(), step }
}

/// The words that a pattern accepts in one place, and their meanings.
pub(super) type Words<T> = &'static [(&'static str, T)];

/// Returns the words, for a pattern.
pub(super) fn names<T>(words: Words<T>) -> Vec<&'static str> {
    words.iter().map(|(word, _)| *word).collect()
}

/// Returns the meaning of a word.
///
/// # Errors
/// There is no such word.
pub(super) fn meaning<T: Copy>(words: Words<T>, word: &str) -> Result<T, String> {
    let found = words.iter().find(|(known, _)| *known == word);
    let expected = || format!("expected one of `{}`, found `{word}`", names(words).join("`, `"));
    found.map(|(_, meaning)| *meaning).ok_or_else(expected)
}

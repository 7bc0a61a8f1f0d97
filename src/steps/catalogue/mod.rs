//! The catalogue of Gherkin steps: their forms for people, and the search for the step that a text means.

mod form;
mod nouns;
mod page;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use cucumber::gherkin::{self, StepType};
use regex::{Captures, Regex};

use super::definitions::{Call, Definition, Make, TOPICS};

pub use page::markdown;

/// The groups of the moment at which a step begins or from which it counts, which is no value of the step.
const MOMENTS: [&str; 7] = ["at", "change", "changed", "after", "since", "step", "back"];

/// Texts that no step matches, and the example of the step that their authors probably mean.
const OTHER_WORDINGS: [(&str, &str); 19] = [
    ("I upgrade to 4.14.8", "I update to 4.14.8"),
    ("I upgrade the cluster", "I update to 4.14.8"),
    ("the cluster is upgraded", "I update to 4.14.8"),
    ("I downgrade the cluster", "I roll back"),
    ("I go back to 4.14.3", "I roll back"),
    ("the update is rolled back", "I roll back"),
    ("45% of the update is done", "the update reaches 45% of operators"),
    ("the update is at 45%", "the update reaches 45% of operators"),
    ("pool worker is paused", "I pause pool worker"),
    ("pool worker is unpaused", "I pause pool worker"),
    ("I fail node worker-0", "node worker-0 becomes not ready"),
    ("node worker-0 fails", "node worker-0 becomes not ready"),
    ("node worker-0 is down", "node worker-0 loses its power for 20 minutes"),
    ("I wait for 40 minutes", "40 minutes pass"),
    ("I wait 40 minutes", "40 minutes pass"),
    ("the update is finished", "within 3 hours the update is complete"),
    ("the upgrade is complete", "within 3 hours the update is complete"),
    ("the upgrade is finished", "within 3 hours the update is complete"),
    ("the cluster is updated", "within 3 hours the update is complete"),
];

/// A module of steps about one topic.
#[derive(Debug)]
pub struct Topic {
    /// The title.
    pub title: &'static str,
    /// The steps.
    pub steps: Vec<StepDoc>,
}

/// The documentation of one step.
#[derive(Debug)]
pub struct StepDoc {
    /// `Given`, `When` or `Then`.
    pub keyword: &'static str,
    /// Whether the step accepts any keyword.
    pub any_keyword: bool,
    /// The pattern of its text.
    pub pattern: Regex,
    /// The readable form of the pattern: `I update to <version>[ by force]`.
    pub form: String,
    /// The description.
    pub text: &'static str,
    /// Example texts without the keyword; at least one.
    pub examples: &'static [&'static str],
    make: Make,
}

/// The result of a lookup.
#[derive(Debug)]
pub enum Lookup {
    /// The matching step, with the values captured from the text.
    Step(&'static StepDoc, Vec<String>),
    /// The nearest examples, best first; no step matches.
    Nearest(Vec<(&'static StepDoc, &'static str)>),
}

/// Returns all steps.
pub fn topics() -> &'static [Topic] {
    static ALL: LazyLock<Vec<Topic>> = LazyLock::new(|| {
        let topic = |(title, steps): (&'static str, &'static [Definition])| {
            let any_keyword = title.starts_with("Given, When or Then: ");
            Topic { title, steps: steps.iter().map(|step| documented(step, any_keyword)).collect() }
        };
        TOPICS.into_iter().map(topic).collect()
    });
    &ALL
}

fn documented(step: &Definition, any_keyword: bool) -> StepDoc {
    let (keyword, pattern) = (keyword(step.keyword), step.regex());
    let form = form::form(pattern.as_str());
    StepDoc { keyword, any_keyword, pattern, form, text: step.text, examples: step.examples, make: step.make }
}

/// Returns the keyword of a type of steps.
pub(super) fn keyword(ty: StepType) -> &'static str {
    match ty {
        StepType::Given => "Given",
        StepType::When => "When",
        StepType::Then => "Then",
    }
}

/// Returns the function of a step, and the values of its text.
pub(super) fn call(step: &gherkin::Step) -> Option<(Make, Call<'_>)> {
    let mut all = steps(None).filter(|known| known.keyword == keyword(step.ty));
    all.find_map(|known| Some((known.make, Call::new(&known.pattern, step)?)))
}

/// Returns the keyword of the matching step, if the step accepts any keyword.
pub(super) fn alias(text: &str) -> Option<StepType> {
    let step = steps(None).find(|step| step.any_keyword && step.pattern.is_match(text))?;
    Some(match step.keyword {
        "Given" => StepType::Given,
        "When" => StepType::When,
        _ => StepType::Then,
    })
}

/// Returns the steps that accept a keyword; `None` means any.
fn steps(keyword: Option<&str>) -> impl Iterator<Item = &'static StepDoc> {
    let all = topics().iter().flat_map(|topic| &topic.steps);
    all.filter(move |step| keyword.is_none_or(|keyword| step.any_keyword || step.keyword == keyword))
}

/// Returns the step that matches a text, or the nearest ones. The text may start with its keyword; `And`, `But` and `*` mean any
/// keyword.
pub fn find(text: &str) -> Lookup {
    let (keyword, text) = split_keyword(text);
    match matching(keyword, text) {
        Some((step, captures)) => {
            let values = step.pattern.capture_names().zip(captures.iter()).skip(1);
            let values = values.filter(|(name, _)| name.is_none_or(|name| !MOMENTS.contains(&name)));
            let values = values.filter_map(|(_, value)| Some(value?.as_str().to_owned()));
            Lookup::Step(step, values.collect())
        }
        None => Lookup::Nearest(most_like(keyword, text, 3)),
    }
}

/// Returns the keyword of the step that matches a text as [`find`] does, without the costly search for similar steps.
pub(super) fn matching_keyword(text: &str) -> Option<&'static str> {
    let (keyword, text) = split_keyword(text);
    matching(keyword, text).map(|(step, _)| step.keyword)
}

fn split_keyword(text: &str) -> (Option<&str>, &str) {
    let text = text.trim();
    match text.split_once(' ') {
        Some((word @ ("Given" | "When" | "Then"), rest)) => (Some(word), rest.trim()),
        Some(("And" | "But" | "*", rest)) => (None, rest.trim()),
        _ => (None, text),
    }
}

/// Returns the first matching step, if possible with this keyword.
fn matching<'t>(keyword: Option<&str>, text: &'t str) -> Option<(&'static StepDoc, Captures<'t>)> {
    let mut all = steps(keyword).chain(steps(None));
    all.find_map(|step| Some((step, step.pattern.captures(text)?)))
}

/// Returns the nearest example among the steps of a keyword.
pub(super) fn example_like(keyword: &str, text: &str) -> Option<&'static str> {
    most_like(Some(keyword), text, 1).first().map(|(_, example)| *example)
}

/// Returns up to `count` nearest examples, best first. The comparison ignores times, names and values, which
/// say little about the kind of step.
fn most_like(keyword: Option<&str>, text: &str, count: usize) -> Vec<(&'static StepDoc, &'static str)> {
    let (wanted, nouns) = (without_values(text), nouns::of(text));
    let all = steps(keyword).flat_map(|step| {
        let examples = step.examples.iter().map(|example| (*example, *example));
        let others = OTHER_WORDINGS.into_iter().filter(|(_, example)| step.examples.contains(example));
        examples.chain(others).map(move |(text, example)| (text, (step, example)))
    });
    let mut found: Vec<(f64, (&StepDoc, &str))> = all
        .map(|(text, example)| {
            let likeness = likeness(&wanted, &without_values(text));
            (likeness + nouns::bonus(&nouns, &nouns::of(text)), example)
        })
        .filter(|(likeness, _)| *likeness > LIKENESS_MIN)
        .collect();
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut seen = BTreeSet::new();
    let examples = found.into_iter().map(|(_, example)| example).filter(|(_, example)| seen.insert(*example));
    examples.take(count).collect()
}

/// The lowest similarity of texts that have anything in common.
const LIKENESS_MIN: f64 = 0.68;

/// Returns the similarity of two texts from 0 to 1: by words in any order and form, and by letters.
fn likeness(a: &str, b: &str) -> f64 {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(' ').filter(|word| word.len() > 3);
        words.map(|word| word.chars().take(STEM).collect::<String>().to_lowercase()).collect()
    };
    let (ours, theirs) = (words(a), words(b));
    let shared = ours.iter().filter(|word| theirs.contains(word)).count();
    // Examples are longer than necessary, so only the share of our words in theirs counts.
    #[expect(clippy::cast_precision_loss, reason = "steps have few words")]
    let by_words = shared as f64 / ours.len().max(1) as f64;
    let by_letters = strsim::jaro_winkler(&a.to_lowercase(), &b.to_lowercase());
    // Equal words make a good match in any order, but a slightly misspelled text is the best one.
    by_letters.max(by_words.mul_add(0.2, by_words.midpoint(by_letters)).min(0.9))
}

/// The length of the word stems that are compared, as in `paused` and `pause`.
const STEM: usize = 4;

/// Returns a text without `within 10 minutes` or `throughout 2h`, and with `_` for each name and value.
fn without_values(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    if ["within", "throughout"].contains(&words[0]) {
        let unit_apart = words.get(1).is_some_and(|time| time.chars().all(|digit| digit.is_ascii_digit()));
        words.drain(..words.len().min(if unit_apart { 3 } else { 2 }));
    }
    let is_value =
        |word: &str| word.contains(|letter: char| letter.is_ascii_digit() || "/\"".contains(letter));
    let words: Vec<&str> = words.into_iter().map(|word| if is_value(word) { "_" } else { word }).collect();
    words.join(" ")
}

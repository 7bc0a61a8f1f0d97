//! The catalogue of Gherkin steps. It is built from the source of the step functions: their patterns, and
//! their doc comments with examples. A new step therefore needs only one function with a doc comment.

mod form;
mod page;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use cucumber::gherkin::{self, StepType};
use regex::{Captures, Regex};

use super::definitions::{Call, Definition, Make, faults, registry_faults, watch_faults};

pub use page::markdown;

const MODULES: &[(&str, &str)] = &[
    ("given", include_str!("../definitions/given.rs")),
    ("update_service", include_str!("../definitions/update_service.rs")),
    ("when", include_str!("../definitions/when.rs")),
    ("changes", include_str!("../definitions/changes.rs")),
    ("faults", ""),
    ("registry_faults", ""),
    ("watch_faults", ""),
    ("then", include_str!("../definitions/then.rs")),
    ("history_steps", include_str!("../definitions/history_steps.rs")),
    ("insights", include_str!("../definitions/insights.rs")),
    ("commands", include_str!("../definitions/commands.rs")),
    ("aliases", include_str!("../definitions/aliases.rs")),
    ("projects", include_str!("../definitions/projects.rs")),
    ("test_data", include_str!("../definitions/test_data.rs")),
];

/// The groups of the moment at which a step begins, which is no value of the step.
const MOMENTS: [&str; 3] = ["at", "change", "changed"];

/// The modules whose steps accept any keyword, as in the suite that they come from.
const ALIASES: [&str; 3] = ["aliases", "projects", "test_data"];

/// A module of steps about one topic.
#[derive(Debug)]
pub struct Topic {
    /// The title, from the first line of the module's comment.
    pub title: String,
    /// The steps, in the order of the source.
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
    pub text: String,
    /// Example texts without the keyword; at least one.
    pub examples: Vec<String>,
    /// Other wordings, which no step accepts: `Also:` in its doc comment.
    pub other_wordings: Vec<String>,
    pub(super) make: Option<Make>,
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
    static TOPICS: LazyLock<Vec<Topic>> = LazyLock::new(|| {
        MODULES
            .iter()
            .map(|(module, source)| table(module).unwrap_or_else(|| topic(module, source)))
            .collect()
    });
    &TOPICS
}

fn table(module: &str) -> Option<Topic> {
    let (title, steps) = match module {
        "faults" => {
            ("When: faults of operators, nodes, pods and the API server, and their recovery.", faults::STEPS)
        }
        "registry_faults" => (
            "When: faults of releases in the registry, of webhooks and of CustomResourceDefinitions.",
            registry_faults::STEPS,
        ),
        "watch_faults" => ("When: faults of what clients see on their watches.", watch_faults::STEPS),
        _ => return None,
    };
    let doc = |step: &Definition| {
        Some(StepDoc {
            keyword: keyword(step.keyword),
            any_keyword: ALIASES.contains(&module),
            pattern: step.regex().ok()?,
            form: form::form(step.regex().ok()?.as_str()),
            text: step.text.to_owned(),
            examples: step.examples.iter().map(|e| (*e).to_owned()).collect(),
            other_wordings: Vec::new(),
            make: Some(step.make),
        })
    };
    Some(Topic { title: title.to_owned(), steps: steps.iter().filter_map(doc).collect() })
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
    all.find_map(|known| Some((known.make?, Call::new(&known.pattern, step)?)))
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
    let wanted = without_values(text);
    let all = steps(keyword).flat_map(|step| {
        let examples = step.examples.iter().map(|example| (&**example, &**example));
        // An `Also:` wording counts for the first example.
        let others = step.other_wordings.iter().filter_map(|also| Some((&**also, &**step.examples.first()?)));
        examples.chain(others).map(move |(text, example)| (text, (step, example)))
    });
    let mut found: Vec<(f64, (&StepDoc, &str))> = all
        .map(|(text, example)| (likeness(&wanted, &without_values(text)), example))
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

/// Parses the steps of a module's source. It skips steps that it cannot parse; the tests detect that.
fn topic(module: &str, source: &str) -> Topic {
    let title = source.lines().next().and_then(|line| line.strip_prefix("//! ")).unwrap_or(module);
    let mut steps = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("///") {
            comment.push(text.strip_prefix(' ').unwrap_or(text));
            continue;
        }
        if let Some(keyword) = keyword_of(line) {
            let mut attribute = line.to_owned();
            while !attribute.ends_with(")]") {
                let Some(more) = lines.next() else { break };
                attribute.push_str(more.trim());
            }
            steps.extend(step(keyword, ALIASES.contains(&module), &attribute, &comment));
        }
        comment.clear();
    }
    Topic { title: title.to_owned(), steps }
}

/// Returns the keyword of a step attribute such as `#[given(`.
fn keyword_of(line: &str) -> Option<&'static str> {
    let (name, _) = line.strip_prefix("#[")?.split_once('(')?;
    match name {
        "given" => Some("Given"),
        "when" => Some("When"),
        "then" => Some("Then"),
        _ => None,
    }
}

fn step(keyword: &'static str, any_keyword: bool, attribute: &str, comment: &[&str]) -> Option<StepDoc> {
    let (_, literal) = attribute.split_once("regex = r")?;
    let hashes = literal.len() - literal.trim_start_matches('#').len();
    let end = format!("\"{}", "#".repeat(hashes));
    let pattern = literal[hashes..].strip_prefix('"')?;
    let pattern = Regex::new(pattern.rsplit_once(&end)?.0).ok()?;
    let (mut text, mut examples, mut other_wordings) = (Vec::new(), Vec::new(), Vec::new());
    let mut in_example = false;
    for line in comment {
        if line.starts_with("```") {
            in_example = !in_example;
        } else if in_example {
            examples.extend(line.strip_prefix(keyword).map(|example| example.trim().to_owned()));
        } else if let Some(words) = line.strip_prefix("Also: ") {
            other_wordings.extend(words.split("; ").map(str::to_owned));
        } else if !line.is_empty() {
            text.push(*line);
        }
    }
    Some(StepDoc {
        keyword,
        any_keyword,
        form: form::form(pattern.as_str()),
        pattern,
        text: text.join(" "),
        examples,
        other_wordings,
        make: None,
    })
}

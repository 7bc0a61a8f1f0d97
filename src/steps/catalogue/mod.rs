//! The vocabulary for those who look for a sentence. It is read from the steps themselves: their patterns, and what their
//! doc comments say, with an example each. So a new step is one function with a doc comment.

mod form;
mod page;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use cucumber::gherkin::StepType;
use regex::Regex;

pub use page::markdown;

/// The modules that hold steps.
const MODULES: &[(&str, &str)] = &[
    ("given", include_str!("../given.rs")),
    ("update_service", include_str!("../update_service.rs")),
    ("when", include_str!("../when.rs")),
    ("faults", include_str!("../faults.rs")),
    ("outside", include_str!("../outside.rs")),
    ("then", include_str!("../then.rs")),
    ("since", include_str!("../since.rs")),
    ("insights", include_str!("../insights.rs")),
    ("commands", include_str!("../commands.rs")),
    ("aliases", include_str!("../aliases.rs")),
    ("test_data", include_str!("../test_data.rs")),
];

/// The modules whose steps may be said with any keyword: where they come from, keywords say nothing.
const ALIASES: [&str; 2] = ["aliases", "test_data"];

/// Steps about one thing: a module.
#[derive(Debug)]
pub struct Topic {
    /// What they are about, as the first line of the module says it.
    pub title: String,
    /// The steps in the order in which they stand there.
    pub steps: Vec<StepDoc>,
}

/// What is known of one step.
#[derive(Debug)]
pub struct StepDoc {
    /// `Given`, `When` or `Then`.
    pub keyword: &'static str,
    /// Whether any other keyword will do.
    pub any: bool,
    /// The sentences that it takes.
    pub pattern: Regex,
    /// The same for people: `I update to <version>[ by force]`.
    pub form: String,
    /// What it does.
    pub text: String,
    /// Sentences as they are written, without the keyword; at least one.
    pub examples: Vec<String>,
    /// Other words for it, which no step takes: `Also:` in its doc comment.
    pub also: Vec<String>,
}

/// What a sentence is to the vocabulary.
#[derive(Debug)]
pub enum Found {
    /// It is this step, with these parts of the sentence as its values.
    Step(&'static StepDoc, Vec<String>),
    /// No step takes it; these examples are most like it, the best first.
    Like(Vec<(&'static StepDoc, &'static str)>),
}

/// All steps.
pub fn topics() -> &'static [Topic] {
    static TOPICS: LazyLock<Vec<Topic>> =
        LazyLock::new(|| MODULES.iter().map(|(module, source)| topic(module, source)).collect());
    &TOPICS
}

/// The keyword of a step that may be said with any.
pub(super) fn alias(sentence: &str) -> Option<StepType> {
    let step = steps(None).find(|step| step.any && step.pattern.is_match(sentence))?;
    Some(match step.keyword {
        "Given" => StepType::Given,
        "When" => StepType::When,
        _ => StepType::Then,
    })
}

/// All steps that are said with a keyword; `None` stands for any.
fn steps(keyword: Option<&str>) -> impl Iterator<Item = &'static StepDoc> {
    let all = topics().iter().flat_map(|topic| &topic.steps);
    all.filter(move |step| keyword.is_none_or(|keyword| step.any || step.keyword == keyword))
}

/// The step that takes a sentence, which may begin with its keyword. `And`, `But` and `*` stand for any.
pub fn find(sentence: &str) -> Found {
    let sentence = sentence.trim();
    let (keyword, sentence) = match sentence.split_once(' ') {
        Some((word @ ("Given" | "When" | "Then"), rest)) => (Some(word), rest.trim()),
        Some(("And" | "But" | "*", rest)) => (None, rest.trim()),
        _ => (None, sentence),
    };
    for step in steps(keyword).chain(steps(None)) {
        if let Some(captures) = step.pattern.captures(sentence) {
            let values = captures.iter().skip(1).flatten();
            return Found::Step(step, values.map(|value| value.as_str().to_owned()).collect());
        }
    }
    Found::Like(most_like(keyword, sentence, 3))
}

/// The example of a keyword's steps that is most like a sentence.
pub(super) fn example_like(keyword: &str, sentence: &str) -> Option<&'static str> {
    most_like(Some(keyword), sentence, 1).first().map(|(_, example)| *example)
}

/// The examples most like a sentence, at most `count`, the best first. When it must hold, names and values say little of
/// what it is: they are not compared.
fn most_like(keyword: Option<&str>, sentence: &str, count: usize) -> Vec<(&'static StepDoc, &'static str)> {
    let wanted = gist(sentence);
    let all = steps(keyword).flat_map(|step| {
        let examples = step.examples.iter().map(|example| (&**example, &**example));
        // What else it may be called stands for its first example.
        let also = step.also.iter().filter_map(|also| Some((&**also, &**step.examples.first()?)));
        examples.chain(also).map(move |(text, example)| (text, (step, example)))
    });
    let mut found: Vec<(f64, (&StepDoc, &str))> = all
        .map(|(text, example)| (likeness(&wanted, &gist(text)), example))
        .filter(|(likeness, _)| *likeness > LIKE)
        .collect();
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut told = BTreeSet::new();
    let examples = found.into_iter().map(|(_, example)| example).filter(|(_, example)| told.insert(*example));
    examples.take(count).collect()
}

/// Sentences less like each other than this have nothing in common.
const LIKE: f64 = 0.68;

/// How like two sentences are, 0 to 1: by their words, in whatever order and form, and by their letters.
fn likeness(a: &str, b: &str) -> f64 {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(' ').filter(|word| word.len() > 3);
        words.map(|word| word.chars().take(STEM).collect::<String>().to_lowercase()).collect()
    };
    let (ours, theirs) = (words(a), words(b));
    let shared = ours.iter().filter(|word| theirs.contains(word)).count();
    // Examples say more than they must: what counts is how much of the sentence is in them.
    #[expect(clippy::cast_precision_loss, reason = "sentences have few words")]
    let by_words = shared as f64 / ours.len().max(1) as f64;
    let by_letters = strsim::jaro_winkler(&a.to_lowercase(), &b.to_lowercase());
    // Whose words are the same is meant, however they stand; but nothing is as near as a word that is written a little
    // otherwise.
    by_letters.max(by_words.mul_add(0.2, by_words.midpoint(by_letters)).min(0.9))
}

/// How many letters of a word tell what it is about: `paused` and `pause`.
const STEM: usize = 4;

/// A sentence without `within 10 minutes` or `throughout 2h`, and with `_` for each name and value.
fn gist(sentence: &str) -> String {
    let mut words: Vec<&str> = sentence.split(' ').collect();
    if ["within", "throughout"].contains(&words[0]) {
        let unit_apart = words.get(1).is_some_and(|time| time.chars().all(|digit| digit.is_ascii_digit()));
        words.drain(..words.len().min(if unit_apart { 3 } else { 2 }));
    }
    let is_value =
        |word: &str| word.contains(|letter: char| letter.is_ascii_digit() || "/\"".contains(letter));
    let words: Vec<&str> = words.into_iter().map(|word| if is_value(word) { "_" } else { word }).collect();
    words.join(" ")
}

/// The steps of a module's source. What cannot be read in it is a mistake that the tests find.
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

/// The keyword of an attribute that makes a function a step.
fn keyword_of(line: &str) -> Option<&'static str> {
    let (name, _) = line.strip_prefix("#[")?.split_once('(')?;
    match name {
        "given" => Some("Given"),
        "when" => Some("When"),
        "then" => Some("Then"),
        _ => None,
    }
}

fn step(keyword: &'static str, any: bool, attribute: &str, comment: &[&str]) -> Option<StepDoc> {
    let (_, literal) = attribute.split_once("regex = r")?;
    let hashes = literal.len() - literal.trim_start_matches('#').len();
    let end = format!("\"{}", "#".repeat(hashes));
    let pattern = literal[hashes..].strip_prefix('"')?;
    let pattern = Regex::new(pattern.rsplit_once(&end)?.0).ok()?;
    let (mut text, mut examples, mut also, mut in_example) = (Vec::new(), Vec::new(), Vec::new(), false);
    for line in comment {
        if line.starts_with("```") {
            in_example = !in_example;
        } else if in_example {
            examples.extend(line.strip_prefix(keyword).map(|example| example.trim().to_owned()));
        } else if let Some(words) = line.strip_prefix("Also: ") {
            also.extend(words.split("; ").map(str::to_owned));
        } else if !line.is_empty() {
            text.push(*line);
        }
    }
    Some(StepDoc {
        keyword,
        any,
        form: form::form(pattern.as_str()),
        pattern,
        text: text.join(" "),
        examples,
        also,
    })
}

//! Features as a suite: read with all problems at once, then played by cucumber, many at a time.

use std::sync::{Arc, Mutex, PoisonError};

use cucumber::event::{self, ScenarioFinished, StepError};
use cucumber::feature::Ext as _;
use cucumber::gherkin::tagexpr::TagOperation;
use cucumber::gherkin::{Feature, GherkinEnv, Scenario, Step, StepType};
use cucumber::tag::Ext as _;
use cucumber::{Event, World as _, Writer, cli, parser, writer};
use futures::FutureExt as _;

use super::vocabulary::EXAMPLES;
use super::world::ClusterWorld;
use crate::base::text::nearest;
use crate::record::Record;
use crate::scenario::{Problem, Problems};

/// Features, ready to be played.
#[derive(Debug)]
pub struct Suite {
    features: Vec<Feature>,
}

/// How one scenario came out.
#[derive(Debug, Clone)]
pub struct ScenarioResult {
    /// The feature's file, as the user named it.
    pub file: String,
    /// Name of the feature.
    pub feature: String,
    /// Name of the scenario.
    pub name: String,
    /// Line of the scenario in the file.
    pub line: usize,
    /// Everything that happened; `None` when no cluster was installed.
    pub record: Option<Record>,
    /// The step that failed, and why; `None`: it passed.
    pub failure: Option<String>,
}

impl Suite {
    /// Reads features, each given by its file name and text. Every step must be one of the vocabulary.
    ///
    /// # Errors
    /// All problems of all features.
    pub fn read(files: &[(String, String)]) -> Result<Self, Problems> {
        let steps = ClusterWorld::collection();
        let (mut features, mut problems) = (Vec::new(), Vec::new());
        for (file, text) in files {
            match parse(file, text) {
                Err(problem) => problems.push(problem),
                Ok(feature) => {
                    for step in all_steps(&feature) {
                        problems.extend(check(&steps, file, step));
                    }
                    features.push(feature);
                }
            }
        }
        if problems.is_empty() { Ok(Self { features }) } else { Err(Problems(problems)) }
    }

    /// Plays the scenarios whose tags fit, each with this seed; the results are in the order of the files.
    pub async fn run(self, tags: Option<TagOperation>, seed: u64, concurrency: usize) -> Vec<ScenarioResult> {
        let results = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&results);
        ClusterWorld::cucumber::<&str>()
            .with_parser::<Parsed, Vec<Feature>>(Parsed)
            .with_writer(Silent)
            .with_cli(cli::Opts::<cli::Empty, cucumber::runner::basic::Cli, cli::Empty, cli::Empty> {
                re_filter: None,
                tags_filter: None,
                parser: cli::Empty,
                runner: cucumber::runner::basic::Cli::default(),
                writer: cli::Empty,
                custom: cli::Empty,
            })
            .max_concurrent_scenarios(concurrency)
            .before(move |_, _, scenario, world| {
                scenario.name.clone_into(&mut world.scenario);
                world.seed = seed;
                async {}.boxed_local()
            })
            .after(move |feature, _, scenario, outcome, world| {
                let sink = Arc::clone(&sink);
                async move {
                    let record = match world {
                        Some(world) => world.finish().await,
                        None => None,
                    };
                    let result = result(feature, scenario, outcome, record);
                    sink.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                }
                .boxed_local()
            })
            .filter_run(self.features, move |feature, rule, scenario| {
                let own =
                    feature.tags.iter().chain(rule.iter().flat_map(|rule| &rule.tags)).chain(&scenario.tags);
                tags.as_ref().is_none_or(|wanted| wanted.eval(own))
            })
            .await;
        let mut results = std::mem::take(&mut *results.lock().unwrap_or_else(PoisonError::into_inner));
        results.sort_by(|a, b| (&a.file, a.line, &a.name).cmp(&(&b.file, b.line, &b.name)));
        results
    }
}

fn parse(file: &str, text: &str) -> Result<Feature, Problem> {
    let problem = |line, column, message| Problem { file: file.to_owned(), line, column, message };
    let mut feature = Feature::parse(text, GherkinEnv::default()).map_err(|error| {
        let (line, column, expected) = position(&error.to_string());
        problem(line, column, format!("this is no Gherkin: expected {expected}"))
    })?;
    feature.path = Some(file.into());
    feature.expand_examples().map_err(|error| {
        let message = format!("the examples lack a value for `{}`", error.name);
        problem(error.pos.line, error.pos.col, message)
    })
}

/// Line, column and what was expected, of a parse error's own words; what was expected comes in any order.
fn position(error: &str) -> (usize, usize, String) {
    let rest = error.strip_prefix("Error at ").unwrap_or(error);
    let mut parts = rest.splitn(3, ':');
    let mut number = || parts.next().and_then(|part| part.trim().parse().ok()).unwrap_or(1);
    let (line, column) = (number(), number());
    // The rest is a set of quoted texts, like JSON but for its braces.
    let list = parts.next().unwrap_or_default().trim().trim_matches(['{', '}']);
    let mut expected: Vec<String> = serde_json::from_str(&format!("[{list}]")).unwrap_or_default();
    expected.sort_unstable();
    (line, column, expected.join(" or "))
}

fn all_steps(feature: &Feature) -> impl Iterator<Item = &Step> {
    let backgrounds = feature.background.iter().chain(feature.rules.iter().flat_map(|rule| &rule.background));
    let scenarios = feature.scenarios.iter().chain(feature.rules.iter().flat_map(|rule| &rule.scenarios));
    backgrounds.flat_map(|background| &background.steps).chain(scenarios.flat_map(|scenario| &scenario.steps))
}

fn check(steps: &cucumber::step::Collection<ClusterWorld>, file: &str, step: &Step) -> Option<Problem> {
    let message = match steps.find(step) {
        Ok(Some(_)) => return None,
        Ok(None) => {
            let kind = match step.ty {
                StepType::Given => "Given",
                StepType::When => "When",
                StepType::Then => "Then",
            };
            let examples = EXAMPLES.iter().filter(|(of, _)| *of == kind).map(|(_, example)| *example);
            let nearest = nearest(&step.value, examples.clone());
            let hint = match nearest {
                Some(example) => format!("the nearest is `{example}`"),
                None => format!("there are `{}`", examples.collect::<Vec<_>>().join("`, `")),
            };
            format!("unknown step `{kind} {}`; {hint}", step.value)
        }
        Err(ambiguous) => format!("several steps fit `{}`: {ambiguous}", step.value),
    };
    Some(Problem { file: file.to_owned(), line: step.position.line, column: step.position.col, message })
}

fn result(
    feature: &Feature,
    scenario: &Scenario,
    outcome: &ScenarioFinished,
    record: Option<Record>,
) -> ScenarioResult {
    let failure = match outcome {
        ScenarioFinished::StepPassed => None,
        ScenarioFinished::StepSkipped => Some("a step was skipped".to_owned()),
        ScenarioFinished::StepFailed(_, _, error) => Some(in_words(error)),
        ScenarioFinished::BeforeHookFailed(info) => Some(panic_text(info)),
    };
    ScenarioResult {
        file: feature.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
        feature: feature.name.clone(),
        name: scenario.name.clone(),
        line: scenario.position.line,
        record,
        failure,
    }
}

fn in_words(error: &StepError) -> String {
    match error {
        StepError::Panic(info) => panic_text(info),
        other => other.to_string(),
    }
}

/// The text of a panic, by which cucumber tells of a step's error.
fn panic_text(info: &event::Info) -> String {
    let text = info.downcast_ref::<String>().cloned();
    let text = text.or_else(|| info.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "a step panicked".to_owned())
}

/// Features that were read before.
struct Parsed;

impl cucumber::Parser<Vec<Feature>> for Parsed {
    type Cli = cli::Empty;
    type Output = futures::stream::Iter<std::vec::IntoIter<parser::Result<Feature>>>;

    fn parse(self, features: Vec<Feature>, _: cli::Empty) -> Self::Output {
        let features: Vec<parser::Result<Feature>> = features.into_iter().map(Ok).collect();
        futures::stream::iter(features)
    }
}

/// Writes nothing: results are taken by the hook after each scenario.
struct Silent;

impl Writer<ClusterWorld> for Silent {
    type Cli = cli::Empty;

    async fn handle_event(
        &mut self,
        _: parser::Result<Event<event::Cucumber<ClusterWorld>>>,
        _: &cli::Empty,
    ) {
    }
}

impl writer::Normalized for Silent {}

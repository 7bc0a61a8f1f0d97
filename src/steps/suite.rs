//! A suite of features: parses them with all errors, then runs them with cucumber, many at a time.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cucumber::gherkin::tagexpr::TagOperation;
use cucumber::gherkin::{Feature, Rule, Scenario, Step};
use cucumber::tag::Ext as _;
use cucumber::{Cucumber, Event, Writer, cli, event, parser, runner, writer};
use futures::FutureExt as _;

use super::driver::Settings;
use super::results::{Place, ScenarioResult, not_started, result};
use super::world::ClusterWorld;
use super::{FeatureFiles, definitions, dry_run, gherkin, warnings};
use crate::backends::Backend;
use crate::engine::SessionError;
use crate::plan::{Plan, PlannedStep, ProgramPlan, Variables};
use crate::record::FailureKind;
use crate::scenario::{ScenarioError, ScenarioErrors};

/// Features that are ready to run.
#[derive(Debug, Clone)]
pub struct Suite {
    features: Vec<Feature>,
    feature_files: Option<FeatureFiles>,
}

/// The settings of a suite's run.
pub struct RunOptions {
    /// The seed of all random choices.
    pub seed: u64,
    /// Whether an expectation with `within` fails if it has held since before the last actions. Scenarios with
    /// the tags `@strict` and `@lenient` decide themselves.
    pub strict: bool,
    /// Programs of this machine in each cluster.
    pub programs: Arc<[ProgramPlan]>,
    /// The variables for programs that features name; `None` if such programs may not start.
    pub permitted: Option<Variables>,
    /// Whether the values of Secrets are in output and records.
    pub shows_secrets: bool,
    /// The number of scenarios that run at a time.
    pub concurrency: usize,
    /// Whether no further scenario starts after a failure.
    pub fail_fast: bool,
    /// The backend that runs the clusters.
    pub backend: Arc<dyn Backend>,
    /// Set to stop the run: no further scenario starts.
    pub stop: Arc<AtomicBool>,
    /// Called when a scenario starts.
    pub begin: Rc<dyn Fn(Place)>,
}

impl RunOptions {
    /// The settings of each session.
    fn settings(&self) -> Settings {
        let Self { seed, strict, shows_secrets, .. } = *self;
        let (programs, permitted) = (Arc::clone(&self.programs), self.permitted.clone());
        Settings { seed, strict, programs, permitted, shows_secrets, ids: Vec::new() }
    }
}

impl Suite {
    /// Parses features, given as file names and texts. Every step must be known.
    ///
    /// # Errors
    /// All errors of all features.
    pub fn parse(files: &[(String, String)]) -> Result<Self, ScenarioErrors> {
        Self::parse_all(files, None)
    }

    /// Parses features that may name folders and files.
    ///
    /// # Errors
    /// As [`Suite::parse`].
    pub fn parse_with_files(
        files: &[(String, String)],
        feature_files: FeatureFiles,
    ) -> Result<Self, ScenarioErrors> {
        Self::parse_all(files, Some(feature_files))
    }

    fn parse_all(
        files: &[(String, String)],
        feature_files: Option<FeatureFiles>,
    ) -> Result<Self, ScenarioErrors> {
        let (mut features, mut errors) = (Vec::new(), Vec::new());
        for (file, text) in files {
            match gherkin::parse_feature(file, text) {
                Err(found) => errors.extend(found),
                Ok(feature) => {
                    errors.extend(step_problems(file, &feature, feature_files));
                    features.push(feature);
                }
            }
        }
        if errors.is_empty() { Ok(Self { features, feature_files }) } else { Err(ScenarioErrors(errors)) }
    }

    /// Drops the scenarios for which `keep` returns false; it gets the number, from 0 in the order of the
    /// files, and the place.
    pub fn retain(&mut self, mut keep: impl FnMut(usize, &Place) -> bool) {
        let mut number = 0..;
        for feature in &mut self.features {
            let file = gherkin::file(feature);
            let mut keep = |scenario: &Scenario| {
                let place = (file.clone(), scenario.position.line, scenario.name.clone());
                number.next().is_some_and(|number| keep(number, &place))
            };
            feature.scenarios.retain(&mut keep);
            feature.rules.iter_mut().for_each(|rule| rule.scenarios.retain(&mut keep));
        }
    }

    /// Drops the scenarios that the tags do not select, and those whose names `fits` rejects.
    pub fn select(&mut self, tags: Option<&TagOperation>, fits: impl Fn(&str) -> bool) {
        let kept: BTreeSet<Place> = self
            .scenarios()
            .filter(|(feature, rule, scenario)| {
                selects(tags, feature, *rule, scenario) && fits(&scenario.name)
            })
            .map(|(feature, rule, scenario)| not_started(feature, rule, scenario).place())
            .collect();
        self.retain(|_, place| kept.contains(place));
    }

    /// Returns all scenarios as results that have not started, in the order of the files.
    pub fn scenario_list(&self) -> Vec<ScenarioResult> {
        self.scenarios().map(|(feature, rule, scenario)| not_started(feature, rule, scenario)).collect()
    }

    /// Returns warnings about the scenarios; `text` is their source.
    pub fn warnings(&self, text: &str) -> Vec<ScenarioError> {
        let warnings = |feature| warnings::warnings(feature, text, self.feature_files);
        self.features.iter().flat_map(warnings).collect()
    }

    /// Returns the steps of each scenario, in the order of the files, with a result that has not started.
    pub fn planned(&self) -> Vec<(ScenarioResult, Vec<PlannedStep>)> {
        let planned = |(feature, rule, scenario): (&Feature, Option<&Rule>, &Scenario)| {
            let planned = dry_run::planned(feature, rule, scenario, self.feature_files);
            let planned = planned.into_iter().flat_map(|(_, planned)| planned).collect();
            (not_started(feature, rule, scenario), planned)
        };
        self.scenarios().map(planned).collect()
    }

    /// Returns each scenario that names a cluster as a plan, in the order of the files.
    pub fn plans(&self) -> Vec<Plan> {
        let plan = |(feature, rule, scenario): (&Feature, Option<&Rule>, &Scenario)| {
            let (cluster, timeline) =
                dry_run::cluster_and_steps(feature, rule, scenario, self.feature_files)?;
            let ScenarioResult { file, name, tags, ids, .. } = not_started(feature, rule, scenario);
            let strict = asked_strictness(feature, rule, scenario);
            Some(Plan { name, description: String::new(), ids, tags, strict, file, cluster, timeline })
        };
        self.scenarios().filter_map(plan).collect()
    }

    /// Returns the programs of each scenario that names some, in the order of the files.
    pub fn programs(&self) -> Vec<(Place, Vec<ProgramPlan>)> {
        let programs = |(feature, rule, scenario): (&Feature, Option<&Rule>, &Scenario)| {
            let planned = dry_run::cluster_and_steps(feature, rule, scenario, self.feature_files);
            let programs = planned.map(|(cluster, _)| cluster.programs).unwrap_or_default();
            (not_started(feature, rule, scenario).place(), programs)
        };
        self.scenarios().map(programs).filter(|(_, programs)| !programs.is_empty()).collect()
    }

    /// Returns all scenarios with their features and rules.
    fn scenarios(&self) -> impl Iterator<Item = (&Feature, Option<&Rule>, &Scenario)> {
        self.features.iter().flat_map(|feature| {
            gherkin::scenarios_with_rules(feature).map(move |(rule, scenario)| (feature, rule, scenario))
        })
    }

    /// Runs the scenarios and returns the results in the order of the files.
    pub async fn run(self, options: RunOptions) -> Vec<ScenarioResult> {
        self.run_each(options, |result| result).await
    }

    /// Runs the scenarios and passes each result to `take` as soon as it exists, at the end also those of
    /// scenarios that did not start. Returns the values of `take` in the order of the files.
    pub async fn run_each<T: 'static>(
        self,
        options: RunOptions,
        take: impl Fn(ScenarioResult) -> T + 'static,
    ) -> Vec<T> {
        let settings = options.settings();
        let RunOptions { concurrency, fail_fast, backend, stop, begin, .. } = options;
        let mut selected = self.scenario_list();
        let results = Rc::new(RefCell::new(Vec::new()));
        let sink = Rc::clone(&results);
        let take = Rc::new(take);
        let take_in_hook = Rc::clone(&take);
        let feature_files = self.feature_files;
        Cucumber::<_, _, Vec<Feature>, _, _>::custom(Parsed, runner::Basic::default(), Silent)
            .steps(definitions::collection().clone())
            .with_cli(cli::Opts::<cli::Empty, runner::basic::Cli, cli::Empty, cli::Empty> {
                re_filter: None,
                tags_filter: None,
                parser: cli::Empty,
                runner: runner::basic::Cli { fail_fast, ..runner::basic::Cli::default() },
                writer: cli::Empty,
                custom: cli::Empty,
            })
            .max_concurrent_scenarios(concurrency)
            .before(move |feature, rule, scenario, world| {
                begin(not_started(feature, rule, scenario).place());
                scenario.name.clone_into(&mut world.scenario);
                world.file = gherkin::file(feature);
                world.feature_files = feature_files;
                world.rejections = gherkin::rejections(gherkin::steps_of(feature, rule, scenario));
                world.settings = settings.clone();
                world.settings.ids = not_started(feature, rule, scenario).ids;
                if let Some(strict) = asked_strictness(feature, rule, scenario) {
                    world.settings.strict = strict;
                }
                let scripts = dry_run::scripts_of(feature, rule, scenario, feature_files);
                world.settings.programs = world.settings.programs.iter().cloned().chain(scripts).collect();
                world.backend = Some(Arc::clone(&backend));
                world.stopped = stop.load(Ordering::Relaxed);
                async {}.boxed_local()
            })
            .after(move |feature, rule, scenario, outcome, world| {
                let (sink, take) = (Rc::clone(&sink), Rc::clone(&take_in_hook));
                async move {
                    if world.as_ref().is_some_and(|world| world.stopped) {
                        return;
                    }
                    let (ended, error, ran) = match world {
                        Some(world) => {
                            (world.finish().await, world.error.take(), std::mem::take(&mut world.ran))
                        }
                        None => (None, None, Vec::new()),
                    };
                    let mut result = result(feature, rule, scenario, outcome, ended, &ran);
                    // A step that is not allowed where it is reaches no session.
                    let kind = error.as_ref().map_or(FailureKind::Scenario, SessionError::kind);
                    result.failure_kind = result.failure.as_ref().map(|_| kind);
                    if matches!(error, Some(SessionError::Unsupported(_))) {
                        result.skipped = result.failure.take();
                    }
                    let place = result.place();
                    let taken = take(result);
                    sink.borrow_mut().push((place, taken));
                }
                .boxed_local()
            })
            .run(self.features)
            .await;
        let mut results = results.take();
        let started: BTreeSet<_> = results.iter().map(|(place, _)| place).collect();
        selected.retain(|scenario| !started.contains(&scenario.place()));
        results.extend(selected.into_iter().map(|result| (result.place(), take(result))));
        results.sort_by(|(a, _), (b, _)| a.cmp(b));
        results.into_iter().map(|(_, taken)| taken).collect()
    }
}

/// Returns whether the filter `wanted` selects these tags, without `@`.
pub fn matches_tags<'t>(wanted: &TagOperation, tags: impl Iterator<Item = &'t String> + Clone) -> bool {
    wanted.eval(tags)
}

/// The tag of scenarios that fail if an expectation with `within` has held since before the last actions.
const STRICT: &str = "strict";

/// The tag of scenarios whose expectations may have held before.
const LENIENT: &str = "lenient";

/// Whether the tags ask that expectations which have held before fail; `None` if they say nothing.
fn asked_strictness(feature: &Feature, rule: Option<&Rule>, scenario: &Scenario) -> Option<bool> {
    let has = |tag| has_tag(feature, rule, scenario, tag);
    (has(STRICT) || has(LENIENT)).then(|| has(STRICT))
}

/// Returns whether a scenario, its rule or its feature has this tag.
fn has_tag(feature: &Feature, rule: Option<&Rule>, scenario: &Scenario, wanted: &str) -> bool {
    gherkin::tags(feature, rule, scenario).any(|tag| tag == wanted)
}

/// Returns whether the filter selects a scenario by its tags and those of its rule and feature.
fn selects(tags: Option<&TagOperation>, feature: &Feature, rule: Option<&Rule>, scenario: &Scenario) -> bool {
    tags.is_none_or(|wanted| wanted.eval(gherkin::tags(feature, rule, scenario)))
}

/// Returns errors of unknown steps, and of those that cannot run.
fn step_problems(file: &str, feature: &Feature, feature_files: Option<FeatureFiles>) -> Vec<ScenarioError> {
    let backgrounds = feature.background.iter().chain(feature.rules.iter().flat_map(|rule| &rule.background));
    let own = gherkin::scenarios(feature).flat_map(|scenario| &scenario.steps);
    let all = backgrounds.flat_map(|background| &background.steps).chain(own);
    let mut found: Vec<(&Step, String)> =
        all.filter_map(|step| dry_run::unknown(step).map(|message| (step, message))).collect();
    found.extend(dry_run::errors(feature, feature_files, &found));
    found.sort_by_key(|(step, _)| (step.position.line, step.position.col));
    let error = |(step, message): (&Step, String)| {
        let place = step.position;
        ScenarioError { file: file.to_owned(), line: place.line, column: place.col, message }
    };
    let mut errors: Vec<ScenarioError> = found.into_iter().map(error).collect();
    errors.dedup(); // Examples repeat the same step.
    errors
}

/// A cucumber parser that passes on parsed features.
struct Parsed;

impl cucumber::Parser<Vec<Feature>> for Parsed {
    type Cli = cli::Empty;
    type Output = futures::stream::Iter<std::vec::IntoIter<parser::Result<Feature>>>;

    fn parse(self, features: Vec<Feature>, _: cli::Empty) -> Self::Output {
        let features: Vec<parser::Result<Feature>> = features.into_iter().map(Ok).collect();
        futures::stream::iter(features)
    }
}

/// A cucumber writer that writes nothing: the hook after each scenario takes the results.
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

//! The shared state of the steps of one Gherkin scenario: first the cluster's plan, then the session that
//! runs it.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;

use cucumber::gherkin::LineCol;
use jiff::SignedDuration;
use semver::Version;
use serde_json::Value;
use windtunnel_core::text::short_duration;
use windtunnel_openshift::release::Release;

use super::FeatureFiles;
use super::driver::{Driver, SessionResults, Settings};
use super::phrase;
use crate::backends::Backend;
use crate::backends::in_process::InProcessBackend;
use crate::engine::SessionError;
use crate::plan::{ClusterPlan, CommandLine, PlannedObject, PlannedStep, ReleasePlan, Snapshot, Step};
use crate::scenario::{self, Folders, Kinds, lint};

/// The error of a step, as cucumber shows it.
#[derive(Debug, thiserror::Error)]
pub(super) enum StepError {
    /// The text is invalid, or the step is not allowed here.
    #[error("{0}")]
    Usage(String),
    /// The session returned an error.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl From<String> for StepError {
    fn from(message: String) -> Self {
        Self::Usage(message)
    }
}

/// A step that began.
#[derive(Debug, Clone, Copy)]
pub(super) struct RanStep {
    /// Its place in the file.
    pub(super) position: LineCol,
    /// The number of its outcomes in the record.
    pub(super) outcomes: usize,
}

/// The state of one Gherkin scenario. The first step that is not a Given installs the cluster.
#[derive(Default)]
pub(super) struct ClusterWorld {
    /// Name of the scenario, for the record.
    pub(super) scenario: String,
    /// The settings of the session.
    pub(super) settings: Settings,
    /// The backend that runs the cluster; `None` for this process.
    pub(super) backend: Option<Arc<dyn Backend>>,
    /// Whether the run was stopped before the scenario started.
    pub(super) stopped: bool,
    /// The last error of the session.
    pub(super) error: Option<SessionError>,
    /// The steps that began, in order.
    pub(super) ran: Vec<RanStep>,
    /// The path of the feature.
    pub(super) file: String,
    /// Loads files next to the feature.
    pub(super) feature_files: Option<FeatureFiles>,
    /// For each command that the scenario has yet to run, in order: whether the steps after it expect a
    /// rejection.
    pub(super) rejections: VecDeque<bool>,
    /// The kinds that steps can name, with those of definitions in earlier steps.
    pub(super) kinds: Kinds,
    /// The default namespace of steps (`I use the "x" project`).
    pub(super) project: String,
    /// Test data files that were obtained, by name.
    pub(super) test_data: BTreeMap<String, String>,
    /// Whether the last action created objects from such a file and ran no command.
    pub(super) created: bool,
    /// The steps so far, in a world that collects steps and does not run them.
    collected: Option<Vec<PlannedStep>>,
    cluster: Option<ClusterPlan>,
    /// Whether insights are published from the start. A Background may set this before the cluster is named.
    insights: bool,
    driver: Option<Driver>,
    /// In a dry run, whether the cluster would be installed by now; `None` outside of one.
    dry_run_started: Option<bool>,
    /// In a dry run, the state of lint, once the cluster is planned.
    lint: Option<lint::Steps>,
    /// In a dry run, the warnings since the caller last drained them.
    pub(super) warnings: Vec<String>,
}

impl ClusterWorld {
    /// Returns a world for a dry run: it accepts every step and runs none.
    pub(super) fn for_dry_run(file: &str, feature_files: Option<FeatureFiles>) -> Self {
        Self { dry_run_started: Some(false), file: file.to_owned(), feature_files, ..Self::default() }
    }

    /// Returns the planned cluster.
    pub(super) fn into_cluster(self) -> Option<ClusterPlan> {
        self.cluster
    }

    /// Plans a cluster of this release.
    pub(super) fn plan(&mut self, version: &str) -> Result<&mut ClusterPlan, String> {
        let release = find_release(version)?;
        Ok(self.cluster.insert(ClusterPlan { insights: self.insights, ..ClusterPlan::new(release) }))
    }

    /// Publishes insights from the start, in the planned cluster or in one that is planned later.
    pub(super) fn publish_insights(&mut self) -> Result<(), String> {
        self.insights = true;
        if self.cluster.is_some() {
            self.planned()?.insights = true;
        }
        Ok(())
    }

    /// Returns the plan; an error once the cluster runs.
    pub(super) fn planned(&mut self) -> Result<&mut ClusterPlan, String> {
        if self.driver.is_some() || self.dry_run_started == Some(true) {
            let message = "the cluster runs already: put this step before the first When";
            return Err(message.to_owned());
        }
        self.cluster.as_mut().ok_or_else(no_cluster)
    }

    /// Returns the planned release of this version, and adds it if it is new.
    pub(super) fn release(&mut self, version: &str) -> Result<&mut ReleasePlan, String> {
        let planned = self.planned()?;
        let release = find_release(version)?.for_architecture(planned.release.architecture);
        let releases = &mut planned.releases;
        let index = releases.iter().position(|planned| planned.release.version == release.version);
        let index = index.unwrap_or_else(|| {
            releases.push(ReleasePlan::plain(release));
            releases.len() - 1
        });
        Ok(&mut releases[index])
    }

    /// Returns the version of a release that exists in the scenario.
    pub(super) fn version(&mut self, text: &str) -> Result<Version, String> {
        let version = find_release(text)?.version;
        let planned = self.planned()?;
        let exists = planned.release.version == version
            || planned.releases.iter().any(|planned| planned.release.version == version);
        if exists { Ok(version) } else { Err(unknown(text)) }
    }

    /// Loads graph data from a folder next to the feature into the update service.
    pub(super) fn graph_data(&mut self, folder: &str) -> Result<(), String> {
        let (file, feature_files) = (self.file.clone(), self.feature_files);
        let planned = self.planned()?;
        let releases = planned.releases.iter().map(|planned| &planned.release).chain([&planned.release]);
        let versions: Vec<Version> = releases.map(|release| release.version.clone()).collect();
        let files_in = |file: &str, folder: &str| match feature_files {
            Some(feature_files) => (feature_files.folder)(file, folder),
            None => Err(format!("`{folder}`: this program cannot read files")),
        };
        scenario::graph_data(&file, folder, &versions, &mut planned.update_service, &Folders(files_in))
            .map_err(|errors| errors.to_string())
    }

    /// Returns the text of a file next to the feature.
    pub(super) fn feature_file_text(&self, name: &str) -> Result<String, String> {
        match self.feature_files {
            Some(feature_files) => (feature_files.text)(&self.file, name),
            None => Err(format!("`{name}`: this program cannot read files")),
        }
    }

    /// Returns a file next to the feature with an expected output.
    pub(super) fn snapshot(&self, name: &str) -> Result<Snapshot, String> {
        match self.feature_files {
            Some(feature_files) => (feature_files.snapshot)(&self.file, name),
            None => Err(format!("`{name}`: this program cannot read files")),
        }
    }

    /// Parses a command line and fills in the images of releases that exist in the scenario.
    pub(super) fn command_line(&self, line: &str) -> Result<CommandLine, String> {
        let cluster = self.cluster.as_ref().ok_or_else(no_cluster)?;
        let releases = || cluster.releases.iter().map(|planned| &planned.release).chain([&cluster.release]);
        let mut image_of = |version: &str| {
            let found = releases().find(|release| release.version.to_string() == version);
            found.map(|release| release.image.clone()).ok_or_else(|| unknown(version))
        };
        scenario::command_line(line, &mut image_of)
    }

    /// Returns whether the steps after the current command expect a rejection.
    pub(super) fn is_refused_next(&mut self) -> bool {
        self.rejections.pop_front().unwrap_or(false)
    }

    /// Returns the namespace of objects that name none.
    pub(super) fn default_namespace(&self) -> &str {
        if self.project.is_empty() { "default" } else { &self.project }
    }

    /// Adds an object to the planned cluster.
    pub(super) fn add_object(&mut self, object: &Value) -> Result<(), String> {
        let planned = self.planned()?;
        planned.objects.push(PlannedObject { place: None, object: object.clone() });
        if self.dry_run_started.is_some()
            && let Some(cluster) = &self.cluster
        {
            self.warnings.extend(lint::warnings_about_object(cluster, object));
        }
        Ok(())
    }

    /// Remembers that a step begins, unless it is collected.
    pub(super) fn begin_step(&mut self, position: LineCol) {
        if self.collected.is_none() {
            self.ran.push(RanStep { position, outcomes: 0 });
        }
    }

    /// Lets time pass until this long after the start.
    pub(super) async fn wait_until(&mut self, moment: SignedDuration) -> Result<(), StepError> {
        self.run_step(&format!("at {}", short_duration(moment)), Step::At(moment)).await
    }

    /// Runs a step; installs the cluster before the first one.
    pub(super) async fn run_step(&mut self, text: &str, step: Step) -> Result<(), StepError> {
        self.created &= !matches!(step, Step::Run(_));
        if let Some(collected) = &mut self.collected {
            let text = text.to_owned();
            collected.push(PlannedStep { line: 0, column: 0, text, step });
            return Ok(());
        }
        if let Some(running) = &mut self.dry_run_started {
            *running = true;
            let cluster = self.cluster.as_ref().ok_or_else(no_cluster)?;
            let lint = self.lint.get_or_insert_with(|| lint::Steps::new(cluster));
            self.warnings.extend(lint.warnings_about(&step));
            return Ok(());
        }
        if self.stopped {
            let message = "the run was stopped before this scenario started";
            return Err(StepError::Usage(message.to_owned()));
        }
        if self.driver.is_none() {
            let cluster = self.cluster.clone().ok_or_else(no_cluster)?;
            let backend = self.backend.clone().unwrap_or_else(|| Arc::new(InProcessBackend));
            let driver = Driver::start(backend, cluster, self.scenario.clone(), self.settings.clone()).await;
            self.driver = Some(driver.map_err(|error| self.step_error(error))?);
        }
        if let Some(ran) = self.ran.last_mut() {
            ran.outcomes += 1;
        }
        let outcome = match &self.driver {
            Some(driver) => driver.run(text, step).await,
            None => return Err(no_cluster().into()),
        };
        outcome.map_err(|error| self.step_error(error))
    }

    /// Converts an error, and remembers it for the result of the scenario.
    fn step_error(&mut self, error: SessionError) -> StepError {
        self.error = Some(error.clone());
        error.into()
    }

    /// Returns what `work` returns, and the steps that the world collected meanwhile instead of running them.
    pub(super) fn collecting<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> (T, Vec<PlannedStep>) {
        let outer = self.collected.replace(Vec::new());
        let outcome = work(self);
        (outcome, std::mem::replace(&mut self.collected, outer).unwrap_or_default())
    }

    /// Ends the session, if there is one, and returns its results.
    pub(super) async fn finish(&self) -> Option<SessionResults> {
        self.driver.as_ref()?.finish().await
    }
}

impl cucumber::World for ClusterWorld {
    type Error = Infallible;

    async fn new() -> Result<Self, Infallible> {
        Ok(Self::default())
    }
}

impl std::fmt::Debug for ClusterWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterWorld").field("scenario", &self.scenario).finish_non_exhaustive()
    }
}

fn unknown(version: &str) -> String {
    format!("no release {version} exists in this scenario: add `Given release {version} exists`")
}

pub(super) fn find_release(version: &str) -> Result<Release, String> {
    Release::find(&phrase::version(version)?).map_err(|error| error.to_string())
}

/// Returns the error of a step that needs a planned cluster.
pub(super) fn no_cluster() -> String {
    "there is no cluster yet: start with `Given a 4.14.1 cluster`".to_owned()
}

//! What the steps of one Gherkin scenario share: the cluster as it is planned, and then the session that runs it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, LazyLock};

use cucumber::World as _;
use cucumber::gherkin;
use cucumber::step::Collection;
use jiff::SignedDuration;
use semver::Version;
use serde_json::Value;
use windtunnel_openshift::release::Release;

use super::driver::{Driver, Ended};
use super::{Beside, rehearsal, suite};
use crate::backends::Backend;
use crate::backends::in_process::Here;
use crate::engine::SessionError;
use crate::plan::{
    Action, ClusterPlan, CommandLine, Expectation, PlannedObject, PlannedStep, ReleasePlan, Retry, Snapshot,
    Step,
};
use crate::scenario::lint;
use crate::scenario::{self, Folders};

/// Why a step failed, as cucumber shows it.
#[derive(Debug, thiserror::Error)]
pub(super) enum StepError {
    /// Its words cannot be understood, or do not fit here.
    #[error("{0}")]
    Words(String),
    /// The session says so.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// The state of one Gherkin scenario. The cluster is installed by the first step that is not a Given.
#[derive(Default, cucumber::World)]
pub(super) struct ClusterWorld {
    /// Name of the scenario, for the record.
    pub(super) scenario: String,
    /// Seed of the session.
    pub(super) seed: u64,
    /// Where it is played; `None`: in this process.
    pub(super) backend: Option<Arc<dyn Backend>>,
    /// Whether it is not to be played any more.
    pub(super) stopped: bool,
    /// Why the cluster cannot do what a step asked for.
    pub(super) unable: Option<String>,
    /// The feature's file.
    pub(super) file: String,
    /// Reads what lies beside it.
    pub(super) beside: Option<Beside>,
    /// For each command that the scenario still has to run, in order: whether the steps after it say how it is refused.
    pub(super) refusals: VecDeque<bool>,
    /// The namespace that steps mean where they name none (`I use the "x" project`).
    pub(super) project: String,
    /// The files that were obtained, by their names.
    pub(super) test_data: BTreeMap<String, String>,
    /// Whether what was done last made objects of such a file, and ran no command.
    pub(super) created: bool,
    /// Where steps only tell what they would play: the steps so far.
    collected: Option<Vec<PlannedStep>>,
    cluster: Option<ClusterPlan>,
    /// Whether insights are published from the start: a Background may say so of clusters that are named later.
    insights: bool,
    driver: Option<Driver>,
    /// In a rehearsal no cluster is installed: whether one would be by now.
    rehearsed: Option<bool>,
    /// In a rehearsal, what tells which steps are odd, once the cluster is planned.
    lint: Option<lint::Steps>,
    /// What is odd about the steps that were rehearsed since it was asked for the last time.
    pub(super) odd: Vec<String>,
}

impl ClusterWorld {
    /// A world in which every step can be said, but none is played.
    pub(super) fn rehearsal(file: &str, beside: Option<Beside>) -> Self {
        Self { rehearsed: Some(false), file: file.to_owned(), beside, ..Self::default() }
    }

    /// A world that plays nothing and keeps what it would play.
    pub(super) fn collecting(file: &str, beside: Option<Beside>) -> Self {
        Self { collected: Some(Vec::new()), ..Self::rehearsal(file, beside) }
    }

    /// The steps that were collected.
    pub(super) fn into_collected(self) -> Vec<PlannedStep> {
        self.collected.unwrap_or_default()
    }

    /// Plans a cluster of this release.
    pub(super) fn plan(&mut self, version: &str) -> Result<&mut ClusterPlan, StepError> {
        let release = find(version)?;
        Ok(self.cluster.insert(ClusterPlan { insights: self.insights, ..ClusterPlan::of(release) }))
    }

    /// Lets insights be published from the start, of the cluster that is planned or will be.
    pub(super) fn publish_insights(&mut self) -> Result<(), StepError> {
        self.insights = true;
        if self.cluster.is_some() {
            self.planned()?.insights = true;
        }
        Ok(())
    }

    /// The plan, while it can still be changed.
    pub(super) fn planned(&mut self) -> Result<&mut ClusterPlan, StepError> {
        if self.driver.is_some() || self.rehearsed == Some(true) {
            return Err(StepError::Words("the cluster runs already: say this before the first When".into()));
        }
        self.cluster.as_mut().ok_or_else(no_cluster)
    }

    /// The planned release of this version; it is added when it is new.
    pub(super) fn release(&mut self, version: &str) -> Result<&mut ReleasePlan, StepError> {
        let planned = self.planned()?;
        let release = find(version)?.of(planned.release.architecture);
        let releases = &mut planned.releases;
        let index = releases.iter().position(|planned| planned.release.version == release.version);
        let index = index.unwrap_or_else(|| {
            releases.push(ReleasePlan::plain(release));
            releases.len() - 1
        });
        Ok(&mut releases[index])
    }

    /// The version of a release that exists here.
    pub(super) fn version(&mut self, text: &str) -> Result<Version, StepError> {
        let version = find(text)?.version;
        let planned = self.planned()?;
        let exists = planned.release.version == version
            || planned.releases.iter().any(|planned| planned.release.version == version);
        if exists { Ok(version) } else { Err(StepError::Words(unknown(text))) }
    }

    /// Lets the update service read a folder beside the feature.
    pub(super) fn graph_data(&mut self, folder: &str) -> Result<(), StepError> {
        let (file, beside) = (self.file.clone(), self.beside);
        let planned = self.planned()?;
        let releases = planned.releases.iter().map(|planned| &planned.release).chain([&planned.release]);
        let versions: Vec<Version> = releases.map(|release| release.version.clone()).collect();
        let read = |file: &str, folder: &str| match beside {
            Some(beside) => (beside.folder)(file, folder),
            None => Err(format!("`{folder}` cannot be read from here")),
        };
        scenario::graph_data(&file, folder, &versions, &mut planned.update_service, &Folders(read))
            .map_err(|problems| StepError::Words(problems.to_string()))
    }

    /// The text of a file beside the feature.
    pub(super) fn text_beside(&self, name: &str) -> Result<String, StepError> {
        match self.beside {
            Some(beside) => (beside.text)(&self.file, name).map_err(StepError::Words),
            None => Err(StepError::Words(format!("`{name}` cannot be read from here"))),
        }
    }

    /// A file beside the feature to compare with.
    pub(super) fn snapshot(&self, name: &str) -> Result<Snapshot, StepError> {
        match self.beside {
            Some(beside) => (beside.snapshot)(&self.file, name).map_err(StepError::Words),
            None => Err(StepError::Words(format!("`{name}` cannot be read from here"))),
        }
    }

    /// A command as it is typed, with the images of releases that exist here.
    pub(super) fn command_line(&self, line: &str) -> Result<CommandLine, StepError> {
        let cluster = self.cluster.as_ref().ok_or_else(no_cluster)?;
        let releases = || cluster.releases.iter().map(|planned| &planned.release).chain([&cluster.release]);
        let mut image_of = |version: &str| {
            let found = releases().find(|release| release.version.to_string() == version);
            found.map(|release| release.image.clone()).ok_or_else(|| unknown(version))
        };
        scenario::command_line(line, &mut image_of).map_err(StepError::Words)
    }

    /// Whether the steps after the command that is now run say how it is refused.
    pub(super) fn is_refused_next(&mut self) -> bool {
        self.refusals.pop_front().unwrap_or(false)
    }

    /// Adds an object to the planned cluster.
    pub(super) fn add_object(&mut self, object: Value) -> Result<(), StepError> {
        self.planned()?.objects.push(PlannedObject { place: None, object });
        Ok(())
    }

    /// Does something to the running cluster.
    pub(super) async fn act(&mut self, text: &str, action: Action) -> Result<(), StepError> {
        self.play(text, Step::Act(action)).await
    }

    /// Checks something in the running cluster.
    pub(super) async fn expect(&mut self, text: &str, expectation: Expectation) -> Result<(), StepError> {
        self.play(text, Step::Expect(expectation)).await
    }

    /// Plays a step; installs the cluster before the first one.
    pub(super) async fn play(&mut self, text: &str, step: Step) -> Result<(), StepError> {
        self.created &= !matches!(step, Step::Run(_));
        if let Some(collected) = &mut self.collected {
            let text = text.to_owned();
            collected.push(PlannedStep { line: 0, column: 0, text, step });
            return Ok(());
        }
        if let Some(running) = &mut self.rehearsed {
            *running = true;
            let cluster = self.cluster.as_ref().ok_or_else(no_cluster)?;
            let lint = self.lint.get_or_insert_with(|| lint::Steps::of(cluster));
            self.odd.extend(lint.odd(&step));
            return Ok(());
        }
        if self.stopped {
            return Err(StepError::Words("the run was stopped before".to_owned()));
        }
        if self.driver.is_none() {
            let cluster = self.cluster.clone().ok_or_else(no_cluster)?;
            let backend = self.backend.clone().unwrap_or_else(|| Arc::new(Here));
            let driver = Driver::start(backend, cluster, self.scenario.clone(), self.seed).await;
            self.driver = Some(driver.map_err(|error| self.noted(error))?);
        }
        let outcome = match &self.driver {
            Some(driver) => driver.play(text, step).await,
            None => return Err(no_cluster()),
        };
        outcome.map_err(|error| self.noted(error))
    }

    /// Notes what the cluster cannot do: that is no failure.
    fn noted(&mut self, error: SessionError) -> StepError {
        if let SessionError::Unable(why) = &error {
            self.unable = Some(why.clone());
        }
        error.into()
    }

    /// Plays the steps of a doc string again and again until all of them pass.
    pub(super) async fn retry(
        &mut self,
        text: &str,
        within: SignedDuration,
        steps: &[gherkin::Step],
    ) -> Result<(), StepError> {
        static STEPS: LazyLock<Collection<ClusterWorld>> = LazyLock::new(ClusterWorld::collection);
        let refusals = std::mem::replace(&mut self.refusals, suite::refusals(steps.iter()));
        let outer = self.collected.replace(Vec::new());
        let mut why = None;
        for (index, step) in steps.iter().enumerate() {
            let found = suite::unknown(&STEPS, step).or_else(|| rehearsal::rehearse(&STEPS, self, step));
            why = found.map(|why| StepError::Words(format!("step {} of the doc string: {why}", index + 1)));
            if why.is_some() {
                break;
            }
        }
        let steps = std::mem::replace(&mut self.collected, outer).unwrap_or_default();
        self.refusals = refusals;
        match why {
            Some(why) => Err(why),
            None => self.play(text, Step::Retry(Retry { within, steps })).await,
        }
    }

    /// Ends the session, if there is one, and gives what is left of it.
    pub(super) async fn finish(&self) -> Option<Ended> {
        self.driver.as_ref()?.finish().await
    }
}

impl std::fmt::Debug for ClusterWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterWorld").field("scenario", &self.scenario).finish_non_exhaustive()
    }
}

fn unknown(version: &str) -> String {
    format!("no release {version} exists here: say `Given release {version} exists` before")
}

pub(super) fn find(version: &str) -> Result<Release, StepError> {
    let parsed = version
        .parse()
        .map_err(|_| StepError::Words(format!("expected a version such as 4.14.8, found `{version}`")))?;
    Release::find(&parsed).map_err(|error| StepError::Words(error.to_string()))
}

/// The error of a step that needs a cluster where none is planned.
pub(super) fn no_cluster() -> StepError {
    StepError::Words("there is no cluster yet: begin with `Given a 4.14.1 cluster`".to_owned())
}

//! The earlier states of a cluster that it can be compared with.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_core::text::did_you_mean;
use windtunnel_core::{Change, ChangeKind, View, cluster_version, text_of};

use super::contents::Contents;
use super::volatile::{BETWEEN_RUNS, ROLLOUTS};
use crate::engine::observer::Observer;
use crate::plan::PastState;

/// One state of a cluster, shared by its copies.
#[derive(Debug, Clone)]
pub(in crate::engine) struct State(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    view: View,
    contents: OnceLock<Contents>,
}

/// A request that led the cluster away from a release.
#[derive(Debug, Clone)]
struct Departure {
    /// The release that the cluster ran.
    version: String,
    /// The cluster right before the request.
    state: State,
}

/// The states that are known at a moment of a run.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct KnownStates {
    start: Option<State>,
    /// Oldest first.
    departures: Vec<Departure>,
    kept: BTreeMap<String, State>,
}

impl State {
    pub(in crate::engine) fn of(view: &View) -> Self {
        Self(Arc::new(Shared { view: view.clone(), contents: OnceLock::new() }))
    }

    /// The objects without volatile fields.
    pub(in crate::engine) fn contents(&self) -> &Contents {
        self.0.contents.get_or_init(|| Contents::of(&self.0.view, &[BETWEEN_RUNS, ROLLOUTS]))
    }

    /// The cluster with all fields.
    pub(super) fn view(&self) -> &View {
        &self.0.view
    }

    /// The version that ClusterVersion reports as completed; empty if there is none.
    pub(in crate::engine) fn version(&self) -> String {
        completed_version(&self.0.view).to_owned()
    }
}

impl KnownStates {
    /// Remembers the cluster at the start of the run.
    pub(in crate::engine) fn begin(&mut self, view: &View) {
        self.start = Some(State::of(view));
    }

    /// Remembers the cluster under a name.
    pub(in crate::engine) fn keep(&mut self, name: &str, view: &View) {
        self.kept.insert(name.to_owned(), State::of(view));
    }

    /// The cluster before it first left a release.
    pub(in crate::engine) fn first_departure(&self) -> Option<&State> {
        self.departures.first().map(|departure| &departure.state)
    }

    /// Finds a state.
    ///
    /// # Errors
    /// Why there is none, and what there is instead.
    pub(in crate::engine) fn find(&self, wanted: &PastState, now: &View) -> Result<&State, String> {
        match wanted {
            PastState::CurrentRelease => self.before_current(now),
            PastState::Release(version) => self.before_leaving(&version.to_string()),
            PastState::Start => {
                self.start.as_ref().ok_or_else(|| "the start of this run is not known".to_owned())
            }
            PastState::Kept(name) => self.kept.get(name).ok_or_else(|| {
                let hint = did_you_mean(name, self.kept.keys().map(String::as_str));
                format!("no earlier step kept the cluster as `{name}`{hint}")
            }),
        }
    }

    /// The state before the cluster left the release that it was asked for last, and that it has reached.
    fn before_current(&self, now: &View) -> Result<&State, String> {
        let newest = newest(now).ok_or_else(|| "ClusterVersion has no history".to_owned())?;
        let (version, state) = (text_of(newest, "version"), text_of(newest, "state"));
        if self.departures.is_empty() {
            return Err(format!("the cluster runs {version}, and was never asked to go to another release"));
        }
        let is_reached =
            state == "Completed" && requested(now).is_none_or(|wanted| !leads_away(wanted, newest));
        if !is_reached {
            return Err(format!(
                "the cluster is on its way: the newest entry of its history is {version}, {state}"
            ));
        }
        self.before_leaving(version)
    }

    fn before_leaving(&self, version: &str) -> Result<&State, String> {
        let found = self.departures.iter().rev().find(|departure| departure.version == version);
        found.map(|departure| &departure.state).ok_or_else(|| {
            let left: Vec<&str> =
                self.departures.iter().map(|departure| departure.version.as_str()).collect();
            let left = if left.is_empty() { "no release".to_owned() } else { left.join(", ") };
            format!("the cluster has not left {version} before; it left {left}")
        })
    }
}

impl Observer for KnownStates {
    /// Remembers the cluster before this change, if the change requests another release than the installed one.
    fn on_change(&mut self, change: &Change, view: &View, _: Time) {
        if change.kind != ChangeKind::Modified || !change.key.is_kind(&CLUSTER_VERSIONS) {
            return;
        }
        let Some(old) = &change.old else { return };
        let wanted = &change.object["spec"]["desiredUpdate"];
        if old["spec"]["desiredUpdate"] == *wanted {
            return;
        }
        let mut before = view.clone();
        before.apply(&Change { object: old.clone(), ..change.clone() });
        if let Some(installed) = installed(&before).filter(|installed| leads_away(wanted, installed)) {
            let version = text_of(installed, "version").to_owned();
            self.departures.push(Departure { version, state: State::of(&before) });
        }
    }
}

/// The newest entry of the history of ClusterVersion.
fn newest(view: &View) -> Option<&Value> {
    cluster_version::newest_entry(view.cluster_version()?)
}

/// The entry of the installed release; `None` while an update is in progress.
fn installed(view: &View) -> Option<&Value> {
    newest(view).filter(|newest| text_of(newest, "state") == "Completed")
}

/// The version that ClusterVersion reports as completed; empty if there is none.
pub(super) fn completed_version(view: &View) -> &str {
    installed(view).map(|installed| text_of(installed, "version")).unwrap_or_default()
}

/// The last request of an update.
fn requested(view: &View) -> Option<&Value> {
    view.cluster_version()?.pointer("/spec/desiredUpdate")
}

/// Whether a request is for another release than that of an entry of the history.
fn leads_away(wanted: &Value, entry: &Value) -> bool {
    match (text_of(wanted, "version"), text_of(wanted, "image")) {
        ("", "") => false,
        ("", image) => image != text_of(entry, "image"),
        (version, _) => version != text_of(entry, "version"),
    }
}

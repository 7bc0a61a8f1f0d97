//! The clusters that risks are evaluated for.

use std::collections::BTreeSet;
use std::path::Path;

use semver::Version;
use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{self, CLUSTER_OPERATORS, CLUSTER_VERSIONS, CUSTOM_RESOURCE_DEFINITIONS};
use windtunnel_core::{Change, ChangeKind, Object, Resource, View, yaml};
use windtunnel_openshift::graph::MatchingRule;
use windtunnel_openshift::monitoring::{Cluster, Exposure, History};
use windtunnel_openshift::promql::Sample;

use crate::cli::files::{self, records};
use crate::cli::output::Shown as _;
use crate::cli::payload::Releases;
use crate::cli::{dump_files, moment, print_notice, start_from};
use crate::engine::Session;
use crate::record::{Event, INSTALLER, Record};
use crate::scenario;

/// The seed of scenarios, whose clusters are the same for every seed in all that risks look at.
const SEED: u64 = 1;

/// The cluster of a dump, a record or a scenario, as far as it is known.
pub(super) struct KnownCluster {
    /// The path that the user gave.
    pub(super) name: String,
    view: View,
    is_complete: bool,
    given: Vec<Sample>,
    history: History,
    now: Time,
}

impl KnownCluster {
    /// Reads a cluster. `ranged` are the metrics that queries look back at.
    ///
    /// # Errors
    /// The input cannot be read, or the scenario's cluster cannot be installed.
    pub(super) fn read(path: &Path, at: Option<&str>, ranged: &BTreeSet<String>) -> Result<Self, String> {
        let name = path.shown();
        if records::is_record(path) {
            let record = records::read(path)?;
            let at = moment::of_record(&record, at)?;
            return Ok(Self::of_record(name, &record, at, ranged));
        }
        if at.is_some() {
            return Err(format!("--at: expected records, but {name} is not one"));
        }
        match scenario_text(path) {
            Some(text) => Self::of_scenario(name, &text),
            None => Self::of_dump(name, path),
        }
    }

    /// Whether a release is one to which the cluster can update: its update service offers it, with risks or without. `None` if
    /// the cluster knows no such releases.
    pub(super) fn is_offered(&self, leads_to: impl Fn(&Version) -> bool) -> Option<bool> {
        let version = self.view.get(&CLUSTER_VERSIONS, "", "version")?;
        let available = version.list("/status/availableUpdates").iter().map(|update| &update["version"]);
        let conditional = version.list("/status/conditionalUpdates").iter();
        let offered = available.chain(conditional.map(|update| &update["release"]["version"]));
        let offered: Vec<Version> = offered.filter_map(|version| version.as_str()?.parse().ok()).collect();
        (!offered.is_empty()).then(|| offered.iter().any(leads_to))
    }

    /// The release of the cluster, if it is known.
    pub(super) fn release(&self) -> Option<Version> {
        self.view.get(&CLUSTER_VERSIONS, "", "version")?.text("/status/desired/version").parse().ok()
    }

    /// Returns whether a risk with these rules applies.
    pub(super) fn exposure(&self, rules: &[MatchingRule]) -> Exposure {
        let Self { view, is_complete, given, history, now, .. } = self;
        Cluster { view, is_complete: *is_complete, given, history, now: *now }.exposure(rules)
    }

    fn of_dump(name: String, path: &Path) -> Result<Self, String> {
        let (mut dump, problems) = dump_files::read_all(path)?;
        dump_files::hide_secrets(&mut dump);
        for problem in problems {
            print_notice(&format!("not read: {problem}"));
        }
        for line in dump.inventory.uncollected_lines(&name) {
            print_notice(&line);
        }
        let objects: Vec<&Object> = dump.objects().map(|(_, object)| object).collect();
        let definitions: Vec<&Value> = objects
            .iter()
            .filter(|object| CUSTOM_RESOURCE_DEFINITIONS.is_kind_of(object))
            .map(|object| &***object)
            .collect();
        let mut view = View::default();
        for object in &objects {
            let key = resource(object, &definitions).key(object.namespace(), object.name());
            view.apply(&Change { kind: ChangeKind::Added, key, object: (*object).clone(), old: None });
        }
        let dated =
            |object: &&&Object| CLUSTER_VERSIONS.is_kind_of(object) || CLUSTER_OPERATORS.is_kind_of(object);
        let now = start_from::moment(objects.iter().filter(dated).copied());
        let (given, history) = (Vec::new(), History::default());
        Ok(Self { name, view, is_complete: false, given, history, now })
    }

    /// A record of a run has all objects of its cluster; that of a watched cluster has those of some kinds.
    fn of_record(name: String, record: &Record, at: Time, ranged: &BTreeSet<String>) -> Self {
        let is_of_installer = |event: &Event| matches!(event, Event::Write(write) if write.by == INSTALLER);
        let is_complete = record.entries.iter().any(|entry| is_of_installer(&entry.event));
        let (mut view, mut history, mut scrape_at) = (View::default(), History::default(), None);
        for entry in record.entries.iter().take_while(|entry| entry.at <= at) {
            let Event::Write(write) = &entry.event else { continue };
            let Some(change) = write.change() else { continue };
            if let Some(due) = scrape_at.filter(|due| *due < entry.at) {
                history.scrape(ranged, &view, due);
                scrape_at = None;
            }
            view.apply(&change);
            scrape_at.get_or_insert_with(|| History::next_scrape(entry.at));
        }
        Self { name, view, is_complete, given: Vec::new(), history, now: at }
    }

    fn of_scenario(name: String, text: &str) -> Result<Self, String> {
        let plan =
            scenario::parse(&name, text, &Releases::default()).map_err(|problems| problems.to_string())?;
        let session = Session::start(&plan, SEED)
            .map_err(|error| format!("{name}: the cluster cannot be installed: {error}"))?;
        let (view, now, given) = (session.view().clone(), session.now(), plan.cluster.metrics);
        Ok(Self { name, view, is_complete: true, given, history: History::default(), now })
    }
}

/// Returns the text of a scenario; `None` if the file is something else, such as an object.
fn scenario_text(path: &Path) -> Option<String> {
    let is_yaml = path.extension().is_some_and(|extension| extension == "yaml");
    let text = files::read(path).ok().filter(|_| is_yaml)?;
    let (tree, _) = yaml::parse_tree(&text).ok()?;
    (tree.get("timeline").is_some() && tree.get("kind").is_none()).then_some(text)
}

/// Returns the kind of a dumped object: a known one, that of a definition in the dump, or one with a regular
/// plural.
fn resource(object: &Object, definitions: &[&Value]) -> Resource {
    let (api_version, kind) = (object.text("/apiVersion"), object.text("/kind"));
    let known = resources::find(api_version, kind)
        .or_else(|| resources::find_in_definitions(api_version, kind, definitions.iter().copied()));
    known.unwrap_or_else(|| {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        Resource {
            group: group.to_owned().into(),
            version: version.to_owned().into(),
            kind: kind.to_owned().into(),
            plural: plural(&kind.to_lowercase()).into(),
            namespaced: !object.namespace().is_empty(),
        }
    })
}

/// Returns the regular plural of a noun.
fn plural(noun: &str) -> String {
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if noun.ends_with(['s', 'x']) || noun.ends_with("ch") || noun.ends_with("sh") => {
            format!("{noun}es")
        }
        _ => format!("{noun}s"),
    }
}

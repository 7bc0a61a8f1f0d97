//! Warns of alerts, namespaces and objects that neither the releases of a scenario nor its objects and steps have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde_json::{Value, json};
use windtunnel_core::resources::{NAMESPACES, PROMETHEUS_RULES};
use windtunnel_core::text::did_you_mean;
use windtunnel_openshift::cvo::{self, InstalledPayload, Surroundings};
use windtunnel_openshift::release::Release;
use windtunnel_openshift::{manifests, operators};

use super::{alert_minors, expected_states};
use crate::plan::{Action, AlertMatch, ClusterPlan, ExpectedState, ObjectRef, PlannedStep, Step, Subject};

/// The namespaces of every cluster.
const NAMESPACES_OF_KUBERNETES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// The most changed letters of a name that is misspelt, and not another one.
const MISSPELT: usize = 2;

/// The namespaces that operators create.
const NAMESPACES_OF_OPERATORS: [&str; 1] = ["openshift-service-ca"];

/// The names of alerts and namespaces.
#[derive(Debug, Clone, Default)]
struct Names {
    alerts: BTreeSet<String>,
    namespaces: BTreeSet<String>,
    /// The names of namespaced objects by kind and namespace.
    objects: BTreeMap<(String, String), BTreeSet<String>>,
}

impl Names {
    /// Adds the names that an object has or creates.
    fn add(&mut self, object: &Value) {
        let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
        self.namespaces.extend(text("namespace"));
        if let (Some(kind), Some(namespace), Some(name)) =
            (object["kind"].as_str(), text("namespace"), text("name"))
        {
            self.objects.entry((kind.to_owned(), namespace)).or_default().insert(name);
        }
        if NAMESPACES.is_kind_of(object) || object["kind"] == "Project" {
            self.namespaces.extend(text("name"));
        }
        if PROMETHEUS_RULES.is_kind_of(object) {
            self.alerts.extend(alert_minors::alerts(object).map(str::to_owned));
        }
    }

    /// The names in these releases.
    fn of_releases(releases: &[Release], feature_set: &str) -> Self {
        let mut found = Self::default();
        let always = NAMESPACES_OF_KUBERNETES.iter().chain(&NAMESPACES_OF_OPERATORS);
        found.namespaces.extend(always.map(|name| (*name).to_owned()));
        for object in manifests::objects("base") {
            found.add(object);
        }
        let nothing = json!({});
        let version = json!({ "spec": { "capabilities": { "baselineCapabilitySet": "vCurrent" } } });
        for release in releases {
            let around = Surroundings { proxy: &nothing, infrastructure: &nothing };
            let installed = InstalledPayload::of(release, feature_set, &version);
            installed.objects(&version, around).iter().for_each(|(_, object)| found.add(object));
            cvo::update_status_controller_objects(release).for_each(|(_, object)| found.add(&object));
            for write in operators::operand_namespaces(release) {
                found.namespaces.insert(write.name.clone());
            }
        }
        found
    }
}

/// The alerts and namespaces that exist in a cluster, including those that steps have created so far.
#[derive(Debug, Clone)]
pub(super) struct Existence {
    releases: Vec<Release>,
    feature_set: String,
    /// Loaded when a step names something that the scenario does not create.
    of_releases: OnceLock<Names>,
    own: Names,
}

impl Existence {
    /// Returns the state before the first step.
    pub(super) fn at_start(cluster: &ClusterPlan) -> Self {
        let releases = cluster.releases.iter().map(|planned| &planned.release).chain([&cluster.release]);
        let mut own = Names::default();
        cluster.objects.iter().for_each(|planned| own.add(&planned.object));
        Self {
            releases: releases.cloned().collect(),
            feature_set: cluster.feature_set.clone(),
            of_releases: OnceLock::new(),
            own,
        }
    }

    /// Adds the objects that later steps create: until then, an expectation that they are absent can fail.
    pub(super) fn foresee(&mut self, steps: &[PlannedStep]) {
        for PlannedStep { step, .. } in steps {
            match step {
                Step::Act(Action::Apply(object)) => self.own.add(object),
                Step::Retry(retry) => self.foresee(&retry.steps),
                _ => {}
            }
        }
    }

    /// Returns warnings about the next step of the run.
    pub(super) fn warnings_about(&mut self, step: &Step) -> Vec<String> {
        match step {
            Step::Act(Action::Apply(object)) => self.own.add(object),
            Step::Act(Action::Patch { object, .. } | Action::Delete { object, .. }) => {
                return self.unknown_namespace(object, "").into_iter().collect();
            }
            _ => {}
        }
        expected_states(step).into_iter().flat_map(|expected| self.unknown_names(&expected.what)).collect()
    }

    fn unknown_names(&self, what: &ExpectedState) -> Vec<String> {
        const ALWAYS: &str = ", so this expectation always holds";
        match what {
            ExpectedState::Alert(alert) => self.unknown_alert(alert, "").into_iter().collect(),
            ExpectedState::NoAlert(alert) | ExpectedState::NeverAlert(alert) => {
                self.unknown_alert(alert, ALWAYS).into_iter().collect()
            }
            ExpectedState::Object(object, _)
            | ExpectedState::Statuses { subject: Subject::Object(object), .. } => {
                self.unknown_namespace(object, "").into_iter().collect()
            }
            ExpectedState::Absent(object) | ExpectedState::Never(object, _) => {
                self.unknown_namespace(object, ALWAYS).into_iter().collect()
            }
            ExpectedState::Log(log) => self.unknown_place(&log.namespace, "").into_iter().collect(),
            ExpectedState::Writes(writes, _) | ExpectedState::OnlyWrites(writes, _) => {
                let objects = writes.iter().filter_map(|write| write.object.as_ref());
                objects.filter_map(|object| self.unknown_namespace(object, "")).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns a warning about an object of the initial cluster in a namespace with a typo. `initial` has all such objects.
    pub(super) fn misspelt_namespace<'o>(
        &self,
        object: &Value,
        mut initial: impl Iterator<Item = &'o Value>,
    ) -> Option<String> {
        let name = object["metadata"]["namespace"].as_str()?;
        let creates = |object: &Value| NAMESPACES.is_kind_of(object) && object["metadata"]["name"] == name;
        let of_releases = || &self.of_releases().namespaces;
        if NAMESPACES_OF_KUBERNETES.contains(&name) || initial.any(creates) || of_releases().contains(name) {
            return None;
        }
        // Programs of the user have namespaces of their own.
        let hint = did_you_mean(name, of_releases().iter().map(String::as_str));
        (!hint.is_empty()).then(|| {
            format!("neither the release nor this scenario has a namespace {name}, so the API server rejects this object{hint}")
        })
    }

    fn of_releases(&self) -> &Names {
        self.of_releases.get_or_init(|| Names::of_releases(&self.releases, &self.feature_set))
    }

    fn unknown_alert(&self, alert: &AlertMatch, consequence: &str) -> Option<String> {
        let name = &alert.name;
        if self.own.alerts.contains(name) || self.of_releases().alerts.contains(name) {
            return None;
        }
        let minors = alert_minors::with_alert(name);
        let hint = if minors.is_empty() {
            let known = self.of_releases().alerts.iter().chain(&self.own.alerts).map(String::as_str);
            did_you_mean(name, known)
        } else {
            format!("; {minors}")
        };
        Some(format!("no rule of this cluster has an alert {name}{consequence}{hint}"))
    }

    /// Returns why a namespaced object does not exist: its namespace or its name has a typo.
    fn unknown_namespace(&self, object: &ObjectRef, consequence: &str) -> Option<String> {
        self.unknown_place(&object.namespace, consequence).or_else(|| self.misspelt_name(object, consequence))
    }

    /// Returns the name that is probably meant. Other objects may have any name, and operators number some of theirs.
    fn misspelt_name(&self, object: &ObjectRef, consequence: &str) -> Option<String> {
        let ObjectRef { resource, namespace, name } = object;
        let is_plain = name.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '-');
        if !is_plain || namespace.is_empty() || name.len() <= 2 * MISSPELT {
            return None;
        }
        let of_kind = (resource.kind.to_string(), namespace.clone());
        let known: BTreeSet<&String> = [self.of_releases(), &self.own]
            .iter()
            .filter_map(|names| names.objects.get(&of_kind))
            .flatten()
            .collect();
        if known.contains(name) {
            return None;
        }
        let near = known.into_iter().find(|known| strsim::damerau_levenshtein(name, known) <= MISSPELT)?;
        Some(format!(
            "neither the release nor this scenario has {object}{consequence}; did you mean `{near}`?"
        ))
    }

    fn unknown_place(&self, name: &str, consequence: &str) -> Option<String> {
        if name.is_empty()
            || name.contains('*')
            || self.own.namespaces.contains(name)
            || self.of_releases().namespaces.contains(name)
        {
            return None;
        }
        let known = self.of_releases().namespaces.iter().chain(&self.own.namespaces).map(String::as_str);
        let hint = did_you_mean(name, known);
        Some(format!("neither the release nor this scenario has a namespace {name}{consequence}{hint}"))
    }
}

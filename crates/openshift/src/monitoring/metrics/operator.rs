//! Metrics of the cluster-version operator (`pkg/cvo/metrics.go`), as far as they follow from the API: the
//! statuses of ClusterVersion and ClusterOperators, and the installation method. They exist while the
//! operator runs.

use semver::Version;
use serde_json::Value;
use windtunnel_core::clock::parse_rfc3339;
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, PODS, SERVICE_MONITORS, SERVICES,
};
use windtunnel_core::{
    Change, ChangeKind, Key, Object, Resource, View, cluster_operator, condition, pod, text_of as text,
};

use super::compared::Compared;
use super::{Moment, certificates, count, number, truth};
use crate::manifests::MajorMinor;
use crate::promql::{SampleCollector, Selector};

pub(super) const NAMESPACE: &str = "openshift-cluster-version";
const JOB: &str = "cluster-version-operator";

/// Metrics that the operator counts in memory: manifests of its pass, and failed attempts to apply a
/// manifest.
pub(crate) const PAYLOAD: &str = "cluster_version_payload";
/// The metric of the installation method.
pub(super) const INSTALLER: &str = "cluster_installer";
pub(crate) const PAYLOAD_ERRORS: &str = "cluster_operator_payload_errors";

/// The labels that a scrape adds to the operator's samples, by its ServiceMonitor.
pub(super) const TARGET: &[(&str, &str)] = &[("job", JOB), ("namespace", NAMESPACE), ("endpoint", "metrics")];

/// Collects the samples of an operator metric. Returns false for unknown metrics.
pub(super) fn collect(metric: &str, moment: &Moment<'_>, taken: &mut SampleCollector<'_>) -> bool {
    let Some((name, collect, _)) = METRICS.iter().find(|(name, ..)| *name == metric) else { return false };
    // The scraper sets `up`, even if the operator does not run.
    if moment.operator_runs || *name == "up" {
        collect(moment, taken);
    }
    true
}

fn up(moment: &Moment<'_>, taken: &mut SampleCollector<'_>) {
    let Some(scheme) = scheme(moment.view) else { return };
    for pod in pods(moment.view) {
        offer(taken, &[("pod", pod.name())], truth(moment.is_trusted && answers(pod, scheme)));
    }
}

/// Returns whether Prometheus scrapes a pod of the operator successfully.
pub(super) fn runs(view: &View) -> bool {
    scheme(view).is_some_and(|scheme| pods(view).into_iter().any(|pod| answers(pod, scheme)))
}

pub(in crate::monitoring) fn is_exported(metric: &str) -> bool {
    METRICS.iter().any(|(name, ..)| *name == metric)
}

/// Returns whether a pod answers a scrape by this scheme. Metrics are only served over HTTPS.
fn answers(pod: &Object, scheme: &str) -> bool {
    pod::phase(pod) == "Running" && scheme == "https"
}

/// The scheme of scrapes. `None` if no ServiceMonitor selects the operator's Service.
fn scheme(view: &View) -> Option<&str> {
    let service = view.get(&SERVICES, NAMESPACE, JOB)?;
    let selects = |monitor: &&Object| {
        let labels = monitor["spec"]["selector"]["matchLabels"].as_object();
        labels.into_iter().flatten().all(|(name, value)| service.label(name) == value.as_str())
    };
    let monitor = view.list_in(&SERVICE_MONITORS, NAMESPACE).find(selects)?;
    let endpoint = monitor.list("/spec/endpoints").iter().find(|endpoint| endpoint["port"] == "metrics")?;
    Some(endpoint["scheme"].as_str().unwrap_or("http"))
}

/// Returns whether objects of this kind can affect an operator metric or the scraped target. `None` for
/// unknown metrics.
pub(super) fn concerns(metric: &str, kind: &Key) -> Option<bool> {
    // The kinds in `moves_target`.
    const OF_TARGET: [Resource; 4] = [PODS, SERVICES, SERVICE_MONITORS, CONFIG_MAPS];
    let (_, _, source) = METRICS.iter().find(|(name, ..)| *name == metric)?;
    let of_source = match source {
        Source::Memory => return Some(true),
        Source::Kinds(kinds) | Source::Each(kinds, _) => *kinds,
    };
    Some(of_source.iter().chain(&OF_TARGET).any(|resource| kind.is_kind(resource)))
}

/// Returns whether a change can affect the samples of a selector of an operator metric. `None` for unknown
/// metrics.
pub(super) fn is_touched(
    selector: &Selector,
    labels: Option<&[String]>,
    compared: &Compared<'_>,
) -> Option<bool> {
    let change = compared.change;
    let is_of = |kinds: &[Resource]| kinds.iter().any(|kind| change.key.is_kind(kind));
    let (_, _, source) = METRICS.iter().find(|(name, ..)| *name == selector.metric())?;
    let touches = match source {
        _ if changes_line(change) => true,
        Source::Memory => true,
        Source::Kinds(kinds) => is_of(kinds),
        Source::Each(kinds, collect) => is_of(kinds) && differs(selector, labels, *collect, compared),
    };
    Some(touches || moves_target(change))
}

/// Returns whether the samples of a selector differ between two states of an object. If labels are given,
/// only these are compared.
fn differs(
    selector: &Selector,
    labels: Option<&[String]>,
    collect: CollectOf,
    compared: &Compared<'_>,
) -> bool {
    let Some(old) = compared.before() else { return true };
    let new = &compared.change.object;
    let [gone, come] = compared.conditions();
    let matters = |condition: &&Value| match collect {
        CollectOf::Availability(_) => condition::type_of(condition) == "Available",
        CollectOf::Condition(_) => true,
    };
    let same_versions = || {
        let same = |list| old.list(list) == new.list(list);
        same("/status/versions") && same("/status/history")
    };
    if !gone.iter().chain(come).any(matters) && same_versions() {
        return false;
    }
    let samples = |object: &Object, conditions: &[&Value]| {
        let mut taken = SampleCollector::for_selector(selector);
        match collect {
            CollectOf::Availability(_) if compared.change.key.is_kind(&CLUSTER_VERSIONS) => {
                version_up(object, &mut taken);
            }
            // Other minors have fewer labels.
            CollectOf::Availability(collect) => collect(object, NEWEST, &mut taken),
            CollectOf::Condition(collect) => {
                for condition in conditions {
                    collect(object.name(), condition, &mut taken);
                }
            }
        }
        let mut samples = taken.into_samples();
        if let Some(compared) = labels {
            for sample in &mut samples {
                sample.labels.retain(|name, _| compared.contains(name));
                sample.value = 1.0;
            }
        }
        samples
    };
    samples(old, gone) != samples(new, come)
}

/// Returns whether a change starts or ends an update to another minor, whose operator has other metrics.
fn changes_line(change: &Change) -> bool {
    change.key.is_kind(&CLUSTER_VERSIONS)
        && change.old.as_ref().is_some_and(|old| line_of(old) != line_of(&change.object))
}

/// Returns whether a change can affect which pod Prometheus scrapes.
fn moves_target(change: &Change) -> bool {
    if !change.key.is_kind(&PODS) {
        return change.key.is_kind(&SERVICES)
            || change.key.is_kind(&SERVICE_MONITORS)
            || certificates::is_bundle(&change.key);
    }
    let phase = |pod: &Object| is_operator(pod).then(|| pod::phase(pod).to_owned());
    match change.old.as_ref().filter(|_| change.kind == ChangeKind::Modified) {
        Some(old) => phase(old) != phase(&change.object),
        None => is_operator(&change.object),
    }
}

pub(super) type Collect = fn(&Moment<'_>, &mut SampleCollector<'_>);

/// Collects samples of one object.
#[derive(Debug, Clone, Copy)]
pub(super) enum CollectOf {
    /// Samples about availability and version.
    Availability(fn(&Object, MajorMinor, &mut SampleCollector<'_>)),
    /// Samples of one condition, with the object's name.
    Condition(fn(&str, &Value, &mut SampleCollector<'_>)),
}

/// The source of a metric.
#[derive(Debug)]
pub(super) enum Source {
    /// All objects of some kinds together.
    Kinds(&'static [Resource]),
    /// Each object of some kinds separately: its name, its versions and its conditions.
    Each(&'static [Resource], CollectOf),
    /// Counters of components in memory. Any change can affect them.
    Memory,
}

const OF_CLUSTER_VERSION: Source = Source::Kinds(&[CLUSTER_VERSIONS]);

/// Name, function and source of each metric.
pub(super) const METRICS: &[(&str, Collect, Source)] = &[
    ("up", up, Source::Kinds(&[])),
    ("cluster_version", cluster_version, OF_CLUSTER_VERSION),
    ("cluster_version_available_updates", available_updates, OF_CLUSTER_VERSION),
    ("cluster_version_capability", capabilities, OF_CLUSTER_VERSION),
    ("cluster_version_conditional_update_condition_seconds", conditional_updates, OF_CLUSTER_VERSION),
    ("cluster_version_operator_update_retrieval_timestamp_seconds", retrieval, OF_CLUSTER_VERSION),
    (PAYLOAD, payload, Source::Memory),
    ("cluster_version_risk_conditions", risks, OF_CLUSTER_VERSION),
    ("cluster_operator_condition_transitions", transitions, Source::Kinds(&[CLUSTER_OPERATORS])),
    (
        "cluster_operator_conditions",
        operator_conditions,
        Source::Each(&[CLUSTER_OPERATORS, CLUSTER_VERSIONS], CollectOf::Condition(condition_of)),
    ),
    (PAYLOAD_ERRORS, payload_errors, Source::Memory),
    (
        "cluster_operator_up",
        operators_up,
        Source::Each(&[CLUSTER_OPERATORS, CLUSTER_VERSIONS], CollectOf::Availability(up_of)),
    ),
    (INSTALLER, installer, Source::Kinds(&[CONFIG_MAPS])),
];

pub(super) fn offer(taken: &mut SampleCollector<'_>, labels: &[(&str, &str)], value: f64) {
    taken.add_for_target(labels, TARGET, value);
}

/// The pods of the operator's Service.
fn pods(view: &View) -> Vec<&Object> {
    let mut pods = Vec::new();
    pods.extend(view.list_in(&PODS, NAMESPACE).filter(|pod| is_operator(pod)));
    pods
}

/// Returns whether a pod belongs to the operator.
pub(super) fn is_operator(pod: &Object) -> bool {
    pod.namespace() == NAMESPACE && pod.label("k8s-app") == Some(JOB)
}

fn the_cluster_version<'a>(moment: &Moment<'a>) -> Option<&'a Object> {
    moment.view.cluster_version()
}

fn seconds(value: &Value, field: &str) -> f64 {
    parse_rfc3339(text(value, field)).map_or(0.0, |at| number(at.as_second()))
}

/// `cluster_version` by type: current, updating, desired, failure, completed, cluster and initial. The value
/// is the time when that started.
fn cluster_version(moment: &Moment<'_>, taken: &mut SampleCollector<'_>) {
    let Some(object) = the_cluster_version(moment) else { return };
    let (history, desired) = (object.list("/status/history"), &object["status"]["desired"]);
    let is_done = |entry: &&Value| entry["state"] == "Completed";
    let before = |head: &Value| {
        let mut earlier = history.iter().filter(is_done);
        earlier.find(|entry| entry["image"] != head["image"]).map_or("", |entry| text(entry, "version"))
    };
    let mut add = |kind: &str, entry: &Value, from: &str, value: f64| {
        let release = [("version", text(entry, "version")), ("image", text(entry, "image"))];
        offer(taken, &[&[("type", kind), ("from_version", from)], &release[..]].concat(), value);
    };
    let since = history.first().map_or(0.0, |head| seconds(head, "startedTime"));
    if let Some(head) = history.first() {
        add("current", head, before(head), since);
        if !is_done(&head) {
            add("updating", head, before(head), since);
        }
    }
    add("desired", desired, "", since);
    if let Some(failing) = condition::find_with_status(object, "Failing", "True") {
        add("failure", desired, before(desired), seconds(failing, "lastTransitionTime"));
    }
    if let Some(done) = history.iter().find(is_done) {
        add("completed", done, "", seconds(done, "completionTime"));
        add("cluster", done, "", seconds(&object["metadata"], "creationTimestamp"));
    }
    if let Some(born) = history.last() {
        add("initial", born, "", seconds(born, "startedTime"));
    }
}

fn available_updates(moment: &Moment<'_>, taken: &mut SampleCollector<'_>) {
    let Some(object) = the_cluster_version(moment) else { return };
    let labels = [("upstream", object.text("/spec/upstream")), ("channel", object.text("/spec/channel"))];
    offer(taken, &labels, count(object.list("/status/availableUpdates").len()));
}

fn capabilities(moment: &Moment<'_>, taken: &mut SampleCollector<'_>) {
    let Some(object) = the_cluster_version(moment) else { return };
    let enabled = object.list("/status/capabilities/enabledCapabilities");
    for name in object.list("/status/capabilities/knownCapabilities") {
        offer(taken, &[("name", name.as_str().unwrap_or_default())], truth(enabled.contains(name)));
    }
}

/// The transition time of each condition of a conditional update.
fn conditional_updates(moment: &Moment<'_>, taken: &mut SampleCollector<'_>) {
    let Some(object) = the_cluster_version(moment) else { return };
    if line_of(object) < CONDITIONAL_UPDATES {
        return;
    }
    for update in object.list("/status/conditionalUpdates") {
        let conditions = update["conditions"].as_array().into_iter().flatten();
        for condition in conditions.filter(|condition| condition::type_of(condition) == "Recommended") {
            let labels = [
                ("version", text(&update["release"], "version")),
                ("condition", text(condition, "type")),
                ("status", text(condition, "status")),
                ("reason", text(condition, "reason")),
            ];
            offer(taken, &labels, seconds(condition, "lastTransitionTime"));
        }
    }
}

/// The time of the last successful update retrieval. The API only has the time of a failure, so the value is
/// the current time if retrieval works.
fn retrieval(moment: &Moment<'_>, taken: &mut SampleCollector<'_>) {
    let Some(object) = the_cluster_version(moment) else { return };
    let value = match condition::find_in_status(object, "RetrievedUpdates") {
        Some(retrieved) if retrieved["status"] == "True" => number(moment.now.as_second()),
        Some(retrieved) => seconds(retrieved, "lastTransitionTime"),
        None => seconds(&object["metadata"], "creationTimestamp"),
    };
    offer(taken, &[("name", "")], value);
}

/// The numbers of applied and pending manifests in the current pass.
fn payload(moment: &Moment<'_>, taken: &mut SampleCollector<'_>) {
    moment.counted.collect(PAYLOAD, TARGET, taken);
}

/// Whether risks of updates apply: 1, 0, or -1 if unknown.
fn risks(moment: &Moment<'_>, taken: &mut SampleCollector<'_>) {
    let Some(object) = the_cluster_version(moment) else { return };
    for risk in object.list("/status/conditionalUpdateRisks") {
        let conditions = risk["conditions"].as_array().into_iter().flatten();
        for condition in conditions.filter(|condition| condition::type_of(condition) == "Applies") {
            let value = match text(condition, "status") {
                "True" => 1.0,
                "False" => 0.0,
                _ => -1.0,
            };
            let labels = [
                ("risk", text(risk, "name")),
                ("condition", condition::type_of(condition)),
                ("reason", text(condition, "reason")),
            ];
            offer(taken, &labels, value);
        }
    }
}

/// The first minor whose `cluster_operator_up` has a reason.
const WITH_REASON: MajorMinor = (4, 13);
/// The first minor with `cluster_version_conditional_update_condition_seconds`.
const CONDITIONAL_UPDATES: MajorMinor = (4, 15);
/// The first minor with a `cluster_operator_up` of the ClusterVersion.
const VERSION_UP: MajorMinor = (4, 16);
/// A minor with all metrics.
const NEWEST: MajorMinor = (u64::MAX, 0);

/// The minor of the operator that exports metrics: that of the newest release in the history.
fn line(moment: &Moment<'_>) -> MajorMinor {
    the_cluster_version(moment).map_or(NEWEST, line_of)
}

fn line_of(cluster_version: &Object) -> MajorMinor {
    let newest = cluster_version.list("/status/history").first();
    let version = newest.and_then(|entry| Version::parse(text(entry, "version")).ok());
    version.map_or(NEWEST, |version| (version.major, version.minor))
}

fn operators_up(moment: &Moment<'_>, taken: &mut SampleCollector<'_>) {
    let line = line(moment);
    moment.view.list(&CLUSTER_OPERATORS).for_each(|operator| up_of(operator, line, taken));
    if line < VERSION_UP {
        return;
    }
    match the_cluster_version(moment) {
        Some(object) => version_up(object, taken),
        None => offer(taken, &[("name", "version"), ("reason", "ClusterVersionNotFound")], 0.0),
    }
}

/// Whether an operator is available. Without the condition it is not.
fn up_of(operator: &Object, line: MajorMinor, taken: &mut SampleCollector<'_>) {
    let available = condition::find_in_status(operator, "Available");
    let up = truth(available.is_some_and(|condition| condition["status"] == "True"));
    if !taken.wants(up) {
        return;
    }
    let reason = available.map_or("NoAvailableCondition", |condition| text(condition, "reason"));
    let labels = [
        ("name", operator.name()),
        ("version", cluster_operator::version_of(operator, "operator").unwrap_or_default()),
        ("reason", if line >= WITH_REASON { reason } else { "" }),
    ];
    offer(taken, &labels, up);
}

/// Whether the ClusterVersion is available, with the version of the last complete update.
fn version_up(object: &Object, taken: &mut SampleCollector<'_>) {
    let Some(available) = condition::find_in_status(object, "Available") else { return };
    let status = text(available, "status");
    if status == "Unknown" {
        return;
    }
    let completed = object.list("/status/history").iter().find(|entry| entry["state"] == "Completed");
    let labels = [
        ("name", "version"),
        ("version", completed.map_or("", |entry| text(entry, "version"))),
        ("reason", text(available, "reason")),
    ];
    offer(taken, &labels, truth(status == "True"));
}

fn transitions(moment: &Moment<'_>, taken: &mut SampleCollector<'_>) {
    if let Some(transitions) = moment.counted.transitions {
        transitions.collect(taken);
    }
}

/// The number of failed attempts to apply a manifest, by the version of the payload.
fn payload_errors(moment: &Moment<'_>, taken: &mut SampleCollector<'_>) {
    moment.counted.collect(PAYLOAD_ERRORS, TARGET, taken);
}

/// The conditions of ClusterVersion count as those of an operator named `version`.
fn operator_conditions(moment: &Moment<'_>, taken: &mut SampleCollector<'_>) {
    let objects = moment.view.list(&CLUSTER_OPERATORS).chain(the_cluster_version(moment));
    for object in objects {
        let name = object.name();
        object.conditions().iter().for_each(|condition| condition_of(name, condition, taken));
    }
}

/// A condition of an operator, unless its status is Unknown.
fn condition_of(name: &str, condition: &Value, taken: &mut SampleCollector<'_>) {
    let status = text(condition, "status");
    let holds = truth(status == "True");
    if status != "Unknown" && taken.wants(holds) {
        let labels = [
            ("name", name),
            ("condition", condition::type_of(condition)),
            ("reason", text(condition, "reason")),
        ];
        offer(taken, &labels, holds);
    }
}

/// The installation method, from the installer's ConfigMap.
fn installer(moment: &Moment<'_>, taken: &mut SampleCollector<'_>) {
    let left = |name| moment.view.get(&CONFIG_MAPS, "openshift-config", name);
    let found = left("openshift-install");
    let Some(map) = found.or_else(|| left("openshift-install-manifests")) else {
        return offer(taken, &[("type", "other")], 1.0);
    };
    let kind = if found.is_some() { "openshift-install" } else { "other" };
    let (version, invoker) = (map.text("/data/version"), map.text("/data/invoker"));
    offer(taken, &[("type", kind), ("version", version), ("invoker", invoker)], 1.0);
}

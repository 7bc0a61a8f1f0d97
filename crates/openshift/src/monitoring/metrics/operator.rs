//! What the cluster-version operator exports (`pkg/cvo/metrics.go`), as far as the API tells it: the statuses of
//! ClusterVersion and ClusterOperators, and how the cluster was installed. It is there while the operator runs.

use serde_json::Value;
use windtunnel_core::clock::parse_rfc3339;
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, PODS, SERVICE_MONITORS, SERVICES,
};
use windtunnel_core::{Change, ChangeKind, Key, Object, Resource, View, condition, text_of as text};

use super::compared::Compared;
use super::{Moment, certificates, count, number, truth};
use crate::promql::{Selector, Taken};

pub(super) const NAMESPACE: &str = "openshift-cluster-version";
const JOB: &str = "cluster-version-operator";

/// What the operator counts itself: manifests of its pass, and attempts to apply one that failed.
pub(crate) const PAYLOAD: &str = "cluster_version_payload";
pub(crate) const PAYLOAD_ERRORS: &str = "cluster_operator_payload_errors";

/// What a scrape adds to each sample of the operator (its ServiceMonitor).
pub(super) const TARGET: &[(&str, &str)] = &[("job", JOB), ("namespace", NAMESPACE), ("endpoint", "metrics")];

/// Hands out the samples of a metric of the operator; false if it has no such metric.
pub(super) fn collect(metric: &str, moment: &Moment<'_>, taken: &mut Taken<'_>) -> bool {
    let Some((name, collect, _)) = METRICS.iter().find(|(name, ..)| *name == metric) else { return false };
    // Whether a target answers is told of by who asks it.
    if moment.operator_runs || *name == "up" {
        collect(moment, taken);
    }
    true
}

fn up(moment: &Moment<'_>, taken: &mut Taken<'_>) {
    let Some(scheme) = scheme(moment.view) else { return };
    for pod in pods(moment.view) {
        offer(taken, &[("pod", pod.name())], truth(moment.is_trusted && answers(pod, scheme)));
    }
}

/// Whether a pod of the operator is asked for its metrics, and answers.
pub(super) fn runs(view: &View) -> bool {
    scheme(view).is_some_and(|scheme| pods(view).into_iter().any(|pod| answers(pod, scheme)))
}

/// Whether a metric is one of the operator's.
pub(in crate::monitoring) fn is_exported(metric: &str) -> bool {
    METRICS.iter().any(|(name, ..)| *name == metric)
}

/// Whether a pod answers to who asks by this scheme: metrics are served by HTTPS alone.
fn answers(pod: &Object, scheme: &str) -> bool {
    pod.text("/status/phase") == "Running" && scheme == "https"
}

/// The scheme by which Prometheus asks; `None` where no ServiceMonitor leads to the operator's Service.
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

/// Whether changes of objects of this kind may lead to other samples of a metric of the operator, or to another target; `None` if
/// it has no such metric.
pub(super) fn concerns(metric: &str, kind: &Key) -> Option<bool> {
    // What `moves_target` looks at.
    const OF_TARGET: [Resource; 4] = [PODS, SERVICES, SERVICE_MONITORS, CONFIG_MAPS];
    let (_, _, source) = METRICS.iter().find(|(name, ..)| *name == metric)?;
    let of_source = match source {
        Source::Memory => return Some(true),
        Source::Kinds(kinds) | Source::Each(kinds, _) => *kinds,
    };
    Some(of_source.iter().chain(&OF_TARGET).any(|resource| kind.is(resource)))
}

/// Whether a change may lead to other samples that a selector takes of a metric of the operator; `None` if it has no such
/// metric.
pub(super) fn is_touched(
    selector: &Selector,
    labels: Option<&[String]>,
    compared: &Compared<'_>,
) -> Option<bool> {
    let change = compared.change;
    let is_of = |kinds: &[Resource]| kinds.iter().any(|kind| change.key.is(kind));
    let (_, _, source) = METRICS.iter().find(|(name, ..)| *name == selector.metric())?;
    let touches = match source {
        Source::Memory => true,
        Source::Kinds(kinds) => is_of(kinds),
        Source::Each(kinds, collect) => is_of(kinds) && differs(selector, labels, *collect, compared),
    };
    Some(touches || moves_target(change))
}

/// Whether a selector takes other samples of an object than before. Where labels are given, nothing else of samples counts.
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
    let same_versions = || old.list("/status/versions") == new.list("/status/versions");
    if !gone.iter().chain(come).any(matters) && same_versions() {
        return false;
    }
    let samples = |object: &Object, conditions: &[&Value]| {
        let mut taken = Taken::of(selector);
        match collect {
            CollectOf::Availability(collect) => collect(object, &mut taken),
            CollectOf::Condition(collect) => {
                for condition in conditions {
                    collect(object.name(), condition, &mut taken);
                }
            }
        }
        let mut samples = taken.into_samples();
        if let Some(kept) = labels {
            for sample in &mut samples {
                sample.labels.retain(|name, _| kept.contains(name));
                sample.value = 1.0;
            }
        }
        samples
    };
    samples(old, gone) != samples(new, come)
}

/// Whether a change may lead Prometheus to another pod, or to none.
fn moves_target(change: &Change) -> bool {
    if !change.key.is(&PODS) {
        return change.key.is(&SERVICES)
            || change.key.is(&SERVICE_MONITORS)
            || certificates::is_bundle(&change.key);
    }
    let told = |pod: &Object| is_operator(pod).then(|| pod.text("/status/phase").to_owned());
    match change.old.as_ref().filter(|_| change.kind == ChangeKind::Modified) {
        Some(old) => told(old) != told(&change.object),
        None => is_operator(&change.object),
    }
}

pub(super) type Collect = fn(&Moment<'_>, &mut Taken<'_>);

/// Hands out samples of one object.
#[derive(Debug, Clone, Copy)]
pub(super) enum CollectOf {
    /// Those of whether it is available, in which version.
    Availability(fn(&Object, &mut Taken<'_>)),
    /// Those of one of its conditions, by the object's name.
    Condition(fn(&str, &Value, &mut Taken<'_>)),
}

/// What samples are made of.
#[derive(Debug)]
pub(super) enum Source {
    /// The objects of some kinds together.
    Kinds(&'static [Resource]),
    /// Each object of some kinds by itself: its name, its versions, and what its conditions say.
    Each(&'static [Resource], CollectOf),
    /// What components count in their memory, which any change may tell of.
    Memory,
}

const OF_CLUSTER_VERSION: Source = Source::Kinds(&[CLUSTER_VERSIONS]);

/// The metrics, what makes their samples, and of what.
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
    ("cluster_operator_up", operators_up, Source::Each(&[CLUSTER_OPERATORS], CollectOf::Availability(up_of))),
    ("cluster_installer", installer, Source::Kinds(&[CONFIG_MAPS])),
];

pub(super) fn offer(taken: &mut Taken<'_>, labels: &[(&str, &str)], value: f64) {
    taken.offer_of(labels, TARGET, value);
}

/// The pods that the operator's Service leads to.
fn pods(view: &View) -> Vec<&Object> {
    let mut pods = Vec::new();
    pods.extend(view.list_in(&PODS, NAMESPACE).filter(|pod| is_operator(pod)));
    pods
}

/// Whether a pod is one of them.
pub(super) fn is_operator(pod: &Object) -> bool {
    pod.namespace() == NAMESPACE && pod["metadata"]["labels"]["k8s-app"] == JOB
}

fn the_cluster_version<'a>(moment: &Moment<'a>) -> Option<&'a Object> {
    moment.view.get(&CLUSTER_VERSIONS, "", "version")
}

fn seconds(value: &Value, field: &str) -> f64 {
    parse_rfc3339(text(value, field)).map_or(0.0, |at| number(at.as_second()))
}

/// `cluster_version` by type: what runs, what is wanted, what goes wrong, what was done last and what the cluster was
/// born with. The value is when that began.
fn cluster_version(moment: &Moment<'_>, taken: &mut Taken<'_>) {
    let Some(object) = the_cluster_version(moment) else { return };
    let (history, desired) = (object.list("/status/history"), &object["status"]["desired"]);
    let is_done = |entry: &&Value| entry["state"] == "Completed";
    let before = |head: &Value| {
        let mut earlier = history.iter().filter(is_done);
        earlier.find(|entry| entry["image"] != head["image"]).map_or("", |entry| text(entry, "version"))
    };
    let mut add = |kind: &str, of: &Value, from: &str, value: f64| {
        let release = [("version", text(of, "version")), ("image", text(of, "image"))];
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
    if let Some(failing) = condition::of(object, "Failing").filter(|failing| failing["status"] == "True") {
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

fn available_updates(moment: &Moment<'_>, taken: &mut Taken<'_>) {
    let Some(object) = the_cluster_version(moment) else { return };
    let labels = [("upstream", object.text("/spec/upstream")), ("channel", object.text("/spec/channel"))];
    offer(taken, &labels, count(object.list("/status/availableUpdates").len()));
}

fn capabilities(moment: &Moment<'_>, taken: &mut Taken<'_>) {
    let Some(object) = the_cluster_version(moment) else { return };
    let enabled = object.list("/status/capabilities/enabledCapabilities");
    for name in object.list("/status/capabilities/knownCapabilities") {
        offer(taken, &[("name", name.as_str().unwrap_or_default())], truth(enabled.contains(name)));
    }
}

/// Since when each condition of a conditional update is what it is.
fn conditional_updates(moment: &Moment<'_>, taken: &mut Taken<'_>) {
    let Some(object) = the_cluster_version(moment) else { return };
    for update in object.list("/status/conditionalUpdates") {
        for condition in update["conditions"].as_array().into_iter().flatten() {
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

/// When updates were last retrieved. The API tells only since when they cannot be: where they can, that is now.
fn retrieval(moment: &Moment<'_>, taken: &mut Taken<'_>) {
    let Some(object) = the_cluster_version(moment) else { return };
    let value = match condition::of(object, "RetrievedUpdates") {
        Some(retrieved) if retrieved["status"] == "True" => number(moment.now.as_second()),
        Some(retrieved) => seconds(retrieved, "lastTransitionTime"),
        None => seconds(&object["metadata"], "creationTimestamp"),
    };
    offer(taken, &[("name", "")], value);
}

/// How many manifests of the payload the pass over it has applied, and how many it has not.
fn payload(moment: &Moment<'_>, taken: &mut Taken<'_>) {
    moment.counted.collect(PAYLOAD, TARGET, taken);
}

/// Whether risks of updates apply: 1 and 0, and -1 where that is not known.
fn risks(moment: &Moment<'_>, taken: &mut Taken<'_>) {
    let Some(object) = the_cluster_version(moment) else { return };
    for risk in object.list("/status/conditionalUpdateRisks") {
        for condition in risk["conditions"].as_array().into_iter().flatten() {
            let value = match text(condition, "status") {
                "True" => 1.0,
                "False" => 0.0,
                _ => -1.0,
            };
            offer(taken, &[("risk", text(risk, "name")), ("condition", text(condition, "type"))], value);
        }
    }
}

fn operators_up(moment: &Moment<'_>, taken: &mut Taken<'_>) {
    moment.view.list(&CLUSTER_OPERATORS).for_each(|operator| up_of(operator, taken));
}

/// Whether an operator is available; one that does not tell is not.
fn up_of(operator: &Object, taken: &mut Taken<'_>) {
    let available = condition::of(operator, "Available");
    let up = truth(available.is_some_and(|condition| condition["status"] == "True"));
    if !taken.wants(up) {
        return;
    }
    let versions = operator.list("/status/versions");
    let version = versions.iter().find(|version| version["name"] == "operator");
    let labels = [
        ("name", operator.name()),
        ("version", version.map_or("", |one| text(one, "version"))),
        ("reason", available.map_or("", |condition| text(condition, "reason"))),
    ];
    offer(taken, &labels, up);
}

fn transitions(moment: &Moment<'_>, taken: &mut Taken<'_>) {
    if let Some(transitions) = moment.counted.transitions {
        transitions.collect(taken);
    }
}

/// How many attempts to apply a manifest failed, by the version of the payload.
fn payload_errors(moment: &Moment<'_>, taken: &mut Taken<'_>) {
    moment.counted.collect(PAYLOAD_ERRORS, TARGET, taken);
}

/// Those of ClusterVersion count as an operator's called `version`.
fn operator_conditions(moment: &Moment<'_>, taken: &mut Taken<'_>) {
    let objects = moment.view.list(&CLUSTER_OPERATORS).chain(the_cluster_version(moment));
    for object in objects {
        let name = object.name();
        object.list("/status/conditions").iter().for_each(|condition| condition_of(name, condition, taken));
    }
}

/// A condition of an operator; Unknown ones are left out.
fn condition_of(name: &str, condition: &Value, taken: &mut Taken<'_>) {
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

/// By the ConfigMap that the installer leaves.
fn installer(moment: &Moment<'_>, taken: &mut Taken<'_>) {
    let left = |name| moment.view.get(&CONFIG_MAPS, "openshift-config", name);
    let found = left("openshift-install");
    let Some(map) = found.or_else(|| left("openshift-install-manifests")) else {
        return offer(taken, &[("type", "other")], 1.0);
    };
    let kind = if found.is_some() { "openshift-install" } else { "other" };
    let (version, invoker) = (map.text("/data/version"), map.text("/data/invoker"));
    offer(taken, &[("type", kind), ("version", version), ("invoker", invoker)], 1.0);
}

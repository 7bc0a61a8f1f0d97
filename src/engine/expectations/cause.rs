//! The most telling cause of an unmet expectation, for the first line of its text.

use std::borrow::Cow;

use windtunnel_core::rejected_paths::at_paths;
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, MACHINE_CONFIG_POOLS, NODES, POD_DISRUPTION_BUDGETS,
};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::text::{one_line, truncate};
use windtunnel_core::{Object, View, condition};

use super::acceptance::{condition_text, explained, failed_pull};
use super::matching::name_fits;
use crate::engine::runtime::{Pending, Simulation};
use crate::plan::{ExpectedState, FaultTarget};
use crate::record::WriteEvent;

/// The longest cause in a first line, in characters.
const CAUSE_MAX: usize = 400;

/// The cause of an unmet expectation.
pub(super) struct Cause {
    /// The cause in one line, which may be truncated.
    pub(super) text: String,
    /// The rejected write that `text` describes in full, by its index.
    pub(super) rejected: Option<usize>,
}

/// The object that an expectation is about.
#[derive(Clone, Copy)]
struct Subject<'w> {
    kind: &'w str,
    name: &'w str,
}

/// Returns the most telling cause: a paused pool, or else a rejected write, a fault in effect that concerns the object, a
/// condition of the object that reports an error, or the wait of the component that is responsible for it. `None` if nothing
/// explains the expectation.
pub(super) fn most_telling(
    simulation: &Simulation,
    what: &ExpectedState,
    seen: &str,
    rejected: &[&WriteEvent],
) -> Option<Cause> {
    let subject = subject(what);
    let whole = |text: String| Cause { text, rejected: None };
    let paused = || Some(whole(format!("pool {} is paused", paused_pool(&simulation.view, subject?)?)));
    let fault = || {
        let faults = || simulation.faults_in_effect.iter().map(|(fault, _)| fault);
        let direct = faults().find(|fault| concerns(&fault.target(), subject));
        let found =
            direct.or_else(|| faults().find(|fault| delays_update(simulation, &fault.target(), subject)))?;
        Some(whole(format!("fault: {found}")))
    };
    let waits = || {
        let pending = simulation.pending();
        let found = pending.iter().find(|pending| is_responsible(pending, subject))?;
        Some(whole(format!("{} waits for: {}", found.actor, found.why)))
    };
    let rejected = || rejection(simulation, subject, rejected);
    let cause =
        paused().or_else(rejected).or_else(fault).or_else(|| match condition(simulation, subject, seen) {
            Some(text) => (!text.is_empty()).then(|| whole(text)),
            None => waits(),
        })?;
    let text = truncate(&one_line(&cause.text), CAUSE_MAX);
    let rejected = cause.rejected.filter(|_| text.chars().count() < CAUSE_MAX);
    Some(Cause { text, rejected })
}

/// Returns the first line of what was seen with the cause, and the other lines as they are. A first line that ends with a colon
/// belongs to the lines below it, and does not change.
pub(super) fn with_cause(seen: &str, cause: &Cause) -> Option<String> {
    let (first, rest) = seen.split_at(seen.find('\n').unwrap_or(seen.len()));
    (!first.ends_with(':')).then(|| format!("{first}; {}{rest}", cause.text))
}

fn subject(what: &ExpectedState) -> Option<Subject<'_>> {
    match what {
        ExpectedState::Object(object, _) | ExpectedState::Absent(object) => {
            Some(Subject { kind: &object.resource.kind, name: &object.name })
        }
        ExpectedState::Insight(insight, _) | ExpectedState::NoInsight(insight, _) => match &insight.about {
            Some(object) => Some(Subject { kind: &object.resource.kind, name: &object.name }),
            None => Some(Subject { kind: &insight.kind, name: &insight.name }),
        },
        ExpectedState::Phase { node, .. } => Some(Subject { kind: "Node", name: node }),
        _ => None,
    }
}

/// Returns the paused pool that keeps a pool or a node from its update, or the paused pool of the control plane, for which an update
/// waits.
fn paused_pool<'v>(view: &'v View, subject: Subject<'_>) -> Option<&'v str> {
    let mut paused = view.list(&MACHINE_CONFIG_POOLS).filter(|pool| pool["spec"]["paused"] == true);
    let is_meant = |pool: &&Object| match subject.kind {
        "MachineConfigPool" => pool.name() == subject.name,
        "Node" => view.get(&NODES, "", subject.name).is_some_and(|node| is_in_pool(node, pool)),
        "ClusterVersion" => pool.name() == "master",
        "ClusterOperator" => pool.name() == "master" && subject.name == "machine-config",
        _ => false,
    };
    paused.find(is_meant).map(Object::name)
}

fn is_in_pool(node: &Object, pool: &Object) -> bool {
    !node["metadata"]["labels"][format!("node-role.kubernetes.io/{}", pool.name())].is_null()
}

/// Returns the rejected write that concerns the object, or else the last one.
fn rejection(
    simulation: &Simulation,
    subject: Option<Subject<'_>>,
    rejected: &[&WriteEvent],
) -> Option<Cause> {
    let is_meant = |write: &&WriteEvent| {
        subject.is_some_and(|subject| write.kind == subject.kind && write.key.name == subject.name)
    };
    let index = rejected.iter().position(is_meant).or_else(|| (!rejected.is_empty()).then_some(0))?;
    let write = *rejected.get(index)?;
    let budget = budget(&simulation.view, write).map(|name| format!("PodDisruptionBudget {name}: "));
    let text = format!("rejected: {}{}", budget.unwrap_or_default(), described(write));
    Some(Cause { text, rejected: Some(index) })
}

/// Describes a rejected write: writer, object, code and message.
pub(super) fn described(write: &WriteEvent) -> String {
    let WriteEvent { by, verb, key, subresource, code, message, .. } = write;
    let of = if subresource.is_empty() { String::new() } else { format!("{subresource} of ") };
    let at = at_paths(message, subresource);
    let colon = if at.is_empty() { "" } else { ":" };
    format!("{verb} of {of}{}/{} by {by}: {code}{at}{colon} {message}", write.kind, key.name)
}

/// Returns the budget that rejected an eviction, as `NAMESPACE/NAME`.
fn budget(view: &View, write: &WriteEvent) -> Option<String> {
    if write.subresource != "eviction" || write.code != 429 {
        return None;
    }
    let pod = view.get_key(&write.key)?;
    let selects = |budget: &&Object| {
        let disruptions = budget.number("/status/disruptionsAllowed").unwrap_or_default();
        disruptions == 0 && selector_matches(&budget["spec"]["selector"], &pod["metadata"]["labels"])
    };
    let found = view.list_in(&POD_DISRUPTION_BUDGETS, pod.namespace()).find(selects)?;
    Some(format!("{}/{}", found.namespace(), found.name()))
}

/// Returns, as a line of its own, the whole condition of a ClusterVersion that rejects a release, which the first line shortens.
pub(super) fn rejected_release(simulation: &Simulation, what: &ExpectedState, seen: &str) -> Option<String> {
    let name = subject(what).filter(|subject| subject.kind == "ClusterVersion")?.name;
    let version = simulation.view.get(&CLUSTER_VERSIONS, "", name)?;
    let accepted = condition::find_with_status(version, "ReleaseAccepted", "False")?;
    let whole = condition_text(accepted);
    (explained(accepted) != whole && !seen.contains(&whole))
        .then(|| format!("\n  condition: {}", one_line(&whole)))
}

/// Returns whether a fault can keep the object from what is expected of it.
fn concerns(target: &FaultTarget, subject: Option<Subject<'_>>) -> bool {
    let Some(Subject { kind, name }) = subject else { return false };
    match target {
        FaultTarget::Operator(operator) => kind == "ClusterVersion" || name == operator,
        FaultTarget::Node(node) => kind == "MachineConfigPool" || name == node,
        FaultTarget::Pool(pool) => kind == "Node" || name == pool,
        FaultTarget::Release(_) => kind == "ClusterVersion",
        FaultTarget::Registry(_) => kind == "ClusterVersion" || kind == "Pod",
        FaultTarget::Pods { name: pod, .. } => {
            kind == "Pod" && (name_fits(name, pod) || name_fits(pod, name))
        }
        FaultTarget::Crd(definition) => name == definition,
        FaultTarget::Process(process) => responsible(kind, name).is_some_and(|by| process.starts_with(&*by)),
        FaultTarget::Api(_) | FaultTarget::Webhook(_) => true,
    }
}

/// Returns whether a fault of something else can hold up the update that a ClusterVersion, or the operator of nodes, waits for: the
/// operator itself, a node of the control plane, or what the conditions of the ClusterVersion name.
fn delays_update(simulation: &Simulation, target: &FaultTarget, subject: Option<Subject<'_>>) -> bool {
    let Some(Subject { kind, name }) = subject else { return false };
    let is_of_nodes = kind == "ClusterOperator" && name == "machine-config";
    if kind != "ClusterVersion" && !is_of_nodes {
        return false;
    }
    let version = simulation.view.cluster_version();
    let conditions = version.map_or(&[][..], |version| version.list("/status/conditions"));
    let mentions = |text: &str| {
        let texts = conditions.iter().filter_map(|condition| condition["message"].as_str());
        texts.into_iter().any(|message| message.contains(text))
    };
    let waits_for_nodes = || is_of_nodes || mentions("machine-config");
    let is_master = |node: &str| {
        let node = simulation.view.get(&NODES, "", node);
        node.is_some_and(|node| !node["metadata"]["labels"]["node-role.kubernetes.io/master"].is_null())
    };
    match target {
        FaultTarget::Node(node) => is_master(node) || waits_for_nodes(),
        FaultTarget::Pool(_) => waits_for_nodes(),
        FaultTarget::Pods { namespace, .. } => {
            namespace == "openshift-cluster-version" || mentions(namespace)
        }
        FaultTarget::Process(process) => {
            process.starts_with("machine-config") && waits_for_nodes()
                || process.strip_prefix("operator/").is_some_and(mentions)
        }
        FaultTarget::Crd(definition) => mentions(definition),
        _ => false,
    }
}

/// Returns the condition of an object that reports an error, and why its release was not pulled; empty if `seen` has that already.
fn condition(simulation: &Simulation, subject: Option<Subject<'_>>, seen: &str) -> Option<String> {
    let bad = bad_condition(&simulation.view, subject?)?;
    let pull = failed_pull(simulation).filter(|_| bad.contains("ReleaseAccepted=False RetrievePayload"));
    let last_words = |text: &str| text.rsplit(": ").next().unwrap_or_default().to_owned();
    let parts = [Some(bad).filter(|bad| !seen.contains(bad.as_str())), pull];
    let mut new: Vec<String> = Vec::new();
    for part in parts.into_iter().flatten() {
        let is_known =
            seen.contains(&last_words(&part)) || new.iter().any(|text| text.contains(&last_words(&part)));
        if !is_known {
            new.push(part);
        }
    }
    Some(new.join("; "))
}

/// Returns the condition of an object that reports an error, with its message.
fn bad_condition(view: &View, Subject { kind, name }: Subject<'_>) -> Option<String> {
    let (resource, bad): (_, &[_]) = match kind {
        "ClusterVersion" => (&CLUSTER_VERSIONS, &[("ReleaseAccepted", "False"), ("Failing", "True")]),
        "ClusterOperator" => (&CLUSTER_OPERATORS, &[("Available", "False"), ("Degraded", "True")]),
        "MachineConfigPool" => (&MACHINE_CONFIG_POOLS, &[("Degraded", "True"), ("NodeDegraded", "True")]),
        _ => return None,
    };
    let object = view.get(resource, "", name)?;
    bad.iter().find_map(|(kind, status)| {
        let found = condition::find_in_status(object, kind).filter(|found| found["status"] == *status)?;
        Some(explained(found))
    })
}

fn is_responsible(pending: &Pending, subject: Option<Subject<'_>>) -> bool {
    let responsible = subject.and_then(|Subject { kind, name }| responsible(kind, name));
    responsible.is_some_and(|by| pending.actor.starts_with(&*by))
}

/// Returns the beginning of the name of the component that writes an object's status.
fn responsible<'n>(kind: &str, name: &'n str) -> Option<Cow<'n, str>> {
    Some(match kind {
        "ClusterVersion" => "cluster-version-operator".into(),
        "ClusterOperator" => format!("operator/{name}").into(),
        "MachineConfigPool" => "machine-config-controller".into(),
        "Node" => format!("machine-config-daemon/{name}").into(),
        _ => return None,
    })
}

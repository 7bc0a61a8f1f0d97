//! The faults of a run that never acted, as far as the run can show that for certain.

use jiff::SignedDuration;
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_core::Object;
use windtunnel_core::clock::Time;
use windtunnel_core::condition;
use windtunnel_core::requests::faults::{ProgramFault, RequestAttributes, RequestFilter};
use windtunnel_core::resources::{CLUSTER_OPERATORS, CUSTOM_RESOURCE_DEFINITIONS, NODES};
use windtunnel_core::text::short_duration;
use windtunnel_openshift::mco::annotations::DESIRED_CONFIG;

use super::runtime::Simulation;
use crate::plan::InjectedFault;
use crate::record::{ADMINISTRATOR, Event, WriteEvent};

/// The kinds of objects that name images to pull, or registries to pull them from.
const WITH_IMAGES: [&str; 7] = [
    "ClusterVersion",
    "Image",
    "ImageContentSourcePolicy",
    "ImageDigestMirrorSet",
    "ImageTagMirrorSet",
    "MachineConfig",
    "Pod",
];

/// Faults of nodes that act only while the node is drained, updated or rebooted. A blocked drain is none of them: its pod and its
/// budget exist at once.
const OF_UPDATES: [FaultKind; 5] = [
    FaultKind::DoesNotReturn,
    FaultKind::OsUpdateFails,
    FaultKind::RebootLoop,
    FaultKind::RebootRefused,
    FaultKind::Unreconcilable,
];

/// The verbs of requests that a record has.
const WRITES: [&str; 4] = ["create", "update", "patch", "delete"];

/// Kinds whose writes a record may lack.
const UNRECORDED: [&str; 2] = ["Event", "Lease"];

/// Returns each fault that never acted, and why. A run that failed ended too early for the ones that had not begun.
pub(super) fn of(simulation: &Simulation, has_failed: bool) -> Vec<String> {
    let epoch = simulation.record.header.epoch;
    // The record lacks the writes of controllers that are no part of the simulation.
    let is_complete = !simulation.connection.capabilities().controllers;
    let begun =
        simulation.faults_in_effect.begun().filter(|_| is_complete).filter_map(|(fault, since)| {
            idle(simulation, fault, *since).map(|why| format!("{fault}: {why}"))
        });
    let unbegun = simulation.observers.agenda.unbegun().map(|(fault, at)| match at {
        Ok(at) => {
            let span: SignedDuration = at.duration_since(epoch);
            format!("{fault}: the run ended before it, {} after the start", short_duration(span))
        }
        Err(event) => format!("{fault}: {event} never happened"),
    });
    begun.chain(unbegun.filter(|_| !has_failed)).collect()
}

/// Returns why a fault that has begun never acted.
fn idle(simulation: &Simulation, fault: &InjectedFault, since: Time) -> Option<String> {
    let has = |is_trace: &dyn Fn(&WriteEvent) -> bool| writes(simulation, since).any(is_trace);
    match fault {
        InjectedFault::Registry(name, _) => {
            (!is_named(simulation, name)).then(|| format!("no image is pulled from {name}"))
        }
        InjectedFault::Release(version, _) => {
            let image = &simulation.environment.payload_of(version)?.image;
            let is_idle = !is_named(simulation, image);
            is_idle.then(|| format!("nothing asked for release {version}"))
        }
        InjectedFault::Crd(name, _) => {
            let is_trace = |write: &WriteEvent| {
                write.key.is_kind(&CUSTOM_RESOURCE_DEFINITIONS)
                    && write.key.name == *name
                    && write.by != ADMINISTRATOR
            };
            (!has(&is_trace)).then(|| format!("no component wrote CustomResourceDefinition {name}"))
        }
        InjectedFault::Webhook(filter) => {
            (!has(&|write| fits(filter, write))).then(|| "no write called the webhook".to_owned())
        }
        InjectedFault::Requests(fault) => {
            let is_of_writes = fault.requests.verb.as_deref().is_some_and(|verb| WRITES.contains(&verb))
                && fault.requests.kind.as_deref().is_none_or(|kind| !UNRECORDED.contains(&kind));
            let is_idle = is_of_writes && !has(&|write| fits(&fault.requests, write));
            is_idle.then(|| "nothing sent such a request".to_owned())
        }
        InjectedFault::Process(name, ProgramFault::Crash { writes: filter, .. }) => {
            let is_recorded = filter.kind.as_deref().is_none_or(|kind| !UNRECORDED.contains(&kind));
            let is_idle = is_recorded && !has(&|write| write.by == *name && fits(filter, write));
            is_idle.then(|| format!("{name} made no such write"))
        }
        InjectedFault::Operator(name, Fault { kind: FaultKind::Stalled, .. }) => {
            let is_rollout = |object: &Object| condition::has_status(object, "Progressing", "True");
            let is_trace = |write: &WriteEvent| {
                write.key.is_kind(&CLUSTER_OPERATORS)
                    && write.key.name == *name
                    && write.after.as_ref().is_some_and(is_rollout)
            };
            (!has(&is_trace)).then(|| format!("operator {name} began no rollout"))
        }
        InjectedFault::Node(name, Fault { kind, .. }) if OF_UPDATES.contains(kind) => {
            let is_trace = |write: &WriteEvent| {
                write.key.is_kind(&NODES) && write.key.name == *name && is_of_update(write)
            };
            (!has(&is_trace)).then(|| format!("node {name} was neither drained, updated nor rebooted"))
        }
        _ => None,
    }
}

/// Returns the writes from a moment on.
fn writes(simulation: &Simulation, since: Time) -> impl Iterator<Item = &WriteEvent> {
    let later = simulation.record.entries.iter().rev().take_while(move |entry| entry.at >= since);
    later.filter_map(|entry| match &entry.event {
        Event::Write(write) => Some(&**write),
        _ => None,
    })
}

/// Returns whether a write can be one of those of a filter. A record does not have each name of a client.
fn fits(filter: &RequestFilter, write: &WriteEvent) -> bool {
    let any_client = RequestFilter { by: None, ..filter.clone() };
    any_client.matches(&RequestAttributes {
        verb: &write.verb,
        kind: &write.kind,
        name: &write.key.name,
        subresource: &write.subresource,
        agent: &write.by,
        user: "",
        program: "",
    })
}

/// Returns whether an object that names images or registries has had this text.
fn is_named(simulation: &Simulation, text: &str) -> bool {
    let is_named = |object: &Object| object.to_string().contains(text);
    let mut written = simulation.record.entries.iter().filter_map(|entry| match &entry.event {
        Event::Write(write) if WITH_IMAGES.contains(&&*write.kind) => write.after.as_ref(),
        _ => None,
    });
    written.any(is_named)
}

/// Returns whether a write of a node is a part of a drain, an update or a reboot.
fn is_of_update(write: &WriteEvent) -> bool {
    let (Some(before), Some(after)) = (&write.before, &write.after) else { return false };
    let differs = |value: &dyn Fn(&Object) -> String| value(before) != value(after);
    differs(&|node| node["metadata"]["annotations"][DESIRED_CONFIG].to_string())
        || differs(&|node| node["spec"]["unschedulable"].to_string())
        || differs(&|node| node["status"]["nodeInfo"]["bootID"].to_string())
}

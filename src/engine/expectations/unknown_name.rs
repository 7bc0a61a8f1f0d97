//! Names in expectations that have never existed in the run: a typo, and so a mistake of the scenario.

use std::collections::BTreeSet;

use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, MACHINE_CONFIG_POOLS,
    NAMESPACES, NODES, PROMETHEUS_RULES, UPDATE_STATUSES,
};
use windtunnel_core::text::did_you_mean;
use windtunnel_core::{Object, Resource};
use windtunnel_update_status::insight::published;

use super::matching::name_fits;
use crate::engine::runtime::Simulation;
use crate::plan::{Check, ExpectedState, InsightRef, ObjectRef, Subject, TextMatch};
use crate::record::{Entry, Event};

/// The kinds whose objects the installation names, so that a name which has never existed is a typo if it is similar to
/// another one.
const INSTALLED: [&Resource; 4] = [&CLUSTER_VERSIONS, &CLUSTER_OPERATORS, &MACHINE_CONFIG_POOLS, &NODES];

/// The most changed letters of a reason that is misspelt, and not another one.
const MISSPELT: usize = 2;

/// Returns why an unmet expectation can only be a mistake: it names something that has never existed, and that is similar to
/// something that has, or insights that nothing publishes.
pub(super) fn find(simulation: &Simulation, what: &ExpectedState) -> Option<String> {
    match what {
        ExpectedState::Object(object, checks) => {
            unknown_object(simulation, object).or_else(|| misspelt_reason(simulation, object, checks))
        }
        ExpectedState::Statuses { subject: Subject::Object(object), .. } => {
            unknown_object(simulation, object)
        }
        ExpectedState::Phase { node, .. }
        | ExpectedState::Phases { node, .. }
        | ExpectedState::Reboots { node, .. } => near_name(simulation, &NODES, node),
        ExpectedState::Insight(insight, _)
        | ExpectedState::Statuses { subject: Subject::Insight(insight), .. } => {
            unpublished(simulation).or_else(|| unknown_insight(simulation, insight))
        }
        ExpectedState::Alert(alert) => unknown_alert(simulation, &alert.name),
        _ => None,
    }
}

/// Returns the nearest name of an object, or of its namespace, if the one of an expectation has never existed.
fn unknown_object(simulation: &Simulation, object: &ObjectRef) -> Option<String> {
    let ObjectRef { resource, namespace, name } = object;
    if !namespace.is_empty() {
        return near_name(simulation, &NAMESPACES, namespace);
    }
    let is_installed =
        INSTALLED.iter().any(|kind| kind.kind == resource.kind && kind.group == resource.group);
    if is_installed { near_name(simulation, resource, name) } else { None }
}

/// Returns the nearest name, as `; did you mean ...`, if no object of this kind and name has ever existed.
fn near_name(simulation: &Simulation, resource: &Resource, name: &str) -> Option<String> {
    let has_existed = |entry: &Entry| matches!(&entry.event, Event::Write(write) if write.key.is_kind(resource) && name_fits(&write.key.name, name));
    let exists = simulation.view.list(resource).any(|object| name_fits(object.name(), name));
    if exists || simulation.record.entries.iter().any(has_existed) {
        return None;
    }
    let hint = did_you_mean(name, simulation.view.list(resource).map(Object::name));
    (!hint.is_empty()).then_some(hint)
}

/// Returns the nearest name of the object of an insight.
fn unknown_insight(simulation: &Simulation, insight: &InsightRef) -> Option<String> {
    if let Some(about) = &insight.about {
        return unknown_object(simulation, about);
    }
    let resource = INSTALLED.into_iter().find(|resource| *resource.kind == insight.kind)?;
    (!insight.name.is_empty()).then(|| near_name(simulation, resource, &insight.name))?
}

/// Returns what to write if nothing can publish insights: neither the release nor the scenario starts a publisher.
fn unpublished(simulation: &Simulation) -> Option<String> {
    let is_requested = |entry: &Entry| match &entry.event {
        Event::Write(write) if write.key.is_kind(&CONFIG_MAPS) => {
            write.key.namespace == published::NAMESPACE && write.key.name == published::CONFIG_MAP
        }
        Event::Write(write) => write.key.is_kind(&UPDATE_STATUSES),
        _ => false,
    };
    let definition = format!("{}.{}", UPDATE_STATUSES.plural, UPDATE_STATUSES.group);
    let has_programs = !simulation.programs.plans.is_empty() || !simulation.embedded.programs().is_empty();
    let is_published = has_programs
        || simulation.view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", &definition).is_some()
        || simulation.view.get(&CONFIG_MAPS, published::NAMESPACE, published::CONFIG_MAP).is_some()
        || simulation.record.entries.iter().any(is_requested);
    (!is_published).then(|| {
        "; nothing publishes insights in this cluster: add `insights: true` to `cluster` (in features: `Given insights are \
         published`), or the step `publish-insights`"
            .to_owned()
    })
}

/// Returns the nearest alert, if no rule of the cluster has one of this name.
fn unknown_alert(simulation: &Simulation, name: &str) -> Option<String> {
    // An update may have replaced the rules.
    let replaced = simulation.record.entries.iter().filter_map(|entry| match &entry.event {
        Event::Write(write) if write.key.is_kind(&PROMETHEUS_RULES) => write.before.as_ref(),
        _ => None,
    });
    let rules = simulation.view.list(&PROMETHEUS_RULES).chain(replaced);
    let groups = rules.flat_map(|rule| rule.list("/spec/groups"));
    let rules = groups.filter_map(|group| group["rules"].as_array()).flatten();
    let names: BTreeSet<&str> = rules.filter_map(|rule| rule["alert"].as_str()).collect();
    if names.contains(name) {
        return None;
    }
    let hint = did_you_mean(name, names);
    (!hint.is_empty()).then_some(hint)
}

/// Returns the reason that an object has, if the expected one differs in one or two letters, and no object of the kind has had that.
fn misspelt_reason(simulation: &Simulation, object: &ObjectRef, checks: &[Check]) -> Option<String> {
    let found = simulation.view.get(&object.resource, &object.namespace, &object.name)?;
    checks.iter().find_map(|check| {
        let Check::Condition { kind, reason: Some(TextMatch::Equals(wanted)), .. } = check else {
            return None;
        };
        let conditions = found.list("/status/conditions");
        let seen = conditions.iter().find(|condition| condition["type"] == **kind)?["reason"].as_str()?;
        let is_near = wanted != seen && strsim::damerau_levenshtein(wanted, seen) <= MISSPELT;
        // Singular and plural are two reasons: `ClusterOperatorUpdating` and `ClusterOperatorsUpdating`.
        let is_plural = wanted.replace('s', "") == seen.replace('s', "");
        let is_word = wanted.len() > 2 * MISSPELT && !is_plural;
        let is_typo = is_near && is_word && !has_had_reason(simulation, object, wanted);
        is_typo.then(|| format!("; did you mean `{seen}`?"))
    })
}

/// Returns whether an object of the kind has had a reason since the run began.
fn has_had_reason(simulation: &Simulation, object: &ObjectRef, reason: &str) -> bool {
    let has = |found: &Object| {
        found.list("/status/conditions").iter().any(|condition| condition["reason"] == *reason)
    };
    simulation.record.entries.iter().any(|entry| match &entry.event {
        Event::Write(write) if write.key.is_kind(&object.resource) => write.after.as_ref().is_some_and(has),
        _ => false,
    })
}

//! Webhooks, policies, quotas and budgets that reject the writes of the platform.

use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    CUSTOM_RESOURCE_DEFINITIONS, MUTATING_WEBHOOK_CONFIGURATIONS, POD_DISRUPTION_BUDGETS, PODS,
    RESOURCE_QUOTAS, VALIDATING_ADMISSION_POLICIES, VALIDATING_WEBHOOK_CONFIGURATIONS,
};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{Object, View};

use super::{Blamed, Found};
use crate::engine::Session;
use crate::record::{ADMINISTRATOR, Event, INSTALLER, WriteEvent};
use crate::rehearsal::repair::Repair;

/// Finds what rejects writes since a moment, the most frequent first.
pub(super) fn find(session: &Session, since: Time) -> Option<Found> {
    let view = session.view();
    let entries = session.record().entries.iter().rev().take_while(|entry| entry.at >= since);
    let mut found: Vec<(usize, Found)> = Vec::new();
    for entry in entries {
        let Event::Write(write) = &entry.event else { continue };
        let is_ours = write.by == ADMINISTRATOR || write.by == INSTALLER;
        if write.code < 400 || matches!(write.code, 404 | 409) || is_ours {
            continue;
        }
        let Some(explained) = explain(view, write) else { continue };
        match found.iter_mut().find(|(_, known)| known.blamed == explained.blamed) {
            Some((count, _)) => *count += 1,
            None => found.push((1, explained)),
        }
    }
    let most = found.into_iter().filter(|(count, _)| *count > 1).max_by_key(|(count, _)| *count);
    most.map(|(_, found)| found)
}

fn explain(view: &View, write: &WriteEvent) -> Option<Found> {
    let place = if write.key.namespace.is_empty() { "" } else { "/" };
    let waits = format!(
        "{} waits to {} {} {}{place}{}",
        write.by, write.verb, write.kind, write.key.namespace, write.key.name
    );
    if write.subresource == "eviction" && matches!(write.code, 429 | 500) {
        let waits = format!("{} waits to evict Pod {}/{}", write.by, write.key.namespace, write.key.name);
        let budget = budget(view, write)?;
        let repair = Repair::delete(&POD_DISRUPTION_BUDGETS, budget);
        return Some(Found::new(Blamed::object(budget), waits, &write.message, Some(repair)));
    }
    webhook(view, write, &waits)
        .or_else(|| policy(view, write, &waits))
        .or_else(|| quota(view, write, &waits))
        .or_else(|| invalid(view, write, &waits))
}

/// An object that the API server finds invalid: it holds something that the new release does not allow.
fn invalid(view: &View, write: &WriteEvent, waits: &str) -> Option<Found> {
    let object = view.get_key(&write.key).filter(|_| write.code == 422)?;
    let repair = write.message.contains("status.storedVersions").then(|| migrated(object));
    Some(Found::new(Blamed::object(object), waits, &write.message, repair.flatten()))
}

/// Removes the versions of a definition in which nothing is stored any more, after a migration of its objects.
fn migrated(definition: &Object) -> Option<Repair> {
    let storage = definition.list("/spec/versions").iter().find(|version| version["storage"] == true)?;
    let patch = json!({ "status": { "storedVersions": [storage["name"]] } });
    Some(Repair::patch_status(&CUSTOM_RESOURCE_DEFINITIONS, definition.name(), patch))
}

/// The budget that rejected an eviction: one that covers the pod and leaves no room, or the first of several.
fn budget<'v>(view: &'v View, write: &WriteEvent) -> Option<&'v Object> {
    let pod = view.get_key(&write.key).filter(|_| write.key.is_kind(&PODS))?;
    let covers = |budget: &&Object| selector_matches(&budget["spec"]["selector"], &pod["metadata"]["labels"]);
    let is_full = |budget: &&Object| budget.number("/status/disruptionsAllowed").unwrap_or_default() == 0;
    let covering: Vec<&Object> =
        view.list_in(&POD_DISRUPTION_BUDGETS, pod.namespace()).filter(covers).collect();
    let several = covering.first().copied().filter(|_| covering.len() > 1 && write.code == 500);
    several.or_else(|| covering.into_iter().find(is_full))
}

/// The configuration whose webhook fails or denies: `failed calling webhook "NAME"`, `admission webhook "NAME" denied the request`.
fn webhook(view: &View, write: &WriteEvent, waits: &str) -> Option<Found> {
    let name = quoted_after(&write.message, "webhook \"", '"')?;
    [&VALIDATING_WEBHOOK_CONFIGURATIONS, &MUTATING_WEBHOOK_CONFIGURATIONS].into_iter().find_map(|resource| {
        let has = |found: &&Object| found.list("/webhooks").iter().any(|webhook| webhook["name"] == name);
        let configuration = view.list(resource).find(has)?;
        let repair = Repair::delete(resource, configuration);
        Some(Found::new(Blamed::object(configuration), waits, &write.message, Some(repair)))
    })
}

/// The policy in `ValidatingAdmissionPolicy 'NAME' with binding 'BINDING' denied request`.
fn policy(view: &View, write: &WriteEvent, waits: &str) -> Option<Found> {
    let name = quoted_after(&write.message, "ValidatingAdmissionPolicy '", '\'')?;
    let policy = view.get(&VALIDATING_ADMISSION_POLICIES, "", name)?;
    let repair = Repair::delete(&VALIDATING_ADMISSION_POLICIES, policy);
    Some(Found::new(Blamed::object(policy), waits, &write.message, Some(repair)))
}

/// The quota in `exceeded quota: NAME, requested: ...`.
fn quota(view: &View, write: &WriteEvent, waits: &str) -> Option<Found> {
    let name = ["exceeded quota: ", "failed quota: "].into_iter().find_map(|start| {
        quoted_after(&write.message, start, if start.starts_with('f') { ':' } else { ',' })
    })?;
    let quota = view.get(&RESOURCE_QUOTAS, &write.key.namespace, name)?;
    let repair = Repair::delete(&RESOURCE_QUOTAS, quota);
    Some(Found::new(Blamed::object(quota), waits, &write.message, Some(repair)))
}

/// The text between a beginning and the next end.
fn quoted_after<'m>(message: &'m str, start: &str, end: char) -> Option<&'m str> {
    let (_, rest) = message.split_once(start)?;
    rest.split(end).next().filter(|text| !text.is_empty())
}

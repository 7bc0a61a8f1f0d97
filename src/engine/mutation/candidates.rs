//! The mutants that a scenario can notice: bugs in what its components wrote in a run without mutants.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windtunnel_core::alert::AlertState;
use windtunnel_core::rng::Streams;
use windtunnel_core::yaml;
use windtunnel_update_status::insight::published;

use crate::engine::mutants::{FalseAnswer, Mutant, MutantKind, Observed, Place, Request, altered, component};
use crate::record::{Event, Record, WriteEvent};

/// Kinds whose creation, deletion or eviction a mutant may skip.
const SKIPPED_KINDS: [&str; 4] = ["Event", "Job", "MachineConfig", "Pod"];

/// The kinds whose changes a mutant may overlook, besides those of OpenShift's own groups.
const NOTICED_KINDS: [&str; 4] = ["Deployment", "Job", "Node", "Pod"];

/// Returns the mutants of the components that took turns in this run, in the order of their names.
pub(super) fn candidates(record: &Record, observed: &Observed) -> Vec<Mutant> {
    let mut found = BTreeSet::new();
    for entry in record.entries.iter().filter(|entry| !record.is_set_up(entry)) {
        match &entry.event {
            Event::Write(write) if write.code < 300 => {
                if is_published(write) {
                    found.extend(mutants_of_insights(write));
                } else if observed.turns.contains_key(component(&write.by)) {
                    found.extend(mutants_of_write(write));
                }
            }
            Event::Alert(alert) if alert.state != AlertState::Inactive => {
                let how = MutantKind::NoAlert(alert.name().to_owned());
                found.insert(Mutant::new("prometheus", "Alert", how));
            }
            _ => {}
        }
    }
    let writers: BTreeSet<String> = found.iter().map(|mutant: &Mutant| mutant.component.clone()).collect();
    let noticed = observed.woken_by.iter().filter(|(component, kind, group)| {
        let is_relevant = group.ends_with("openshift.io") || NOTICED_KINDS.contains(&kind.as_str());
        writers.contains(component) && is_relevant
    });
    found.extend(noticed.flat_map(|(component, kind, _)| {
        [MutantKind::Unnoticed, MutantKind::Outdated].map(|how| Mutant::new(component, kind, how))
    }));
    let mut found: Vec<Mutant> = found.into_iter().collect();
    found.sort_by_cached_key(ToString::to_string);
    found
}

/// Orders mutants so that the first ones are a sample: those that break what the checks name come first, and
/// one of each component and kind comes before the second of any.
pub(super) fn shuffle(mutants: &mut [Mutant], checks: &[&str], seed: u64) {
    let streams = Streams::new(seed);
    let checks: Vec<String> = checks.iter().map(|check| check.to_lowercase()).collect();
    let draw = |mutant: &Mutant| streams.stream(&format!("mutant/{mutant}")).bits();
    mutants.sort_by_cached_key(&draw);
    let mut taken = BTreeMap::<(String, String, u32), u32>::new();
    mutants.sort_by_cached_key(|mutant| {
        let distance = checks.iter().map(|check| distance(mutant, check)).min().unwrap_or(OTHER);
        let rank = taken.entry((mutant.component.clone(), mutant.kind.clone(), distance)).or_default();
        *rank += 1;
        (distance, *rank)
    });
}

/// The distance of a mutant that breaks nothing that a check names.
const OTHER: u32 = 5;

/// Returns how far a mutant is from what a check in lower case names: 0 if the check names the value, more if it
/// names the kind alone. A mutant that is only late or altered in its texts often has no consequences.
fn distance(mutant: &Mutant, check: &str) -> u32 {
    let has = |text: &str| check.contains(&text.to_lowercase());
    let is_update = has("is updated") || has("update is complete");
    let (place, weakness) = match &mutant.how {
        MutantKind::NeverUpdated(place) | MutantKind::FrozenInsight(place) => (Some(place), 0),
        MutantKind::Altered(place) | MutantKind::AlteredInsight(place) => {
            (Some(place), u32::from(matches!(place.field(), "message" | "reason")))
        }
        MutantKind::Late(place) | MutantKind::Returned(place) => (Some(place), 2),
        MutantKind::NoAlert(name) => return if has(name) { 0 } else { OTHER },
        MutantKind::LostInsight | MutantKind::Skipped(_) | MutantKind::Answered(FalseAnswer::Failure) => {
            (None, 0)
        }
        MutantKind::Unnoticed | MutantKind::Outdated | MutantKind::CreatedTwice | MutantKind::Answered(_) => {
            (None, 2)
        }
    };
    if place.is_some_and(|place| is_update && place.is_progress()) {
        return weakness;
    }
    if mutant.is_insight() != has("insight") || !has(&mutant.kind) {
        return OTHER;
    }
    match place {
        Some(place) if has(&place.short_name()) => weakness,
        None if mutant.is_insight() => 0,
        _ => 2 + weakness,
    }
}

/// Returns the mutants of the component that made a write.
fn mutants_of_write(write: &WriteEvent) -> Vec<Mutant> {
    let by = component(&write.by);
    let request = match (write.verb.as_str(), write.subresource.as_str()) {
        (_, "eviction") => Some(Request::Evict),
        ("create", "") => Some(Request::Create),
        ("delete", _) => Some(Request::Delete),
        _ => None,
    };
    let kind = if request == Some(Request::Evict) { "Pod" } else { &write.kind };
    let bugs = match request {
        Some(_) if !SKIPPED_KINDS.contains(&kind) => Vec::new(),
        Some(request) => {
            let is_generated =
                write.after.as_ref().is_some_and(|after| !after.text("/metadata/generateName").is_empty());
            let twice = (request == Request::Create && is_generated).then_some(MutantKind::CreatedTwice);
            [MutantKind::Skipped(request)].into_iter().chain(twice).chain(false_answers(false)).collect()
        }
        None if write.key.group.ends_with("openshift.io") || write.kind == "Node" => defects_of_change(write),
        None => Vec::new(),
    };
    bugs.into_iter().map(|how| Mutant::new(by, kind, how)).collect()
}

/// Returns the bugs of the component that changed an object.
fn defects_of_change(write: &WriteEvent) -> Vec<MutantKind> {
    let (Some(before), Some(after)) = (&write.before, &write.after) else { return Vec::new() };
    let places: BTreeSet<Place> = Place::all(before).into_iter().chain(Place::all(after)).collect();
    let changed = places.into_iter().filter(|place| place.get(before) != place.get(after));
    let values = changed.flat_map(|place| {
        let alters = place.get(after).is_some_and(|value| altered(&place, value).is_some());
        let altered = alters.then(|| MutantKind::Altered(place.clone()));
        let stale = (!place.is_in_condition()).then(|| MutantKind::NeverUpdated(place.clone()));
        let is_timed = place.is_condition() || place.field() == "version";
        let late = is_timed.then(|| MutantKind::Late(place.clone()));
        let returned = (is_timed && place.get(before).is_some()).then_some(MutantKind::Returned(place));
        altered.into_iter().chain(stale).chain(late).chain(returned)
    });
    values.chain(false_answers(true)).collect()
}

/// Returns the false answers to a write. Only changes of existing objects can conflict.
fn false_answers(is_change: bool) -> impl Iterator<Item = MutantKind> {
    let conflict = is_change.then_some(FalseAnswer::Conflict);
    [FalseAnswer::Failure, FalseAnswer::Timeout].into_iter().chain(conflict).map(MutantKind::Answered)
}

/// Returns whether a write publishes insights.
fn is_published(write: &WriteEvent) -> bool {
    write.kind == "UpdateStatus" || write.key.name == published::CONFIG_MAP && write.kind == "ConfigMap"
}

/// Returns the mutants of the component that published insights.
fn mutants_of_insights(write: &WriteEvent) -> Vec<Mutant> {
    let (Some(before), Some(after)) = (&write.before, &write.after) else { return Vec::new() };
    let before = insights(before);
    let answers = false_answers(true).map(|how| Mutant::new(&write.by, &write.kind, how));
    let mut found: Vec<Mutant> = answers.collect();
    for (uid, insight) in insights(after) {
        let Some((kind, content)) = published::content(&insight) else { continue };
        let old = before.iter().find(|(known, _)| *known == uid).and_then(|(_, old)| published::content(old));
        let old = old.map(|(_, content)| content);
        let mutant = |how| Mutant::new(&write.by, kind, how);
        if old == Some(content) {
            continue;
        }
        found.push(mutant(MutantKind::LostInsight));
        for place in Place::all_in(content) {
            let value = place.get(content);
            if old.is_some_and(|old| place.get(old) == value) {
                continue;
            }
            let alters = value.is_some_and(|value| altered(&place, value).is_some());
            found.extend(alters.then(|| mutant(MutantKind::AlteredInsight(place.clone()))));
            if old.is_some() && !place.is_in_condition() {
                found.push(mutant(MutantKind::FrozenInsight(place)));
            }
        }
    }
    found
}

/// Returns the insights that an object publishes, by their uids.
fn insights(object: &Value) -> Vec<(String, Value)> {
    let in_status =
        published::insights_in_status(&object["status"]).map(|(uid, insight)| (uid, insight.clone()));
    let documents = published::documents(object)
        .filter_map(|(uid, text)| Some((uid.to_owned(), yaml::from_str::<Value>(text).ok()?)));
    in_status.chain(documents).collect()
}

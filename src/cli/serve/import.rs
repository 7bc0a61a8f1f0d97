//! Imports the objects of a dump into an API server: those that it does not know by their version or kind in a second attempt.

use std::collections::BTreeMap;

use serde_json::Value;
use windtunnel_apiserver::{ApiServer, ImportFinding};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
use windtunnel_core::{Identity, Object, Write};

use crate::dump::{conversions, definitions_without_schema};

/// The result for all objects.
#[derive(Debug, Default)]
pub(super) struct AllImported {
    /// Number of stored objects.
    pub(super) stored: usize,
    /// Namespaces that were created for imported objects.
    pub(super) namespaces: Vec<String>,
    /// Problems of objects, each with the index of its object.
    pub(super) findings: Vec<(usize, ImportFinding)>,
    /// Objects that are stored in another version than in the dump: how many, by kind and both versions.
    converted: BTreeMap<String, usize>,
    /// Objects that are stored although the dump has no definition of their kind: how many, by kind.
    undefined: BTreeMap<String, usize>,
}

impl AllImported {
    /// Returns notices about objects that needed a conversion or a definition.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let counted = |counts: &BTreeMap<String, usize>| {
            let counts: Vec<String> =
                counts.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
            counts.join(", ")
        };
        let converted = (!self.converted.is_empty())
            .then(|| format!("stored in the version that replaced theirs: {}", counted(&self.converted)));
        let undefined = (!self.undefined.is_empty()).then(|| {
            format!(
                "stored with any fields, since no definition of their kind is known: {}",
                counted(&self.undefined)
            )
        });
        converted.into_iter().chain(undefined)
    }
}

/// Imports all objects.
pub(super) fn import(server: &mut ApiServer, objects: &[(String, Object)], now: Time) -> AllImported {
    let values = objects.iter().map(|(_, object)| object.to_value()).collect();
    let first = server.import(values, now);
    let (unknown, findings): (Vec<_>, Vec<_>) =
        first.findings.into_iter().partition(|(_, finding)| is_unknown(finding));
    let mut all = AllImported {
        stored: first.stored,
        namespaces: first.namespaces,
        findings,
        ..AllImported::default()
    };
    let mut numbers: Vec<usize> = unknown.into_iter().map(|(number, _)| number).collect();
    for attempt in 0..ATTEMPTS {
        numbers = all.import_unknown(server, objects, &numbers, attempt, now);
    }
    all.findings.sort_by_key(|(number, _)| *number);
    all
}

/// The number of versions to which an object may be converted.
const ATTEMPTS: usize = 3;

/// Returns whether the server does not know the version or the kind of an object.
fn is_unknown(finding: &ImportFinding) -> bool {
    matches!(finding, ImportFinding::Rejected(why) if why == "the server could not find the requested resource")
}

/// An object in another attempt.
struct Candidate<'o> {
    number: usize,
    original: &'o Object,
    value: Value,
}

impl AllImported {
    /// Imports objects of unknown versions and kinds: in a version that replaced theirs, or with a definition of their kind. Returns
    /// the indexes of those that are still unknown and have another version.
    fn import_unknown(
        &mut self,
        server: &mut ApiServer,
        objects: &[(String, Object)],
        numbers: &[usize],
        attempt: usize,
        now: Time,
    ) -> Vec<usize> {
        if numbers.is_empty() {
            return Vec::new();
        }
        let candidate = |number: &usize| {
            let original = &objects[*number].1;
            let value = conversions(original).into_iter().nth(attempt).unwrap_or_else(|| original.to_value());
            Candidate { number: *number, original, value }
        };
        let candidates: Vec<Candidate<'_>> = numbers.iter().map(candidate).collect();
        for definition in missing_definitions(&candidates) {
            // If there is a definition without the version of an object, the object is reported below.
            let _ = server.write(
                &Write::create(&CUSTOM_RESOURCE_DEFINITIONS, definition),
                &Identity::admin(),
                now,
            );
        }
        let imported =
            server.import(candidates.iter().map(|candidate| candidate.value.clone()).collect(), now);
        self.stored += imported.stored;
        self.namespaces.extend(imported.namespaces);
        let (mut rejected, mut again) = (Vec::new(), Vec::new());
        for (index, finding) in imported.findings {
            let Candidate { number, original, .. } = &candidates[index];
            if matches!(finding, ImportFinding::Rejected(_)) {
                rejected.push(index);
            }
            if is_unknown(&finding) && conversions(original).len() > attempt + 1 {
                again.push(*number);
            } else {
                self.findings.push((*number, finding));
            }
        }
        let stored = candidates.iter().enumerate().filter(|(index, _)| !rejected.contains(index));
        stored.for_each(|(_, candidate)| self.count(candidate));
        again
    }

    /// Counts a stored object.
    fn count(&mut self, Candidate { original, value, .. }: &Candidate<'_>) {
        let after = value["apiVersion"].as_str().unwrap_or_default();
        let (before, kind) = (original.text("/apiVersion"), original.text("/kind"));
        let (counts, name) = if before == after {
            (&mut self.undefined, format!("{after} {kind}"))
        } else {
            (&mut self.converted, format!("{before} {kind} as {after}"))
        };
        *counts.entry(name).or_default() += 1;
    }
}

/// Returns definitions for the kinds of objects that are not converted and that no converted definition defines.
fn missing_definitions(candidates: &[Candidate<'_>]) -> Vec<Value> {
    let definitions = candidates.iter().filter(|one| CUSTOM_RESOURCE_DEFINITIONS.is_kind_of(&one.value));
    let defined: Vec<(&Value, &Value)> =
        definitions.map(|one| (&one.value["spec"]["group"], &one.value["spec"]["names"]["kind"])).collect();
    let is_defined = |object: &Value| {
        let group = object["apiVersion"].as_str().unwrap_or_default().rsplit_once('/');
        defined
            .iter()
            .any(|(of, kind)| **kind == object["kind"] && group.is_some_and(|(group, _)| **of == group))
    };
    let is_converted = |one: &&Candidate<'_>| one.value["apiVersion"] != one.original["apiVersion"];
    let unconverted = candidates.iter().filter(|one| !is_converted(one)).map(|one| &one.value);
    definitions_without_schema(unconverted.filter(|object| !is_defined(object)))
}

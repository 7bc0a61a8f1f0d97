//! Imports the objects of a dump into an API server: those that it does not know by their version or kind in a second attempt.

use std::collections::BTreeMap;

use serde_json::Value;
use windtunnel_apiserver::{ApiServer, ImportProblem};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
use windtunnel_core::{Identity, Object, Write};

use crate::dump::{converted, definitions_without_schema};

/// The result for all objects.
#[derive(Debug, Default)]
pub(super) struct AllImported {
    /// Number of stored objects.
    pub(super) stored: usize,
    /// Namespaces that were created for imported objects.
    pub(super) namespaces: Vec<String>,
    /// Problems of objects, each with the index of its object.
    pub(super) problems: Vec<(usize, ImportProblem)>,
    /// Objects that are stored in another version than in the dump: how many, by kind and both versions.
    converted: BTreeMap<String, usize>,
    /// Objects that are stored although the dump has no definition of their kind: how many, by kind.
    undefined: BTreeMap<String, usize>,
}

impl AllImported {
    /// Returns notices about objects that needed a conversion or a definition.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let counted = |counts: &BTreeMap<String, usize>| {
            let counts: Vec<String> = counts.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
            counts.join(", ")
        };
        let converted = (!self.converted.is_empty())
            .then(|| format!("stored in the version that replaced theirs: {}", counted(&self.converted)));
        let undefined = (!self.undefined.is_empty()).then(|| {
            format!("stored with any fields, since no definition of their kind is known: {}", counted(&self.undefined))
        });
        converted.into_iter().chain(undefined)
    }
}

/// Imports all objects.
pub(super) fn import(server: &mut ApiServer, objects: &[(String, Object)], now: Time) -> AllImported {
    let values = objects.iter().map(|(_, object)| object.to_value()).collect();
    let first = server.import(values, now);
    let is_unknown = |problem: &ImportProblem| {
        matches!(problem, ImportProblem::Refused(why) if why == "the server could not find the requested resource")
    };
    let (unknown, problems): (Vec<_>, Vec<_>) =
        first.problems.into_iter().partition(|(_, problem)| is_unknown(problem));
    let mut all =
        AllImported { stored: first.stored, namespaces: first.namespaces, problems, ..AllImported::default() };
    if !unknown.is_empty() {
        let numbers: Vec<usize> = unknown.into_iter().map(|(number, _)| number).collect();
        all.import_unknown(server, objects, &numbers, now);
        all.problems.sort_by_key(|(number, _)| *number);
    }
    all
}

impl AllImported {
    /// Imports objects of unknown versions and kinds: in the version that replaced theirs, or with a definition of their kind.
    fn import_unknown(
        &mut self,
        server: &mut ApiServer,
        objects: &[(String, Object)],
        numbers: &[usize],
        now: Time,
    ) {
        let originals: Vec<&Value> = numbers.iter().map(|number| &*objects[*number].1).collect();
        let values: Vec<Value> =
            originals.iter().map(|original| converted(original).unwrap_or_else(|| (*original).clone())).collect();
        for definition in missing_definitions(&originals, &values) {
            // If there is a definition without the version of an object, the object is reported below.
            let _ = server.write(&Write::create(&CUSTOM_RESOURCE_DEFINITIONS, definition), &Identity::admin(), now);
        }
        let kinds: Vec<(Value, Value)> =
            values.iter().map(|value| (value["apiVersion"].clone(), value["kind"].clone())).collect();
        let second = server.import(values, now);
        self.stored += second.stored;
        self.namespaces.extend(second.namespaces);
        let refused: Vec<usize> = second
            .problems
            .iter()
            .filter(|(_, problem)| matches!(problem, ImportProblem::Refused(_)))
            .map(|(index, _)| *index)
            .collect();
        for (index, ((api_version, kind), original)) in kinds.iter().zip(&originals).enumerate() {
            if refused.contains(&index) {
                continue;
            }
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (before, after, kind) = (text(&original["apiVersion"]), text(api_version), text(kind));
            let (counts, name) = if before == after {
                (&mut self.undefined, format!("{after} {kind}"))
            } else {
                (&mut self.converted, format!("{before} {kind} as {after}"))
            };
            *counts.entry(name).or_default() += 1;
        }
        let problems = second.problems.into_iter();
        self.problems.extend(problems.map(|(index, problem)| (numbers[index], problem)));
    }
}

/// Returns definitions for the objects that none of the converted definitions defines.
fn missing_definitions(originals: &[&Value], values: &[Value]) -> Vec<Value> {
    let defined: Vec<(&Value, &Value)> = values
        .iter()
        .filter(|value| CUSTOM_RESOURCE_DEFINITIONS.is_kind_of(value))
        .map(|value| (&value["spec"]["group"], &value["spec"]["names"]["kind"]))
        .collect();
    let is_defined = |object: &Value| {
        let group = object["apiVersion"].as_str().unwrap_or_default().rsplit_once('/');
        defined.iter().any(|(of, kind)| **kind == object["kind"] && group.is_some_and(|(group, _)| **of == group))
    };
    let unconverted = originals.iter().zip(values).filter(|(original, value)| original["apiVersion"] == value["apiVersion"]);
    definitions_without_schema(unconverted.map(|(original, _)| *original).filter(|object| !is_defined(object)))
}

//! The files in `manifests/releases/`, each merged with the one that it extends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::Component;
use crate::manifests::{self, MajorMinor};

/// Facts by minor.
pub(super) static FACTS: LazyLock<BTreeMap<MajorMinor, Facts>> = LazyLock::new(|| {
    let mut merged: BTreeMap<MajorMinor, Value> = BTreeMap::new();
    for (line, file) in manifests::by_line("releases") {
        let facts = match file["extends"].as_str() {
            Some(base) => {
                let facts = manifests::line(base).and_then(|line| merged.get(&line));
                let name = name(line);
                extend(facts.unwrap_or_else(|| panic!("releases/{name}.yaml: extends unknown {base}")), file)
            }
            None => file,
        };
        merged.insert(line, facts);
    }
    merged.into_iter().map(|(line, facts)| (line, Facts::parse(line, facts))).collect()
});

/// The text form of a minor, as `4.14`.
pub(super) fn name((major, minor): MajorMinor) -> String {
    format!("{major}.{minor}")
}

/// The facts of a minor.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Facts {
    /// Minor of Kubernetes 1.x.
    pub(super) kubernetes: u32,
    /// Year in its advisory URLs.
    pub(super) advisory_year: u32,
    /// The capabilities that each set adds to the previous one. Empty for a minor without capabilities.
    capability_sets: BTreeMap<String, Vec<String>>,
    /// Capabilities behind feature gates, sorted bytewise.
    #[serde(default)]
    pub(super) preview_capabilities: Vec<String>,
    /// The gates before an update to the next minor that an administrator must acknowledge, by name. Later
    /// minors inherit them, but a gate concerns only the minor in its name.
    #[serde(default)]
    pub(super) admin_gates: BTreeMap<String, String>,
    /// Sorted by run level and name.
    #[serde(deserialize_with = "in_order")]
    pub(super) components: Arc<[Component]>,
}

fn in_order<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[Component]>, D::Error> {
    let mut components = Vec::<Component>::deserialize(deserializer)?;
    components.sort_by(|a, b| (a.run_level, &a.name).cmp(&(b.run_level, &b.name)));
    Ok(components.into())
}

impl Facts {
    fn parse(line: MajorMinor, facts: Value) -> Self {
        serde_json::from_value(facts)
            .unwrap_or_else(|error| panic!("manifests/releases/{}.yaml: {error}", name(line)))
    }

    /// The admin gates of this minor.
    pub(super) fn gates_of(&self, line: MajorMinor) -> BTreeMap<String, String> {
        let start = format!("ack-{}-", name(line));
        let own = self.admin_gates.iter().filter(|(gate, _)| gate.starts_with(&start));
        own.map(|(gate, text)| (gate.clone(), text.clone())).collect()
    }

    /// All capabilities, sorted bytewise.
    pub(super) fn known_capabilities(&self) -> Vec<String> {
        let known: BTreeSet<&String> = self.capability_sets.values().flatten().collect();
        known.into_iter().cloned().collect()
    }

    /// The versioned sets, `None` and `vCurrent`, each sorted bytewise. A minor without capabilities has no
    /// sets.
    pub(super) fn frozen_sets(&self) -> BTreeMap<String, Vec<String>> {
        if self.capability_sets.is_empty() {
            return BTreeMap::new();
        }
        let mut sets = BTreeMap::from([("None".to_owned(), Vec::new())]);
        let mut set: BTreeSet<String> = BTreeSet::new();
        for (name, added) in &self.capability_sets {
            set.extend(added.iter().cloned());
            sets.insert(name.clone(), set.iter().cloned().collect());
        }
        sets.insert("vCurrent".to_owned(), self.known_capabilities());
        sets
    }
}

/// The facts of `base` with the changes in `file`.
fn extend(base: &Value, file: Value) -> Value {
    let mut facts = base.clone();
    let Value::Object(fields) = file else { return file };
    for (field, change) in fields {
        match (field.as_str(), change) {
            ("extends", _) => {}
            ("capability_sets", Value::Object(sets)) => {
                for (name, added) in sets {
                    append(&mut facts["capability_sets"][name], added);
                }
            }
            ("components", Value::Array(components)) => {
                for component in components {
                    change_component(&mut facts["components"], component);
                }
            }
            (_, change) => facts[&field] = change,
        }
    }
    facts
}

fn append(list: &mut Value, added: Value) {
    match (list, added) {
        (Value::Array(list), Value::Array(mut added)) => list.append(&mut added),
        (list, added) => *list = added,
    }
}

/// Merges a change into the component with the same run level and name (RFC 7386), or adds a new component.
fn change_component(components: &mut Value, change: Value) {
    let Value::Array(components) = components else { return *components = json!([change]) };
    let same = |old: &&mut Value| old["run_level"] == change["run_level"] && old["name"] == change["name"];
    match components.iter_mut().find(same) {
        Some(component) => json_patch::merge(component, &change),
        None => components.push(change),
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_core::yaml;

    use super::*;

    fn check(base: &str, file: &str, expected: &str) {
        let [base, file, expected]: [Value; 3] =
            [base, file, expected].map(|text| yaml::from_str(text).unwrap());
        assert_eq!(extend(&base, file), expected);
    }

    #[test]
    fn a_component_changes_only_in_the_fields_of_the_later_file() {
        check(
            "{components: [{name: a, run_level: 1, manifests: 3}, {name: a, run_level: 9, manifests: 1}]}",
            "{extends: '4.1', components: [{name: a, run_level: 9, capabilities: [X]}, {name: b, run_level: 2}]}",
            "{components: [{name: a, run_level: 1, manifests: 3},
               {name: a, run_level: 9, manifests: 1, capabilities: [X]}, {name: b, run_level: 2}]}",
        );
    }

    #[test]
    fn adds_capabilities_to_old_and_new_sets() {
        check(
            "{kubernetes: 1, capability_sets: {v4.1: [A]}}",
            "{kubernetes: 2, capability_sets: {v4.1: [B], v4.2: [C]}}",
            "{kubernetes: 2, capability_sets: {v4.1: [A, B], v4.2: [C]}}",
        );
    }
}

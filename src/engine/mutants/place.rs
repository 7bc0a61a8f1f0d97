//! Places of values in objects: paths that name the items of lists, so that they fit every object of a kind.

use std::fmt;

use serde_json::Value;
use windtunnel_core::text_of;

/// One part of a place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum Part {
    /// The member of a map.
    Field(String),
    /// The item of a list with this `type` or `name`.
    Item(String),
    /// The first item of a list.
    First,
}

/// The path to a value, such as the status of the condition `Failing`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) struct Place(Vec<Part>);

/// The fields of a condition that components decide.
const CONDITION_FIELDS: [&str; 3] = ["status", "reason", "message"];

/// The name of the version that an operator reports for itself.
const OPERATOR: &str = "operator";

impl Place {
    /// Returns all places of an object that components decide, without times, counters of the API server and names.
    pub(in crate::engine) fn all(object: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        for part in ["metadata", "spec", "status"] {
            let inner = if part == "metadata" { &["annotations", "labels"][..] } else { &[""] };
            for field in inner {
                let place = Self(vec![Part::Field(part.to_owned())]);
                let place =
                    if field.is_empty() { place } else { place.then(Part::Field((*field).to_owned())) };
                if let Some(value) = place.get(object) {
                    place.collect(value, &mut found);
                }
            }
        }
        found
    }

    /// Returns all places in a value that is no whole object, such as an insight.
    pub(in crate::engine) fn all_in(value: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        Self::default().collect(value, &mut found);
        found
    }

    fn then(&self, part: Part) -> Self {
        Self(self.0.iter().cloned().chain([part]).collect())
    }

    fn collect(&self, value: &Value, found: &mut Vec<Self>) {
        match (value, self.0.last()) {
            (Value::Object(fields), _) => {
                for (name, value) in fields.iter().filter(|(name, _)| !is_ignored(name)) {
                    self.then(Part::Field(name.clone())).collect(value, found);
                }
            }
            (Value::Array(items), Some(Part::Field(name))) if name == "conditions" => {
                for item in items {
                    let place = self.then(Part::Item(text_of(item, "type").to_owned()));
                    let fields =
                        CONDITION_FIELDS.iter().map(|name| place.then(Part::Field((*name).to_owned())));
                    found.extend(fields);
                    found.push(place);
                }
            }
            (Value::Array(items), Some(Part::Field(name))) if name == "versions" => {
                // Operands have the version of their operator, or others that nobody waits for.
                if items.iter().any(|item| is_named(item, OPERATOR)) {
                    let place = self.then(Part::Item(OPERATOR.to_owned()));
                    found.push(place.then(Part::Field("version".to_owned())));
                }
            }
            (Value::Array(items), Some(Part::Field(name))) if name == "history" => {
                if let Some(first) = items.first() {
                    self.then(Part::First).collect(first, found);
                }
            }
            _ => found.push(self.clone()),
        }
    }

    /// Returns whether it is a whole condition.
    pub(in crate::engine) fn is_condition(&self) -> bool {
        matches!(self.0.as_slice(), [.., Part::Field(list), Part::Item(_)] if list == "conditions")
    }

    /// Returns whether it is a field of a condition.
    pub(in crate::engine) fn is_in_condition(&self) -> bool {
        let [head @ .., Part::Field(_)] = self.0.as_slice() else { return false };
        Self(head.to_vec()).is_condition()
    }

    /// Returns the name of its last field; empty for an item of a list.
    pub(in crate::engine) fn field(&self) -> &str {
        match self.0.last() {
            Some(Part::Field(name)) => name,
            _ => "",
        }
    }

    /// Returns the name by which expectations refer to it: the type of a condition, or the last field.
    pub(in crate::engine) fn short_name(&self) -> String {
        let names = self.0.iter().rev().filter_map(|part| match part {
            Part::Field(name) if self.is_in_condition() && CONDITION_FIELDS.contains(&name.as_str()) => None,
            Part::Field(name) | Part::Item(name) => Some(name.clone()),
            Part::First => None,
        });
        names.into_iter().next().unwrap_or_default()
    }

    /// Returns whether it shows the progress of an update.
    pub(in crate::engine) fn is_progress(&self) -> bool {
        let name = self.to_string();
        let is_history = ["status.history[0].state", "status.history[0].version"].contains(&name.as_str());
        is_history || name == format!("version {OPERATOR}")
    }

    /// Returns the value here, if there is one.
    pub(in crate::engine) fn get<'v>(&self, object: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(object, |value, part| match part {
            Part::Field(name) => value.get(name),
            Part::Item(name) => value.as_array()?.iter().find(|item| is_named(item, name)),
            Part::First => value.as_array()?.first(),
        })
    }

    /// Sets or removes the value here. Does nothing where the parent is missing.
    pub(in crate::engine) fn set(&self, object: &mut Value, new: Option<Value>) {
        let Some((last, head)) = self.0.split_last() else { return };
        let parent = head.iter().try_fold(object, |value, part| match part {
            Part::Field(name) => value.get_mut(name),
            Part::Item(name) => value.as_array_mut()?.iter_mut().find(|item| is_named(item, name)),
            Part::First => value.as_array_mut()?.first_mut(),
        });
        match (parent, last) {
            (Some(Value::Object(fields)), Part::Field(name)) => match new {
                Some(new) => drop(fields.insert(name.clone(), new)),
                None => drop(fields.remove(name)),
            },
            (Some(Value::Array(items)), Part::Item(name)) => {
                let at = items.iter().position(|item| is_named(item, name));
                match (at, new) {
                    (Some(at), Some(new)) => items[at] = new,
                    (Some(at), None) => drop(items.remove(at)),
                    (None, Some(new)) => items.push(new),
                    (None, None) => {}
                }
            }
            _ => {}
        }
    }
}

fn is_named(item: &Value, name: &str) -> bool {
    let label = item.get("type").or_else(|| item.get("name"));
    label.and_then(Value::as_str) == Some(name)
}

/// Returns whether nobody expects a field: times, and fields that the API server decides.
fn is_ignored(name: &str) -> bool {
    const FIELDS: [&str; 7] =
        ["generation", "observedGeneration", "resourceVersion", "uid", "images", "addresses", "resource"];
    const ENDS: [&str; 5] = ["Time", "time", "At", "Timestamp", "config.seen"];
    FIELDS.contains(&name) || ENDS.iter().any(|end| name.ends_with(end))
}

impl fmt::Display for Place {
    /// Formats like `condition Failing`, `version operator`, `annotation a/b` or `spec.unschedulable`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is = |part: &Part, name: &str| matches!(part, Part::Field(field) if field == name);
        match self.0.as_slice() {
            [.., list, Part::Item(name)] if is(list, "conditions") => write!(f, "condition {name}"),
            [.., list, Part::Item(name), Part::Field(field)] if is(list, "conditions") => {
                write!(f, "condition {name}: {field}")
            }
            [.., list, Part::Item(name), _] if is(list, "versions") => write!(f, "version {name}"),
            [metadata, map, Part::Field(key)] if is(metadata, "metadata") && is(map, "annotations") => {
                write!(f, "annotation {key}")
            }
            [metadata, map, Part::Field(key)] if is(metadata, "metadata") && is(map, "labels") => {
                write!(f, "label {key}")
            }
            parts => {
                for (index, part) in parts.iter().enumerate() {
                    match part {
                        Part::Field(name) if index == 0 => f.write_str(name)?,
                        Part::Field(name) => write!(f, ".{name}")?,
                        Part::Item(name) => write!(f, "[{name}]")?,
                        Part::First => f.write_str("[0]")?,
                    }
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_name_what_components_decide() {
        let object = json!({
            "metadata": {"name": "n", "annotations": {"a/b": "c"}, "resourceVersion": "7"},
            "spec": {"unschedulable": true},
            "status": {
                "observedGeneration": 3,
                "conditions": [{"type": "Failing", "status": "True", "lastTransitionTime": "t"}],
                "versions": [{"name": "operator", "version": "4.20.1"}],
                "history": [{"state": "Partial", "startedTime": "t"}, {"state": "Completed"}],
            },
        });
        let names: Vec<String> = Place::all(&object).iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "annotation a/b",
                "spec.unschedulable",
                "condition Failing: status",
                "condition Failing: reason",
                "condition Failing: message",
                "condition Failing",
                "status.history[0].state",
                "version operator",
            ]
        );
        let condition = &Place::all(&object)[5];
        let mut other = json!({"status": {"conditions": [{"type": "Other"}]}});
        condition.set(&mut other, condition.get(&object).cloned());
        assert_eq!(other["status"]["conditions"][1]["status"], "True");
        condition.set(&mut other, None);
        assert_eq!(other, json!({"status": {"conditions": [{"type": "Other"}]}}));
    }
}

//! Ownership of the number of replicas, in an object and in its Scale (`managedfields.ScaleHandler`).

use super::Managers;
use super::managers::{Entry, Manager, Operation};
use crate::field_set::FieldSet;

/// The API version of Scale.
const SCALE: &str = "autoscaling/v1";

/// The path of the number of replicas in each version of a kind; `None` in a version without Scale.
#[derive(Debug)]
pub(crate) struct Replicas(pub(crate) Vec<(String, Option<Vec<String>>)>);

impl Replicas {
    fn is_served(&self, version: &str) -> bool {
        self.0.iter().any(|(served, _)| served == version)
    }

    /// The field with the number of replicas in a version, if it has one.
    fn field(&self, version: &str) -> Option<FieldSet> {
        let (_, path) = self.0.iter().find(|(served, _)| served == version)?;
        let names: Vec<&str> = path.as_ref()?.iter().map(String::as_str).collect();
        Some(FieldSet::of_names(&[&names]))
    }

    /// The entries of an object's Scale: managers of the number of replicas own it as a field of the Scale.
    pub(crate) fn of_scale(&self, object: &Managers) -> Managers {
        let owns = |entry: &&Entry| {
            let field = self.field(&entry.manager.api_version);
            field.is_some_and(|field| !entry.fields.intersection(&field).is_empty())
        };
        let scaled = object.0.iter().filter(owns).map(|entry| Entry {
            manager: in_version(&entry.manager, SCALE),
            time: entry.time.clone(),
            fields: in_scale(),
        });
        Managers(scaled.collect())
    }

    /// The entries of an object after a write of its Scale, whose entries are `scale`. `version` is the
    /// version of the object through which the Scale was written.
    pub(crate) fn of_object(&self, object: Managers, mut scale: Managers, version: &str) -> Managers {
        let mut entries = Vec::new();
        // Fields owned in a version that is no longer served lose their owner.
        for mut entry in object.0.into_iter().filter(|entry| self.is_served(&entry.manager.api_version)) {
            let field = self.field(&entry.manager.api_version);
            if let Some(field) = field.filter(|field| !entry.fields.intersection(field).is_empty()) {
                // The real server compares the version of an update with that of the Scale, which never equals it. Then the
                // manager ends up with two entries. The next write keeps the last one.
                let applies = entry.manager.operation == Operation::Apply;
                match scale.position(&entry.manager).filter(|_| applies) {
                    Some(place) => drop(scale.0.remove(place)),
                    None => entry.fields.subtract(&field),
                }
            }
            if !entry.fields.is_empty() {
                entries.push(entry);
            }
        }
        let field = self.field(version).unwrap_or_default();
        let owning = scale.0.into_iter().filter(|entry| !entry.fields.intersection(&in_scale()).is_empty());
        entries.extend(owning.map(|entry| Entry {
            manager: in_version(&entry.manager, version),
            // A real server forgets the time of a manager that is new in the object.
            time: None,
            fields: field.clone(),
        }));
        Managers(entries)
    }
}

fn in_scale() -> FieldSet {
    FieldSet::of_names(&[&["spec", "replicas"]])
}

fn in_version(manager: &Manager, version: &str) -> Manager {
    Manager { api_version: version.to_owned(), ..manager.clone() }
}

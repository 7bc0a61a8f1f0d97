//! Clusters as files: what `oc adm must-gather`, `oc adm inspect` and `oc get -o yaml` leave behind, to objects. Pure: who
//! calls finds the files and reads them.
//!
//! Objects are known by their `kind`, not by the names of files; [`layout`] only says which files are worth reading.

mod alerts;
mod document;
mod layout;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use layout::select;

use crate::model::resources::CLUSTER_VERSIONS;
use crate::model::{Key, Object, Resource};

/// A file: its path, with `/` between names, and its text.
#[derive(Debug, Clone)]
pub struct Source {
    /// As errors should name it.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// What a cluster was, as far as files tell.
#[derive(Debug, Clone, Default)]
pub struct Dump {
    objects: BTreeMap<Key, usize>,
    listed: Vec<Found>,
    /// The body of Prometheus' answer to `/api/v1/alerts`, where a file holds it.
    pub alerts: Option<String>,
}

/// An object and the file that has it.
#[derive(Debug, Clone)]
struct Found {
    resource: Resource,
    object: Object,
    path: String,
}

impl Dump {
    /// Reads files, of which the objects of `wanted` kinds are kept: those of a list in its order, files in theirs. Of an
    /// object that was dumped twice the newer state counts.
    ///
    /// # Errors
    /// A line for each file that cannot be read (`path:line:column: why`), and for objects that are of two clusters.
    pub fn read(
        sources: impl IntoIterator<Item = Source>,
        wanted: &[&Resource],
    ) -> Result<Self, Vec<String>> {
        let (mut dump, mut problems, mut stranger) = (Self::default(), Vec::new(), None);
        for Source { path, text } in sources {
            match document::read(&path, &text) {
                Err(problem) => problems.push(problem),
                Ok(document::Content::Alerts(body)) => dump.alerts = Some(body),
                Ok(document::Content::Objects(objects)) => {
                    for object in objects {
                        let Some(resource) = wanted.iter().find(|resource| is_of(&object, resource)) else {
                            continue;
                        };
                        // Where one object is of another cluster all are: the first one tells enough.
                        stranger = stranger.or(dump.add(resource, object, &path).err());
                    }
                }
            }
        }
        problems.extend(stranger);
        if problems.is_empty() { Ok(dump) } else { Err(problems) }
    }

    /// The objects of a kind, in their order.
    pub fn list<'a>(&'a self, resource: &'a Resource) -> impl Iterator<Item = &'a Object> {
        self.listed.iter().filter(move |found| found.resource == *resource).map(|found| &found.object)
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    fn add(&mut self, resource: &Resource, object: Object, path: &str) -> Result<(), String> {
        let key = resource.key(object.namespace(), object.name());
        let new = Found { resource: resource.clone(), object, path: path.to_owned() };
        let Some(old) = self.objects.get(&key).map(|index| &mut self.listed[*index]) else {
            self.objects.insert(key, self.listed.len());
            self.listed.push(new);
            return Ok(());
        };
        match Age::of(old, &new) {
            Age::Older => {}
            Age::Newer => *old = new,
            Age::Stranger => {
                return Err(format!(
                    "{path}: {key} is of another cluster than the one in {}; expected the files of one cluster",
                    old.path
                ));
            }
        }
        Ok(())
    }
}

/// How one state of an object stands to one that was read before it.
enum Age {
    /// No later than the other.
    Older,
    Newer,
    /// Not the same object at all.
    Stranger,
}

impl Age {
    /// Most objects may be deleted and made again while a must-gather is going on; the ClusterVersion stays as long as
    /// its cluster.
    fn of(old: &Found, new: &Found) -> Self {
        let is_cluster = new.resource == CLUSTER_VERSIONS;
        let (old, new) = (&old.object, &new.object);
        let version = |object: &Object| object.resource_version().parse::<u64>().ok();
        match (version(old), version(new)) {
            _ if is_cluster && old.uid() != new.uid() => Self::Stranger,
            (Some(old), Some(new)) if new > old => Self::Newer,
            (None, _) | (_, None) if old != new => Self::Stranger,
            _ => Self::Older,
        }
    }
}

/// Whether an object is of this kind, whatever version it was read in.
fn is_of(object: &Object, resource: &Resource) -> bool {
    let group = object.text("/apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
    object.text("/kind") == resource.kind && group == resource.group
}

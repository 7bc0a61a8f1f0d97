//! Clusters as files: parses the output of `oc adm must-gather`, `oc adm inspect` and `oc get -o yaml` into
//! objects, and renders a must-gather. Pure: the caller finds, reads and writes the files.
//!
//! Objects are identified by their `kind`, not by the names of files; [`layout`] only selects the files to
//! read.

mod alerts;
mod document;
mod facts;
mod layout;
mod must_gather;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use windtunnel_core::resources::{self, CLUSTER_VERSIONS};
use windtunnel_core::{Object, Resource};

pub use facts::Facts;
use layout::is_of;
pub use layout::{Wanted, select};
pub use must_gather::{alerts_file, log_file, object_files};

/// A file: its path, with `/` between names, and its text.
#[derive(Debug, Clone)]
pub struct Source {
    /// The path in error messages.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// The state of a cluster in its files.
#[derive(Debug, Clone, Default)]
pub struct Dump {
    objects: BTreeMap<Identity, usize>,
    listed: Vec<Found>,
    /// The body of Prometheus' answer to `/api/v1/alerts`, if a file contains it.
    pub alerts: Option<String>,
}

type Identity = (String, String, String, String);

#[derive(Debug, Clone)]
struct Found {
    object: Object,
    path: String,
}

impl Dump {
    /// Parses files and keeps the objects of `wanted` kinds, in the order of files and lists. If an object
    /// occurs twice, the newer state counts.
    ///
    /// # Errors
    /// A line for each invalid file (`path:line:column: why`), and for objects of two clusters.
    pub fn parse(
        sources: impl IntoIterator<Item = Source>,
        wanted: &[&Resource],
    ) -> Result<Self, Vec<String>> {
        let (dump, mut problems, mut strangers) = Self::gather(sources, Wanted::Kinds(wanted));
        // If one object is of another cluster, all are; one error is enough.
        strangers.truncate(1);
        problems.append(&mut strangers);
        if problems.is_empty() { Ok(dump) } else { Err(problems) }
    }

    /// Parses files and keeps all valid objects. Also returns a line for each file or object with an error.
    pub fn read_all(sources: impl IntoIterator<Item = Source>) -> (Self, Vec<String>) {
        let (dump, mut problems, mut strangers) = Self::gather(sources, Wanted::All);
        problems.append(&mut strangers);
        (dump, problems)
    }

    fn gather(
        sources: impl IntoIterator<Item = Source>,
        wanted: Wanted<'_>,
    ) -> (Self, Vec<String>, Vec<String>) {
        let (mut dump, mut problems, mut strangers) = (Self::default(), Vec::new(), Vec::new());
        for Source { path, text } in sources {
            match document::parse(&path, &text) {
                Err(problem) => problems.push(problem),
                // In the order of names, the answer about alerts precedes the one about rules.
                Ok(document::Content::Alerts(body)) => {
                    dump.alerts.get_or_insert(body);
                }
                Ok(document::Content::Objects(objects)) => {
                    let objects = objects.into_iter().filter(|object| wanted.has(object));
                    strangers.extend(objects.filter_map(|object| dump.add(object, &path).err()));
                }
            }
        }
        (dump, problems, strangers)
    }

    /// Returns the objects of a kind, in their order.
    pub fn list<'a>(&'a self, resource: &'a Resource) -> impl Iterator<Item = &'a Object> {
        self.objects().map(|(_, object)| object).filter(move |object| is_of(object, resource))
    }

    /// Returns all objects in their order, each with its file.
    pub fn objects(&self) -> impl Iterator<Item = (&str, &Object)> {
        self.listed.iter().map(|found| (found.path.as_str(), &found.object))
    }

    /// Returns whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    fn add(&mut self, object: Object, path: &str) -> Result<(), String> {
        let identity = identity(&object);
        let new = Found { object, path: path.to_owned() };
        let Some(old) = self.objects.get(&identity).map(|index| &mut self.listed[*index]) else {
            self.objects.insert(identity, self.listed.len());
            self.listed.push(new);
            return Ok(());
        };
        match Age::of(old, &new) {
            Age::Older => {}
            Age::Newer => *old = new,
            Age::Stranger => {
                let (old, object) = (&old.path, object_name(&new.object));
                return Err(format!(
                    "{path}: {object} belongs to another cluster than that in {old}; expected the files of one cluster"
                ));
            }
        }
        Ok(())
    }
}

fn identity(object: &Object) -> Identity {
    let group = object.text("/apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
    let texts = [group, object.text("/kind"), object.namespace(), object.name()];
    let [group, kind, namespace, name] = texts.map(str::to_owned);
    (group, kind, namespace, name)
}

/// Returns the name of an object in messages.
fn object_name(object: &Object) -> String {
    let (api_version, kind) = (object.text("/apiVersion"), object.text("/kind"));
    match resources::find(api_version, kind) {
        Some(resource) => resource.key(object.namespace(), object.name()).to_string(),
        None => format!("{kind} {}", object.name()),
    }
}

/// The relation of an object's state to one from an earlier file.
enum Age {
    /// Not newer than the other.
    Older,
    Newer,
    /// A different object.
    Stranger,
}

impl Age {
    /// Compares two states. Most objects may be deleted and recreated during a must-gather; the
    /// ClusterVersion exists as long as its cluster.
    fn of(old: &Found, new: &Found) -> Self {
        let is_cluster = is_of(&new.object, &CLUSTER_VERSIONS);
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

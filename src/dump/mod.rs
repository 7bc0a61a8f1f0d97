//! Clusters as files: parses the output of `oc adm must-gather`, `oc adm inspect` and `oc get -o yaml` into
//! objects, and renders a must-gather. Pure: the caller finds, reads and writes the files.
//!
//! Objects are identified by their `kind`, not by the names of files; [`layout`] only selects the files to
//! read.
//!
//! `layout.rs` selects files, `document.rs` parses one, `must_gather.rs` writes. `src/cli/dump/` opens the files.

mod alerts;
mod document;
mod facts;
mod layout;
mod must_gather;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use windtunnel_core::bounded::{self, Limits};
use windtunnel_core::resources::{self, CLUSTER_VERSIONS};
use windtunnel_core::{Object, Resource};

pub use facts::Facts;
use layout::is_of;
pub use layout::{Wanted, is_apple_double, select};
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

/// Files while they are read, one after the other, so that no two texts are in memory.
#[derive(Debug)]
pub struct Gathering<'w> {
    wanted: Wanted<'w>,
    limits: Limits,
    left: Limits,
    dump: Dump,
    problems: Vec<String>,
    strangers: Vec<String>,
}

/// A parsed file.
#[derive(Debug)]
pub struct Parsed {
    /// The path in error messages.
    pub path: String,
    content: Result<document::Content, String>,
}

impl<'w> Gathering<'w> {
    /// Returns a dump without files that keeps the objects of `wanted` kinds.
    pub fn new(wanted: Wanted<'w>, limits: Limits) -> Self {
        let left = limits.clone();
        let (dump, problems, strangers) = Default::default();
        Self { wanted, limits, left, dump, problems, strangers }
    }

    /// Parses a file.
    ///
    /// # Errors
    /// A limit that the files exceed, without advice.
    pub fn parse(&mut self, Source { path, text }: Source) -> Result<Parsed, String> {
        let content = match document::parse(&path, &text, &mut self.left) {
            Ok(document::Content::Objects(mut objects)) => {
                objects.retain(|object| self.wanted.has(object));
                let kept = objects.iter().map(size_of).sum();
                self.left.bytes = self.left.bytes.saturating_sub(kept);
                Ok(document::Content::Objects(objects))
            }
            Ok(document::Content::Alerts(body)) => {
                self.left.bytes = self.left.bytes.saturating_sub(body.len());
                Ok(document::Content::Alerts(body))
            }
            Err(document::DocumentError::Invalid(problem)) => Err(problem),
            Err(document::DocumentError::Exceeded(exceeded)) => {
                return Err(format!("{path}: {}", self.limits.describe(exceeded)));
            }
        };
        Ok(Parsed { path, content })
    }

    /// Adds a parsed file. The order of files matters: if an object occurs twice in the same state, the first one counts.
    pub fn add(&mut self, Parsed { path, content }: Parsed) {
        match content {
            Err(problem) => self.problems.push(problem),
            // In the order of names, the answer about alerts precedes the one about rules.
            Ok(document::Content::Alerts(body)) => {
                self.dump.alerts.get_or_insert(body);
            }
            Ok(document::Content::Objects(objects)) => {
                for object in objects {
                    match self.dump.add(object, &path) {
                        Ok(dropped) => {
                            self.left.bytes += dropped.as_ref().map(size_of).unwrap_or_default();
                        }
                        Err(stranger) => self.strangers.push(stranger),
                    }
                }
            }
        }
    }

    /// Returns the dump.
    ///
    /// # Errors
    /// A line for each invalid file (`path:line:column: why`), and for objects of two clusters.
    pub fn into_valid(mut self) -> Result<Dump, Vec<String>> {
        // If one object is of another cluster, all are; one error is enough.
        self.strangers.truncate(1);
        let (dump, problems) = self.into_any();
        if problems.is_empty() { Ok(dump) } else { Err(problems) }
    }

    /// Returns the valid objects, and a line for each file or object with an error.
    pub fn into_any(mut self) -> (Dump, Vec<String>) {
        self.problems.append(&mut self.strangers);
        (self.dump, self.problems)
    }

    /// Parses and adds files; a limit ends it.
    fn add_all(&mut self, sources: impl IntoIterator<Item = Source>) {
        for source in sources {
            match self.parse(source) {
                Ok(parsed) => self.add(parsed),
                Err(problem) => return self.problems.push(problem),
            }
        }
    }
}

/// Returns about how many bytes of memory an object needs.
fn size_of(object: &Object) -> usize {
    bounded::size(object)
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
        let mut gathering = Gathering::new(Wanted::Kinds(wanted), Limits::default());
        gathering.add_all(sources);
        gathering.into_valid()
    }

    /// Parses files and keeps all valid objects. Also returns a line for each file or object with an error.
    pub fn read_all(sources: impl IntoIterator<Item = Source>) -> (Self, Vec<String>) {
        let mut gathering = Gathering::new(Wanted::All, Limits::default());
        gathering.add_all(sources);
        gathering.into_any()
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

    /// Changes each object, and the body of the answer about alerts.
    pub fn change(&mut self, object: impl Fn(&Object) -> Object, alerts: impl Fn(&str) -> String) {
        self.listed.iter_mut().for_each(|found| found.object = object(&found.object));
        self.alerts = self.alerts.take().map(|body| alerts(&body));
    }

    /// Adds an object. Returns the older state of the same object, if there is one.
    fn add(&mut self, object: Object, path: &str) -> Result<Option<Object>, String> {
        let identity = identity(&object);
        let new = Found { object, path: path.to_owned() };
        let Some(old) = self.objects.get(&identity).map(|index| &mut self.listed[*index]) else {
            self.objects.insert(identity, self.listed.len());
            self.listed.push(new);
            return Ok(None);
        };
        match Age::of(old, &new) {
            Age::Older => Ok(Some(new.object)),
            Age::Newer => Ok(Some(std::mem::replace(old, new).object)),
            Age::Stranger => {
                let (old, object) = (&old.path, object_name(&new.object));
                Err(format!(
                    "{path}: {object} belongs to another cluster than that in {old}; expected the files of one cluster"
                ))
            }
        }
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

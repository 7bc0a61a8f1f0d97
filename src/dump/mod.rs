//! Clusters as files: what `oc adm must-gather`, `oc adm inspect` and `oc get -o yaml` leave behind, to objects. Pure: who
//! calls finds the files and reads them.
//!
//! Objects are known by their `kind`, not by the names of files; [`layout`] only says which files are worth reading.

mod alerts;
mod document;
mod facts;
mod layout;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use windtunnel_core::resources;
use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_core::{Object, Resource};

pub use facts::Facts;
use layout::is_of;
pub use layout::{Wanted, select};

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
    objects: BTreeMap<Identity, usize>,
    listed: Vec<Found>,
    /// The body of Prometheus' answer to `/api/v1/alerts`, where a file holds it.
    pub alerts: Option<String>,
}

/// Group, kind, namespace and name.
type Identity = (String, String, String, String);

/// An object and the file that has it.
#[derive(Debug, Clone)]
struct Found {
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
        let (dump, mut problems, mut strangers) = Self::gather(sources, Wanted::Kinds(wanted));
        // Where one object is of another cluster all are: the first one tells enough.
        strangers.truncate(1);
        problems.append(&mut strangers);
        if problems.is_empty() { Ok(dump) } else { Err(problems) }
    }

    /// Reads files of which all objects are kept, as far as they can be read, and gives a line for each file or object
    /// that cannot.
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
            match document::read(&path, &text) {
                Err(problem) => problems.push(problem),
                // An answer about alerts stands before one about rules, by their names.
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

    /// The objects of a kind, in their order.
    pub fn list<'a>(&'a self, resource: &'a Resource) -> impl Iterator<Item = &'a Object> {
        self.objects().map(|(_, object)| object).filter(move |object| is_of(object, resource))
    }

    /// All objects in their order, each with the file that has it.
    pub fn objects(&self) -> impl Iterator<Item = (&str, &Object)> {
        self.listed.iter().map(|found| (found.path.as_str(), &found.object))
    }

    /// Whether nothing was found.
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
                let (old, object) = (&old.path, told(&new.object));
                return Err(format!(
                    "{path}: {object} is of another cluster than the one in {old}; expected the files of one cluster"
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

/// An object as people call it.
fn told(object: &Object) -> String {
    let (api_version, kind) = (object.text("/apiVersion"), object.text("/kind"));
    match resources::of_group(api_version, kind) {
        Some(resource) => resource.key(object.namespace(), object.name()).to_string(),
        None => format!("{kind} {}", object.name()),
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

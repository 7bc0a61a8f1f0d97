//! Clusters as files: parses the output of `oc adm must-gather`, `oc adm inspect`, `oc get -o yaml` and other programs into
//! objects, and renders a must-gather. Pure: the caller finds, reads and writes the files.
//!
//! Objects are identified by their `kind`; only if they have none, by the path of their file. Every file is counted in an
//! [`Inventory`].
//!
//! `layout.rs` judges files by their names, `document.rs` parses one, `objects.rs` finds objects in it, `place.rs` and `kinds.rs`
//! know what paths say, `uncollected.rs` reads the reports of the programs that write dumps, `made.rs` finds the time of
//! a dump, `conversion.rs` converts objects of removed versions, `definitions.rs` defines kinds whose definition is missing, `origin.rs` and `additions.rs` decide
//! whether an object belongs to the platform or to users, `must_gather.rs` writes. `src/cli/dump_files/` opens the files.

pub(crate) mod additions;
mod alerts;
mod config_maps;
mod conversion;
mod definitions;
mod document;
mod facts;
mod inventory;
mod kinds;
mod layout;
mod made;
mod must_gather;
mod objects;
pub(crate) mod origin;
mod place;
#[cfg(test)]
mod tests;
mod uncollected;

use std::collections::BTreeMap;

use windtunnel_core::bounded::{self, Limits};
use windtunnel_core::resources::{self, CLUSTER_VERSIONS};
use windtunnel_core::{Object, Resource};

pub use conversion::conversions;
pub use definitions::definitions_without_schema;
pub use facts::Facts;
pub use inventory::{Class, FileEntry, Inventory, Uncollected, below};
use layout::is_of;
pub use layout::{Look, START, Wanted, is_apple_double, look};
pub use made::made_at;
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
    /// All files, and what they are.
    pub inventory: Inventory,
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
    alerts: BTreeMap<alerts::Origin, String>,
    config_maps: config_maps::Keys,
    /// Whether a file is in a folder of `oc adm inspect`.
    is_inspection: bool,
    problems: Vec<ScenarioError>,
    strangers: Vec<String>,
}

/// A file with an error.
#[derive(Debug)]
struct ScenarioError {
    text: String,
    /// Whether the file is in a folder of `oc adm inspect`.
    is_of_inspection: bool,
}

/// A parsed file.
#[derive(Debug)]
pub struct Parsed {
    /// The path in error messages.
    pub path: String,
    is_of_inspection: bool,
    content: Result<document::Content, String>,
}

impl<'w> Gathering<'w> {
    /// Returns a dump without files that keeps the objects of `wanted` kinds.
    pub fn new(wanted: Wanted<'w>, limits: Limits) -> Self {
        let left = limits.clone();
        let (dump, alerts, config_maps, is_inspection, problems, strangers) = Default::default();
        Self { wanted, limits, left, dump, alerts, config_maps, is_inspection, problems, strangers }
    }

    /// Counts a file that was not parsed.
    pub fn count(&mut self, path: &str, class: Class, remark: &str) {
        let (path, remark) = (path.to_owned(), remark.to_owned());
        self.dump.inventory.add(FileEntry { path, class, objects: 0, remark });
    }

    /// Counts a file that cannot be read. `problem` begins with its path.
    pub fn count_unread(&mut self, path: &str, problem: String) {
        self.count(path, Class::NotUnderstood, without_path(&problem, path));
        self.problems.push(ScenarioError { text: problem, is_of_inspection: false });
    }

    /// Parses a file. `within` is its path in the dump or in the innermost archive, which may say the kind of its objects.
    ///
    /// # Errors
    /// A limit that the files exceed, without advice.
    pub fn parse(&mut self, Source { path, text }: Source, within: &str) -> Result<Parsed, String> {
        let content = match document::parse(&path, within, &text, &mut self.left) {
            Ok(mut content) => {
                if let document::Content::Objects(objects, _) = &mut content {
                    objects.retain(|object| self.wanted.has(object));
                }
                self.left.bytes = self.left.bytes.saturating_sub(size_of_content(&content));
                Ok(content)
            }
            Err(document::DocumentError::Invalid(problem)) => Err(problem),
            Err(document::DocumentError::Exceeded(exceeded)) => {
                return Err(format!("{path}: {}", self.limits.describe(exceeded)));
            }
        };
        let is_of_inspection = layout::is_of_wanted_kind(within, Wanted::All).is_some();
        Ok(Parsed { path, is_of_inspection, content })
    }

    /// Adds a parsed file. The order of files matters: if an object occurs twice in the same state, the first one counts.
    pub fn add(&mut self, Parsed { path, is_of_inspection, content }: Parsed) {
        self.is_inspection |= is_of_inspection;
        let (class, objects, remark) = match content {
            Err(problem) => {
                let remark = without_path(&problem, &path).to_owned();
                self.problems.push(ScenarioError { text: problem, is_of_inspection });
                (Class::NotUnderstood, 0, remark)
            }
            Ok(document::Content::Alerts(origin, body)) => {
                self.add_alerts(origin, body);
                (Class::Read, 0, "alerts".to_owned())
            }
            Ok(document::Content::Key(key)) => {
                let is_first = self.config_maps.add(&path, key);
                (Class::Read, usize::from(is_first), "a key of a ConfigMap".to_owned())
            }
            Ok(document::Content::Nothing(why, uncollected)) => {
                self.dump.inventory.add_uncollected(uncollected);
                (Class::NoObject, 0, why.to_owned())
            }
            Ok(document::Content::Uncollected(uncollected)) => {
                let remark = uncollected.first().map(|first| format!("{}: {}", first.what, first.why));
                self.dump.inventory.add_uncollected(uncollected);
                (Class::NotCollected, 0, remark.unwrap_or_default())
            }
            Ok(document::Content::Objects(objects, not_understood)) => {
                let class = if not_understood.is_some() { Class::NotUnderstood } else { Class::Read };
                if let Some(why) = &not_understood {
                    let text = format!("{path}: {why}");
                    self.problems.push(ScenarioError { text, is_of_inspection: false });
                }
                (class, self.add_objects(objects, &path), not_understood.unwrap_or_default())
            }
        };
        self.dump.inventory.add(FileEntry { path, class, objects, remark });
    }

    /// Adds the objects of a file, and returns their number.
    fn add_objects(&mut self, objects: Vec<Object>, path: &str) -> usize {
        let count = objects.len();
        for object in objects {
            match self.dump.add(object, path) {
                Ok(dropped) => self.left.bytes += dropped.as_ref().map(size_of).unwrap_or_default(),
                Err(stranger) => self.strangers.push(stranger),
            }
        }
        count
    }

    /// Adds alerts. Of several answers of Prometheus, the first one counts; those of Alertmanager complete each other.
    fn add_alerts(&mut self, origin: alerts::Origin, body: String) {
        match self.alerts.get_mut(&origin) {
            None => {
                self.alerts.insert(origin, body);
            }
            Some(known) if origin == alerts::Origin::Alertmanager => *known = alerts::joined(known, &body),
            Some(_) => {}
        }
    }

    /// Returns the dump.
    ///
    /// # Errors
    /// A line for each invalid file (`path:line:column: why`), and for objects of two clusters. If the dump has folders of
    /// `oc adm inspect`, invalid files elsewhere are no error: they have no object of the wanted kinds, whose place is there.
    pub fn into_valid(mut self) -> Result<Dump, Vec<String>> {
        // If one object is of another cluster, all are; one error is enough.
        self.strangers.truncate(1);
        let is_inspection = self.is_inspection;
        self.problems.retain(|problem| problem.is_of_inspection || !is_inspection);
        let (dump, problems) = self.into_any();
        if problems.is_empty() { Ok(dump) } else { Err(problems) }
    }

    /// Returns the valid objects, and a line for each file or object with an error.
    pub fn into_any(mut self) -> (Dump, Vec<String>) {
        for (path, object) in std::mem::take(&mut self.config_maps).into_objects() {
            if self.wanted.has(&object) {
                self.add_objects(vec![object], &path);
            }
        }
        self.dump.alerts = self.alerts.into_values().next();
        self.dump.inventory.sort();
        let mut problems: Vec<String> = self.problems.into_iter().map(|problem| problem.text).collect();
        problems.append(&mut self.strangers);
        (self.dump, problems)
    }

    /// Parses and adds files; a limit ends it.
    fn add_all(&mut self, sources: impl IntoIterator<Item = Source>) {
        for source in sources {
            let within = source.path.clone();
            match self.parse(source, &within) {
                Ok(parsed) => self.add(parsed),
                Err(text) => return self.problems.push(ScenarioError { text, is_of_inspection: true }),
            }
        }
    }
}

/// Returns the rest of a message that begins with the path of a file.
fn without_path<'a>(problem: &'a str, path: &str) -> &'a str {
    problem.strip_prefix(path).map_or(problem, |rest| rest.trim_start_matches([':', ' ']))
}

/// Returns about how many bytes of memory the content of a file needs.
fn size_of_content(content: &document::Content) -> usize {
    match content {
        document::Content::Objects(objects, _) => objects.iter().map(size_of).sum(),
        document::Content::Alerts(_, body) => body.len(),
        document::Content::Key(_) | document::Content::Nothing(..) | document::Content::Uncollected(_) => 0,
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
        let age = Age::of(old, &new);
        let (old_path, dropped) = match age {
            Age::Copy | Age::Older => (String::new(), new.object),
            Age::FullerCopy | Age::Newer => (String::new(), std::mem::replace(old, new).object),
            Age::Stranger => (old.path.clone(), new.object),
        };
        self.inventory.count_second(age);
        if matches!(age, Age::Stranger) {
            let object = object_name(&dropped);
            return Err(format!(
                "{path}: {object} belongs to another cluster than that in {old_path}; expected the files of one cluster"
            ));
        }
        Ok(Some(dropped))
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
        Some(resource) => resource.key_of(object).to_string(),
        None => format!("{kind} {}", object.name()),
    }
}

/// The relation of an object's state to one from an earlier file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    /// The same state.
    Copy,
    /// The same state with more of its fields.
    FullerCopy,
    /// An older or less complete state.
    Older,
    /// A newer or more complete state.
    Newer,
    /// A different object.
    Stranger,
}

impl Age {
    /// Compares two states. Most objects may be deleted and recreated during a must-gather; the ClusterVersion exists as long as
    /// its cluster. Without versions, the more complete state counts: an Insights archive leaves out fields.
    fn of(old: &Found, new: &Found) -> Self {
        let is_cluster = is_of(&new.object, &CLUSTER_VERSIONS);
        let (old, new) = (&old.object, &new.object);
        let version = |object: &Object| object.resource_version().parse::<u64>().ok();
        let is_fuller = || size_of(new) > size_of(old);
        match (version(old), version(new)) {
            _ if is_cluster && !old.uid().is_empty() && !new.uid().is_empty() && old.uid() != new.uid() => {
                Self::Stranger
            }
            _ if old == new => Self::Copy,
            (Some(old), Some(new)) if new > old => Self::Newer,
            (Some(old), Some(new)) if new < old => Self::Older,
            (Some(_), Some(_)) if is_fuller() => Self::FullerCopy,
            (Some(_), Some(_)) => Self::Copy,
            (None, Some(_)) => Self::Newer,
            (None, None) if is_fuller() => Self::Newer,
            (_, None) => Self::Older,
        }
    }
}

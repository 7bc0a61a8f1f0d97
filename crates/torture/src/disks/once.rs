//! One run of writes on a disk that fails once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Value, json};
use windtunnel_apiserver::service::Shared;
use windtunnel_apiserver::storage::{Change, DataDir, Disk, DiskFault, Storage, StorageError};
use windtunnel_apiserver::{ApiServer, Method, Poll, ReplyBody, Request, Watch};
use windtunnel_core::clock::{ManualClock, Time};
use windtunnel_core::resources::CONFIG_MAPS;
use windtunnel_core::{Identity, Write};

/// Names of objects, with their values.
type Content = BTreeMap<String, String>;

/// A write: the name of an object, and its new value or `None` to delete it.
pub type Step = (String, Option<String>);

/// The number of writes that follow the failed one, and must be refused.
const AFTERWARDS: usize = 2;

/// A run: the server, the writes, and the fault of its disk.
#[derive(Debug)]
pub struct Run<'a> {
    /// The server before its first write.
    pub server: &'a ApiServer,
    /// The writes.
    pub steps: &'a [Step],
    /// The fault.
    pub fault: DiskFault,
}

/// The findings of a run.
#[derive(Debug, Default)]
pub struct Ran {
    /// The operations of the disk that the fault could have hit.
    pub operations: usize,
    /// The writes that the server acknowledged.
    pub acknowledged: u64,
    /// Writes that were lost, or reported too early.
    pub lost: Vec<String>,
}

/// The moment of all writes.
pub(super) fn now() -> Time {
    Time::UNIX_EPOCH
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn path() -> &'static str {
    "/api/v1/namespaces/default/configmaps?watch=true"
}

/// A watch of the objects, and the content that its events report.
struct Follower {
    watch: Watch,
    reported: Content,
    revision: u64,
}

impl Follower {
    fn new(shared: &Shared) -> Option<Self> {
        let admin = Identity::admin();
        let request = Request::new(Method::Get, path(), &admin);
        match shared.with(|server| server.handle(&request, now())).body {
            ReplyBody::Watch(watch) => Some(Self { watch: *watch, reported: Content::new(), revision: 0 }),
            _ => None,
        }
    }

    fn poll(&mut self, server: &mut ApiServer) {
        while let Poll::Lines(lines) = server.poll(&mut self.watch, now()) {
            for line in lines {
                let event: Value = serde_json::from_slice(&line).unwrap_or_default();
                let field = |pointer| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                let revision = field("/object/metadata/resourceVersion").parse().unwrap_or_default();
                self.revision = self.revision.max(revision);
                let name = field("/object/metadata/name").to_owned();
                match field("/type") {
                    "DELETED" => drop(self.reported.remove(&name)),
                    _ => drop(self.reported.insert(name, field("/object/data/n").to_owned())),
                }
            }
        }
    }
}

/// The knowledge of the run, shared with the thread that commits.
#[derive(Default)]
struct Known {
    shared: OnceLock<Shared>,
    follower: Mutex<Option<Follower>>,
    acknowledged: Mutex<Content>,
    early: Mutex<Vec<String>>,
}

impl Known {
    /// Checks that the watch has reported the acknowledged writes, and nothing else.
    fn check_watch(&self, when: &str) {
        let mut follower = lock(&self.follower);
        let (Some(shared), Some(follower)) = (self.shared.get(), follower.as_mut()) else { return };
        shared.with(|server| follower.poll(server));
        let acknowledged = lock(&self.acknowledged);
        if follower.reported != *acknowledged {
            let text = difference(&follower.reported, &acknowledged);
            lock(&self.early).push(format!("{when} a watch reports {text}"));
        }
    }
}

/// A storage, with a watch that is polled before and after each commit.
struct Watched {
    storage: Box<dyn Storage>,
    known: Arc<Known>,
}

impl Storage for Watched {
    fn commit(&mut self, changes: &[Change]) -> Result<(), StorageError> {
        self.known.check_watch("before a commit");
        let outcome = self.storage.commit(changes);
        self.known.check_watch("before an answer");
        outcome
    }
}

/// The first difference between two contents.
fn difference(found: &Content, expected: &Content) -> String {
    let names = found.keys().chain(expected.keys());
    let differs = names.into_iter().find(|name| found.get(*name) != expected.get(*name));
    differs.map_or_else(String::new, |name| {
        let show =
            |content: &Content| content.get(name).map_or("absent".to_owned(), |value| format!("`{value}`"));
        format!("{name}: {}, not {}", show(found), show(expected))
    })
}

/// The content of a disk, and its revision.
fn reopen(disk: &Disk) -> Result<(Content, u64), String> {
    let saved =
        DataDir::on_disk(disk).and_then(|mut data| data.begin()).map_err(|error| error.to_string())?;
    let own =
        saved.objects.iter().filter(|(key, _)| *key.plural == *"configmaps" && key.namespace == "default");
    let content = own
        .map(|(key, object)| (key.name.clone(), object["data"]["n"].as_str().unwrap_or_default().to_owned()));
    Ok((content.collect(), saved.revision))
}

/// Makes all writes of a run on a disk that fails, with a storage that `wrap` makes of the one on the disk.
pub fn run(run: &Run<'_>, wrap: &dyn Fn(DataDir) -> Box<dyn Storage>) -> Ran {
    let disk = Disk::default();
    disk.fail(run.fault);
    let known = Arc::new(Known::default());
    let mut ran = Ran::default();
    let started = DataDir::on_disk(&disk).and_then(|data| {
        let storage = Box::new(Watched { storage: wrap(data), known: Arc::clone(&known) });
        Shared::stored(run.server.clone(), ManualClock::at(now()), storage, Box::new(|_| {}))
    });
    match started {
        Ok(shared) => {
            *lock(&known.follower) = Follower::new(&shared);
            let _ = known.shared.set(shared.clone());
            let mut course =
                Course { run, disk: &disk, shared: &shared, known: &known, refused: None, ran: &mut ran };
            course.all();
            let refused = course.refused;
            ran.operations = disk.operations();
            shared.close();
            disk.heal();
            let acknowledged = lock(&known.acknowledged).clone();
            let allowed: Vec<&Content> = std::iter::once(&acknowledged).chain(&refused).collect();
            compare("after the end", &disk, &allowed, 0, &mut ran.lost);
        }
        Err(_) => {
            ran.operations = disk.operations();
            disk.heal();
            compare("after a failed start", &disk, &[&Content::new()], 0, &mut ran.lost);
        }
    }
    ran.lost.append(&mut lock(&known.early));
    ran
}

/// Compares the content of a disk with the contents that it may have.
fn compare(when: &str, disk: &Disk, allowed: &[&Content], revision: u64, lost: &mut Vec<String>) {
    match reopen(disk) {
        Err(error) => lost.push(format!("{when}: {error}")),
        Ok((found, at)) => {
            if !allowed.contains(&&found) {
                lost.push(format!("{when}: {}", difference(&found, allowed[0])));
            }
            if at < revision {
                lost.push(format!("{when}: the revision went back from {revision} to {at}"));
            }
        }
    }
}

/// The course of a run.
struct Course<'a> {
    run: &'a Run<'a>,
    disk: &'a Disk,
    shared: &'a Shared,
    known: &'a Known,
    /// The content if the first write that was refused has happened nevertheless.
    refused: Option<Content>,
    ran: &'a mut Ran,
}

impl Course<'_> {
    fn all(&mut self) {
        let mut steps = self.run.steps.iter();
        let failed = steps.find(|(name, value)| !self.step(name, value.as_ref()));
        if failed.is_some() {
            // The server is read-only now, even though the disk works again.
            for (name, value) in steps.take(AFTERWARDS) {
                self.step(name, value.as_ref());
            }
        }
        self.disk.heal();
        self.step("last", Some(&"1".to_owned()));
        self.check_crash("after the last write");
    }

    /// Makes a write. Returns whether it was acknowledged.
    fn step(&mut self, name: &str, value: Option<&String>) -> bool {
        let content = lock(&self.known.acknowledged).clone();
        let write = match value {
            None if !content.contains_key(name) => return true,
            None => Write::delete(&CONFIG_MAPS, "default", name),
            Some(value) if content.contains_key(name) => {
                Write::merge_patch(&CONFIG_MAPS, "default", name, json!({ "data": { "n": value } }))
            }
            Some(value) => Write::create(&CONFIG_MAPS, map(name, value)),
        };
        let mut next = content;
        match value {
            Some(value) => drop(next.insert(name.to_owned(), value.clone())),
            None => drop(next.remove(name)),
        }
        let Err(rejection) = self.shared.write(&write, &Identity::admin(), now()) else {
            if self.refused.is_some() {
                self.ran.lost.push(format!("{name}: a server whose disk failed accepts a write"));
            }
            *lock(&self.known.acknowledged) = next;
            self.ran.acknowledged += 1;
            return true;
        };
        if !self.disk.has_failed() || rejection.code != 500 {
            self.ran
                .lost
                .push(format!("{name}: the write is refused with {}: {}", rejection.code, rejection.message));
        }
        self.refused.get_or_insert(next);
        self.known.check_watch("after a refusal");
        self.check_crash("after a refusal");
        self.disk.heal();
        false
    }

    /// Checks what is left if the process or the machine crashes now.
    fn check_crash(&mut self, when: &str) {
        let known = lock(&self.known.acknowledged).clone();
        let allowed: Vec<&Content> = std::iter::once(&known).chain(&self.refused).collect();
        let revision = lock(&self.known.follower).as_ref().map_or(0, |follower| follower.revision);
        for (crash, disk) in [("process", self.disk.as_cached()), ("machine", self.disk.as_synced())] {
            let when = format!("{when}, in a crash of the {crash}");
            compare(&when, &disk, &allowed, revision, &mut self.ran.lost);
        }
    }
}

fn map(name: &str, value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": "default", "name": name },
        "data": { "n": value } })
}

//! A real full disk: a small one in memory, if this user may mount it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use windtunnel_conformance::player::{Answer, Server};

use crate::outcome::{Kind, Outcome};
use crate::process::{Served, add_panics};
use crate::trial::Trial;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The number of times that the disk is filled.
const ROUNDS: usize = 3;

/// The most objects of a round; a disk of 3 MB is full before.
const OBJECTS_MAX: usize = 1_000;

/// A disk of 3 MB in memory; it is unmounted when it is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=3m", "windtunnel"]).arg(at);
        let status = mount.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Fills a disk, kills the server on it, gives it room again, and compares.
pub(super) fn run(trial: &Trial, outcome: &mut Outcome) -> Result<(), String> {
    let folder = trial.folder("disks/small")?;
    let Some(disk) = SmallDisk::mount(&folder) else {
        outcome.note("no real full disk: this user may not mount one");
        return Ok(());
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let stderr = trial.scratch.join("disks/stderr");
    let mut filled = Filled { trial, folder, stderr, known: BTreeMap::new(), revision: 0 };
    for _ in 0..ROUNDS {
        if trial.is_over() {
            break;
        }
        match runtime.block_on(filled.round()) {
            Ok(()) => outcome.count(1, "real full disks"),
            Err(lost) => outcome.add(Kind::Lost, format!("real full disk: {lost}")),
        }
    }
    add_panics(outcome, &filled.stderr);
    drop(disk);
    Ok(())
}

/// A server on the small disk, and its acknowledged objects with their versions.
struct Filled<'a> {
    trial: &'a Trial,
    folder: PathBuf,
    stderr: PathBuf,
    known: BTreeMap<String, String>,
    revision: u64,
}

impl Filled<'_> {
    fn start(&self) -> Result<Served, String> {
        let data = self.folder.join("data");
        Served::start(&self.trial.program, Some(&data), &self.stderr).map_err(|error| error.to_string())
    }

    async fn round(&mut self) -> Result<(), String> {
        let ballast = self.folder.join("ballast");
        let mut served = self.start()?;
        fs::write(&ballast, vec![1; 400_000]).map_err(|error| error.to_string())?;
        self.fill(&served.client()?).await?;
        // Nobody may see the refused object.
        self.compare(&served.client()?, false).await?;
        served.kill();
        fs::remove_file(&ballast).map_err(|error| error.to_string())?;
        let served = self.start()?;
        let server = served.client()?;
        self.compare(&server, true).await?;
        for name in std::mem::take(&mut self.known).into_keys() {
            let answer =
                server.connect().ask(&json!({ "method": "DELETE", "path": format!("{MAPS}/{name}") })).await;
            expect(&answer, 200)?;
        }
        Ok(())
    }

    /// Creates objects until one is refused.
    async fn fill(&mut self, server: &Server) -> Result<(), String> {
        let mut connection = server.connect();
        for number in 0..OBJECTS_MAX {
            let name = format!("m{number}");
            let body = json!({ "metadata": { "name": name }, "data": { "k": "x".repeat(20_000) } });
            let answer = connection.ask(&json!({ "method": "POST", "path": MAPS, "body": body })).await;
            if answer.status == 500 {
                return Ok(());
            }
            expect(&answer, 201)?;
            let version = text(&answer.body["metadata"]["resourceVersion"]);
            self.revision = self.revision.max(version.parse().unwrap_or_default());
            self.known.insert(name, version);
        }
        Err("the disk does not become full".to_owned())
    }

    /// Compares all objects with the acknowledged ones. A refused write may exist after a restart.
    async fn compare(&mut self, server: &Server, restarted: bool) -> Result<(), String> {
        let answer = server.connect().ask(&json!({ "path": MAPS })).await;
        expect(&answer, 200)?;
        let items = answer.body["items"].as_array().into_iter().flatten();
        let found: BTreeMap<String, String> = items
            .map(|item| (text(&item["metadata"]["name"]), text(&item["metadata"]["resourceVersion"])))
            .filter(|(name, _)| name.starts_with('m'))
            .collect();
        let missing = self.known.iter().find(|(name, version)| found.get(*name) != Some(*version));
        if let Some((name, version)) = missing {
            return Err(format!("{name} of version {version} is {:?}", found.get(name)));
        }
        let further = found.len() - self.known.len();
        if further > usize::from(restarted) {
            return Err(format!("{further} refused objects are shown"));
        }
        let revision = text(&answer.body["metadata"]["resourceVersion"]).parse().unwrap_or_default();
        if revision < self.revision {
            return Err(format!("the revision went back from {} to {revision}", self.revision));
        }
        self.revision = revision;
        self.known = found;
        Ok(())
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn expect(answer: &Answer, status: u16) -> Result<(), String> {
    if answer.status == status {
        return Ok(());
    }
    Err(format!("an answer is {} instead of {status}: {}", answer.status, answer.body))
}

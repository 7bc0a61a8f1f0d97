//! A ledger of clusters to delete, one file each. The process keeps its file locked; when it is killed, the
//! lock is released, and the next start finds the file.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(target_os = "linux")]
use super::orphans::kill_holders;
use crate::backends::remote::marks::runs::{has_ended, holder};
use crate::backends::{BackendError, ReportProgress};

/// The extension of the files.
const ENDING: &str = "lock";
/// The extension of an unfinished file, and its maximum age.
const DRAFT: &str = "part";
const DRAFT_MAX: Duration = Duration::from_secs(60);
/// The maximum number of polls until a killed program has ended, and their interval.
const POLLS: u32 = 50;
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// All clusters to delete.
pub(super) struct Ledger {
    folder: PathBuf,
}

/// A cluster to delete.
pub(super) struct Entry {
    name: String,
    program: String,
    path: PathBuf,
    /// Locked while it is open, by this process or by a program that it started.
    file: File,
}

/// The clusters of ended processes.
pub(super) struct Abandoned {
    /// Those that can be deleted.
    pub(super) entries: Vec<Entry>,
    /// The number of those on which another program still works.
    pub(super) busy: usize,
}

impl Ledger {
    /// Opens the ledger in a folder, and creates the folder if necessary.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub(super) fn open(folder: &Path) -> Result<Self, BackendError> {
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        Ok(Self { folder: folder.to_owned() })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds a cluster before it is created.
    ///
    /// # Errors
    /// The file cannot be written; the cluster must not be created then.
    pub(super) fn add(&self, name: &str, program: &str) -> Result<Entry, BackendError> {
        let path = self.folder.join(format!("{name}.{ENDING}"));
        let draft = path.with_extension(DRAFT);
        let write_entry = || {
            // The final name appears only once the file is complete and locked.
            let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&draft)?;
            file.lock()?;
            write!(file, "{program}\n{}", holder())?;
            file.sync_all()?;
            std::fs::rename(&draft, &path)?;
            Ok(file)
        };
        let file = write_entry().map_err(|error| failed(&path, &error))?;
        Ok(Entry { name: name.to_owned(), program: program.to_owned(), path, file })
    }

    /// Returns the clusters whose process has ended. If a program that it started is still running, this ends the
    /// program: otherwise it could create the cluster after its deletion.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn abandoned(&self, report: &ReportProgress) -> Result<Abandoned, BackendError> {
        let files = std::fs::read_dir(&self.folder).map_err(|error| failed(&self.folder, &error))?;
        let mut found = Abandoned { entries: Vec::new(), busy: 0 };
        for path in files.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            if path.extension().is_some_and(|ending| ending == DRAFT) {
                remove_stale_draft(&path);
            }
            if path.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            let Ok(mut file) = File::open(&path) else { continue };
            let mut text = String::new();
            if file.read_to_string(&mut text).is_err() {
                continue;
            }
            let (program, maker) = text.split_once('\n').unwrap_or((&text, ""));
            if is_free(&file) || has_ended(maker, &holder()) && is_free_after_kill(&file, &name, report) {
                found.entries.push(Entry { name, program: program.to_owned(), path, file });
            } else {
                found.busy += usize::from(has_ended(maker, &holder()));
            }
        }
        found.entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }
}

/// Removes the unfinished file of a killed process. A recent one may not be locked yet.
fn remove_stale_draft(draft: &Path) {
    let Ok(file) = File::open(draft) else { return };
    let written = file.metadata().and_then(|about| about.modified()).ok();
    let age = written.and_then(|written| written.elapsed().ok());
    if age.is_some_and(|age| age > DRAFT_MAX) && is_free(&file) {
        // Another process may have removed it.
        let _ = std::fs::remove_file(draft);
    }
}

fn is_free(file: &File) -> bool {
    file.try_lock().is_ok()
}

/// Ends the programs that a process left behind; returns whether nothing else works on their cluster.
#[expect(clippy::disallowed_methods, reason = "programs take their time on the wall")]
fn is_free_after_kill(file: &File, name: &str, report: &ReportProgress) -> bool {
    let mut was_killed = false;
    for _ in 0..POLLS {
        let is_killed = kill_holders(file);
        if is_killed && !was_killed {
            report(&format!(
                "ended the program that was still at work on cluster {name}: its windtunnel process has ended"
            ));
        }
        was_killed |= is_killed;
        if is_free(file) {
            return true;
        }
        if !was_killed {
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    report(&format!(
        "cluster {name} is not deleted yet: another program is still at work on it; to delete it later: windtunnel clean"
    ));
    false
}

/// Ends no programs: other systems do not say which ones have a file open.
#[cfg(not(target_os = "linux"))]
fn kill_holders(_: &File) -> bool {
    false
}

impl Entry {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the program that creates it.
    pub(super) fn program(&self) -> &str {
        &self.program
    }

    /// Returns the locked file, for the programs that create the cluster.
    ///
    /// # Errors
    /// There are too many open files.
    pub(super) fn locked_file(&self) -> Result<File, BackendError> {
        self.file.try_clone().map_err(|error| failed(&self.path, &error))
    }

    /// Removes the entry: the cluster is deleted, or it stays.
    pub(super) fn forget(self) {
        // If this fails, the next start finds the entry and that the cluster is gone.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Writes a file that other users cannot read.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    // An existing file may have other permissions.
    let _ = std::fs::remove_file(path);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}

fn failed(path: &Path, error: &std::io::Error) -> BackendError {
    BackendError::Failed(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use windtunnel_core::clock::Time;

    use super::*;

    /// Writes that an entry belongs to a process that has ended: no process has this number.
    fn abandon(entry: &Entry) {
        let processes = holder().rsplit_once('@').map(|(_, rest)| rest.to_owned()).unwrap();
        let host = holder().split('/').next().unwrap().to_owned();
        std::fs::write(&entry.path, format!("kind\n{host}/4194305@{processes}")).unwrap();
    }

    /// A list of reported lines, and the function that adds to it.
    fn collector() -> (Arc<Mutex<Vec<String>>>, ReportProgress) {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let collected = Arc::clone(&lines);
        (lines, Arc::new(move |line| collected.lock().unwrap().push(line.to_owned())))
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn ends_a_program_whose_parent_process_has_ended_and_its_children() {
        use std::os::unix::process::ExitStatusExt as _;
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        let entry = ledger.add("windtunnel-a", "kind").unwrap();
        // The child of the program has another standard input, as those of kind have, and holds the pipe open.
        let (mut pipe, writer) = std::io::pipe().unwrap();
        let mut program = std::process::Command::new("/bin/sh")
            .args(["-c", "sleep 1000 </dev/null & echo started; wait"])
            .stdin(entry.locked_file().unwrap())
            .stdout(writer)
            .spawn()
            .unwrap();
        let mut started = [0; 8];
        pipe.read_exact(&mut started).unwrap();
        let mut bystander = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        abandon(&entry);
        drop(entry);
        let (lines, report) = collector();
        let found = ledger.abandoned(&report).unwrap();
        assert_eq!((found.busy, found.entries.len(), found.entries[0].program()), (0, 1, "kind"));
        assert_eq!(program.wait().unwrap().signal(), Some(9));
        // All writers of the pipe have ended.
        assert_eq!(pipe.read(&mut started).unwrap(), 0);
        assert!(bystander.try_wait().unwrap().is_none());
        bystander.kill().unwrap();
        bystander.wait().unwrap();
        let lines = lines.lock().unwrap();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("ended the program that was still at work on cluster windtunnel-a"));
    }

    #[test]
    fn skips_a_cluster_on_which_another_program_works() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        let entry = ledger.add("windtunnel-a", "kind").unwrap();
        abandon(&entry);
        let (lines, report) = collector();
        let found = ledger.abandoned(&report).unwrap();
        assert_eq!((found.busy, found.entries.len()), (1, 0));
        let lines = lines.lock().unwrap();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("is not deleted yet: another program is still at work"), "{lines:?}");
    }

    #[test]
    fn removes_old_unfinished_files_without_a_lock() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        for name in ["old", "locked", "young"] {
            let file = File::create(folder.path().join(format!("windtunnel-{name}.{DRAFT}"))).unwrap();
            if name != "young" {
                file.set_modified(Time::UNIX_EPOCH.into()).unwrap();
            }
        }
        let locked = File::open(folder.path().join(format!("windtunnel-locked.{DRAFT}"))).unwrap();
        locked.lock().unwrap();
        let report: ReportProgress = Arc::new(|_| {});
        assert!(ledger.abandoned(&report).unwrap().entries.is_empty());
        let mut left: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["windtunnel-locked.part", "windtunnel-young.part"]);
    }

    #[test]
    fn locked_entries_are_not_abandoned() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&folder.path().join("new")).unwrap();
        let report: ReportProgress = Arc::new(|_| {});
        let abandoned = || ledger.abandoned(&report).unwrap().entries;
        // A process that ends releases its locks. To close a file here is not enough: a program that another test
        // starts has a copy of it between fork and exec, which would keep the lock.
        let release = |entry: Entry| {
            entry.file.unlock().unwrap();
            entry.name
        };
        let names = || abandoned().into_iter().map(release).collect::<Vec<_>>();
        let (locked, left) =
            (ledger.add("windtunnel-a", "kind").unwrap(), ledger.add("windtunnel-b", "k3d").unwrap());
        assert!(names().is_empty());
        release(left);
        assert_eq!(names(), ["windtunnel-b"]);
        let found = abandoned().remove(0);
        assert_eq!(found.program(), "k3d");
        found.forget();
        assert!(names().is_empty());
        locked.forget();
        assert_eq!(std::fs::read_dir(ledger.folder()).unwrap().count(), 0);
    }
}

//! A folder with a [redb](https://docs.rs/redb) database: one file, transactional and crash-safe. redb does nothing
//! after its first disk error.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use redb::backends::FileBackend;
use redb::{
    Database, DatabaseError, ReadableDatabase as _, ReadableTable as _, StorageBackend, TableDefinition,
};
use serde_json::Value;
use windtunnel_core::{Key, panics};

use super::data_file;
use super::disk::Disk;
use super::opening::{self, Unopened};
use super::writer::closed;
use super::{Change, Saved, Storage, StorageError};

/// File name of the database.
const FILE: &str = "windtunnel.redb";

/// Objects as JSON by `group/plural/namespace/name`.
const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
/// Numbers: the revision, the number of starts and the format.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
/// Other persistent data, such as keys.
const SETTINGS: TableDefinition<'_, &str, &str> = TableDefinition::new("settings");

const REVISION: &str = "revision";
const STARTS: &str = "starts";
const FORMAT: &str = "format";
/// The current format of the database; others are rejected.
const FORMAT_NOW: u64 = 1;

/// How often a locked file is opened again. A process that another thread starts has a copy of every open file until it runs its
/// program, so a lock stays for a moment after its file was closed.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// The storage of one server. Other processes cannot open it meanwhile.
#[derive(Debug)]
pub struct DataDir {
    /// `None` only while this is dropped.
    database: Option<Database>,
    place: String,
}

impl DataDir {
    /// Opens the database in a folder, and creates both if absent. On Unix it must be private: other users can neither read
    /// the file nor write into its folder.
    ///
    /// # Errors
    /// The folder is unusable or not private, another process uses it, or the file is damaged or not a database of
    /// windtunnel.
    #[expect(clippy::disallowed_methods, reason = "waits for another process of this machine")]
    pub fn open(folder: &Path) -> Result<Self, StorageError> {
        let place = folder.display().to_string();
        let failed = |why: &dyn std::fmt::Display| StorageError(format!("{place}: {why}"));
        for _ in 0..LOCK_TRIES {
            let file = data_file::open(folder, FILE).map_err(StorageError)?;
            match FileBackend::new(file) {
                Ok(disk) => return Self::on(Arc::new(disk), place),
                Err(DatabaseError::DatabaseAlreadyOpen) => thread::sleep(LOCK_PAUSE),
                Err(other) => return Err(failed(&other)),
            }
        }
        Err(failed(&"another process uses it"))
    }

    /// Opens the database on a disk in memory, and creates it if the disk is empty. Tests see in it what survives a
    /// disk that fails.
    ///
    /// # Errors
    /// The disk fails, or its content is damaged.
    pub fn on_disk(disk: &Disk) -> Result<Self, StorageError> {
        Self::on(disk.clone().shared(), "disk".to_owned())
    }

    /// Opens a database on any disk.
    pub(super) fn on(disk: Arc<dyn StorageBackend>, place: String) -> Result<Self, StorageError> {
        let mut data = Self { database: None, place };
        data.database = Some(opening::open(disk).map_err(|why| data.unopened(why))?);
        data.prepare()?;
        Ok(data)
    }

    /// Creates the tables, and rejects a database of another format.
    fn prepare(&self) -> Result<(), StorageError> {
        let format = self.transaction(|write| {
            write.open_table(OBJECTS)?;
            write.open_table(SETTINGS)?;
            let mut numbers = write.open_table(NUMBERS)?;
            let format = numbers.get(FORMAT)?.map(|format| format.value());
            if format.is_none() {
                numbers.insert(FORMAT, FORMAT_NOW)?;
            }
            Ok(format.unwrap_or(FORMAT_NOW))
        })?;
        if format == FORMAT_NOW {
            return Ok(());
        }
        Err(StorageError(format!("{}: expected format {FORMAT_NOW}, found {format}", self.place)))
    }

    fn transaction<T>(
        &self,
        change: impl FnOnce(&redb::WriteTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, StorageError> {
        self.work(|database| {
            let mut write = database.begin_write()?;
            // The pages reach the disk before the header makes them valid. So a file with an incomplete last
            // commit is damaged, not a file whose write was interrupted by a crash of the machine.
            write.set_two_phase_commit(true);
            let result = change(&write)?;
            write.commit()?;
            Ok(result)
        })
    }

    /// Runs `work` with the database.
    fn work<T>(&self, work: impl FnOnce(&Database) -> Result<T, redb::Error>) -> Result<T, StorageError> {
        let database = self.database.as_ref().ok_or_else(closed)?;
        let outcome = match panics::catch_panic(|| work(database)) {
            Ok(result) => result.map_err(Unopened::from),
            Err(panic) => Err(Unopened::panicked(&panic)),
        };
        outcome.map_err(|why| self.unopened(why))
    }

    fn unopened(&self, why: Unopened) -> StorageError {
        let place = &self.place;
        StorageError(match why {
            Unopened::Failed(error) => format!("{place}: {error}"),
            Unopened::Damaged(why) => format!(
                "{place}/{FILE}: the file is damaged: {why}; restore a backup of the file, or use another --data-dir"
            ),
        })
    }

    /// Loads the saved objects and increments the number of starts.
    ///
    /// # Errors
    /// The database cannot be read, or contains an invalid object.
    pub fn begin(&mut self) -> Result<Saved, StorageError> {
        let (revision, starts) = self.transaction(|write| {
            let mut numbers = write.open_table(NUMBERS)?;
            let revision = numbers.get(REVISION)?.map_or(0, |number| number.value());
            let starts = numbers.get(STARTS)?.map_or(0, |number| number.value());
            numbers.insert(STARTS, starts + 1)?;
            Ok((revision, starts))
        })?;
        let rows = self.work(|database| {
            let table = database.begin_read()?.open_table(OBJECTS)?;
            let rows = table
                .iter()?
                .map(|row| row.map(|(key, value)| (key.value().to_owned(), value.value().to_vec())));
            Ok(rows.collect::<Result<Vec<(String, Vec<u8>)>, _>>()?)
        })?;
        let objects = rows.iter().map(|(key, text)| self.object(key, text)).collect::<Result<_, _>>()?;
        Ok(Saved { revision, starts, objects })
    }

    fn object(&self, key: &str, text: &[u8]) -> Result<(Key, Value), StorageError> {
        let mut parts = key.splitn(4, '/').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        let found = Key { group: next().into(), plural: next().into(), namespace: next(), name: next() };
        let mut reader = serde_json::Deserializer::from_slice(text);
        reader.disable_recursion_limit();
        let object = serde::Deserialize::deserialize(&mut reader)
            .map_err(|error| self.unopened(Unopened::Damaged(format!("object {key}: {error}"))))?;
        Ok((found, object))
    }

    /// Returns a setting of the database; if it is absent, stores the result of `make` first.
    ///
    /// # Errors
    /// The database cannot be read or written.
    pub fn setting(&mut self, name: &str, make: impl FnOnce() -> String) -> Result<String, StorageError> {
        self.transaction(|write| {
            let mut settings = write.open_table(SETTINGS)?;
            let found = settings.get(name)?.map(|value| value.value().to_owned());
            match found {
                Some(found) => Ok(found),
                None => {
                    let created = make();
                    settings.insert(name, created.as_str())?;
                    Ok(created)
                }
            }
        })
    }
}

impl Storage for DataDir {
    fn commit(&mut self, changes: &[Change]) -> Result<(), StorageError> {
        let rows: Vec<(String, Option<Vec<u8>>)> = changes.iter().map(row).collect();
        let revision = changes.iter().map(|change| change.revision).max().unwrap_or_default();
        self.transaction(|write| {
            let mut objects = write.open_table(OBJECTS)?;
            for (place, text) in &rows {
                match text {
                    Some(text) => drop(objects.insert(place.as_str(), text.as_slice())?),
                    None => drop(objects.remove(place.as_str())?),
                }
            }
            let mut numbers = write.open_table(NUMBERS)?;
            let before = numbers.get(REVISION)?.map_or(0, |number| number.value());
            numbers.insert(REVISION, revision.max(before))?;
            Ok(())
        })
    }
}

/// The database key of an object, and its JSON.
fn row(Change { key, object, .. }: &Change) -> (String, Option<Vec<u8>>) {
    let place = format!("{}/{}/{}/{}", key.group, key.plural, key.namespace, key.name);
    (place, object.as_ref().map(|object| serde_json::to_vec(object).unwrap_or_default()))
}

impl Drop for DataDir {
    fn drop(&mut self) {
        // redb writes once more when it closes.
        let database = self.database.take();
        let _ = panics::catch_panic(|| drop(database));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;
    use windtunnel_core::resources;

    use super::*;
    use crate::Stored;

    fn change(name: &str, revision: u64, object: Option<Value>) -> Change {
        Change { key: resources::CONFIG_MAPS.key("ns", name), revision, object: object.map(Stored::split) }
    }

    #[test]
    fn committed_changes_survive_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let mut data = DataDir::open(folder.path()).unwrap();
        assert_eq!(data.setting("token", || "one".to_owned()).unwrap(), "one");
        assert_eq!(data.begin().unwrap().starts, 0);
        data.commit(&[change("a", 7, Some(json!({ "n": 1 }))), change("b", 8, Some(json!({})))]).unwrap();
        data.commit(&[change("a", 9, Some(json!({ "n": 2 }))), change("b", 10, None)]).unwrap();
        drop(data);
        let mut data = DataDir::open(folder.path()).unwrap();
        let saved = data.begin().unwrap();
        assert_eq!((saved.revision, saved.starts), (10, 1));
        assert_eq!(saved.objects, [(resources::CONFIG_MAPS.key("ns", "a"), json!({ "n": 2 }))]);
        assert_eq!(data.setting("token", || "two".to_owned()).unwrap(), "one");
    }

    #[test]
    fn an_unusable_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let _open = DataDir::open(folder.path()).unwrap();
        let why =
            |path: &Path| DataDir::open(path).unwrap_err().0.replace(&path.display().to_string(), "DIR");
        assert_eq!(why(folder.path()), "DIR: another process uses it");
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(why(&file.join("inner")).starts_with("DIR: cannot create this folder: "));
        let other = folder.path().join("other");
        fs::create_dir(&other).unwrap();
        drop(DataDir::open(&other).unwrap());
        fs::write(other.join("windtunnel.redb"), "no database").unwrap();
        let expected = "DIR/windtunnel.redb: the file is damaged: it has 11 bytes, fewer than its header; restore a \
                        backup of the file, or use another --data-dir";
        assert_eq!(why(&other), expected);
    }
}

//! A folder with a database of [redb](https://docs.rs/redb): one file, transactions, safe against crashes.

use std::fs;
use std::path::Path;

use redb::{Database, DatabaseError, ReadableDatabase as _, ReadableTable as _, TableDefinition};
use serde_json::Value;

use super::{Change, Saved, Storage, StorageError};
use crate::model::Key;

/// Objects as JSON by `group/plural/namespace/name`.
const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
/// Numbers: the revision, and how often a server was started.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
/// What else must stay the same, such as keys.
const SETTINGS: TableDefinition<'_, &str, &str> = TableDefinition::new("settings");

const REVISION: &str = "revision";
const STARTS: &str = "starts";
const FORMAT: &str = "format";
/// The form that all of this has; another one is refused.
const FORMAT_NOW: u64 = 1;

/// The storage of one server; no other process can open it meanwhile.
#[derive(Debug)]
pub struct DataDir {
    database: Database,
    place: String,
}

impl DataDir {
    /// Opens the database in a folder; makes both where there are none.
    ///
    /// # Errors
    /// The folder cannot be used, another process uses it, or what is there is no database of ours.
    pub fn open(folder: &Path) -> Result<Self, StorageError> {
        let place = folder.display().to_string();
        let failed = |why: &dyn std::fmt::Display| StorageError(format!("{place}: {why}"));
        fs::create_dir_all(folder)
            .map_err(|error| failed(&format!("no folder can be made here: {error}")))?;
        #[cfg(unix)]
        {
            // It holds secrets and keys.
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(|error| failed(&error))?;
        }
        let database = Database::create(folder.join("windtunnel.redb")).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => failed(&"another process uses it"),
            other => failed(&other),
        })?;
        let data = Self { database, place };
        data.prepare()?;
        Ok(data)
    }

    fn failed(&self) -> impl Fn(redb::Error) -> StorageError + '_ {
        |error| StorageError(format!("{}: {error}", self.place))
    }

    /// Makes the tables, and refuses those of another format.
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
        let run = || {
            let write = self.database.begin_write()?;
            let result = change(&write)?;
            write.commit()?;
            Ok(result)
        };
        run().map_err(self.failed())
    }

    /// Begins a start: what was saved, and a count of one start more.
    ///
    /// # Errors
    /// The database cannot be read, or holds what is no object.
    pub fn begin(&self) -> Result<Saved, StorageError> {
        let (revision, starts) = self.transaction(|write| {
            let mut numbers = write.open_table(NUMBERS)?;
            let revision = numbers.get(REVISION)?.map_or(0, |number| number.value());
            let starts = numbers.get(STARTS)?.map_or(0, |number| number.value());
            numbers.insert(STARTS, starts + 1)?;
            Ok((revision, starts))
        })?;
        let read = || -> Result<Vec<(String, Vec<u8>)>, redb::Error> {
            let table = self.database.begin_read()?.open_table(OBJECTS)?;
            let rows = table
                .iter()?
                .map(|row| row.map(|(key, value)| (key.value().to_owned(), value.value().to_vec())));
            rows.collect::<Result<_, _>>().map_err(Into::into)
        };
        let rows = read().map_err(self.failed())?;
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
            .map_err(|error| StorageError(format!("{}: object {key}: {error}", self.place)))?;
        Ok((found, object))
    }

    /// A setting that stays with the data: the one that is there, else the one made now.
    ///
    /// # Errors
    /// The database cannot be read or written, or none can be made.
    pub fn setting(&self, name: &str, make: impl FnOnce() -> String) -> Result<String, StorageError> {
        self.transaction(|write| {
            let mut settings = write.open_table(SETTINGS)?;
            let found = settings.get(name)?.map(|value| value.value().to_owned());
            match found {
                Some(found) => Ok(found),
                None => {
                    let made = make();
                    settings.insert(name, made.as_str())?;
                    Ok(made)
                }
            }
        })
    }
}

impl Storage for DataDir {
    fn commit(&mut self, changes: &[Change]) -> Result<(), StorageError> {
        self.transaction(|write| {
            let mut objects = write.open_table(OBJECTS)?;
            let mut revision = 0;
            for Change { key, revision: at, object } in changes {
                let place = format!("{}/{}/{}/{}", key.group, key.plural, key.namespace, key.name);
                revision = revision.max(*at);
                match object {
                    Some(object) => {
                        let text = serde_json::to_vec(object).unwrap_or_default();
                        objects.insert(place.as_str(), text.as_slice())?;
                    }
                    None => {
                        objects.remove(place.as_str())?;
                    }
                }
            }
            write.open_table(NUMBERS)?.insert(REVISION, revision)?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::apiserver::Stored;
    use crate::model::resources;

    fn change(name: &str, revision: u64, object: Option<Value>) -> Change {
        Change { key: resources::CONFIG_MAPS.key("ns", name), revision, object: object.map(Stored::split) }
    }

    #[test]
    fn what_was_committed_is_there_the_next_time() {
        let folder = tempfile::tempdir().unwrap();
        let mut data = DataDir::open(folder.path()).unwrap();
        assert_eq!(data.setting("token", || "one".to_owned()).unwrap(), "one");
        assert_eq!(data.begin().unwrap().starts, 0);
        data.commit(&[change("a", 7, Some(json!({ "n": 1 }))), change("b", 8, Some(json!({})))]).unwrap();
        data.commit(&[change("a", 9, Some(json!({ "n": 2 }))), change("b", 10, None)]).unwrap();
        drop(data);
        let data = DataDir::open(folder.path()).unwrap();
        let saved = data.begin().unwrap();
        assert_eq!((saved.revision, saved.starts), (10, 1));
        assert_eq!(saved.objects, [(resources::CONFIG_MAPS.key("ns", "a"), json!({ "n": 2 }))]);
        assert_eq!(data.setting("token", || "two".to_owned()).unwrap(), "one");
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let _open = DataDir::open(folder.path()).unwrap();
        let why =
            |path: &Path| DataDir::open(path).unwrap_err().0.replace(&path.display().to_string(), "DIR");
        assert_eq!(why(folder.path()), "DIR: another process uses it");
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(why(&file.join("inner")).starts_with("DIR: no folder can be made here: "));
        let other = folder.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("windtunnel.redb"), "no database").unwrap();
        assert!(why(&other).starts_with("DIR: "));
    }
}

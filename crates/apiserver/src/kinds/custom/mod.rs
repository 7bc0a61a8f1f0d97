//! Kinds that CustomResourceDefinitions define: their versions, columns and conversions.

pub(crate) mod column;
pub(crate) mod conversion;
pub(crate) mod scale;
pub(crate) mod version;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

pub(crate) use column::PrinterColumn;
use conversion::Conversion;
pub(crate) use scale::ScalePaths;
pub(crate) use version::Version;

use crate::rejection::{BoxedRejection, Outcome};
use crate::schema::prune;
use crate::store::Entry;

/// The definition of a custom resource in one version.
#[derive(Debug, Clone)]
pub(crate) struct Custom {
    /// Shared by all versions.
    pub(crate) family: Arc<Family>,
    pub(crate) version: Arc<Version>,
}

impl Custom {
    /// Converts an object of any version to `version`, and prunes it. A conversion fills in no defaults. An object whose
    /// conversion by a webhook is not known yet stays unchanged.
    pub(crate) fn convert(&self, object: &Value, version: &Version, group: &str) -> Value {
        match &self.family.conversion {
            Some(_) if has_api_version(object, group, &version.name) => object.clone(),
            Some(conversion) => {
                let converted = conversion.convert(object, version).map(|mut converted| {
                    prune::prune(&mut converted, &version.schema);
                    converted
                });
                converted.unwrap_or_else(|| object.clone())
            }
            None => version.convert(object, group),
        }
    }

    /// Converts an object of any version to `version`, with all fields that it has, as the owners of fields are compared.
    pub(crate) fn convert_unpruned(&self, object: &Value, version: &Version, group: &str) -> Value {
        match &self.family.conversion {
            Some(conversion) => conversion.convert(object, version).unwrap_or_else(|| object.clone()),
            None => version.renamed(object, group),
        }
    }
}

impl Family {
    /// The version of that name, served or not.
    pub(crate) fn version(&self, name: &str) -> Option<&Arc<Version>> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The version of a stored object that the definition no longer has.
    pub(crate) fn lost_version<'s>(&self, stored: &'s Value) -> Option<&'s str> {
        let api_version = stored["apiVersion"].as_str()?;
        let (_, name) = api_version.split_once('/')?;
        (self.version(name).is_none()).then_some(api_version)
    }

    /// Remembers that a stored object has such a version.
    pub(crate) fn note_lost_version(&self, stored: &Value) {
        if self.lost_version(stored).is_some() {
            self.has_lost_version.store(true, Ordering::Relaxed);
        }
    }

    /// Rejects a stored object in a version that the definition no longer has (`crConverter.Convert`).
    pub(crate) fn check_readable(&self, entry: &Entry) -> Outcome<()> {
        if !self.has_lost_version.load(Ordering::Relaxed) {
            return Ok(());
        }
        let stored = entry.stored();
        match self.lost_version(&stored) {
            Some(version) => {
                let why = format!("request to convert CR from an invalid group/version: {version}");
                Err(BoxedRejection::internal(why))
            }
            None => Ok(()),
        }
    }

    /// Rejects a list with such an object. Few definitions lose a version, so most lists need no scan.
    pub(crate) fn check_all_readable<'e>(&self, mut entries: impl Iterator<Item = &'e Entry>) -> Outcome<()> {
        if !self.has_lost_version.load(Ordering::Relaxed) {
            return Ok(());
        }
        entries.try_for_each(|entry| self.check_readable(entry))
    }
}

/// Whether an object has that group and version.
pub(crate) fn has_api_version(object: &Value, group: &str, version: &str) -> bool {
    let given = object["apiVersion"].as_str().and_then(|text| text.split_once('/'));
    given == Some((group, version))
}

/// The properties that all versions of a definition share.
#[derive(Debug)]
pub(crate) struct Family {
    /// Counts the replacements of all definitions. Objects read in an older epoch are read again.
    pub(crate) epoch: u64,
    /// The storage version.
    pub(crate) storage: Arc<Version>,
    /// All versions, served or not.
    pub(crate) versions: Vec<Arc<Version>>,
    /// Whether objects were stored in a version that the definition no longer has.
    pub(crate) has_lost_version: AtomicBool,
    /// Whether it is the only version.
    pub(crate) has_one_version: bool,
    /// Whether the definition is being deleted.
    pub(crate) terminating: bool,
    /// The webhook that converts between versions, if there is one.
    pub(crate) conversion: Option<Arc<Conversion>>,
}

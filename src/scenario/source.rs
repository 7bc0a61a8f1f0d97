//! Where a scenario's releases come from.

use semver::Version;
use windtunnel_openshift::release::{Release, UnknownRelease};

use crate::plan::Snapshot;

/// Finds releases: by the facts of the model, as `Release::find` does, or by payloads that lie in folders.
pub trait Releases {
    /// The release of this version.
    ///
    /// # Errors
    /// Nothing is known of it.
    fn find(&self, version: &Version) -> Result<Release, UnknownRelease>;

    /// The release of this version by the payload in `folder`, as the scenario `file` names it.
    ///
    /// # Errors
    /// All that is wrong with the payload.
    fn extracted(&self, version: &Version, folder: &str, file: &str) -> Result<Release, Vec<String>> {
        let _ = (version, file);
        Err(vec![format!("{folder}: payloads in folders are not read here")])
    }

    /// Names and texts of the YAML files in `folder`, as the scenario or feature `file` names it.
    ///
    /// # Errors
    /// Why the folder cannot be read.
    fn files(&self, folder: &str, file: &str) -> Result<Vec<(String, String)>, String> {
        let _ = file;
        Err(format!("{folder}: folders are not read here"))
    }

    /// Name and text of the file at `path`, as the scenario `file` names it.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn text(&self, path: &str, file: &str) -> Result<(String, String), String> {
        let _ = file;
        Err(format!("{path}: other files are not read here"))
    }

    /// The file `name` to compare a status with, as the scenario or feature `file` names it.
    ///
    /// # Errors
    /// Why the file cannot be read.
    fn snapshot(&self, name: &str, file: &str) -> Result<Snapshot, String> {
        let _ = file;
        Err(format!("{name}: files are not read here"))
    }

    /// Releases that exist in every scenario, whether it names them or not.
    fn everywhere(&self) -> Vec<Release> {
        Vec::new()
    }
}

/// The facts of the model, and folders that a function reads: from the file that names one, and the folder.
#[derive(Debug, Clone, Copy)]
pub struct Folders<F>(pub F);

impl<F: Fn(&str, &str) -> Result<Vec<(String, String)>, String>> Releases for Folders<F> {
    fn find(&self, version: &Version) -> Result<Release, UnknownRelease> {
        Release::find(version)
    }

    fn files(&self, folder: &str, file: &str) -> Result<Vec<(String, String)>, String> {
        (self.0)(file, folder)
    }
}

impl<F: Fn(&Version) -> Result<Release, UnknownRelease>> Releases for F {
    fn find(&self, version: &Version) -> Result<Release, UnknownRelease> {
        self(version)
    }
}

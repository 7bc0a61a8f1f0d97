//! The source of a scenario's releases and files.

use semver::Version;
use windtunnel_openshift::release::{Release, UnknownRelease};

use crate::plan::{Plan, Snapshot};

/// Finds releases: from the facts of the model, as `Release::find` does, or from payload folders.
pub trait Releases {
    /// Returns the release of this version.
    ///
    /// # Errors
    /// No facts exist for it.
    fn find(&self, version: &Version) -> Result<Release, UnknownRelease>;

    /// Returns the release of this version from the payload in `folder`, a path in the scenario `file`.
    ///
    /// # Errors
    /// All errors of the payload.
    fn extracted(&self, version: &Version, folder: &str, file: &str) -> Result<Release, Vec<String>> {
        let _ = (version, file);
        Err(vec![format!("{folder}: this program cannot read payload folders")])
    }

    /// Returns names and texts of the YAML files in `folder`, a path in the scenario or feature `file`.
    ///
    /// # Errors
    /// The reason why the folder cannot be read.
    fn files(&self, folder: &str, file: &str) -> Result<Vec<(String, String)>, String> {
        let _ = file;
        Err(format!("{folder}: this program cannot read folders"))
    }

    /// Returns name and text of the file at `path`, a path in the scenario `file`.
    ///
    /// # Errors
    /// The reason why the file cannot be read.
    fn text(&self, path: &str, file: &str) -> Result<(String, String), String> {
        let _ = file;
        Err(format!("{path}: this program cannot read other files"))
    }

    /// Returns the file `name` with the expected status text, a path in the scenario or feature `file`.
    ///
    /// # Errors
    /// The reason why the file cannot be read.
    fn snapshot(&self, name: &str, file: &str) -> Result<Snapshot, String> {
        let _ = file;
        Err(format!("{name}: this program cannot read other files"))
    }

    /// Makes the cluster of a dump at `path`, a path in the scenario's file, the one of a plan. `ignored` has the kinds of objects
    /// that can hold an update up, and that may be left out.
    ///
    /// # Errors
    /// The reason why the dump cannot be read.
    fn start_from(&self, path: &str, ignored: &[String], plan: &mut Plan) -> Result<(), String> {
        let _ = (ignored, plan);
        Err(format!("{path}: this program cannot read dumps"))
    }

    /// Returns the releases that exist in every scenario.
    fn common_releases(&self) -> Vec<Release> {
        Vec::new()
    }
}

/// A source with the facts of the model, and a function that reads folders: it gets the referring file and
/// the folder.
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

//! The files of scenarios. The paths in them stay in the folder of the scenario.

use std::fs;
use std::path::Path;

use semver::Version;
use windtunnel_openshift::release::{Release, UnknownRelease};

use crate::folders::AllowedFolders;
use crate::scenario::Releases;

/// Reads the files that a scenario names, and knows the releases with facts in the model.
pub(super) struct ScenarioFiles;

impl Releases for ScenarioFiles {
    fn find(&self, version: &Version) -> Result<Release, UnknownRelease> {
        Release::find(version)
    }

    fn text(&self, path: &str, file: &str) -> Result<(String, String), String> {
        let path = AllowedFolders::new().named(file, path).map_err(|outside| outside.to_string())?;
        read(&path).map(|text| (path.display().to_string(), text))
    }
}

/// Reads a text.
///
/// # Errors
/// The path with the reason.
pub(super) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

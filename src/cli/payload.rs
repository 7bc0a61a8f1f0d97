//! Payloads in folders: `--payload VERSION=DIR`, and those that scenarios name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use semver::Version;
use windtunnel_openshift::manifests::MajorMinor;
use windtunnel_openshift::payload::{File, METADATA, OWN, Payload, RELEASE, is_payload_file};
use windtunnel_openshift::release::{Release, UnknownRelease};

use super::files::{self, snapshots};
use super::print_notice;
use super::start_from::StartFrom;
use crate::cli::output::Shown as _;
use crate::plan::{Plan, Snapshot};
use crate::scenario;

/// The releases of a command: those with facts in the model, and those with payload folders.
#[derive(Debug, Default)]
pub struct Releases {
    payloads: BTreeMap<Version, Release>,
    /// Whether snapshots are written instead of compared.
    update_snapshots: bool,
    /// The minors whose payloads are completed with the facts of another minor, as already printed.
    noted: Mutex<BTreeSet<MajorMinor>>,
}

impl Releases {
    /// Reads the payloads of `--payload`.
    ///
    /// # Errors
    /// All problems of the payloads, with file, line and column.
    pub fn read(given: &[(Version, PathBuf)]) -> Result<Self, String> {
        let (mut payloads, mut problems) = (BTreeMap::new(), Vec::new());
        for (version, folder) in given {
            match release(version, folder) {
                Ok(release) => {
                    if payloads.insert(version.clone(), release).is_some() {
                        problems.push(format!("--payload: expected one folder for {version}, found two"));
                    }
                }
                Err(found) => problems.extend(found),
            }
        }
        if !problems.is_empty() {
            return Err(problems.join("\n"));
        }
        let releases = Self { payloads, ..Self::default() };
        releases.payloads.keys().for_each(|version| releases.note_other_facts(version));
        Ok(releases)
    }
}

impl Releases {
    /// Prints a note, once per minor, if the payload of this version is completed with the facts of another
    /// minor.
    fn note_other_facts(&self, version: &Version) {
        let (major, minor) = (version.major, version.minor);
        let used = Release::line_of_facts(version);
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if used != (major, minor) && noted.insert((major, minor)) {
            print_notice(&format!(
                "note: windtunnel has no facts for {major}.{minor}: payloads of {major}.{minor} are completed with those of {}.{}",
                used.0, used.1
            ));
        }
    }

    /// Sets whether snapshots are written instead of compared.
    pub(super) fn with_snapshots_updated(self, update_snapshots: bool) -> Self {
        Self { update_snapshots, ..self }
    }
}

impl scenario::Releases for Releases {
    fn find(&self, version: &Version) -> Result<Release, UnknownRelease> {
        self.payloads.get(version).map_or_else(|| Release::find(version), |release| Ok(release.clone()))
    }

    fn extracted(&self, version: &Version, folder: &str, file: &str) -> Result<Release, Vec<String>> {
        if let Some(release) = self.payloads.get(version) {
            return Ok(release.clone());
        }
        let folder = files::allowed::named(file, folder).map_err(|problem| vec![problem])?;
        let release = release(version, &folder)?;
        self.note_other_facts(version);
        Ok(release)
    }

    fn files(&self, folder: &str, file: &str) -> Result<Vec<(String, String)>, String> {
        files::read_beside(file, folder)
    }

    fn text(&self, path: &str, file: &str) -> Result<(String, String), String> {
        let path = files::allowed::named(file, path)?;
        files::read(&path).map(|text| (path.display().to_string(), text))
    }

    fn snapshot(&self, name: &str, file: &str) -> Result<Snapshot, String> {
        if self.update_snapshots { snapshots::to_write(file, name) } else { snapshots::read(file, name) }
    }

    fn start_from(&self, path: &str, ignored: &[String], plan: &mut Plan) -> Result<(), String> {
        let path = files::allowed::named(&plan.file, path)?;
        StartFrom::read(&path, ignored)?.apply(plan);
        Ok(())
    }

    fn common_releases(&self) -> Vec<Release> {
        self.payloads.values().cloned().collect()
    }
}

/// Returns the release of this version from the payload in a folder.
fn release(version: &Version, folder: &Path) -> Result<Release, Vec<String>> {
    let payload = parse_payload(folder, &Release::nearest(version).image)?;
    if payload.version != *version {
        return Err(vec![format!(
            "{}: expected the payload of {version}, found {} in its {METADATA}",
            folder.shown(),
            payload.version
        )]);
    }
    Ok(Release::with_payload(version, Arc::new(payload)))
}

/// Returns the payload in a folder, whatever its version is.
///
/// # Errors
/// All errors in its files.
pub(super) fn payload_of(folder: &Path) -> Result<Payload, Vec<String>> {
    // Only the operator's own Deployment has the image.
    parse_payload(folder, "release-image")
}

fn parse_payload(folder: &Path, image: &str) -> Result<Payload, Vec<String>> {
    let with_folder = |problem: String| {
        let problem_of_folder = problem.starts_with("expected ");
        let between = if problem_of_folder { ": " } else { "/" };
        format!("{}{between}{problem}", folder.shown())
    };
    let payload = Payload::parse(payload_files(folder)?, image);
    payload.map_err(|problems| problems.into_iter().map(with_folder).collect::<Vec<_>>())
}

/// Returns the files of a payload, by their paths below its folder.
fn payload_files(folder: &Path) -> Result<Vec<File>, Vec<String>> {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for below in ["", OWN, RELEASE] {
        let place = folder.join(below);
        let entries = match fs::read_dir(&place) {
            Ok(entries) => entries,
            Err(_) if !below.is_empty() => continue,
            Err(error) => return Err(vec![format!("{}: {error}", folder.shown())]),
        };
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            if is_payload_file(&path) && !entry.path().is_dir() {
                let is_inside = files::allowed::check_found(folder, &entry.path());
                match is_inside.and_then(|()| files::read(&entry.path())) {
                    Ok(text) => found.push((path, text)),
                    Err(error) => problems.push(error),
                }
            }
        }
    }
    problems.sort();
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

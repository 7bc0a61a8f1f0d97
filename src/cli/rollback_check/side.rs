//! One side of a check: a release, a payload, or CustomResourceDefinitions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use semver::Version;
use serde_json::Value;
use windtunnel_core::text::did_you_mean;
use windtunnel_openshift::manifests;
use windtunnel_openshift::payload::{METADATA, Selection};
use windtunnel_openshift::release;
use windtunnel_rollback::release::{Definition, Release};

use super::documents::{Document, read_documents};
use crate::cli::files::allowed;
use crate::cli::output::Shown as _;
use crate::cli::parallel::in_parallel;
use crate::cli::payload::payload_of;

/// The minor of Kubernetes that judges if nothing names another.
const NEWEST_KUBERNETES: u32 = 36;

/// A release, and the places of its definitions.
pub(super) struct Side {
    release: Release,
    path: String,
    /// The places of definitions in files, by name.
    places: BTreeMap<String, String>,
}

impl Side {
    /// Reads the value of a flag.
    ///
    /// # Errors
    /// All errors in the files, each with its place.
    pub(super) fn read(flag: &str, path: &Path, feature_set: &str) -> Result<Self, String> {
        let name = path.shown();
        let mut places = BTreeMap::new();
        let release = if path.join(METADATA).is_file() || path.join("release-manifests").is_dir() {
            of_payload(path, feature_set)?
        } else if path.exists() {
            of_files(path, feature_set, &mut places)?
        } else {
            match version_of(&name) {
                Some(version) => of_version(flag, &version, feature_set)?,
                None => return Err(missing(flag, path)),
            }
        };
        Ok(Self { release, path: name, places })
    }

    /// The nearest release that the program knows.
    ///
    /// # Errors
    /// A definition of it cannot be read.
    pub(super) fn of_nearest(version: &Version, feature_set: &str) -> Result<Self, String> {
        let facts = release::Release::nearest(version);
        let release = of_facts(version, &facts, feature_set)?;
        Ok(Self { release, path: version.to_string(), places: BTreeMap::new() })
    }

    /// The place of a definition, or the path of the release.
    pub(super) fn place(&self, definition: &str) -> &str {
        self.places.get(definition).unwrap_or(&self.path)
    }

    /// The file and the line of a definition.
    pub(super) fn location(&self, definition: &str) -> Option<(String, usize)> {
        let mut parts = self.places.get(definition)?.rsplitn(3, ':');
        let (_column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
        Some((file.to_owned(), line.parse().ok()?))
    }

    /// The release.
    pub(super) fn release(&self) -> &Release {
        &self.release
    }
}

/// Reads the releases in the folders of a folder, by version. Other folders do not count.
///
/// # Errors
/// A release cannot be read, or there are fewer than two.
pub(super) fn series(folder: &Path, feature_set: &str, jobs: usize) -> Result<Vec<Side>, String> {
    let failed = |error: std::io::Error| format!("--series: {}: {error}", folder.shown());
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let named = paths.filter_map(|path| Some((version_of(&path.file_name()?.to_string_lossy())?, path)));
    let mut releases: Vec<(Version, std::path::PathBuf)> = named.collect();
    releases.sort();
    releases.iter().try_for_each(|(_, path)| allowed::check_found(folder, path))?;
    releases.retain(|(_, path)| path.is_dir());
    if releases.len() < 2 {
        return Err(format!(
            "--series: {}: expected at least two folders named by versions, such as 4.13 and 4.14, found {}",
            folder.shown(),
            releases.len()
        ));
    }
    let read = in_parallel(&releases, jobs, |(_, path)| Side::read("--series", path, feature_set));
    let mut errors = Vec::new();
    let sides = read.into_iter().filter_map(|side| side.map_err(|error| errors.push(error)).ok()).collect();
    if errors.is_empty() { Ok(sides) } else { Err(errors.join("\n")) }
}

/// Checks that a newer release has a definition with this text in its name.
///
/// # Errors
/// None has.
pub(super) fn any_contains(pairs: &[(Arc<Side>, Arc<Side>)], part: &str) -> Result<(), String> {
    let names = || pairs.iter().flat_map(|(newer, _)| newer.release.definitions().map(Definition::name));
    if names().any(|name| name.contains(part)) {
        return Ok(());
    }
    // Names of kinds are nearer to a mistyped word than whole names are.
    let hint = did_you_mean(part, names().flat_map(|name| [name, name.split('.').next().unwrap_or(name)]));
    Err(format!("--only: expected a part of a definition's name, found none with `{part}`{hint}"))
}

/// Checks that both sides define a kind.
///
/// # Errors
/// They do not.
pub(super) fn have_something_in_common(newer: &Side, older: &Side) -> Result<(), String> {
    let has = |side: &Side, name: &str| side.release.definition(name).is_some();
    if newer.release.definitions().any(|definition| has(older, definition.name())) {
        return Ok(());
    }
    let examples = |side: &Side| {
        let names: Vec<&str> = side.release.definitions().map(Definition::name).take(2).collect();
        format!("{} has {} (such as {})", side.path, side.release.definitions().count(), names.join(", "))
    };
    Err(format!(
        "expected CustomResourceDefinitions that both releases have, found none: {}, {}; compare two releases of the same product",
        examples(newer),
        examples(older)
    ))
}

/// A version such as `4.14.1`, or a minor such as `4.14`.
fn version_of(text: &str) -> Option<Version> {
    Version::parse(text).or_else(|_| Version::parse(&format!("{text}.0"))).ok()
}

fn missing(flag: &str, path: &Path) -> String {
    let nearest = crate::cli::files::nearest_path(path);
    format!(
        "{flag}: {}: expected a version such as 4.14.1, the folder of a payload, or a folder or file with CustomResourceDefinitions, found nothing there{nearest}",
        path.shown()
    )
}

/// A release that the program knows: it has the definitions that simulated components use.
fn of_version(flag: &str, version: &Version, feature_set: &str) -> Result<Release, String> {
    let facts = release::Release::find(version).map_err(|error| format!("{flag}: {error}"))?;
    of_facts(version, &facts, feature_set)
}

/// The definitions of a release by its facts.
fn of_facts(version: &Version, facts: &release::Release, feature_set: &str) -> Result<Release, String> {
    let line = release::Release::line_of_facts(&facts.version);
    let mut found = Release::new(version.to_string(), facts.kubernetes_minor);
    for definition in manifests::crds(line) {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        let gated = manifests::crd_with(name, line, feature_set);
        found
            .add_object(gated.as_deref().unwrap_or(definition))
            .map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(found)
}

fn of_payload(path: &Path, feature_set: &str) -> Result<Release, String> {
    let payload = payload_of(path).map_err(|problems| problems.join("\n"))?;
    let minor = payload
        .kubernetes_minor
        .unwrap_or_else(|| release::Release::nearest(&payload.version).kubernetes_minor);
    let selection = Selection {
        feature_set: feature_set.to_owned(),
        feature_gates: Vec::new(),
        major: payload.version.major,
    };
    let mut found = Release::new(payload.version.to_string(), minor);
    for manifest in payload.manifests.iter().filter(|manifest| selection.includes(&manifest.object)) {
        if manifest.object["kind"] != "CustomResourceDefinition" {
            found.add_manifest(Value::clone(&manifest.object));
            continue;
        }
        let failed = |error| format!("{}/{}: {error}", path.shown(), manifest.file);
        found.add_object(&manifest.object).map_err(failed)?;
    }
    if found.definitions().next().is_none() {
        return Err(format!(
            "{}: expected CustomResourceDefinitions in this payload, found none for this feature set",
            path.shown()
        ));
    }
    Ok(found)
}

/// CustomResourceDefinitions in a folder or a file.
fn of_files(
    path: &Path,
    feature_set: &str,
    places: &mut BTreeMap<String, String>,
) -> Result<Release, String> {
    let documents = read_documents(path)?;
    let name = path.file_name().map_or_else(|| ".".to_owned(), |name| name.to_string_lossy().into_owned());
    let minor = version_of(&name)
        .map_or(NEWEST_KUBERNETES, |version| release::Release::nearest(&version).kubernetes_minor);
    let mut found = Release::new(name, minor);
    let mut problems = Vec::new();
    for document in &documents {
        if !is_in_feature_set(document, feature_set) {
            continue;
        }
        if !document.is_definition() {
            found.add_manifest(document.object.clone());
            continue;
        }
        match Definition::parse(&document.object) {
            Err(error) => problems.push(format!("{}: {error}", document.place())),
            Ok(definition) => {
                let name = definition.name().to_owned();
                if let Some(first) = places.insert(name.clone(), document.place()) {
                    problems.push(format!(
                        "{}: expected one definition of {name}, found another one at {first}; select one with --feature-set, or remove one",
                        document.place()
                    ));
                }
                let _ = found.add(definition);
            }
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems.join("\n")) }
}

/// Whether a definition belongs to a feature set. Those without an annotation belong to all.
fn is_in_feature_set(document: &Document, feature_set: &str) -> bool {
    let sets = document.object["metadata"]["annotations"]["release.openshift.io/feature-set"].as_str();
    let wanted = if feature_set.is_empty() { "Default" } else { feature_set };
    sets.is_none_or(|sets| sets.split(',').any(|set| set.trim() == wanted))
}

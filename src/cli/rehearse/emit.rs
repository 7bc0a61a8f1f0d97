//! `--emit`: the rehearsed cluster and its update as a scenario that anybody can run.

use std::path::Path;

use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::resources::{EVENTS, SECRETS};
use windtunnel_core::yaml;

use super::cluster::{Cluster, Outcome};
use crate::cli::files;
use crate::cli::output::Shown as _;
use crate::cli::payload::Releases;
use crate::record::redact;
use crate::rehearsal::{Emitted, scenario_text};
use crate::scenario;

/// The scenario, and the objects beside it. `windtunnel run` searches no scenarios in folders of test data.
const SCENARIO: &str = "update.yaml";
const OBJECTS: &str = "testdata/cluster.yaml";

/// Kinds that no simulated component reads from a dump, and that are most of a large one.
const NEVER_READ: [&str; 3] = ["APIRequestCount", "ControllerRevision", "ImageStream"];

/// Checks the folder, before work starts whose result would be lost.
///
/// # Errors
/// It has files, or cannot be created.
pub(super) fn check(folder: &Path) -> Result<(), String> {
    if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(format!("{}: expected an empty or missing folder, found files", folder.shown()));
    }
    files::check_new_folder(folder)
}

/// Writes the scenario of the run with the first seed.
///
/// # Errors
/// A file cannot be written, or the scenario language has no words for the cluster.
pub(super) fn write(folder: &Path, source: &str, cluster: &Cluster, outcome: &Outcome) -> Result<(), String> {
    files::write_into(folder, OBJECTS, &objects(cluster)?)?;
    let left_out = cluster.left_out_kinds();
    let emitted = Emitted { from: cluster.from(), source, objects: OBJECTS, left_out: &left_out };
    let file = folder.join(SCENARIO).display().to_string();
    let text = scenario_text(&emitted, &outcome.first, false);
    for text in [&text, &scenario_text(&emitted, &outcome.first, true)] {
        scenario::parse_all(&file, text, &Releases::default()).map_err(|problems| {
            format!("--emit: the scenario language has no words for this cluster: {problems}")
        })?;
    }
    files::write_into(folder, SCENARIO, &text)
}

/// The objects of the cluster as YAML, without Secrets and other credentials.
fn objects(cluster: &Cluster) -> Result<String, String> {
    let is_written = |object: &&Object| {
        !SECRETS.is_kind_of(object)
            && !EVENTS.is_kind_of(object)
            && object.text("/kind") != "Event"
            && !NEVER_READ.contains(&object.text("/kind"))
    };
    let mut text = String::new();
    for object in cluster.objects().into_iter().filter(is_written) {
        let mut value: Value = object.to_value();
        redact(&mut value);
        text += "---\n";
        text += &yaml::to_string(&value).map_err(|error| error.to_string())?;
    }
    Ok(text)
}

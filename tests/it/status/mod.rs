//! Compares our status texts with those of the real `oc adm upgrade status`.

mod health;
mod published;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windtunnel::dump::{Dump, Source};
use windtunnel_core::clock::Time;
use windtunnel_core::yaml;
use windtunnel_update_status::status::{AlertsResponse, Details, Inputs, KINDS, Moment, render};

use crate::recordings::{entries, generated_clusters, shared_or_skip};

/// Recorded outputs by file, with their details.
const OUTPUTS: [(&str, Details); 2] = [("output", Details::None), ("detailed-output", Details::All)];

/// Details of a single part, with the index of the part in a text.
const PART_DETAILS: [(Details, usize); 3] =
    [(Details::Operators, 1), (Details::Nodes, 2), (Details::Health, 3)];

/// The possible beginnings of the part on nodes.
const NODES: [&str; 3] = ["\nAll control plane nodes ", "\nControl Plane Nodes\n", "\n= Worker Upgrade =\n"];

/// Files of a cluster that are not input.
const NO_INPUT: [&str; 2] = ["output", "detailed-output"];

/// The wall-clock time of the recordings, long after all dumps. `oc` uses it to judge how long nodes have
/// been in trouble.
const RECORDED: &str = "2026-05-01T00:00:00Z";

/// Clusters with the output of `oc`.
#[derive(Clone, Copy, Debug)]
enum Group {
    /// Clusters generated for tests; in `tests/status`.
    Made,
    /// Dumps of real clusters; in `../shared` only.
    Real,
    /// Patches of real ones; in `../shared` only.
    Changed,
}

impl Group {
    /// The folders of its clusters. Reports the test as skipped if there are none.
    fn folders(self) -> Vec<PathBuf> {
        let shared = |path| shared_or_skip(path).map(|folder| entries(&folder)).unwrap_or_default();
        match self {
            Self::Made => generated_clusters(),
            Self::Real => shared("golden/upgrade-status"),
            Self::Changed => shared("golden/upgrade-status-variants"),
        }
    }

    /// The files of a cluster by their names.
    fn files(self, folder: &Path) -> BTreeMap<String, String> {
        if matches!(self, Self::Changed) { changed(folder) } else { files(folder) }
    }
}

/// The files of a cluster by name.
fn files(cluster: &Path) -> BTreeMap<String, String> {
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    entries(cluster)
        .into_iter()
        .map(|path| (name(&path), fs::read_to_string(path).unwrap()))
        .filter(|(name, _)| !NO_INPUT.contains(&name.as_str()))
        .collect()
}

fn inputs(files: BTreeMap<String, String>) -> Inputs {
    let dump = Dump::parse(files.into_iter().map(|(path, text)| Source { path, text }), KINDS).unwrap();
    let mut inputs = Inputs::gather(|resource| dump.list(resource).cloned().collect()).unwrap();
    if let Some(body) = &dump.alerts {
        inputs.alerts = AlertsResponse::parse(body.as_bytes());
    }
    inputs
}

/// Splits a text into its parts: the control plane, its operators, nodes, and health. All but the first may
/// be missing.
fn parts(output: &str) -> [&str; 4] {
    let health = output.find("\n= Update Health =\n").unwrap_or(output.len());
    let nodes = NODES.iter().filter_map(|start| output[..health].find(start)).min().unwrap_or(health);
    let operators = output[..nodes].find("\nUpdating Cluster Operators\n").unwrap_or(nodes);
    [&output[..operators], &output[operators..nodes], &output[nodes..health], &output[health..]]
}

/// Compares the recorded outputs in `folder` with the text for `inputs`, and adds the differences to `found`.
fn compare(folder: &Path, inputs: &Inputs, found: &mut Vec<String>) {
    let at = Moment { now: inputs.mock_now(), wall: RECORDED.parse::<Time>().unwrap() };
    let mut check = |name: &str, details: Details, real: &str| {
        let ours = match render(inputs, at, details) {
            Ok(report) => report.text,
            Err(rejection) => format!("rejected: {rejection}"),
        };
        if ours != real {
            found.push(format!("{} {name}\n--- ours\n{ours}--- real\n{real}", folder.display()));
        }
    };
    let [short, detailed] = OUTPUTS.map(|(file, details)| {
        let real = fs::read_to_string(folder.join(file)).unwrap();
        check(file, details, &real);
        real
    });
    for (details, place) in PART_DETAILS {
        let mut expected = parts(&short);
        expected[place] = parts(&detailed)[place];
        check(details.name(), details, &expected.concat());
    }
}

#[expect(clippy::print_stdout, reason = "reports the number of clusters")]
fn check(group: Group) {
    let folders = group.folders();
    let mut found = Vec::new();
    for cluster in &folders {
        compare(cluster, &inputs(group.files(cluster)), &mut found);
    }
    println!("{group:?}: {} clusters compared", folders.len());
    assert!(found.is_empty(), "{} texts differ:\n{}", found.len(), found.join("\n"));
}

#[test]
fn the_status_of_every_recorded_cluster_matches_oc() {
    check(Group::Real);
}

#[test]
fn the_status_of_every_generated_cluster_matches_oc() {
    check(Group::Made);
}

/// The files of a cluster that is described by patches of another one.
fn changed(folder: &Path) -> BTreeMap<String, String> {
    let case: Value = serde_json::from_str(&fs::read_to_string(folder.join("case.json")).unwrap()).unwrap();
    let mut files = files(&folder.join("../../upgrade-status").join(case["base"].as_str().unwrap()));
    for (name, patch) in case["patches"].as_object().unwrap() {
        let text = files.get_mut(&format!("{name}.yaml")).unwrap();
        let mut value: Value = yaml::from_str(text).unwrap();
        let patch: json_patch::Patch = serde_json::from_value(patch.clone()).unwrap();
        json_patch::patch(&mut value, &patch).unwrap();
        *text = value.to_string();
    }
    files
}

#[test]
fn the_status_of_every_changed_cluster_matches_oc() {
    check(Group::Changed);
}

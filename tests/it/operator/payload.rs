//! The payloads of a sequence: four operators and two ConfigMaps, as files for the real operator and as releases for
//! the simulated one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use semver::Version;
use serde_json::{Value, json};
use windtunnel_openshift::payload::{IMAGES, METADATA, Payload, RELEASE};
use windtunnel_openshift::release::Release;
use windtunnel_openshift::signature;

use crate::recordings::ours;

use super::sequence::{Content, Sequence};

/// The release that every sequence installs.
pub(super) const FIRST: &str = "5.0.1";
/// The release that every sequence may update to.
const SECOND: &str = "5.0.2";
/// The run levels and names of the operators in each payload.
const OPERATORS: [(u32, &str); 4] =
    [(20, "kube-apiserver"), (50, "console"), (50, "insights"), (80, "machine-config")];
const INCLUDED: &str = "include.release.openshift.io/self-managed-high-availability";

/// The payload of a release.
pub(super) struct Published {
    /// The files, by their paths in the image.
    pub(super) files: BTreeMap<String, String>,
    /// The release for the simulated operator.
    pub(super) release: Release,
}

/// The payloads of a sequence, by version.
pub(super) fn of(sequence: &Sequence) -> BTreeMap<String, Published> {
    let mut contents = sequence.releases.clone();
    for version in [FIRST, SECOND] {
        contents.entry(version.to_owned()).or_default();
    }
    contents.into_iter().map(|(version, content)| (version.clone(), payload(&version, &content))).collect()
}

fn payload(version: &str, content: &Content) -> Published {
    let mut files = files(version, &content.metadata);
    for (name, text) in &content.files {
        let path = format!("{RELEASE}/{name}");
        match text {
            Some(text) => files.insert(path, text.clone()),
            None => files.remove(&path),
        };
    }
    let parsed: Version = version.parse().unwrap();
    let image = Release::find(&parsed).unwrap().image;
    let payload = Payload::parse(files.clone().into_iter().collect(), &image);
    let payload = payload.unwrap_or_else(|problems| panic!("{version}: {problems:?}"));
    Published { files, release: Release::with_payload(&parsed, Arc::new(payload)) }
}

fn files(version: &str, more: &Value) -> BTreeMap<String, String> {
    let mut metadata = json!({ "kind": "cincinnati-metadata-v0", "version": version, "previous": [] });
    if let Some(more) = more.as_object() {
        metadata.as_object_mut().unwrap().extend(more.clone());
    }
    let images = json!({
        "kind": "ImageStream",
        "apiVersion": "image.openshift.io/v1",
        "metadata": { "name": version, "creationTimestamp": "2024-01-01T00:00:00Z" },
    });
    let operators = OPERATORS.iter().map(|(level, name)| {
        let operator = json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": "ClusterOperator",
            "metadata": { "name": name, "annotations": { INCLUDED: "true" } },
            "status": { "versions": [{ "name": "operator", "version": version }] },
        });
        (format!("0000_{level}_{name}_05_clusteroperator.yaml"), operator)
    });
    let maps = [(30, "middle"), (60, "late")].map(|(level, name)| {
        let map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "namespace": "openshift-config", "name": name, "annotations": { INCLUDED: "true" } },
            "data": { "version": version },
        });
        (format!("0000_{level}_{name}_01_config.yaml"), map)
    });
    let keys = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "namespace": signature::NAMESPACE,
            "name": "release-verification",
            "annotations": { INCLUDED: "true", "release.openshift.io/verification-config-map": "" },
        },
        "data": {
            (signature::KEYRING): fs::read_to_string(ours("operator/signatures/key.asc")).unwrap(),
            "store-empty": "file:///var/empty",
        },
    });
    let maps = maps.into_iter().chain([("0000_10_keys_01_config.yaml".to_owned(), keys)]);
    let fixed = [(METADATA.to_owned(), metadata), (IMAGES.to_owned(), images)];
    let all = fixed.into_iter().chain(operators).chain(maps);
    all.map(|(name, object)| (format!("{RELEASE}/{name}"), object.to_string())).collect()
}

/// Writes the files of a payload as they are in the image.
pub(super) fn write(files: &BTreeMap<String, String>, folder: &Path) {
    for below in ["manifests", RELEASE] {
        fs::create_dir_all(folder.join(below)).unwrap();
    }
    for (path, text) in files {
        fs::write(folder.join(path), text).unwrap();
    }
}

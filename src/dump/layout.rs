//! Selects the files of a dump to read. A must-gather has tens of thousands, most of them logs.

use windtunnel_core::resources::NAMESPACES;
use windtunnel_core::{Object, Resource};

/// The folders of `oc adm inspect`, below any others: `<scope>[/<namespace>]/<group>/<plural>[/<name>].yaml`.
pub(super) const CLUSTER: &str = "cluster-scoped-resources";
pub(super) const NAMESPACED: &str = "namespaces";

/// The Prometheus answers in a must-gather.
pub(super) const PROMETHEUS: [&str; 2] =
    ["monitoring/prometheus/alerts.json", "monitoring/prometheus/rules.json"];

/// The kinds of objects to read.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// All kinds.
    All,
    /// These kinds.
    Kinds(&'a [&'a Resource]),
}

impl Wanted<'_> {
    /// Returns whether an object is wanted, in any API version.
    pub(super) fn has(self, object: &Object) -> bool {
        match self {
            Self::All => true,
            Self::Kinds(kinds) => kinds.iter().any(|kind| is_of(object, kind)),
        }
    }

    fn has_plural(self, group: &str, plural: &str) -> bool {
        match self {
            Self::All => true,
            Self::Kinds(kinds) => kinds.iter().any(|kind| kind.group == group && kind.plural == plural),
        }
    }
}

/// Returns whether an object is of this kind, in any API version.
pub(super) fn is_of(object: &Object, resource: &Resource) -> bool {
    let group = object.text("/apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
    object.text("/kind") == resource.kind && group == resource.group
}

/// Selects the files that may contain objects of the `wanted` kinds or alerts, in order of their names.
///
/// In the output of `oc adm inspect` the path contains the kind; elsewhere every YAML and JSON file may
/// contain any kind.
pub fn select(paths: impl IntoIterator<Item = String>, wanted: Wanted<'_>) -> Vec<String> {
    let mut paths: Vec<String> = paths.into_iter().filter(|path| is_data(path)).collect();
    let is_inspection = paths.iter().any(|path| path.split('/').any(|part| part == CLUSTER));
    if is_inspection {
        paths.retain(|path| is_wanted(path, wanted) || is_of_prometheus(path));
    }
    paths.sort();
    paths
}

/// Returns whether a file contains the attributes of the file beside it, which macOS adds to archives and to disks of other systems.
/// It has the extension of that file, but contains no objects.
pub fn is_apple_double(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with("._"))
}

fn is_data(path: &str) -> bool {
    let path = path.strip_suffix(".gz").unwrap_or(path);
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(extension, "yaml" | "yml" | "json")
}

fn is_of_prometheus(path: &str) -> bool {
    PROMETHEUS.iter().any(|file| path.ends_with(file))
}

fn is_wanted(path: &str, wanted: Wanted<'_>) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let place = |name: &str| parts.iter().rposition(|part| *part == name);
    let Some(scope) = place(CLUSTER).or_else(|| place(NAMESPACED)) else { return false };
    let namespaced = parts[scope] == NAMESPACED;
    let inner = &parts[scope + 1..];
    let (group, plural) = match inner {
        [_, group, plural, ..] if namespaced => (*group, *plural),
        [namespace, file] if namespaced && stem(file) == *namespace => ("core", &*NAMESPACES.plural),
        [group, plural, ..] if !namespaced => (*group, *plural),
        _ => return false,
    };
    let group = if group == "core" { "" } else { group };
    wanted.has_plural(group, stem(plural))
}

fn stem(file: &str) -> &str {
    file.split_once(".yaml").map_or(file, |(stem, _)| stem)
}

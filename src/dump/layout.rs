//! Which files of a dump are worth reading. A must-gather has tens of thousands, most of them logs.

use windtunnel_core::resources::NAMESPACES;
use windtunnel_core::{Object, Resource};

/// The folders of `oc adm inspect`, below any others: `<scope>[/<namespace>]/<group>/<plural>[/<name>].yaml`.
const CLUSTER: &str = "cluster-scoped-resources";
const NAMESPACED: &str = "namespaces";

/// What a must-gather keeps of Prometheus.
const PROMETHEUS: [&str; 2] = ["monitoring/prometheus/alerts.json", "monitoring/prometheus/rules.json"];

/// Of which kinds objects are read.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// Of all.
    All,
    /// Of these.
    Kinds(&'a [&'a Resource]),
}

impl Wanted<'_> {
    /// Whether an object is wanted, whatever version it was read in.
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

/// Whether an object is of this kind, whatever version it was read in.
pub(super) fn is_of(object: &Object, resource: &Resource) -> bool {
    let group = object.text("/apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
    object.text("/kind") == resource.kind && group == resource.group
}

/// The files, of all that there are, which may hold objects of the `wanted` kinds or alerts, in order of their names.
///
/// In what `oc adm inspect` wrote, the path tells of which kind the objects are; elsewhere every YAML and JSON file may
/// hold anything.
pub fn select(paths: impl IntoIterator<Item = String>, wanted: Wanted<'_>) -> Vec<String> {
    let mut paths: Vec<String> = paths.into_iter().filter(|path| is_data(path)).collect();
    let is_inspection = paths.iter().any(|path| path.split('/').any(|part| part == CLUSTER));
    if is_inspection {
        paths.retain(|path| is_wanted(path, wanted) || is_of_prometheus(path));
    }
    paths.sort();
    paths
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

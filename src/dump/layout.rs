//! Judges the files of a dump by their names and first bytes. A must-gather has tens of thousands, most of them logs.

use windtunnel_core::resources::NAMESPACES;
use windtunnel_core::{Object, Resource};

use super::place::{CLUSTER, NAMESPACED};
use super::{alerts, config_maps, place, uncollected};

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

/// What to do with a file, by its path in the dump and its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// It may contain wanted objects, or alerts: read it.
    Read,
    /// Its place says that it has objects of other kinds.
    Unwanted,
    /// It holds no object, for this reason.
    NoObject(&'static str),
}

/// The number of bytes at the start of a file by which [`look`] judges it.
pub const START: usize = 512;

/// Judges a file. Each file counts for itself: no other one changes how it is read.
pub fn look(path: &str, start: &[u8], wanted: Wanted<'_>) -> Look {
    if is_apple_double(path) {
        return Look::NoObject("macOS added it");
    }
    if start.is_empty() {
        return Look::NoObject("empty");
    }
    if matches!(is_of_wanted_kind(path, wanted), Some(false)) && is_data(path) {
        return Look::Unwanted;
    }
    if is_data(path) || config_maps::is_key(path) || alerts::is_metrics(path) {
        return Look::Read;
    }
    // Objects that could not be collected may be of any kind.
    if uncollected::is_log(path) || uncollected::is_of_errors(path) {
        return Look::Read;
    }
    if is_log(path) {
        return Look::NoObject("a log");
    }
    let text = String::from_utf8_lossy(start);
    if uncollected::is_error(&text) || begins_like_objects(&text) {
        Look::Read
    } else {
        Look::NoObject("no YAML or JSON")
    }
}

/// Returns whether a file contains the attributes of the file beside it, which macOS adds to archives and to disks of other systems.
/// It has the extension of that file, but contains no objects.
pub fn is_apple_double(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with("._"))
}

/// Returns whether a file has YAML or JSON by its name.
pub(super) fn is_data(path: &str) -> bool {
    let path = path.strip_suffix(".gz").unwrap_or(path);
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(extension, "yaml" | "yml" | "json" | "jsonl" | "ndjson")
}

/// Returns whether a file has lines of a log by its name. They may be JSON.
fn is_log(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let endings = [".log", ".logs", ".log.gz", ".stderr", ".html", "logs.txt"];
    endings.iter().any(|ending| name.ends_with(ending)) || name.contains(".log.")
}

/// Returns whether a text without an extension begins like objects.
fn begins_like_objects(start: &str) -> bool {
    let start = start.trim_start_matches('\u{feff}').trim_start();
    let words = ["{", "[", "---", "apiVersion:", "items:", "kind:", "metadata:"];
    words.iter().any(|word| start.starts_with(word))
}

/// Returns whether the place of a file is that of wanted objects in the output of `oc adm inspect`; `None` for another place.
pub(super) fn is_of_wanted_kind(path: &str, wanted: Wanted<'_>) -> Option<bool> {
    let parts: Vec<&str> = path.split('/').collect();
    let place = |name: &str| parts.iter().rposition(|part| *part == name);
    let scope = place(CLUSTER).or_else(|| place(NAMESPACED))?;
    let namespaced = parts[scope] == NAMESPACED;
    let inner = &parts[scope + 1..];
    let (group, plural) = match inner {
        [namespace, file] if namespaced && place::stem(file) == *namespace => ("core", &*NAMESPACES.plural),
        // The pods beside their logs are also in the list of pods.
        [_, "pods", _, ..] if namespaced => ("core", "pods"),
        [_, group, plural, ..] if namespaced => (*group, *plural),
        [group, plural, ..] if !namespaced => (*group, *plural),
        _ => return None,
    };
    let group = if group == "core" { "" } else { group };
    Some(wanted.has_plural(group, place::stem(plural)))
}

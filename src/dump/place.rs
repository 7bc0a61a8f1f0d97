//! What the path of a file says about the objects in it: some programs write objects without their kind.

use windtunnel_core::Resource;

use super::kinds;

/// The folders of `oc adm inspect`, below any others: `<scope>[/<namespace>]/<group>/<plural>[/<name>].yaml`.
pub(super) const CLUSTER: &str = "cluster-scoped-resources";
pub(super) const NAMESPACED: &str = "namespaces";

/// The kind and the namespace of the objects in a file, as far as its path has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) resource: Option<Resource>,
    pub(super) namespace: Option<String>,
}

/// Folders whose names are also those of kinds.
const NO_KINDS: [&str; 3] = ["config", "resources", CLUSTER];

/// Returns what a path says. It is the path in the dump or in the innermost archive.
pub(super) fn of(path: &str) -> Place {
    let mut folders: Vec<&str> = path.split('/').collect();
    let stem = stem(folders.pop().unwrap_or_default());
    let namespace = below_namespaces(&folders);
    let parent = folders.last().copied().unwrap_or_default();
    let by_name = sonobuoy(stem).or_else(|| kinds::by_word(Some(as_group(parent)?), stem));
    if let Some(resource) = by_name {
        let namespace = namespace.or_else(|| after(&folders, "ns"));
        return Place { resource: Some(resource), namespace };
    }
    if let Some((index, resource)) = folder_of_kind(&folders) {
        let namespace = namespace.or_else(|| folders.get(index + 1).map(|name| (*name).to_owned()));
        let namespace = namespace.filter(|_| resource.namespaced);
        return Place { resource: Some(resource), namespace };
    }
    let resource = singleton(parent, stem).or_else(|| kinds::by_plural(stem));
    Place { resource, namespace }
}

/// Returns the name of a file without its extension.
pub(super) fn stem(file: &str) -> &str {
    let file = file.strip_suffix(".gz").unwrap_or(file);
    let endings = [".yaml", ".yml", ".json", ".jsonl", ".ndjson"];
    endings.iter().find_map(|ending| file.strip_suffix(ending)).unwrap_or(file)
}

/// Returns the namespace of `namespaces/NAMESPACE/...`.
fn below_namespaces(folders: &[&str]) -> Option<String> {
    after(folders, NAMESPACED)
}

fn after(folders: &[&str], name: &str) -> Option<String> {
    let index = folders.iter().rposition(|folder| *folder == name)?;
    folders.get(index + 1).map(|folder| (*folder).to_owned())
}

/// Returns the API group that a folder is named after.
fn as_group(folder: &str) -> Option<&str> {
    match folder {
        "core" => Some(""),
        "apps" | "autoscaling" | "batch" | "policy" => Some(folder),
        _ => is_domain(folder).then_some(folder),
    }
}

fn is_domain(folder: &str) -> bool {
    ["io", "com", "org", "dev", "net"]
        .iter()
        .any(|end| folder.strip_suffix(end).is_some_and(|start| start.len() > 1 && start.ends_with('.')))
}

/// Returns the innermost folder with the name of a kind, and the kind.
fn folder_of_kind(folders: &[&str]) -> Option<(usize, Resource)> {
    (0..folders.len()).rev().find_map(|index| {
        let folder = folders[index];
        if folder == NAMESPACED && folders.get(index + 1).is_some_and(|next| *next != "cluster") {
            return None;
        }
        let before = index.checked_sub(1).and_then(|index| as_group(folders[index]));
        let resource = match before {
            Some(group) => kinds::by_word(Some(group), folder),
            None if NO_KINDS.contains(&folder) => None,
            None => kinds::by_word(None, folder).or_else(|| {
                // As in `deployments.apps`.
                let (plural, group) = folder.split_once('.')?;
                kinds::by_word(Some(group), plural)
            }),
        };
        Some((index, resource?))
    })
}

/// Returns the kind of an object `cluster` of the configuration in an Insights archive: `config/ingress.json`.
fn singleton(parent: &str, stem: &str) -> Option<Resource> {
    if parent != "config" {
        return None;
    }
    let word = if stem == "version" { "clusterversions" } else { stem };
    kinds::by_word(Some("config.openshift.io"), word)
}

/// Returns the kind of `apps_v1_deployments`, with this version.
fn sonobuoy(stem: &str) -> Option<Resource> {
    let (rest, plural) = stem.rsplit_once('_')?;
    let (group, version) = rest.rsplit_once('_')?;
    let group = if group == "core" { "" } else { group };
    let known = kinds::by_word(Some(group), plural)?;
    version.starts_with('v').then(|| Resource { version: version.to_owned().into(), ..known })
}

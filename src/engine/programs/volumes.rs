//! The files of a container, as kubelets mount them: ConfigMaps, Secrets, the pod's own fields, the token of its account, and
//! folders of the node or of the pod.

use std::collections::BTreeMap;

use serde_json::Value;
use windtunnel_core::resources::{CONFIG_MAPS, SECRETS};
use windtunnel_core::{Object, Resource, View, pod};

use super::variables::{entries, field};

/// The folder into which kubelets mount the token of the ServiceAccount.
const ACCOUNT_FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The files of a container, by their paths in it.
#[derive(Debug, Default)]
pub(super) struct Volumes {
    /// Files and their contents.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// The paths of the volumes that have them.
    pub(super) mounts: Vec<String>,
    /// Folders that other containers share, and the names of what they share.
    pub(super) shared: BTreeMap<String, String>,
    /// The folder of the account's token.
    pub(super) account_folder: Option<String>,
}

/// The volumes that a container with this spec mounts.
pub(super) fn of_container(view: &View, pod: &Object, spec: &Value) -> Volumes {
    let mut all = Volumes::default();
    for mount in spec["volumeMounts"].as_array().into_iter().flatten() {
        let (Some(name), Some(path)) = (mount["name"].as_str(), mount["mountPath"].as_str()) else {
            continue;
        };
        let volume = pod.list("/spec/volumes").iter().find(|volume| volume["name"] == name);
        if let Some(volume) = volume {
            let only = mount["subPath"].as_str();
            all.mount(view, pod, volume, &below_root(path), only);
        }
    }
    // Our API server has no admission plug-in that adds this volume to each pod.
    if all.account_folder.is_none() {
        all.add_account(pod, ACCOUNT_FOLDER);
    }
    all
}

impl Volumes {
    fn mount(&mut self, view: &View, pod: &Object, volume: &Value, path: &str, only: Option<&str>) {
        if !volume["emptyDir"].is_object() && !volume["hostPath"].is_object() {
            self.mounts.push(path.to_owned());
        }
        if volume["emptyDir"].is_object() {
            let name = volume["name"].as_str().unwrap_or_default();
            self.shared.insert(path.to_owned(), format!("pods/{}/{name}", pod.uid()));
        } else if let Some(folder) = volume["hostPath"]["path"].as_str() {
            let node = pod::node_name(pod);
            self.shared.insert(path.to_owned(), format!("nodes/{node}/{}", folder.trim_matches('/')));
        } else if volume["projected"].is_object() {
            for source in volume["projected"]["sources"].as_array().into_iter().flatten() {
                if source["serviceAccountToken"].is_object() {
                    self.add_account(pod, path);
                }
                self.add_files(view, pod, source, path, only);
            }
        } else {
            self.add_files(view, pod, volume, path, only);
        }
    }

    fn add_account(&mut self, pod: &Object, path: &str) {
        if !self.mounts.iter().any(|mount| mount == path) {
            self.mounts.push(path.to_owned());
        }
        self.account_folder = Some(path.to_owned());
        self.files.insert(format!("{path}/namespace"), pod.namespace().as_bytes().to_vec());
    }

    /// Adds the files of a ConfigMap, of a Secret, or of the fields of the pod. A mount with `subPath` has one of them, at
    /// the path of the mount.
    fn add_files(&mut self, view: &View, pod: &Object, source: &Value, path: &str, only: Option<&str>) {
        let mut files = object_files(view, pod, source, &CONFIG_MAPS, &source["configMap"]);
        files.extend(object_files(view, pod, source, &SECRETS, &source["secret"]));
        for item in source["downwardAPI"]["items"].as_array().into_iter().flatten() {
            let value = item["fieldRef"]["fieldPath"].as_str().and_then(|path| field(pod, path));
            files.extend(
                item["path"].as_str().zip(value).map(|(path, value)| (path.to_owned(), value.into_bytes())),
            );
        }
        match only {
            Some(only) => self.files.extend(files.remove(only).map(|content| (path.to_owned(), content))),
            None => self
                .files
                .extend(files.into_iter().map(|(name, content)| (format!("{path}/{name}"), content))),
        }
    }
}

/// The path of a mount without `..`, below the root of the container, as runtimes resolve it (`SecureJoin` of
/// filepath-securejoin). The API server accepts any path without `:`.
fn below_root(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.iter().fold(String::new(), |path, part| path + "/" + part)
}

/// The files of a ConfigMap or Secret: those in `items`, or all.
fn object_files(
    view: &View,
    pod: &Object,
    source: &Value,
    resource: &Resource,
    reference: &Value,
) -> BTreeMap<String, Vec<u8>> {
    // A Secret as a volume has `secretName`, as a source of a projected volume `name`.
    let name = reference["name"].as_str().or_else(|| source["secret"]["secretName"].as_str());
    let Some(name) = name.filter(|_| reference.is_object()) else { return BTreeMap::new() };
    let mut entries = entries(view, resource, pod.namespace(), name);
    let Some(items) = reference["items"].as_array() else { return entries };
    let chosen = items.iter().filter_map(|item| {
        let content = entries.remove(item["key"].as_str()?)?;
        Some((item["path"].as_str()?.to_owned(), content))
    });
    chosen.collect()
}

#[cfg(test)]
mod tests {
    use super::below_root;

    #[test]
    fn mounts_stay_below_the_root_of_their_container() {
        for (path, expected) in [
            ("/etc/config/", "/etc/config"),
            ("etc//config", "/etc/config"),
            ("/a/../b/./c", "/b/c"),
            ("/../../../home", "/home"),
            ("/..", ""),
        ] {
            assert_eq!(below_root(path), expected, "{path}");
        }
    }
}

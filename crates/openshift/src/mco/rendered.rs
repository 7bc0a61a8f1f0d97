//! Merges the MachineConfigs of a pool into a rendered one.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, MACHINE_CONFIGS};
use windtunnel_core::{Object, name_of, text};

use super::annotations::{GENERATED_BY, OS_IMAGE_OVERRIDDEN, RELEASE_VERSION, ROLE};
use super::membership::WORKER;

/// The rendered MachineConfig of a pool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rendered {
    /// `rendered-<pool>-<32 hex digits>`. It depends only on the spec, not on the release.
    pub(super) name: String,
    pub(super) spec: Value,
    /// The names of the merged MachineConfigs, sorted.
    pub(super) sources: Vec<String>,
    /// Whether one of them overrides the release's OS image.
    own_os: bool,
}

impl Rendered {
    /// Merges `sources`, in any order, with the release's OS image `os_image`.
    pub(super) fn merge_configs(pool: &str, sources: &[&Value], os_image: &str) -> Self {
        let mut sorted = sources.to_vec();
        // Worker configs come first, so that custom pools can override them.
        sorted
            .sort_by_key(|source| (source["metadata"]["labels"][ROLE] != WORKER, name_of(source).to_owned()));
        let spec = merge(&sorted, os_image);
        let digest = Sha256::digest(spec.to_string());
        let name = format!("rendered-{pool}-{}", text::hex(&digest[..16]));
        let mut sources: Vec<String> = sorted.iter().map(|source| name_of(source).to_owned()).collect();
        sources.sort();
        let own_os = spec["osImageURL"] != os_image;
        Self { name, spec, sources, own_os }
    }

    /// The object, with `pool` as controller owner, as the machine-config controller of `commit` creates it
    /// for a release.
    pub(super) fn object(&self, pool: &Object, commit: &str, version: &str) -> Value {
        let mut annotations = json!({ (GENERATED_BY): commit, (RELEASE_VERSION): version });
        if self.own_os {
            annotations[OS_IMAGE_OVERRIDDEN] = json!("true");
        }
        json!({
            "apiVersion": MACHINE_CONFIGS.api_version(),
            "kind": MACHINE_CONFIGS.kind,
            "metadata": {
                "name": self.name,
                "annotations": annotations,
                "ownerReferences": [{
                    "apiVersion": MACHINE_CONFIG_POOLS.api_version(),
                    "kind": MACHINE_CONFIG_POOLS.kind,
                    "name": pool.name(),
                    "uid": pool.uid(),
                    "controller": true,
                    "blockOwnerDeletion": true,
                }],
            },
            "spec": self.spec,
        })
    }

    /// The `configuration` of a pool: the name, and the merged MachineConfigs.
    pub(super) fn reference(&self) -> Value {
        let source = |name: &String| json!({ "apiVersion": MACHINE_CONFIGS.api_version(), "kind": MACHINE_CONFIGS.kind, "name": name });
        json!({ "name": self.name, "source": self.sources.iter().map(source).collect::<Vec<_>>() })
    }
}

/// Merges specs. For files, units, users and the kernel type the last one wins. Kernel arguments and
/// extensions are concatenated.
fn merge(sources: &[&Value], os_image: &str) -> Value {
    let mut spec = json!({ "config": { "ignition": { "version": "3.2.0" } }, "osImageURL": os_image });
    let (mut files, mut units, mut users) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for source in sources {
        let (from, config) = (&source["spec"], &source["spec"]["config"]);
        take(&mut files, &config["storage"]["files"], "path");
        take(&mut units, &config["systemd"]["units"], "name");
        take(&mut users, &config["passwd"]["users"], "name");
        for list in ["kernelArguments", "extensions"] {
            if let Some(more) = from[list].as_array() {
                let mut all = spec[list].as_array().cloned().unwrap_or_default();
                all.extend(more.iter().cloned());
                spec[list] = Value::Array(all);
            }
        }
        if from["fips"] == true {
            spec["fips"] = json!(true);
        }
        if let Some(kernel) = from["kernelType"].as_str().filter(|kernel| !matches!(*kernel, "" | "default"))
        {
            spec["kernelType"] = json!(kernel);
        }
        if let Some(image) = from["osImageURL"].as_str().filter(|image| !image.is_empty()) {
            spec["osImageURL"] = json!(image);
        }
    }
    let list = |found: BTreeMap<&str, &Value>| Value::Array(found.into_values().cloned().collect());
    if let Some(config) = spec["config"].as_object_mut() {
        let mut put = |section: &str, field: &str, list: Value| {
            if list.as_array().is_some_and(|list| !list.is_empty()) {
                config.insert(section.to_owned(), Value::Object(Map::from_iter([(field.to_owned(), list)])));
            }
        };
        put("passwd", "users", list(users));
        put("storage", "files", list(files));
        put("systemd", "units", list(units));
    }
    spec
}

fn take<'a>(found: &mut BTreeMap<&'a str, &'a Value>, list: &'a Value, key: &str) {
    for entry in list.as_array().into_iter().flatten() {
        found.insert(entry[key].as_str().unwrap_or_default(), entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(name: &str, role: &str, spec: &Value) -> Value {
        json!({ "metadata": { "name": name, "labels": { (ROLE): role } }, "spec": spec })
    }

    #[test]
    fn the_name_depends_only_on_the_spec() {
        let a = config("50-a", "worker", &json!({ "kernelArguments": ["quiet"] }));
        let mut b = a.clone();
        b["metadata"]["annotations"] = json!({ "other": "commit" });
        let name = |source: &Value, os: &str| Rendered::merge_configs("worker", &[source], os).name;
        assert_eq!(name(&a, "os"), name(&b, "os"));
        assert_ne!(name(&a, "os"), name(&a, "other os"));
        assert_eq!(name(&a, "os").len(), "rendered-worker-".len() + 32);
    }

    #[test]
    fn custom_roles_override_worker_configs() {
        let file = |text: &str| json!({ "config": { "storage": { "files": [{ "path": "/etc/a", "contents": { "source": text } }] } } });
        let (mut worker, mut infra) = (file("data:,worker"), file("data:,infra"));
        worker["kernelArguments"] = json!(["a"]);
        infra["kernelArguments"] = json!(["b"]);
        infra["kernelType"] = json!("realtime");
        infra["osImageURL"] = json!("own");
        let (worker, infra) = (config("99-z", "worker", &worker), config("00-a", "infra", &infra));
        let rendered = Rendered::merge_configs("infra", &[&infra, &worker], "os");
        assert_eq!(rendered.spec["config"]["storage"]["files"][0]["contents"]["source"], "data:,infra");
        assert_eq!(rendered.spec["kernelArguments"], json!(["a", "b"]));
        assert_eq!(rendered.spec["kernelType"], "realtime");
        assert_eq!(rendered.spec["osImageURL"], "own");
        assert_eq!(rendered.sources, ["00-a", "99-z"]);
        let overridden = |rendered: &Rendered| {
            let object = rendered.object(&Object::new(json!({})), "commit", "4.18.3");
            Object::new(object).annotation(OS_IMAGE_OVERRIDDEN).map(str::to_owned)
        };
        assert_eq!(overridden(&rendered).as_deref(), Some("true"));
        assert_eq!(overridden(&Rendered::merge_configs("worker", &[&worker], "os")), None);
    }
}

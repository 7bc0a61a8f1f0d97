//! Merges the MachineConfigs of a pool into a rendered one.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, MACHINE_CONFIGS};
use windtunnel_core::{Object, name_of, text};

use super::annotations::{GENERATED_BY, OS_IMAGE_OVERRIDDEN, RELEASE_VERSION, ROLE};
use super::ignition::{self, Dialect};
use super::membership::WORKER;
use super::{cluster_files, registries, validity};
use crate::manifests::MajorMinor;

/// From this minor on the MachineConfigs of a custom role override those of workers. Before, only the names count.
const ROLES_COUNT: MajorMinor = (4, 15);
/// Up to this minor a kernel argument is kept once.
const ARGUMENTS_ONCE: MajorMinor = (4, 12);
/// From this minor on contents without a compression replace a compression.
const COMPRESSION_IS_REPLACED: MajorMinor = (4, 20);
/// From this minor on MachineConfigs of the controller do not override images.
const OWN_IMAGES_ONLY: MajorMinor = (4, 21);
/// From this minor on pages of 64 KiB are a kernel type.
const LARGE_PAGES: MajorMinor = (4, 15);

/// The rendered MachineConfig of a pool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rendered {
    /// `rendered-<pool>-<32 hex digits>`. It depends only on the spec, not on the release.
    pub(super) name: String,
    pub(super) spec: Value,
    /// The names of the merged MachineConfigs, in the order of the merge (`MergeMachineConfigs`).
    pub(super) sources: Vec<String>,
    /// Whether one of them overrides the release's OS image.
    own_os: bool,
}

/// The images of a release that MachineConfigs can override.
#[derive(Debug, Clone, Copy)]
pub(super) struct Images<'a> {
    /// The operating system.
    pub(super) os: &'a str,
    /// Its extensions.
    pub(super) extensions: &'a str,
}

/// Validates and merges `sources`, in any order, into the MachineConfig that follows `current` in a pool.
///
/// # Errors
/// The message of the controller.
pub(super) fn render(
    current: Option<&Value>,
    pool: &str,
    sources: &[&Value],
    images: Images<'_>,
    line: MajorMinor,
) -> Result<Rendered, String> {
    // In the order of their names, the first that is not valid is reported.
    let mut sorted = sources.to_vec();
    sorted.sort_by_key(|source| name_of(source).to_owned());
    sorted.iter().try_for_each(|source| validity::validate(&source["spec"], line))?;
    let rendered = Rendered::merge_configs(pool, sources, images, line)?;
    if let Some(current) = current.filter(|_| line >= validity::RENDERS_RECONCILABLE) {
        let next = json!({ "metadata": { "name": rendered.name }, "spec": rendered.spec });
        validity::can_follow(current, &next, line)
            .map_err(|full| validity::blame(current, &in_order(sources, line), &full, line))?;
    }
    Ok(rendered)
}

/// The MachineConfigs in the order of the merge: worker configs come first, so that custom pools can override them.
fn in_order<'a>(sources: &[&'a Value], line: MajorMinor) -> Vec<&'a Value> {
    let mut sorted = sources.to_vec();
    let is_own = |source: &Value| line >= ROLES_COUNT && source["metadata"]["labels"][ROLE] != WORKER;
    sorted.sort_by_key(|source| (is_own(source), name_of(source).to_owned()));
    sorted
}

impl Rendered {
    /// Merges valid `sources`, in any order, with the images of a release, as the controller of a minor does.
    ///
    /// # Errors
    /// The message of the controller.
    pub(super) fn merge_configs(
        pool: &str,
        sources: &[&Value],
        images: Images<'_>,
        line: MajorMinor,
    ) -> Result<Self, String> {
        let sorted = in_order(sources, line);
        let spec = merge(&sorted, images, line)?;
        let digest = Sha256::digest(identity(&spec, images).to_string());
        let name = format!("rendered-{pool}-{}", text::hex(&digest[..16]));
        let sources = sorted.iter().map(|source| name_of(source).to_owned()).collect();
        let own_os = spec["osImageURL"] != images.os;
        Ok(Self { name, spec, sources, own_os })
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

/// Merges the specs of sorted MachineConfigs.
fn merge(sources: &[&Value], images: Images<'_>, line: MajorMinor) -> Result<Value, String> {
    let config = merge_ignition(sources, line)?;
    let (mut kernel, mut is_fips) = ("", false);
    let (mut os, mut extensions_image) = (images.os, images.extensions);
    for source in sources {
        let spec = &source["spec"];
        is_fips |= spec["fips"] == true;
        match spec["kernelType"].as_str() {
            Some(found @ "realtime") => kernel = found,
            Some(found @ "64k-pages") if line >= LARGE_PAGES => kernel = found,
            _ => {}
        }
        if line >= OWN_IMAGES_ONLY && !source["metadata"]["annotations"][GENERATED_BY].is_null() {
            continue;
        }
        let image = |field: &str| spec[field].as_str().filter(|image| !image.is_empty());
        os = image("osImageURL").unwrap_or(os);
        extensions_image = image("baseOSExtensionsContainerImage").unwrap_or(extensions_image);
    }
    let kernel = if kernel.is_empty() { "default" } else { kernel };
    let extensions = concatenated(sources, "extensions");
    if kernel != "default" && extensions.iter().any(|extension| extension == "kernel-devel") {
        return Err(format!("installing kernel-devel extension is not supported with kernelType: {kernel}"));
    }
    let mut arguments = concatenated(sources, "kernelArguments");
    if line <= ARGUMENTS_ONCE {
        let mut once = Vec::new();
        arguments.retain(|argument| {
            !once.contains(argument) && {
                once.push(argument.clone());
                true
            }
        });
    }
    Ok(json!({
        "baseOSExtensionsContainerImage": extensions_image,
        "config": config,
        "extensions": extensions,
        "fips": is_fips,
        "kernelArguments": arguments,
        "kernelType": kernel,
        "osImageURL": os,
    }))
}

/// All entries of a list of sorted MachineConfigs.
fn concatenated(sources: &[&Value], list: &str) -> Vec<Value> {
    sources.iter().flat_map(|source| source["spec"][list].as_array().into_iter().flatten()).cloned().collect()
}

/// Merges the Ignition configs of sorted MachineConfigs.
fn merge_ignition(sources: &[&Value], line: MajorMinor) -> Result<Value, String> {
    let dialect = Dialect::new(line);
    let mut merged: Option<Value> = None;
    for (index, source) in sources.iter().enumerate() {
        let raw = &source["spec"]["config"];
        let config = match (raw.is_null(), index) {
            (true, 0) => ignition::empty(dialect),
            (true, _) => continue,
            _ => ignition::parse_and_convert(raw, dialect)?,
        };
        merged = Some(match merged {
            None => config,
            Some(before) => {
                let config = if line >= COMPRESSION_IS_REPLACED { with_compression(config) } else { config };
                without_empty_compression(ignition::merge(&before, &config), line)
            }
        });
    }
    let mut config = merged.unwrap_or_else(|| ignition::empty(dialect));
    // Ignition keeps files that exist, the daemon does not.
    for file in files(&mut config) {
        if file["overwrite"].is_null() {
            file["overwrite"] = json!(true);
        }
    }
    Ok(config)
}

fn files(config: &mut Value) -> impl Iterator<Item = &mut Value> {
    config.pointer_mut("/storage/files").and_then(Value::as_array_mut).into_iter().flatten()
}

/// Sets an empty compression where there is none, so that it replaces another one.
fn with_compression(mut config: Value) -> Value {
    for file in files(&mut config) {
        let contents = &mut file["contents"];
        if contents["compression"].is_null() {
            contents["compression"] = json!("");
        }
    }
    config
}

fn without_empty_compression(mut config: Value, line: MajorMinor) -> Value {
    if line < COMPRESSION_IS_REPLACED {
        return config;
    }
    for file in files(&mut config).filter_map(Value::as_object_mut) {
        let Some(contents) = file.get_mut("contents").and_then(Value::as_object_mut) else { continue };
        if contents.get("compression").is_some_and(|compression| compression == "") {
            contents.remove("compression");
        }
        if contents.is_empty() {
            file.remove("contents");
        }
    }
    config
}

/// The digest's name for the registries of a new cluster.
const INSTALLED_REGISTRIES: &str = "data:,unqualified-search-registries";

/// The content behind the digest in the name of a rendered MachineConfig: its spec without defaults and without what every
/// new cluster has, in an order that does not depend on the order of the sources. So names in scenarios stay valid when
/// windtunnel learns to render more files.
fn identity(spec: &Value, images: Images<'_>) -> Value {
    let mut identity = spec.clone();
    let config = &mut identity["config"];
    if let Some(Value::Array(files)) = config.pointer_mut("/storage/files") {
        files.retain(|file| !cluster_files::is_installed(file));
        for file in files.iter_mut().filter(|file| registries::is_installed(file)) {
            file["contents"] = json!({ "source": INSTALLED_REGISTRIES });
        }
    }
    config["ignition"]["version"] = json!("3.2.0");
    for file in files(config).filter_map(Value::as_object_mut) {
        if file.get("overwrite") == Some(&json!(true)) {
            file.remove("overwrite");
        }
    }
    for (list, key) in [("/passwd/users", "name"), ("/storage/files", "path"), ("/systemd/units", "name")] {
        if let Some(Value::Array(entries)) = config.pointer_mut(list) {
            entries.sort_by_key(|entry| entry[key].as_str().unwrap_or_default().to_owned());
        }
    }
    for user in config.pointer_mut("/passwd/users").and_then(Value::as_array_mut).into_iter().flatten() {
        if user["sshAuthorizedKeys"].is_null() {
            user["sshAuthorizedKeys"] = json!([]);
        }
    }
    if let Some(fields) = identity.as_object_mut() {
        let is_default = |name: &str, value: &Value| match name {
            "baseOSExtensionsContainerImage" => *value == images.extensions,
            "extensions" | "kernelArguments" => value.as_array().is_some_and(Vec::is_empty),
            "fips" => *value == false,
            "kernelType" => *value == "default",
            _ => false,
        };
        fields.retain(|name, value| !is_default(name, value));
    }
    identity
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: MajorMinor = (4, 18);

    fn rendered(pool: &str, sources: &[&Value], os: &str) -> Rendered {
        Rendered::merge_configs(pool, sources, Images { os, extensions: "" }, LINE).unwrap()
    }

    fn config(name: &str, role: &str, spec: &Value) -> Value {
        json!({ "metadata": { "name": name, "labels": { (ROLE): role } }, "spec": spec })
    }

    #[test]
    fn the_name_depends_only_on_the_spec() {
        let a = config("50-a", "worker", &json!({ "kernelArguments": ["quiet"] }));
        let mut b = a.clone();
        b["metadata"]["annotations"] = json!({ "other": "commit" });
        let name = |source: &Value, os: &str| rendered("worker", &[source], os).name;
        assert_eq!(name(&a, "os"), name(&b, "os"));
        assert_ne!(name(&a, "os"), name(&a, "other os"));
        assert_eq!(name(&a, "os").len(), "rendered-worker-".len() + 32);
    }

    #[test]
    fn custom_roles_override_worker_configs() {
        let file = |text: &str| json!({ "config": { "ignition": { "version": "3.2.0" }, "storage": { "files": [{ "path": "/etc/a", "contents": { "source": text } }] } } });
        let (mut worker, mut infra) = (file("data:,worker"), file("data:,infra"));
        worker["kernelArguments"] = json!(["a"]);
        infra["kernelArguments"] = json!(["b"]);
        infra["kernelType"] = json!("realtime");
        infra["osImageURL"] = json!("own");
        let (worker, infra) = (config("99-z", "worker", &worker), config("00-a", "infra", &infra));
        let infra_pool = rendered("infra", &[&infra, &worker], "os");
        assert_eq!(infra_pool.spec["config"]["storage"]["files"][0]["contents"]["source"], "data:,infra");
        assert_eq!(infra_pool.spec["kernelArguments"], json!(["a", "b"]));
        assert_eq!(infra_pool.spec["kernelType"], "realtime");
        assert_eq!(infra_pool.spec["osImageURL"], "own");
        assert_eq!(infra_pool.sources, ["99-z", "00-a"], "in the order of the merge");
        let images = Images { os: "os", extensions: "" };
        let older = Rendered::merge_configs("infra", &[&worker, &infra], images, (4, 14)).unwrap();
        assert_eq!(older.sources, ["00-a", "99-z"], "by name");
        let overridden = |rendered: &Rendered| {
            let object = rendered.object(&Object::new(json!({})), "commit", "4.18.3");
            Object::new(object).annotation(OS_IMAGE_OVERRIDDEN).map(str::to_owned)
        };
        assert_eq!(overridden(&infra_pool).as_deref(), Some("true"));
        assert_eq!(overridden(&rendered("worker", &[&worker], "os")), None);
    }
}

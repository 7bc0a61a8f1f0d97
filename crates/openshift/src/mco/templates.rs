//! The MachineConfigs of a release for a role, before they are rendered.
//!
//! They have few and small files. What matters is that they are the same within a minor and differ between
//! minors, like those of kubelets and container runtimes.

use serde_json::{Value, json};
use windtunnel_controllers::registries_conf;
use windtunnel_core::resources::MACHINE_CONFIGS;

use super::annotations::{GENERATED_BY, ROLE};
use super::cluster_files::ClusterFiles;
use super::{node_settings, registries};
use crate::release::Release;

/// The MachineConfig of the kubelet settings, which also has the kernel arguments.
const KUBELET: &str = "97-R-generated-kubelet";
/// The MachineConfig with the kubelets' feature gates; R is the role.
const FEATURE_GATES: &str = "98-R-generated-kubelet";
/// The MachineConfig with the registries, which has no files in a cluster without settings for them.
const REGISTRIES: &str = "99-R-generated-registries";

/// Settings of the cluster that the MachineConfigs contain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings<'a> {
    /// The cgroup version; empty for the release's default.
    pub(super) cgroup_mode: &'a str,
    /// The feature set, which decides the feature gates of kubelets.
    pub(super) feature_set: &'a str,
    /// The files that follow from objects of the cluster.
    pub(super) files: &'a ClusterFiles,
}

/// Returns whether the MachineConfig of this name has the kubelets' feature gates.
pub(super) fn has_feature_gates(name: &str) -> bool {
    is_for_a_role(FEATURE_GATES, name)
}

/// Returns whether the MachineConfig of this name has the registries.
pub(super) fn has_registries(name: &str) -> bool {
    is_for_a_role(REGISTRIES, name)
}

fn is_for_a_role(pattern: &str, name: &str) -> bool {
    pattern.split_once('R').is_some_and(|(start, end)| name.starts_with(start) && name.ends_with(end))
}

/// The MachineConfigs of `role`: from the templates, from the kubelet and registry settings, and with the
/// installer's SSH keys.
pub(super) fn machine_configs(
    role: &str,
    release: &Release,
    controller_config: Option<&str>,
    settings: Settings<'_>,
) -> Vec<Value> {
    let (_, minor) = release.line();
    let kubernetes = release.kubernetes_minor;
    let file = |path: &str, text: &str| json!({ "path": path, "mode": 420, "contents": { "source": format!("data:,{text}") } });
    let mut cluster = vec![file("/etc/mco/role", role), settings.files.proxy().clone()];
    cluster.extend(settings.files.pull_secret().cloned());
    let runtime = file("/etc/crio/crio.conf.d/00-default", &format!("cri-o-1.{kubernetes}"));
    let templates = [
        ("00-R", cluster),
        (
            "01-R-container-runtime",
            vec![runtime, node_settings::file(registries_conf::PATH, registries::TEMPLATE)],
        ),
        ("01-R-kubelet", vec![file("/etc/kubernetes/kubelet.conf", &format!("kubelet-1.{kubernetes}"))]),
    ];
    let gates = match settings.feature_set {
        "" => format!("kubelet-1.{kubernetes}-features-{minor}"),
        set => format!("kubelet-1.{kubernetes}-features-{minor}-{set}"),
    };
    let generated = [
        (KUBELET, vec![file("/etc/kubernetes/kubelet.conf", &format!("kubelet-1.{kubernetes}-cgroups"))]),
        (FEATURE_GATES, vec![file("/etc/kubernetes/kubelet.conf", &gates)]),
        (REGISTRIES, settings.files.registries().to_vec()),
    ];
    let commit = release.machine_config_commit();
    let mut configs = Vec::new();
    for (name, files) in templates {
        let mut config = machine_config(&name.replace('R', role), role, &json!({ "files": files }));
        config["metadata"]["annotations"] = json!({ (GENERATED_BY): commit });
        if let Some(uid) = controller_config {
            config["metadata"]["ownerReferences"] = json!([owner(uid)]);
        }
        configs.push(config);
    }
    for (name, files) in generated {
        let storage = if files.is_empty() { json!({}) } else { json!({ "files": files }) };
        let mut config = machine_config(&name.replace('R', role), role, &storage);
        config["metadata"]["annotations"] = json!({ (GENERATED_BY): commit });
        let arguments = kernel_arguments(settings.cgroup_mode);
        if name == KUBELET && !arguments.is_empty() {
            config["spec"]["kernelArguments"] = json!(arguments);
        }
        configs.push(config);
    }
    configs.push(machine_config(&format!("99-{role}-ssh"), role, &Value::Null));
    configs
}

/// The kernel arguments for this cgroup version (`kernelArgsv1` and `kernelArgsv2` of the kubelet-config
/// controller).
fn kernel_arguments(cgroup_mode: &str) -> &'static [&'static str] {
    match cgroup_mode {
        "v1" => &["systemd.unified_cgroup_hierarchy=0", "systemd.legacy_systemd_cgroup_controller=1"],
        "v2" => &["systemd.unified_cgroup_hierarchy=1", "cgroup_no_v1=\"all\"", "psi=0"],
        _ => &[],
    }
}

fn machine_config(name: &str, role: &str, storage: &Value) -> Value {
    let mut config = json!({ "ignition": { "version": "3.2.0" } });
    if storage.is_null() {
        config["passwd"] = json!({ "users": [{ "name": "core", "sshAuthorizedKeys": [] }] });
    } else {
        config["storage"] = storage.clone();
    }
    json!({
        "apiVersion": MACHINE_CONFIGS.api_version(),
        "kind": MACHINE_CONFIGS.kind,
        "metadata": { "name": name, "labels": { (ROLE): role } },
        "spec": { "config": config },
    })
}

/// The owner reference to the ControllerConfig.
fn owner(uid: &str) -> Value {
    json!({
        "apiVersion": MACHINE_CONFIGS.api_version(),
        "kind": "ControllerConfig",
        "name": super::CONTROLLER_CONFIG,
        "uid": uid,
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

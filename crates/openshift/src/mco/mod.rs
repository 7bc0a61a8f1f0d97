//! The machine-config operator, its controller and its daemons, which update the nodes to another release.
//!
//! The operator ([`operator`]) waits until its Deployment has another release and writes it to the
//! ControllerConfig. It also keeps a MachineConfigNode per node, in which the other components report
//! progress ([`config_node`]). Each part of the controller has one task:
//!
//! * [`template`] writes the MachineConfigs of the release, with the files that follow from the cluster
//!   ([`cluster_files`]): its registries ([`registries`]), pull secret and proxy.
//! * [`node_settings`] makes MachineConfigs of KubeletConfigs and ContainerRuntimeConfigs.
//! * [`render`] merges all of them into one per pool ([`rendered`], [`ignition`], [`validity`]).
//! * [`pool`] selects the nodes of a pool to update next.
//! * [`drain`] cordons and drains nodes.
//! * [`boot_images`] records the boot images of the machines.
//! * [`image_builder`] builds custom images of the operating system ([`layering`]).
//! * [`pinned_images`] assigns images to pools, whose nodes pull them in advance.
//!
//! The daemon of a node ([`daemon`]) applies the update. The parts communicate only through API objects,
//! mostly Node annotations and MachineConfigPools.
//!
//! `pace.rs` has the durations of a node's steps, by platform. `daemon/failures.rs` has the effects of faults of nodes.

pub mod annotations;
mod back_off;
mod boot_images;
mod cluster_files;
mod config_node;
mod controller_config;
mod daemon;
mod daemon_set;
mod drain;
mod ignition;
mod image_builder;
mod install;
mod layering;
mod membership;
mod node;
mod node_disruption;
mod node_settings;
mod operator;
mod pace;
mod paused_certificates;
mod pinned_images;
mod pool;
#[cfg(test)]
mod recordings;
mod registries;
mod render;
mod rendered;
pub mod server;
mod template;
mod templates;
mod validity;

use std::sync::Arc;

use semver::Version;
use serde_json::{Value, json};
use windtunnel_controllers::Actor;
use windtunnel_controllers::recorder::{Recorder, Subject};
use windtunnel_controllers::registries_conf::RegistriesConf;
use windtunnel_core::resources::{CONTROLLER_CONFIGS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODE_SETTINGS};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Identity, Object, Resource, View};

use crate::environment::Environment;
use crate::manifests::MajorMinor;
pub use annotations::RELEASE_VERSION;
pub use config_node::are_maintained as maintains_config_nodes;
pub use daemon::MachineConfigDaemon;
pub(super) use daemon::{KUBELET_STATE, PIVOT_ERRORS, REBOOT_ERRORS};
pub use daemon_set::key as daemon_set;
pub(super) use drain::DRAIN_ERRORS;
pub use install::{InstalledPools, annotate_done_node, annotate_node, custom_pool, render_problem};
pub(super) use membership::nodes_in_custom_pools;
pub use operator::MachineConfigOperator;
pub(super) use paused_certificates::PAUSED_CERTIFICATES;
pub(super) use pinned_images::prefetch::ImagePrefetcher;

/// Namespace of the operator, the controller and the daemons.
pub const NAMESPACE: &str = "openshift-machine-config-operator";
/// The name of the operator's ClusterOperator.
pub const CLUSTER_OPERATOR: &str = "machine-config";
/// The name of the CustomResourceDefinition of pools.
pub const POOLS: &str = "machineconfigpools.machineconfiguration.openshift.io";
/// The name of the only ControllerConfig.
const CONTROLLER_CONFIG: &str = "machine-config-controller";
/// ServiceAccounts of the controller and of the daemons.
const CONTROLLER: &str = "machine-config-controller";
const DAEMON: &str = "machine-config-daemon";

/// The parts of the machine-config controller.
pub fn controller(environment: &Arc<Environment>, streams: &Streams) -> Vec<Box<dyn Actor>> {
    let [kubelets, runtimes] = node_settings::controller::SettingsController::all();
    vec![
        Box::new(template::TemplateController::new(Arc::clone(environment))),
        Box::new(kubelets),
        Box::new(runtimes),
        Box::new(render::RenderController::new()),
        Box::new(pool::NodeController::new()),
        Box::new(drain::DrainController::new(*streams)),
        Box::new(paused_certificates::PausedCertificates::default()),
        Box::new(boot_images::controller::BootImageController::new()),
        Box::new(pinned_images::controller::PinnedImageSetController::new()),
        Box::new(image_builder::ImageBuilder::new()),
    ]
}

/// The parts of the operator with these facts.
pub fn operator(
    facts: &crate::release::OperatorFacts,
    component: &str,
    environment: &Arc<Environment>,
    streams: &Streams,
) -> Vec<Box<dyn Actor>> {
    vec![
        Box::new(MachineConfigOperator::new(facts, component, Arc::clone(environment), streams)),
        Box::new(config_node::keeper::MachineConfigNodes::new(facts)),
        Box::new(boot_images::configuration::MachineConfigurationKeeper::new(facts)),
    ]
}

/// The cgroup version for all nodes (`spec.cgroupMode` of `nodes.config.openshift.io`). Empty for the
/// release's default.
fn cgroup_mode(view: &View) -> &str {
    view.get(&NODE_SETTINGS, "", "cluster").map_or("", |settings| settings.text("/spec/cgroupMode"))
}

/// The pod and the container whose log has the lines of this actor of the machine-config operator. Daemons and
/// controller run without pods: their logs have the names that their pods would begin with.
pub fn log_name(actor: &str) -> Option<(String, &'static str)> {
    match actor.split_once('/')? {
        (DAEMON, node) => {
            let node = node.split('/').next().unwrap_or(node);
            Some((format!("{DAEMON}-{node}"), DAEMON))
        }
        (CONTROLLER, _) => Some((CONTROLLER.to_owned(), CONTROLLER)),
        _ => None,
    }
}

/// The registries in the files of a node. `None` if its MachineConfig does not exist.
pub(crate) fn registries_of(node: &Object, view: &View) -> Option<RegistriesConf> {
    let config = node.annotation(annotations::CURRENT_CONFIG)?;
    view.get(&MACHINE_CONFIGS, "", config).map(registries::conf_of)
}

fn controller_identity() -> Identity {
    Identity::service_account(NAMESPACE, CONTROLLER)
}

/// Major and minor of the release of the controller and the daemons.
pub(crate) fn controller_line(view: &View) -> MajorMinor {
    let controller = view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG);
    let version = controller.and_then(|config| Version::parse(config.annotation(RELEASE_VERSION)?).ok());
    version.map_or((0, 0), |version| (version.major, version.minor))
}

/// The recorder of Events about a pool from a part of the controller.
fn pool_events(pool: &Object, component: &str) -> Recorder {
    controller_events(&MACHINE_CONFIG_POOLS, pool, component)
}

/// The recorder of Events about a cluster-scoped object from a part of the controller. The controller adds its own
/// namespace to the object (`NamespacedEventRecorder`), because Events about cluster-scoped objects are only accepted
/// in `default`.
fn controller_events(resource: &Resource, object: &Object, component: &str) -> Recorder {
    let involved = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "name": object.name(),
        "namespace": NAMESPACE,
        "uid": object.uid(),
        "resourceVersion": object.resource_version(),
    });
    let source = json!({ "component": component });
    let mut events = Recorder::of(Subject { involved, namespace: NAMESPACE.to_owned(), source });
    events.set_reporting(true);
    events
}

/// The recorder of Events about a node from the daemon on `host`.
fn daemon_events(node: &Object, host: &str) -> Recorder {
    let involved = json!({ "kind": "Node", "name": node.name(), "uid": node.name() });
    let source = json!({ "component": "machineconfigdaemon", "host": host });
    Recorder::of(Subject { involved, namespace: "default".to_owned(), source })
}

/// The FeatureGate `cluster` with another feature set, to be applied. After a `quick` switch nodes do not reboot:
/// their kubelets get the gates with the next release ([`annotations::QUICK_SWITCH`]).
pub fn feature_set_switch(feature_set: &str, quick: bool) -> Value {
    let mut object = json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "FeatureGate",
        "metadata": { "name": "cluster" },
        "spec": { "featureSet": feature_set },
    });
    if quick {
        object["metadata"]["annotations"] = json!({ annotations::QUICK_SWITCH: "true" });
    }
    object
}

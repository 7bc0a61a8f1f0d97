//! The machine-config operator, its controller and its daemons: how nodes get from one release to another.
//!
//! The operator ([`operator`]) waits for its Deployment to be of another release, then writes that release into the
//! ControllerConfig; it keeps an object for each node in which the others tell how far that is ([`config_node`]). The controller's parts each do one thing: MachineConfigs of the release ([`template`]), one of them for
//! each pool ([`render`]), the turns of the pool's nodes ([`pool`]), cordons and drains ([`drain`]). The daemon of a node
//! ([`daemon`]) walks it there. They meet in annotations of Nodes and in MachineConfigPools, nowhere else.

pub mod annotations;
mod config_node;
mod daemon;
mod daemon_set;
mod drain;
mod install;
mod membership;
mod node;
mod operator;
mod pace;
mod pool;
mod render;
mod rendered;
pub mod server;
mod template;
mod templates;

use std::sync::Arc;

use semver::Version;
use serde_json::json;
use windtunnel_controllers::Actor;
use windtunnel_controllers::recorder::{Recorder, Subject};
use windtunnel_core::resources::{CONTROLLER_CONFIGS, NODE_SETTINGS};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Identity, Object, View};

use crate::manifests::Line;
use crate::world::World;
pub use annotations::RELEASE_VERSION;
pub use daemon::MachineConfigDaemon;
pub(super) use daemon::{KUBELET_STATE, PIVOT_ERRORS, REBOOT_ERRORS};
pub use daemon_set::key as daemon_set;
pub(super) use drain::DRAIN_ERRORS;
pub use install::{Installed, annotate_node};
pub(super) use membership::{MASTER_LABEL, contested, control_plane, is_master};
pub use operator::MachineConfigOperator;

/// Namespace of the operator, the controller and the daemons.
pub const NAMESPACE: &str = "openshift-machine-config-operator";
/// The ClusterOperator that the operator reports in.
pub const CLUSTER_OPERATOR: &str = "machine-config";
/// The definition of pools, without which there are none.
pub const POOLS: &str = "machineconfigpools.machineconfiguration.openshift.io";
/// The one ControllerConfig.
const CONTROLLER_CONFIG: &str = "machine-config-controller";
/// ServiceAccounts of the controller and of the daemons.
const CONTROLLER: &str = "machine-config-controller";
const DAEMON: &str = "machine-config-daemon";

/// The parts of the machine-config controller.
pub fn controller(world: &Arc<World>, streams: &Streams) -> Vec<Box<dyn Actor>> {
    vec![
        Box::new(template::TemplateController::new(Arc::clone(world))),
        Box::new(render::RenderController::new()),
        Box::new(pool::NodeController::new()),
        Box::new(drain::DrainController::new(*streams)),
    ]
}

/// The parts of the operator with these facts.
pub fn operator(
    facts: &crate::release::Operator,
    component: &str,
    world: &Arc<World>,
    streams: &Streams,
) -> Vec<Box<dyn Actor>> {
    vec![
        Box::new(MachineConfigOperator::new(facts, component, Arc::clone(world), streams)),
        Box::new(config_node::keeper::MachineConfigNodes::new(facts)),
    ]
}

/// The version of Linux control groups that all nodes are to have (`spec.cgroupMode` of the cluster's settings of nodes); empty: that
/// of the release.
fn cgroup_mode(view: &View) -> &str {
    view.get(&NODE_SETTINGS, "", "cluster").map_or("", |settings| settings.text("/spec/cgroupMode"))
}

fn controller_identity() -> Identity {
    Identity::service_account(NAMESPACE, CONTROLLER)
}

/// The minor of the release that the controller and the daemons are of.
fn controller_line(view: &View) -> Line {
    let controller = view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG);
    let version = controller.and_then(|config| Version::parse(config.annotation(RELEASE_VERSION)?).ok());
    version.map_or((0, 0), |version| (version.major, version.minor))
}

/// What the controller tells of a pool. It gives pools its own namespace (`NamespacedEventRecorder`): Events of what has none
/// are refused everywhere but in `default`.
fn pool_events(pool: &Object) -> Recorder {
    let involved = json!({
        "apiVersion": pool["apiVersion"],
        "kind": "MachineConfigPool",
        "name": pool.name(),
        "namespace": NAMESPACE,
        "uid": pool.uid(),
        "resourceVersion": pool.resource_version(),
    });
    let source = json!({ "component": "machineconfigcontroller" });
    Recorder::of(Subject { involved, namespace: NAMESPACE.to_owned(), source })
}

/// What is told of a node by `component`, with the host after a comma where it has one.
fn node_events(node: &Object, component: &str) -> Recorder {
    let involved = json!({ "kind": "Node", "name": node.name(), "uid": node.name() });
    let source = match component.split_once(',') {
        Some((component, host)) => json!({ "component": component, "host": host }),
        None => json!({ "component": component }),
    };
    Recorder::of(Subject { involved, namespace: "default".to_owned(), source })
}

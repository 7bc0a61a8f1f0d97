//! The simulated components of OpenShift, one folder each, and the facts of its releases.
//!
//! * `cvo/`: the cluster-version operator
//! * `mco/`: the machine-config operator, pools, drains, daemons
//! * `operators/`: all other operators, by the facts of their release
//! * `release/` and `payload/`: releases by facts, and payloads as folders of manifests
//! * `environment/`: the existing releases, the registry, the answers of the update service
//! * `graph.rs`: the update graph: channels, edges, risks
//! * `monitoring/` and `promql/`: metrics, alerts, Prometheus and its language
//! * `oc/`: `oc adm upgrade` and `oc get`
//! * `admission/`: plug-ins of OpenShift's API server
//! * `aggregated/`: `metrics.k8s.io`, Projects and the own User, which other API servers of a cluster serve
//! * `compatibility/`: CompatibilityRequirements
//! * `feature_gates.rs`: the feature gates that components check
//! * `manifests.rs`: the files of `manifests/`, which are part of the binary
//!
//! `components` lists all of them. One that runs in a pod also needs a place in `src/engine/runtime/processes.rs`,
//! manifests, a role and a binding.

pub mod admission;
pub mod aggregated;
pub mod certificate;
mod compatibility;
mod control_plane;
pub mod cvo;
pub mod environment;
mod feature_gates;
pub mod graph;
pub mod manifests;
pub mod marks;
pub mod mco;
pub mod monitoring;
pub mod oc;
pub mod operators;
pub mod payload;
pub mod promql;
pub mod release;
pub mod service_ca;
pub mod signature;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_controllers::Actor;
use windtunnel_controllers::kubelet::Kubelet;
use windtunnel_controllers::machine::{Boot, Disk, StaticPod};
use windtunnel_core::clock::Time;
use windtunnel_core::rng::Streams;

use crate::environment::Environment;

/// The default service network of the installer.
pub const SERVICE_NETWORK: &str = "172.30.0.0/16";

/// Seconds from the boot of a machine until its machine-config daemon starts.
const DAEMON_STARTS_SECONDS: (u64, u64) = (16, 24);

/// The programs of a machine: its kubelet, and its machine-config daemon if the disk has a configuration.
/// `boot` is a boot at `now`, which they report. Without one, the machine has been running before.
pub fn on_machine(
    node: &str,
    disk: &Disk,
    static_pods: &[StaticPod],
    boot: Option<Boot>,
    environment: &Arc<Environment>,
    streams: &Streams,
    now: Time,
) -> Vec<Box<dyn Actor>> {
    let mut ready = now;
    let is_started = boot.is_some();
    if let Some(boot) = &boot {
        let (low, high) = DAEMON_STARTS_SECONDS;
        let millis =
            streams.stream(&format!("machine-config-daemon/{}", boot.id)).between(low * 1000, high * 1000);
        ready = now + SignedDuration::from_millis(i64::try_from(millis).unwrap_or(0));
    }
    let kubelet = match boot {
        Some(boot) => Kubelet::booted(node, boot, Arc::clone(environment) as _, streams),
        None => Kubelet::new(node, Arc::clone(environment) as _, streams),
    };
    let mut actors: Vec<Box<dyn Actor>> = vec![Box::new(kubelet.with_static_pods(static_pods))];
    if !disk.config.is_empty() {
        let daemon = mco::MachineConfigDaemon::new(node, disk.clone(), streams, ready);
        actors.push(Box::new(if is_started { daemon.started_anew() } else { daemon }));
        actors.push(Box::new(mco::ImagePrefetcher::new(node, environment, *streams, ready)));
    }
    actors
}

/// The components beside the cluster-version operator: Prometheus, and the operators of all releases of
/// `environment`, each with the facts of the newest release that has it.
pub fn components(environment: &Arc<Environment>, streams: &Streams) -> Vec<Box<dyn Actor>> {
    let mut operators = BTreeMap::new();
    for component in environment.releases.values().flat_map(|release| release.components.iter()) {
        if let Some(facts) = &component.operator {
            operators.insert(&facts.cluster_operator, (facts, &component.name));
        }
    }
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    actors.push(Box::new(monitoring::Prometheus::new(Arc::clone(environment))));
    if environment.releases.values().any(compatibility::is_shipped_by) {
        actors.push(Box::new(compatibility::controller::CompatibilityController::new()));
    }
    let last = operators::LAST_MINOR_WITH_BACKUPS;
    if operators.contains_key(&operators::ETCD.to_owned())
        && environment.releases.keys().any(|version| version.minor <= last)
    {
        actors.push(Box::new(operators::BackupController::new(streams)));
    }
    let has_pools = environment.releases.values().any(|release| release.defines(mco::POOLS));
    if let Some((facts, component)) = operators.get(&operators::ETCD.to_owned())
        && !facts.deployment.is_empty()
    {
        actors.push(Box::new(operators::GuardController::new(facts, component)));
    }
    if let Some((facts, component)) = operators.get(&operators::NETWORK.to_owned()) {
        actors.push(Box::new(operators::ProxyController::new(facts, component)));
    }
    if let Some((facts, _)) = operators.get(&service_ca::CLUSTER_OPERATOR.to_owned())
        && !facts.deployment.is_empty()
    {
        actors.push(Box::new(service_ca::ServiceCa::new(facts, streams)));
    }
    for (facts, component) in operators.into_values() {
        if let Some(operands) = operators::OperandController::new(facts, component, environment) {
            actors.push(Box::new(operands));
        }
        // A custom payload may have its ClusterOperator without its Deployment.
        if facts.cluster_operator == mco::CLUSTER_OPERATOR && has_pools && !facts.deployment.is_empty() {
            actors.extend(mco::operator(facts, component, environment, streams));
            actors.extend(mco::controller(environment, streams));
        } else {
            actors.push(Box::new(operators::Operator::new(
                facts,
                component,
                Arc::clone(environment),
                streams,
            )));
        }
    }
    actors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::{Architecture, Component, OperatorFacts, Release};
    use semver::Version;

    fn release(version: &str, operators: &[&str]) -> Release {
        let component = |name: &&str| Component {
            name: format!("{name}-operator"),
            run_level: 50,
            manifests: 1,
            capabilities: Vec::new(),
            crds: Vec::new(),
            previews: Vec::new(),
            objects: Vec::new(),
            operator: Some(OperatorFacts {
                cluster_operator: (*name).to_owned(),
                ..OperatorFacts::default()
            }),
        };
        Release {
            version: Version::parse(version).unwrap(),
            image: String::new(),
            kubernetes_minor: 27,
            channels: Vec::new(),
            url: String::new(),
            architecture: Architecture::default(),
            known_capabilities: Vec::new(),
            preview_capabilities: Vec::new(),
            capability_sets: BTreeMap::new(),
            components: operators.iter().map(component).collect(),
            admin_gates: BTreeMap::new(),
            payload: None,
        }
    }

    #[test]
    fn a_cluster_has_the_operators_of_all_releases_once_each() {
        let releases = [release("4.14.8", &["dns", "etcd"]), release("4.15.2", &["etcd", "olm"])];
        let releases = releases.map(|release| (release.version.clone(), release)).into();
        let environment = Arc::new(Environment { releases, ..Environment::default() });
        let actors = components(&environment, &Streams::new(1));
        let names: Vec<&str> = actors.iter().map(|actor| actor.name()).collect();
        let expected = "prometheus operator/etcd-operator operator/dns-operator operator/etcd-operator operator/olm-operator";
        assert_eq!(names.join(" "), expected);
    }
}

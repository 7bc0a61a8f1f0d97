//! The simulated components of a cluster, and their names.

use std::collections::BTreeSet;
use std::sync::Arc;

use semver::Version;
use windtunnel_controllers::Actor;
use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::service_accounts::RootCaPublisher;
use windtunnel_core::rng::Streams;
use windtunnel_core::text::did_you_mean;
use windtunnel_openshift::cvo;
use windtunnel_openshift::environment::{Environment, is_named};
use windtunnel_openshift::release::Release;

use crate::engine::error::SessionError;
use crate::engine::runtime::{Simulation, UPDATE_STATUS_CONTROLLER};

/// The component that runs the pods of a node, one per machine.
pub(super) const KUBELET: &str = "kubelet";
/// The component that changes a machine to its MachineConfig, one per machine.
pub(super) const MACHINE_CONFIG_DAEMON: &str = "machine-config-daemon";

/// Components that are no actors of the whole cluster: they run in containers or on machines.
const ELSEWHERE: [&str; 4] = [cvo::NAME, UPDATE_STATUS_CONTROLLER, KUBELET, MACHINE_CONFIG_DAEMON];

/// The components of a cluster, apart from those that it is without.
///
/// # Errors
/// It is without a component that no cluster has.
pub(super) fn of(
    environment: &Arc<Environment>,
    streams: Streams,
    cluster: &Simulation,
) -> Result<Vec<Box<dyn Actor>>, SessionError> {
    let mut all = Vec::new();
    if !environment.has_controllers {
        let payload = environment.payload_workloads;
        all.extend(windtunnel_controllers::kubernetes_with(&streams, payload, cluster.api_server.minor));
        let nodes = Arc::clone(environment) as Arc<dyn NodeEnvironment>;
        for actor in &mut all {
            actor.set_environment(&nodes);
        }
    }
    if let Some(programs) = cluster.connection.programs() {
        let publisher = RootCaPublisher::new(programs.endpoint().authority);
        all.push(Box::new(publisher) as Box<dyn Actor>);
    }
    all.extend(windtunnel_openshift::components(environment, &streams));
    check(&environment.without, &names(&all))?;
    all.retain(|actor| !environment.is_without(actor.name()));
    Ok(all)
}

/// The names of the components of OpenShift and of machines in a cluster with this environment.
pub(super) fn of_openshift(environment: &Arc<Environment>) -> BTreeSet<String> {
    names(&windtunnel_openshift::components(environment, &Streams::new(0)))
}

/// Returns the names by which users select the components of OpenShift and of machines, over all releases.
pub fn component_names() -> BTreeSet<String> {
    let releases =
        Release::lines().filter_map(|(major, minor)| Release::find(&Version::new(major, minor, 0)).ok());
    let releases = releases.map(|release| (release.version.clone(), release)).collect();
    let all = of_openshift(&Arc::new(Environment { releases, ..Environment::default() }));
    all.iter().map(|name| short(name).to_owned()).collect()
}

/// The short form of a name: an operator's, or that of a group of controllers.
fn short(name: &str) -> &str {
    match name.split_once('/') {
        Some(("operator", _)) => name.strip_suffix("-operator").unwrap_or(name),
        Some((group, _)) => group,
        None => name,
    }
}

/// Checks that each of these names is that of a component in `known`.
///
/// # Errors
/// A component that no cluster has.
pub(super) fn check(wanted: &BTreeSet<String>, known: &BTreeSet<String>) -> Result<(), SessionError> {
    let is_known = |name: &&String| known.iter().any(|known| is_named(known, name));
    match wanted.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(SessionError::NotThere {
            kind: "component".to_owned(),
            name: name.clone(),
            hint: did_you_mean(name, known.iter().flat_map(|known| [known.as_str(), short(known)])),
        }),
    }
}

fn names(actors: &[Box<dyn Actor>]) -> BTreeSet<String> {
    let actors = actors.iter().map(|actor| actor.name());
    actors.chain(ELSEWHERE).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Session;
    use crate::plan::{ClusterPlan, Plan};

    #[test]
    fn a_cluster_is_without_groups_and_short_names_of_components() {
        let release = Release::find(&Version::new(4, 18, 3)).unwrap();
        let without = ["kubelet", "operator/etcd", "machine-config-controller"].map(str::to_owned);
        let plan = ClusterPlan { without: without.into(), ..ClusterPlan::new(release.clone()) };
        let session = Session::start(&Plan::new(plan, Vec::new()), 1).unwrap();
        let running: Vec<&str> = session.simulation.schedule.names().map(|(_, name)| name).collect();
        for name in ["kubelet", "operator/etcd", "machine-config-controller"] {
            assert!(!running.iter().any(|running| is_named(running, name)), "{name}: {running:?}");
        }
        for name in ["machine-config-daemon", "operator/dns", "machine-config-operator"] {
            assert!(running.iter().any(|running| is_named(running, name)), "{name}: {running:?}");
        }
        let plan = ClusterPlan { without: ["kubelets".to_owned()].into(), ..ClusterPlan::new(release) };
        let error = Session::start(&Plan::new(plan, Vec::new()), 1).map(drop).unwrap_err().to_string();
        assert_eq!(error, "the cluster has no component `kubelets`; did you mean `kubelet`?");
    }

    #[test]
    fn names_are_short() {
        let names = component_names();
        for name in [
            "cluster-version-operator",
            "kubelet",
            "machine-config-controller",
            "operator/etcd",
            "prometheus",
        ] {
            assert!(names.contains(name), "{name}: {names:?}");
        }
        assert!(!names.iter().any(|name| name.ends_with("/node")), "{names:?}");
    }
}

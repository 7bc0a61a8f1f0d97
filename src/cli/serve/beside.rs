//! Simulated components beside a plain API server.
//!
//! They run on a thread of their own, as the components of a simulated cluster do, at the speed of this machine's clock.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use semver::Version;
use tokio::runtime::Handle;
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::{Clock as _, VirtualClock, WallClock};
use windtunnel_openshift::release::Release;

use super::clock::{self, ClockEndpoint, ClusterClock};
use super::controllers::{self, ServerProperties};
use super::simulated::default_targets;
use crate::backends::ClusterConnection;
use crate::backends::in_process::InProcess;
use crate::cli::args::controllers::{Controller, Selected};
use crate::cli::print_errors;
use crate::engine::{ComponentsBeside, Session, SessionError};

/// Components that run in pods, with the controllers that they need for it.
const IN_PODS: [(&str, &[Controller]); 2] = [
    (
        "cluster-version-operator",
        &[Controller::Deployments, Controller::Jobs, Controller::Scheduler, Controller::ReplicaSets],
    ),
    ("update-status-controller", &[Controller::Deployments, Controller::Scheduler, Controller::ReplicaSets]),
];

const KUBELET: &str = "kubelet";
const DAEMON: &str = "machine-config-daemon";
/// The controller that renders the MachineConfigs of daemons.
const RENDERER: &str = "machine-config-controller/render";

/// The running components.
pub(in crate::cli) struct Beside {
    shared: Shared,
    stopping: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// Starts the selected components with the selected controllers of Kubernetes; without any component, nothing. Returns them
/// with the server for clients, who see the time of the components.
///
/// # Errors
/// A component needs another one, the release has no such component, or the API server rejects what they need.
pub(in crate::cli) fn start(
    shared: &Shared,
    selected: &[Selected],
    properties: &ServerProperties,
    options: Options,
) -> Result<Option<(Beside, Shared)>, String> {
    let names: BTreeSet<String> = selected.iter().filter_map(component).collect();
    if names.is_empty() {
        return Ok(None);
    }
    let release = release(properties.minor);
    let targets = default_targets(&release.version);
    let others = targets.iter().filter_map(|version| Release::find(version).ok()).collect();
    let kubernetes = controllers::of_kubernetes(selected);
    let components = ComponentsBeside {
        names,
        release,
        others,
        stays_at_version: options.stays_at_version,
        controllers: controllers::selected_actors(&kubernetes, shared, properties),
    };
    check_needs(&components, &kubernetes)?;
    let (sender, receiver) = mpsc::channel();
    let stopping = Arc::new(AtomicBool::new(false));
    let (stopped, server) = (Arc::clone(&stopping), shared.clone());
    let minor = properties.minor;
    let thread = std::thread::spawn(move || {
        let clock = Arc::new(ClusterClock::starting_at(WallClock.now(), 1.0));
        let start = clock.now();
        let connect = |clock: Arc<VirtualClock>| {
            Box::new(InProcess::attached_to(server.with_clock(clock))) as Box<dyn ClusterConnection>
        };
        let session = Session::start_beside(connect, components, minor, options.seed, start);
        let mut session = match session {
            Ok(session) => session,
            Err(error) => return drop(sender.send(Err(error))),
        };
        let shared = server.with_clock(clock.clone());
        let endpoint = Arc::new(ClockEndpoint::new(Arc::clone(&clock), shared.clone()));
        if sender.send(Ok(shared.with_endpoint(endpoint))).is_err() {
            return;
        }
        if let Err(error) = clock::run(&mut session, &clock, &shared, &stopped, &options.runtime) {
            print_errors(&format!("the simulated components stopped: {error}"));
        }
    });
    match receiver.recv() {
        Ok(Ok(shared)) => Ok(Some((Beside { shared: shared.clone(), stopping, thread }, shared))),
        Ok(Err(error)) => Err(format!("--controllers: {error}")),
        Err(_) => Err(SessionError::Ended.to_string()),
    }
}

/// How components run.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Options {
    /// The seed of their random values.
    pub(in crate::cli) seed: u64,
    /// Whether the API server keeps its Kubernetes version.
    pub(in crate::cli) stays_at_version: bool,
    /// The runtime that waits for writes.
    pub(in crate::cli) runtime: Handle,
}

impl Beside {
    /// Stops the components.
    pub(in crate::cli) fn stop(self) {
        self.stopping.store(true, Ordering::Relaxed);
        let Self { shared, thread, .. } = self;
        // The thread may sleep until something is due.
        shared.wake();
        let _ = thread.join();
    }
}

fn component(selected: &Selected) -> Option<String> {
    match selected {
        Selected::Kubernetes(_) => None,
        Selected::Component(name) => Some(name.clone()),
    }
}

/// Returns the newest release whose Kubernetes version is not newer than 1.`minor`, or else the oldest.
fn release(minor: u32) -> Release {
    let releases = Release::lines().map(|(major, minor)| Release::nearest(&Version::new(major, minor, 1)));
    let all: Vec<Release> = releases.collect();
    let found = all.iter().rev().find(|release| release.kubernetes_minor <= minor).or(all.first());
    found.cloned().unwrap_or_else(|| Release::nearest(&Version::new(4, 0, 1)))
}

/// Checks that components have what they need besides objects.
fn check_needs(components: &ComponentsBeside, controllers: &[Controller]) -> Result<(), String> {
    for (name, needs) in IN_PODS.into_iter().filter(|(name, _)| components.include(name)) {
        let is_missing =
            |need: &&Controller| !controllers.contains(&Controller::All) && !controllers.contains(need);
        let missing = needs.iter().filter(is_missing).map(|need| Selected::Kubernetes(*need).name());
        let kubelet = (!components.include(KUBELET)).then(|| KUBELET.to_owned());
        let missing: Vec<String> = missing.chain(kubelet).collect();
        if !missing.is_empty() {
            return Err(format!(
                "--controllers: {name} runs in a pod; add {} to the list, and create a Node with the label \
                 node-role.kubernetes.io/master",
                missing.join(",")
            ));
        }
    }
    if components.include(DAEMON) && !components.include(RENDERER) {
        return Err(format!(
            "--controllers: {DAEMON} needs rendered MachineConfigs; add machine-config-controller to the list"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_of_the_newest_release_that_the_server_serves() {
        for (minor, expected) in [(31, "4.18.1"), (33, "4.20.1"), (36, "5.0.1"), (99, "5.0.1"), (1, "4.10.1")]
        {
            assert_eq!(release(minor).version.to_string(), expected, "1.{minor}");
        }
    }

    #[test]
    fn a_component_in_a_pod_names_the_controllers_that_are_missing() {
        let check = |names: &[&str], controllers: &[Controller]| {
            let components = ComponentsBeside {
                names: names.iter().map(|name| (*name).to_owned()).collect(),
                release: release(31),
                others: Vec::new(),
                stays_at_version: false,
                controllers: Vec::new(),
            };
            check_needs(&components, controllers)
        };
        assert_eq!(check(&["cluster-version-operator", "kubelet"], &[Controller::All]), Ok(()));
        assert_eq!(check(&["operator/etcd"], &[]), Ok(()));
        let error =
            check(&["cluster-version-operator"], &[Controller::Jobs, Controller::Scheduler]).unwrap_err();
        let missing = "--controllers: cluster-version-operator runs in a pod; add deployment-controller,replicaset-controller,\
                       kubelet to the list, and create a Node with the label node-role.kubernetes.io/master";
        assert_eq!(error, missing);
        let daemon = ["machine-config-daemon", "kubelet"];
        assert!(check(&daemon, &[]).unwrap_err().ends_with("add machine-config-controller to the list"));
        assert_eq!(check(&[daemon[0], "machine-config-controller/render"], &[]), Ok(()));
    }
}

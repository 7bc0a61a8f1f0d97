//! An existing cluster that others may use: a run leaves their objects alone and removes its own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::Config;
use serde_json::Value;
use windtunnel_core::clock::{Clock as _, ManualClock, Time, WallClock};
use windtunnel_core::resources::{CLUSTER_VERSIONS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NODES};
use windtunnel_openshift::manifests;

use super::remote::marks::sweep::sweep;
use super::remote::marks::{policy, runs};
use super::remote::{self, Link, Remote, Stamp, Terms, Wire, heartbeats};
use super::{
    Backend, BackendError, Capabilities, Cleanups, ClusterConnection, Order, RUN, ReportProgress, Stop,
};

/// The time limit for the cluster to become ready, and the polling interval.
const READY_WITHIN: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The number of polls for the controllers of a cluster with nodes; some clusters have none.
const CONTROLLER_POLLS: u32 = 6;

/// The settings for the use of a cluster.
#[derive(Clone)]
pub struct ClusterSettings {
    /// The connection settings.
    pub config: Config,
    /// The maximum speed of the run's clock, as a multiple of the wall clock.
    pub speed: f64,
    /// The maximum number of writes per second.
    pub writes_per_second: u32,
    /// Whether the objects of a run stay.
    pub keep: bool,
    /// Instructions for people to access and to remove the objects that stay.
    pub removal: String,
    /// Whether the cluster is known to have its own nodes and controllers, which a new cluster needs time to
    /// start.
    pub has_kubelets: bool,
    /// Makes runs end early and clean up.
    pub stop: Stop,
}

/// A backend that uses an existing cluster, one run at a time.
pub struct Existing {
    cluster: ClusterSettings,
    cleanups: Cleanups,
    report: ReportProgress,
}

impl Existing {
    /// Checks that the cluster answers, is not a real OpenShift cluster and has no active run. Removes the
    /// remains of a killed run.
    ///
    /// # Errors
    /// The reason why the cluster is not used.
    pub fn reach(
        cluster: ClusterSettings,
        cleanups: &Cleanups,
        report: ReportProgress,
    ) -> Result<Self, BackendError> {
        let wire = connect(&cluster)?;
        wait_until_ready(&wire, &report)?;
        if cluster.has_kubelets {
            wait_until_settled(&wire, &report)?;
        }
        reject_openshift(&wire)?;
        remove_remains(&wire, &report)?;
        check_definitions(&wire)?;
        Ok(Self { cluster, cleanups: cleanups.clone(), report })
    }
}

/// Removes the objects of runs from a cluster, also of runs with `--keep`.
///
/// # Errors
/// A run is active there, or an object cannot be removed.
pub fn clean(cluster: &ClusterSettings, report: &ReportProgress) -> Result<(), BackendError> {
    let wire = connect(cluster)?;
    wait_until_ready(&wire, report)?;
    match runs::current_run(&wire)? {
        None => report("nothing to remove"),
        Some(run) if run.is_alive && !run.is_kept => return Err(active_error(&run)),
        Some(run) => remove(&wire, &run.lease, report)?,
    }
    Ok(())
}

impl Backend for Existing {
    fn open(&self, order: &Order) -> Result<Box<dyn ClusterConnection>, BackendError> {
        let wire = connect(&self.cluster)?;
        reject_openshift(&wire)?;
        remove_remains(&wire, &self.report)?;
        check_definitions(&wire)?;
        let run = runs::new_id();
        let controllers = has_controllers(&wire)?;
        let stamp = Stamp { run: Some(run.clone()), beside_others: has_nodes(&wire)? };
        let lease = runs::take_lease(&wire, &run)?;
        let capabilities = Capabilities {
            virtual_time: false,
            request_faults: false,
            any_kubernetes: false,
            real_kubelets: stamp.beside_others,
            controllers,
            speed: round_up(self.cluster.speed),
        };
        // Only the run's own thread can read its clock.
        let time = ManualClock::at(order.clock.now());
        let (link, inbox) = Link::new(Arc::clone(&wire), stamp, Some(Arc::clone(&time)));
        let bound = (Arc::clone(&wire), run.clone());
        let end = {
            let (link, report, keep) = (Arc::clone(&link), Arc::clone(&self.report), self.cluster.keep);
            let removal = self.cluster.removal.clone();
            self.cleanups.add(move || {
                link.close();
                // Cleanup also happens after the run was stopped.
                let wire = wire.unstopped();
                if keep {
                    lease.keep(&wire);
                    report(&format!("the objects of run {run} stay in the cluster; {removal}"));
                } else if let Err(error) = remove(&wire, &lease, &report) {
                    report(&error.to_string());
                }
            })
        };
        // From now on, `end` removes everything that the run creates.
        remote::grant_kubelet_permissions(&bound.0, &bound.1)?;
        if capabilities.real_kubelets {
            policy::install(&bound.0, &bound.1, &self.report)?;
        }
        if controllers {
            link.wait_for_controllers();
            heartbeats::start(&bound.0, &bound.1, capabilities.speed, time);
        }
        let speed = Some(self.cluster.speed);
        let clock = order.clock.clone();
        let terms = Terms { clock, speed, capabilities, own_server: None, end: Box::new(end) };
        let remote =
            Remote::open(link, inbox, terms).map_err(|rejection| BackendError::Failed(rejection.message))?;
        Ok(Box::new(remote))
    }

    fn epoch(&self) -> Option<Time> {
        Some(WallClock.now())
    }

    fn runs_at_a_time(&self) -> usize {
        1
    }
}

/// Returns a speed rounded up to a whole number, at least 1. Speeds do not exceed 100,000.
#[expect(clippy::cast_possible_truncation, reason = "a float is cast to the nearest number that there is")]
fn round_up(speed: f64) -> i32 {
    speed.ceil().max(1.0) as i32
}

fn connect(cluster: &ClusterSettings) -> Result<Arc<Wire>, BackendError> {
    let (config, stop) = (cluster.config.clone(), cluster.stop.clone());
    Ok(Arc::new(Wire::new(Wire::threads()?, config, Some(cluster.writes_per_second), stop)?))
}

fn wait_until_ready(wire: &Arc<Wire>, report: &ReportProgress) -> Result<(), BackendError> {
    wait(report, || {
        let reply = wire.probe("/readyz");
        match reply.code {
            // A client without permission for this path may have permission for others.
            200..300 | 401 | 403 | 404 => None,
            _ => Some(reply.checked().err().map(|rejection| rejection.message).unwrap_or_default()),
        }
    })
}

/// Waits until a new cluster has a Ready node, and for a short time until its controllers work. Otherwise it
/// would look like a cluster without controllers.
#[expect(clippy::disallowed_methods, reason = "real servers take their time on the wall")]
fn wait_until_settled(wire: &Arc<Wire>, report: &ReportProgress) -> Result<(), BackendError> {
    wait(report, || match wire.get(&NODES.path("", "")).checked() {
        Err(rejection) => Some(rejection.message),
        Ok(nodes) if !nodes["items"].as_array().into_iter().flatten().any(is_ready) => {
            Some("no node is Ready yet".to_owned())
        }
        Ok(_) => None,
    })?;
    for _ in 0..CONTROLLER_POLLS {
        if has_controllers(wire)? {
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn is_ready(node: &Value) -> bool {
    let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// Waits until `missing` returns `None`, and reports what it waits for.
#[expect(clippy::disallowed_methods, reason = "real servers take their time on the wall")]
fn wait(report: &ReportProgress, missing: impl Fn() -> Option<String>) -> Result<(), BackendError> {
    let (began, mut reported) = (std::time::Instant::now(), String::new());
    while let Some(why) = missing() {
        if began.elapsed() >= READY_WITHIN {
            return Err(BackendError::Failed(format!("the cluster is not ready: {why}")));
        }
        if why != reported {
            report(&format!("waiting for the cluster: {why}"));
            reported = why;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Rejects a cluster that may be a real OpenShift cluster.
fn reject_openshift(wire: &Arc<Wire>) -> Result<(), BackendError> {
    match wire.get(&CLUSTER_VERSIONS.path("", "version")).checked() {
        Err(rejection) if rejection.code == 404 => Ok(()),
        Err(rejection) => Err(BackendError::Failed(rejection.message)),
        Ok(version) if version["metadata"]["labels"][RUN].is_string() => Ok(()),
        Ok(version) => {
            let id = version["spec"]["clusterID"].as_str().unwrap_or("unknown");
            Err(BackendError::Refused(format!(
                "this cluster has a ClusterVersion that windtunnel did not write (clusterID {id}): it may be a real \
                 OpenShift cluster, and no flag makes windtunnel use it"
            )))
        }
    }
}

/// Rejects a cluster with CustomResourceDefinitions of others that a run would overwrite.
fn check_definitions(wire: &Arc<Wire>) -> Result<(), BackendError> {
    let all = wire.get(&CUSTOM_RESOURCE_DEFINITIONS.path("", "")).checked();
    let all = all.map_err(|rejection| BackendError::Failed(rejection.message))?;
    let names = manifests::crds((u64::MAX, 0)).filter_map(|own| own["metadata"]["name"].as_str());
    let own: BTreeSet<&str> = names.collect();
    let others = all["items"].as_array().into_iter().flatten().filter_map(|found| {
        let name = found["metadata"]["name"].as_str()?;
        (found["metadata"]["labels"][RUN].is_null() && own.contains(name)).then_some(name)
    });
    let others: Vec<&str> = others.collect();
    if others.is_empty() {
        return Ok(());
    }
    Err(BackendError::Refused(format!(
        "this cluster has CustomResourceDefinitions that a run would overwrite and windtunnel did not write: {}",
        others.join(", ")
    )))
}

/// Removes the remains of a killed run.
fn remove_remains(wire: &Arc<Wire>, report: &ReportProgress) -> Result<(), BackendError> {
    match runs::current_run(wire)? {
        None => Ok(()),
        // Runs of this process use the cluster one after the other.
        Some(run) if run.is_kept && !run.lease.is_of_this_process() => Err(BackendError::Refused(format!(
            "this cluster still has the objects of run {}, which was kept (--keep): remove them with `windtunnel \
             clean` and the same --kubeconfig and --context",
            run.lease.run
        ))),
        Some(run) if run.is_alive && !run.lease.is_of_this_process() => Err(active_error(&run)),
        Some(run) => {
            if !run.is_kept {
                report(&format!("run {} of {} ended without cleaning up", run.lease.run, run.holder));
            }
            remove(wire, &run.lease, report)
        }
    }
}

fn active_error(run: &runs::Run) -> BackendError {
    BackendError::Refused(format!("run {} of {} is active in this cluster", run.lease.run, run.holder))
}

fn remove(wire: &Arc<Wire>, lease: &runs::RunLease, report: &ReportProgress) -> Result<(), BackendError> {
    let run = &lease.run;
    report(&format!("removing the objects of run {run}"));
    let swept = sweep(wire, run, has_controllers(wire)?).map_err(BackendError::Failed)?;
    lease.give_back(wire);
    for kind in swept.unseen {
        report(&format!("objects of run {run} may remain, because a kind cannot be listed: {kind}"));
    }
    report(&format!("removed {} objects of run {run}", swept.removed));
    Ok(())
}

/// Returns whether kube-controller-manager runs: it publishes this ConfigMap in every namespace.
fn has_controllers(wire: &Arc<Wire>) -> Result<bool, BackendError> {
    match wire.get(&CONFIG_MAPS.path("default", "kube-root-ca.crt")).checked() {
        // The simulated controllers publish it as well.
        Ok(published) => Ok(published["metadata"]["labels"][RUN].is_null()),
        Err(rejection) if rejection.code == 404 => Ok(false),
        Err(rejection) => Err(BackendError::Failed(rejection.message)),
    }
}

/// Returns whether the cluster has nodes that no run created.
fn has_nodes(wire: &Arc<Wire>) -> Result<bool, BackendError> {
    let others = format!("{}?labelSelector=!{}&limit=1", NODES.path("", ""), remote::SIMULATED);
    let nodes = wire.get(&others).checked().map_err(|rejection| BackendError::Failed(rejection.message))?;
    Ok(nodes["items"].as_array().is_some_and(|items| !items.is_empty()))
}

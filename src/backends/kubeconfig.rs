//! A cluster that is there: others use it, too, so nothing of theirs is touched, and nothing of ours stays.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::Config;
use serde_json::Value;
use windtunnel_core::clock::{Clock as _, SetClock, Time, WallClock};
use windtunnel_core::resources::{CLUSTER_VERSIONS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NODES};
use windtunnel_openshift::manifests;

use super::remote::{self, Link, Remote, Stamp, Terms, Wire, heartbeats, runs, sweep};
use super::{Backend, BackendError, Capabilities, Cleanups, Door, Order, RUN, Stop, Tell};

/// How long the cluster may take to be ready, and how often it is asked.
const READY_WITHIN: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(500);
/// How often it is looked whether the controllers of a cluster with nodes are at work: some clusters have none.
const CONTROLLERS_LOOKS: u32 = 6;

/// How a cluster is used.
#[derive(Clone)]
pub struct Use {
    /// How it is reached.
    pub config: Config,
    /// How many times as fast as the wall's the clock of a run may pass.
    pub speed: f64,
    /// How many writes there may be in a second.
    pub writes_per_second: u32,
    /// Whether what a run made stays.
    pub keep: bool,
    /// How people reach what stays, and get rid of it.
    pub removal: String,
    /// Whether the cluster is known to come with nodes and controllers of its own, for which a young one is given time.
    pub has_kubelets: bool,
    /// Has runs end where they are, and clean up.
    pub stop: Stop,
}

/// A cluster that somebody named, one run at a time.
pub struct Existing {
    cluster: Use,
    cleanups: Cleanups,
    tell: Tell,
}

impl Existing {
    /// Looks at the cluster: whether it answers, is nobody's OpenShift, and nobody is at work in it. What a run left behind
    /// that was killed is removed.
    ///
    /// # Errors
    /// Why it is not touched.
    pub fn reach(cluster: Use, cleanups: &Cleanups, tell: Tell) -> Result<Self, BackendError> {
        let wire = connect(&cluster)?;
        wait_until_ready(&wire, &tell)?;
        if cluster.has_kubelets {
            wait_until_settled(&wire, &tell)?;
        }
        check(&wire)?;
        remove_remains(&wire, &tell)?;
        check_definitions(&wire)?;
        Ok(Self { cluster, cleanups: cleanups.clone(), tell })
    }
}

/// Removes what runs left behind in a cluster, also what was to stay.
///
/// # Errors
/// Somebody is at work there, or something does not go.
pub fn clean(cluster: &Use, tell: &Tell) -> Result<(), BackendError> {
    let wire = connect(cluster)?;
    wait_until_ready(&wire, tell)?;
    match runs::holding(&wire)? {
        None => tell("there is nothing to remove"),
        Some(run) if run.alive && !run.kept => return Err(at_work(&run)),
        Some(run) => remove(&wire, &run.lease, tell)?,
    }
    Ok(())
}

impl Backend for Existing {
    fn open(&self, order: &Order) -> Result<Box<dyn Door>, BackendError> {
        let wire = connect(&self.cluster)?;
        check(&wire)?;
        remove_remains(&wire, &self.tell)?;
        check_definitions(&wire)?;
        let run = runs::new_id();
        let controllers = has_controllers(&wire)?;
        let stamp = Stamp { run: Some(run.clone()), beside_others: has_nodes(&wire)? };
        let lease = runs::take(&wire, &run)?;
        let capabilities = Capabilities {
            virtual_time: false,
            request_faults: false,
            any_kubernetes: false,
            real_kubelets: stamp.beside_others,
            controllers,
            speed: whole(self.cluster.speed),
        };
        // The clock of the run can be read on its own thread alone.
        let time = SetClock::at(order.clock.now());
        let (link, inbox) = Link::new(Arc::clone(&wire), stamp, Some(Arc::clone(&time)));
        let bound = (Arc::clone(&wire), run.clone());
        let end = {
            let (link, tell, keep) = (Arc::clone(&link), Arc::clone(&self.tell), self.cluster.keep);
            let removal = self.cluster.removal.clone();
            self.cleanups.add(move || {
                link.close();
                // It is done also where the run was told to stop.
                let wire = wire.unstopped();
                if keep {
                    lease.keep(&wire);
                    tell(&format!("run {run} was left as it is; {removal}"));
                } else if let Err(error) = remove(&wire, &lease, &tell) {
                    tell(&error.to_string());
                }
            })
        };
        // From here on whatever is made is removed by `end`.
        remote::let_kubelets_work(&bound.0, &bound.1)?;
        if controllers {
            link.wait_for_controllers();
            heartbeats::start(&bound.0, &bound.1, capabilities.speed, time);
        }
        let speed = Some(self.cluster.speed);
        let clock = order.clock.clone();
        let terms = Terms { clock, speed, capabilities, beneath: None, end: Box::new(end) };
        let door =
            Remote::open(link, inbox, terms).map_err(|refusal| BackendError::Failed(refusal.message))?;
        Ok(Box::new(door))
    }

    fn epoch(&self) -> Option<Time> {
        Some(WallClock.now())
    }

    fn runs_at_a_time(&self) -> usize {
        1
    }
}

/// A speed in whole numbers, at least 1. There is none above 100,000.
#[expect(clippy::cast_possible_truncation, reason = "a float is cast to the nearest number that there is")]
fn whole(speed: f64) -> i32 {
    speed.ceil().max(1.0) as i32
}

fn connect(cluster: &Use) -> Result<Arc<Wire>, BackendError> {
    let (config, stop) = (cluster.config.clone(), cluster.stop.clone());
    Ok(Arc::new(Wire::new(Wire::threads()?, config, Some(cluster.writes_per_second), stop)?))
}

/// Waits until the API server is ready.
fn wait_until_ready(wire: &Arc<Wire>, tell: &Tell) -> Result<(), BackendError> {
    wait(tell, || {
        let reply = wire.probe("/readyz");
        match reply.code {
            // Who may not ask that may ask other things.
            200..300 | 401 | 403 | 404 => None,
            _ => Some(reply.checked().err().map(|refusal| refusal.message).unwrap_or_default()),
        }
    })
}

/// Waits until a cluster that was just made has a node that is Ready, and for a moment for its controllers: who looked
/// before would take it for one without.
#[expect(clippy::disallowed_methods, reason = "real servers take their time on the wall")]
fn wait_until_settled(wire: &Arc<Wire>, tell: &Tell) -> Result<(), BackendError> {
    wait(tell, || match wire.get(&NODES.path("", "")).checked() {
        Err(refusal) => Some(refusal.message),
        Ok(nodes) if !nodes["items"].as_array().into_iter().flatten().any(is_ready) => {
            Some("no node is Ready yet".to_owned())
        }
        Ok(_) => None,
    })?;
    for _ in 0..CONTROLLERS_LOOKS {
        if has_controllers(wire)? {
            break;
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

fn is_ready(node: &Value) -> bool {
    let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// Waits until nothing is `missing` any more, and tells what it waits for.
#[expect(clippy::disallowed_methods, reason = "real servers take their time on the wall")]
fn wait(tell: &Tell, missing: impl Fn() -> Option<String>) -> Result<(), BackendError> {
    let (began, mut told) = (std::time::Instant::now(), String::new());
    while let Some(why) = missing() {
        if began.elapsed() >= READY_WITHIN {
            return Err(BackendError::Failed(format!("the cluster is not ready: {why}")));
        }
        if why != told {
            tell(&format!("waiting for the cluster: {why}"));
            told = why;
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Refuses a cluster that is somebody's OpenShift, or looks like it.
fn check(wire: &Arc<Wire>) -> Result<(), BackendError> {
    match wire.get(&CLUSTER_VERSIONS.path("", "version")).checked() {
        Err(refusal) if refusal.code == 404 => Ok(()),
        Err(refusal) => Err(BackendError::Failed(refusal.message)),
        Ok(version) if version["metadata"]["labels"][RUN].is_string() => Ok(()),
        Ok(version) => {
            let id = version["spec"]["clusterID"].as_str().unwrap_or("unknown");
            Err(BackendError::Refused(format!(
                "this cluster has a ClusterVersion that windtunnel did not write (clusterID {id}): it may be a real \
                 OpenShift cluster, and is not touched whatever the flags"
            )))
        }
    }
}

/// Refuses a cluster with definitions of others that a run would put its own in the place of.
fn check_definitions(wire: &Arc<Wire>) -> Result<(), BackendError> {
    let all = wire.get(&CUSTOM_RESOURCE_DEFINITIONS.path("", "")).checked();
    let all = all.map_err(|refusal| BackendError::Failed(refusal.message))?;
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

/// Removes what a killed run left.
fn remove_remains(wire: &Arc<Wire>, tell: &Tell) -> Result<(), BackendError> {
    match runs::holding(wire)? {
        None => Ok(()),
        // Runs of this process come one after the other.
        Some(run) if run.kept && !run.lease.is_of_this_process() => Err(BackendError::Refused(format!(
            "run {} was left here as it is (--keep): remove it by `windtunnel clean` with the same --kubeconfig and \
             --context",
            run.lease.run
        ))),
        Some(run) if run.alive && !run.lease.is_of_this_process() => Err(at_work(&run)),
        Some(run) => {
            if !run.kept {
                tell(&format!("run {} of {} ended without cleaning up", run.lease.run, run.holder));
            }
            remove(wire, &run.lease, tell)
        }
    }
}

fn at_work(run: &runs::Run) -> BackendError {
    BackendError::Refused(format!("run {} of {} is at work in this cluster", run.lease.run, run.holder))
}

fn remove(wire: &Arc<Wire>, lease: &runs::Held, tell: &Tell) -> Result<(), BackendError> {
    let run = &lease.run;
    tell(&format!("removing what run {run} made"));
    let swept = sweep(wire, run, has_controllers(wire)?).map_err(BackendError::Failed)?;
    lease.give_back(wire);
    for kind in swept.unseen {
        tell(&format!("it was not looked whether there are objects of run {run} of a kind: {kind}"));
    }
    tell(&format!("removed {} objects of run {run}", swept.removed));
    Ok(())
}

/// Whether kube-controller-manager is at work: it publishes this ConfigMap into every namespace.
fn has_controllers(wire: &Arc<Wire>) -> Result<bool, BackendError> {
    match wire.get(&CONFIG_MAPS.path("default", "kube-root-ca.crt")).checked() {
        // A simulated one does so as well.
        Ok(published) => Ok(published["metadata"]["labels"][RUN].is_null()),
        Err(refusal) if refusal.code == 404 => Ok(false),
        Err(refusal) => Err(BackendError::Failed(refusal.message)),
    }
}

/// Whether the cluster has nodes that no run made.
fn has_nodes(wire: &Arc<Wire>) -> Result<bool, BackendError> {
    let others = format!("{}?labelSelector=!{}&limit=1", NODES.path("", ""), remote::SIMULATED);
    let nodes = wire.get(&others).checked().map_err(|refusal| BackendError::Failed(refusal.message))?;
    Ok(nodes["items"].as_array().is_some_and(|items| !items.is_empty()))
}

//! A cluster that is there: others use it, too, so nothing of theirs is touched, and nothing of ours stays.

use std::sync::Arc;
use std::time::Duration;

use kube::Config;

use super::remote::{self, Link, Remote, Stamp, Terms, Wire, path, runs, sweep};
use super::{Backend, BackendError, Capabilities, Cleanups, Door, Order, RUN, Tell};
use crate::base::clock::{Clock as _, Time, WallClock};
use crate::model::resources::{CLUSTER_VERSIONS, CONFIG_MAPS, NODES};

/// How long the cluster may take to be ready, and how often it is asked.
const READY_WITHIN: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(500);

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
    /// How people get rid of what stays.
    pub removal: String,
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
        check(&wire)?;
        remove_remains(&wire, &tell)?;
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
        Some(run) => remove(&wire, &run.id, tell)?,
    }
    Ok(())
}

impl Backend for Existing {
    fn open(&self, order: &Order) -> Result<Box<dyn Door>, BackendError> {
        let wire = connect(&self.cluster)?;
        check(&wire)?;
        remove_remains(&wire, &self.tell)?;
        let run = runs::new_id();
        runs::take(&wire, &run)?;
        let controllers = has_controllers(&wire);
        let stamp = Stamp { run: Some(run.clone()), beside_others: has_nodes(&wire)? };
        let capabilities = Capabilities {
            virtual_time: false,
            request_faults: false,
            any_kubernetes: false,
            restart: false,
            real_kubelets: stamp.beside_others,
            controllers,
            speed: whole(self.cluster.speed),
        };
        let (link, inbox) = Link::new(Arc::clone(&wire), stamp, None);
        let end = {
            let (link, tell, keep) = (Arc::clone(&link), Arc::clone(&self.tell), self.cluster.keep);
            let removal = self.cluster.removal.clone();
            self.cleanups.add(move || {
                link.close();
                if keep {
                    runs::keep(&wire);
                    tell(&format!("run {run} was left as it is; to remove it: {removal}"));
                } else if let Err(error) = remove(&wire, &run, &tell) {
                    tell(&error.to_string());
                }
            })
        };
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
    let wire = Wire::new(Wire::threads()?, cluster.config.clone(), Some(cluster.writes_per_second))?;
    Ok(Arc::new(wire))
}

/// Waits until the API server is ready, and tells what it waits for.
#[expect(clippy::disallowed_methods, reason = "real servers take their time on the wall")]
fn wait_until_ready(wire: &Arc<Wire>, tell: &Tell) -> Result<(), BackendError> {
    let (mut waited, mut told) = (Duration::ZERO, String::new());
    loop {
        let reply = wire.get("/readyz");
        match reply.code {
            // Who may not ask that may ask other things.
            200..300 | 401 | 403 | 404 => return Ok(()),
            _ => {}
        }
        let why = reply.checked().err().map(|refusal| refusal.message).unwrap_or_default();
        if waited >= READY_WITHIN {
            return Err(BackendError::Failed(format!("the cluster is not ready: {why}")));
        }
        if why != told {
            tell(&format!("waiting for the cluster: {why}"));
            told = why;
        }
        std::thread::sleep(LOOK);
        waited += LOOK;
    }
}

/// Refuses a cluster that is somebody's OpenShift, or looks like it.
fn check(wire: &Arc<Wire>) -> Result<(), BackendError> {
    match wire.get(&path(&CLUSTER_VERSIONS, "", "version")).checked() {
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

/// Removes what a killed run left.
fn remove_remains(wire: &Arc<Wire>, tell: &Tell) -> Result<(), BackendError> {
    match runs::holding(wire)? {
        None => Ok(()),
        Some(run) if run.kept => Err(BackendError::Refused(format!(
            "run {} was left here as it is (--keep): remove it by `windtunnel clean` with the same --kubeconfig and \
             --context",
            run.id
        ))),
        Some(run) if run.alive => Err(at_work(&run)),
        Some(run) => {
            tell(&format!("run {} of {} ended without cleaning up", run.id, run.holder));
            remove(wire, &run.id, tell)
        }
    }
}

fn at_work(run: &runs::Run) -> BackendError {
    BackendError::Refused(format!("run {} of {} is at work in this cluster", run.id, run.holder))
}

fn remove(wire: &Arc<Wire>, run: &str, tell: &Tell) -> Result<(), BackendError> {
    tell(&format!("removing what run {run} made"));
    let removed = sweep(wire, run, has_controllers(wire)).map_err(BackendError::Failed)?;
    runs::give_back(wire);
    tell(&format!("removed {removed} objects of run {run}"));
    Ok(())
}

/// Whether kube-controller-manager is at work: it publishes this ConfigMap into every namespace.
fn has_controllers(wire: &Arc<Wire>) -> bool {
    let published = wire.get(&path(&CONFIG_MAPS, "default", "kube-root-ca.crt"));
    // A simulated one does so as well.
    published.code == 200 && published.body["metadata"]["labels"][RUN].is_null()
}

/// Whether the cluster has nodes that no run made.
fn has_nodes(wire: &Arc<Wire>) -> Result<bool, BackendError> {
    let others = format!("{}?labelSelector=!{}&limit=1", path(&NODES, "", ""), remote::SIMULATED);
    let nodes = wire.get(&others).checked().map_err(|refusal| BackendError::Failed(refusal.message))?;
    Ok(nodes["items"].as_array().is_some_and(|items| !items.is_empty()))
}

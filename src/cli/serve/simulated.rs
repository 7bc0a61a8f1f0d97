//! Serves a simulated cluster.
//!
//! Its components run on a thread of their own, in virtual time. The thread advances to the time of the
//! clients whenever something is due or a client has written. In between, everything happens at its exact
//! moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::SignedDuration;
use semver::Version;
use tokio::runtime::Handle;
use windtunnel_apiserver::service::Shared;
use windtunnel_controllers::service_accounts::RootCaPublisher;
use windtunnel_core::clock::{Clock as _, ScaledClock, Time, WallClock, after};
use windtunnel_openshift::environment::Environment;
use windtunnel_openshift::release::Release;

use crate::backends::in_process::InProcess;
use crate::cli::args::ServeArgs;
use crate::cli::payload::Releases;
use crate::cli::{files, print_errors};
use crate::engine::{self, Session, SessionError};
use crate::plan::{ClusterPlan, ReleasePlan};
use crate::scenario::{self, Releases as _};

/// The wall time for which the clock of a cluster stays behind those of its clients.
const BEHIND_FOR: SignedDuration = SignedDuration::from_hours(8);

/// The maximum interval between advances, even if nothing is due.
const AT_LEAST_EVERY: Duration = Duration::from_secs(1);

/// A running cluster.
pub(super) struct Simulated {
    /// The API server for clients.
    pub(super) shared: Shared,
    /// The services outside the cluster.
    pub(super) environment: Arc<Environment>,
    stopping: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// Returns the cluster that the arguments describe; `None` for a plain API server.
///
/// # Errors
/// The arguments or the scenario are invalid.
pub(super) fn plan(args: &ServeArgs) -> Result<Option<ClusterPlan>, String> {
    let known = Releases::read(&args.payload)?;
    let Some(mut plan) = cluster_plan(args, &known)? else { return Ok(None) };
    if let Some(folder) = &args.graph_data {
        let releases = plan.releases.iter().map(|other| &other.release).chain([&plan.release]);
        let versions: Vec<Version> = releases.map(|release| release.version.clone()).collect();
        let (folder, service) = (folder.display().to_string(), &mut plan.update_service);
        scenario::graph_data("--graph-data", &folder, &versions, service, &known)
            .map_err(|problems| problems.to_string())?;
    }
    Ok(Some(plan))
}

/// Returns the cluster without the graph data of `--graph-data`.
fn cluster_plan(args: &ServeArgs, known: &Releases) -> Result<Option<ClusterPlan>, String> {
    if let Some(path) = &args.scenario {
        let text = files::read(path)?;
        let plan = scenario::parse(&path.display().to_string(), &text, known);
        // Users of a served cluster expect live kubelets.
        let served = plan.map(|plan| Some(ClusterPlan { node_leases: true, ..plan.cluster }));
        return served.map_err(|problems| problems.to_string());
    }
    let Some(version) = &args.version else { return Ok(None) };
    let release = known.find(version).map_err(|error| format!("--version: {error}"))?;
    let mut releases = Vec::new();
    for version in &args.release {
        releases.push(known.find(version).map_err(|error| format!("--release: {error}"))?);
    }
    if args.release.is_empty() {
        releases.extend(default_targets(version).iter().filter_map(|version| known.find(version).ok()));
    }
    let is_listed = |other: &Release| other.version == *version || releases.contains(other);
    let others: Vec<Release> =
        known.common_releases().into_iter().filter(|other| !is_listed(other)).collect();
    let releases = releases.into_iter().chain(others).map(ReleasePlan::plain).collect();
    Ok(Some(ClusterPlan {
        releases,
        feature_set: args.feature_set.clone().unwrap_or_default(),
        node_leases: true,
        kubernetes_minor: args.kubernetes,
        ..ClusterPlan::new(release)
    }))
}

/// Returns the start time of a cluster. At a speed above 1, it is early enough that the cluster reaches the
/// time of its clients after [`BEHIND_FOR`]; until then they see no event in the future. It is never before
/// [`engine::EPOCH`], when runs start, since dates in the objects of a scenario match that.
fn start_time(now: Time, speed: f64) -> Time {
    let gain = BEHIND_FOR.as_secs_f64() * (speed - 1.0).max(0.0);
    let gain = SignedDuration::try_from_secs_f64(gain).unwrap_or(SignedDuration::MAX);
    after(now, -gain).max(engine::EPOCH).min(now)
}

/// Returns the default releases to update to: the next patch, and the next minor.
fn default_targets(version: &Version) -> [Version; 2] {
    let next = Version::new(version.major, version.minor, version.patch + 1);
    [next, Version::new(version.major, version.minor + 1, 1)]
}

impl Simulated {
    /// Installs the cluster. Its time starts at [`start_time`] and runs at `--speed` times the wall clock.
    /// `certificate` (PEM) is that of the authority by which its pods verify the API server.
    ///
    /// # Errors
    /// The cluster cannot be installed.
    pub(super) fn start(
        plan: ClusterPlan,
        args: &ServeArgs,
        certificate: String,
        runtime: &Handle,
    ) -> Result<Self, String> {
        let (seed, speed) = (args.seed, args.speed);
        let (sender, receiver) = mpsc::channel();
        let stopping = Arc::new(AtomicBool::new(false));
        let (stopped, runtime) = (Arc::clone(&stopping), runtime.clone());
        let thread = std::thread::spawn(move || {
            let start = start_time(WallClock.now(), speed);
            let mut shared = None;
            let session = Session::start_with_connection(&plan, seed, start, |minor, clock| {
                let connection = InProcess::served(minor, seed, clock);
                shared = Some(connection.shared().clone());
                Box::new(connection)
            });
            let (mut session, shared) = match (session, shared) {
                (Ok(session), Some(shared)) => (session, shared),
                (Err(error), _) => return drop(sender.send(Err(error))),
                (Ok(_), None) => return drop(sender.send(Err(SessionError::Ended))),
            };
            session.add(Box::new(RootCaPublisher::new(certificate)));
            session.scrape_start();
            let clock = Arc::new(ScaledClock::starting_at(start, speed));
            let environment = Arc::clone(session.environment());
            if sender.send(Ok((shared.with_clock(clock.clone()), environment))).is_ok()
                && let Err(error) = advance_until_stopped(&mut session, &clock, &shared, &stopped, &runtime)
            {
                print_errors(&format!("the simulated cluster stopped: {error}"));
            }
        });
        match receiver.recv() {
            Ok(Ok((shared, environment))) => Ok(Self { shared, environment, stopping, thread }),
            Ok(Err(error)) => Err(format!("the cluster could not be installed: {error}")),
            Err(_) => Err(SessionError::Ended.to_string()),
        }
    }

    pub(super) fn stop(self) {
        self.stopping.store(true, Ordering::Relaxed);
        let Self { shared, thread, .. } = self;
        // The thread may sleep until something is due.
        shared.wake();
        let _ = thread.join();
    }
}

/// Advances the cluster to the time of the clock until `stopping` is set.
fn advance_until_stopped(
    session: &mut Session,
    clock: &ScaledClock,
    shared: &Shared,
    stopping: &AtomicBool,
    runtime: &Handle,
) -> Result<(), SessionError> {
    let mut changes = shared.subscribe();
    while !stopping.load(Ordering::Relaxed) {
        // Writes from here on end the wait below.
        changes.borrow_and_update();
        session.run_scraped_to(clock.now())?;
        session.clear_record();
        let wait = session.due().map_or(AT_LEAST_EVERY, |due| clock.until(due).min(AT_LEAST_EVERY));
        runtime.block_on(async {
            let _ = tokio::time::timeout(wait, changes.changed()).await;
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(now: &str, speed: f64, expected: &str) {
        assert_eq!(start_time(now.parse().unwrap(), speed), expected.parse().unwrap());
    }

    #[test]
    fn a_fast_cluster_starts_in_the_past() {
        check("2026-06-01T12:00:00Z", 0.5, "2026-06-01T12:00:00Z");
        check("2026-06-01T12:00:00Z", 1.0, "2026-06-01T12:00:00Z");
        check("2026-06-01T12:00:00Z", 2.0, "2026-06-01T04:00:00Z");
        check("2026-06-01T12:00:00Z", 60.0, "2026-05-12T20:00:00Z");
        check("2026-06-01T12:00:00Z", 100_000.0, "2024-01-15T08:00:00Z");
        check("2020-06-01T12:00:00Z", 60.0, "2020-06-01T12:00:00Z");
    }
}

//! Serves a simulated cluster.
//!
//! Its components run on a thread of their own, in virtual time, up to the time of the cluster's clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use semver::Version;
use tokio::runtime::Handle;
use tokio::sync::watch;
use windtunnel_apiserver::https::Authority;
use windtunnel_apiserver::service::Shared;
use windtunnel_controllers::PayloadWorkloads;
use windtunnel_controllers::certificate_signing::CertificateSigningController;
use windtunnel_controllers::service_accounts::RootCaPublisher;
use windtunnel_core::clock::{Clock as _, WallClock};
use windtunnel_openshift::environment::Environment;
use windtunnel_openshift::release::Release;

use super::clock::{self, ClockEndpoint, ClockPace, ClusterClock, start_time};
use super::controllers::Signer;
use super::open_cluster::OpenCluster;
use super::timeline::{self, TimelineState};
use crate::backends::{Order, Stop};
use crate::cli::args::ServeArgs;
use crate::cli::payload::Releases;
use crate::cli::{consent, files, print_errors};
use crate::engine::{Session, SessionError};
use crate::plan::{ClusterPlan, Plan, ProgramTime, ReleasePlan};
use crate::scenario::{self, Releases as _};

/// A running cluster.
pub(super) struct Simulated {
    /// The API server for clients.
    pub(super) shared: Shared,
    /// The services outside the cluster.
    pub(super) environment: Arc<Environment>,
    /// The result of the timeline so far.
    pub(super) timeline: watch::Receiver<TimelineState>,
    /// A notice for users about its clock.
    pub(super) notice: Option<String>,
    stopping: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// Returns the cluster that the arguments describe, with the steps to run in it; `None` for a plain API server.
///
/// # Errors
/// The arguments or the scenario are invalid.
pub(super) fn plan(args: &ServeArgs) -> Result<Option<Plan>, String> {
    let known = Releases::read(&args.payload)?;
    // Served time never waits for programs.
    let programs = args.programs.plans(ProgramTime::Scaled(args.speed));
    let Some(mut whole) = cluster_plan(args, &known)? else {
        return match programs.as_slice() {
            [] => Ok(None),
            _ => Err("--program requires a simulated cluster: add `--version` or `--scenario`".to_owned()),
        };
    };
    let plan = &mut whole.cluster;
    plan.programs.extend(programs);
    plan.without.extend(args.without.iter().cloned());
    if let Some(folder) = &args.graph_data {
        files::allowed::give(std::slice::from_ref(folder));
        let releases = plan.releases.iter().map(|other| &other.release).chain([&plan.release]);
        let versions: Vec<Version> = releases.map(|release| release.version.clone()).collect();
        let (folder, service) = (folder.display().to_string(), &mut plan.update_service);
        scenario::graph_data("--graph-data", &folder, &versions, service, &known)
            .map_err(|problems| problems.to_string())?;
    }
    Ok(Some(whole))
}

/// Returns the cluster without the graph data of `--graph-data`.
fn cluster_plan(args: &ServeArgs, known: &Releases) -> Result<Option<Plan>, String> {
    if let Some(path) = &args.scenario {
        let text = files::read(path)?;
        let plan = scenario::parse(&path.display().to_string(), &text, known);
        let mut plan = plan.map_err(|problems| problems.to_string())?;
        consent::permit(&args.programs, &path.display().to_string(), &mut plan.cluster.programs)?;
        plan.cluster = for_clients(plan.cluster);
        if !args.timeline {
            plan.timeline.clear();
        }
        return Ok(Some(plan));
    }
    let Some(version) = &args.version else {
        return match args.clock {
            Some(_) => {
                Err("--clock requires a simulated cluster: add `--version` or `--scenario`".to_owned())
            }
            None => Ok(None),
        };
    };
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
    Ok(Some(Plan::new(
        for_clients(ClusterPlan {
            releases,
            feature_set: args.feature_set.clone().unwrap_or_default(),
            kubernetes_minor: args.kubernetes,
            ..ClusterPlan::new(release)
        }),
        Vec::new(),
    )))
}

/// Returns the cluster with what its clients expect: live kubelets, and pods of all workloads. Workloads of a payload folder
/// have no pods, because their objects may need others that no simulated operator creates.
fn for_clients(plan: ClusterPlan) -> ClusterPlan {
    let releases = plan.releases.iter().map(|planned| &planned.release).chain([&plan.release]);
    let has_payload = { releases }.any(|release| release.payload.is_some());
    let payload_workloads =
        if has_payload { PayloadWorkloads::WithoutPods } else { PayloadWorkloads::InPods };
    ClusterPlan { node_leases: true, payload_workloads, ..plan }
}

/// Returns the default releases to update to: the next patch, and the next minor.
pub(super) fn default_targets(version: &Version) -> [Version; 2] {
    let next = Version::new(version.major, version.minor, version.patch + 1);
    [next, Version::new(version.major, version.minor + 1, 1)]
}

impl Simulated {
    /// Installs the cluster. Its time starts at `--clock` and runs at `--speed` times this machine's clock.
    /// `authority` signs the certificates of the API server, by which pods and programs verify it.
    ///
    /// # Errors
    /// The cluster cannot start at that time, or it cannot be installed.
    pub(super) fn start(
        plan: Plan,
        args: &ServeArgs,
        authority: &Authority,
        runtime: &Handle,
    ) -> Result<Self, String> {
        let (seed, speed) = (args.seed, args.speed);
        let now = WallClock.now();
        let start = start_time(args.clock, now, speed)?;
        let notice = clock::notice(start, now, speed);
        let (certificate, key) = (authority.certificate_pem(), authority.key_pem());
        let (sender, receiver) = mpsc::channel();
        let stopping = Arc::new(AtomicBool::new(false));
        let (stopped, runtime) = (Arc::clone(&stopping), runtime.clone());
        let (state, timeline) = watch::channel(TimelineState::Running);
        let thread = std::thread::spawn(move || {
            let mut opened = None;
            let session = Session::start_with_connection(&plan.cluster, seed, start, |minor, clock| {
                let order = Order { minor, seed, clock, stop: Stop::default() };
                let (connection, cluster) = OpenCluster::open(&plan.cluster, &order, &key)?;
                opened = Some(cluster);
                Ok(connection)
            });
            let (mut session, cluster) = match (session, opened) {
                (Ok(session), Some(cluster)) => (session, cluster),
                (Err(error), _) => return drop(sender.send(Err(error))),
                (Ok(_), None) => return drop(sender.send(Err(SessionError::Ended))),
            };
            if !cluster.has_programs() {
                session.add(Box::new(RootCaPublisher::new(certificate)));
            }
            match Authority::from_key_pem(&key) {
                Ok(authority) => {
                    let signer = Arc::new(Signer(Arc::new(authority)));
                    session.add(Box::new(CertificateSigningController::new(signer)));
                }
                Err(error) => print_errors(&format!("cannot sign certificates: {error}")),
            }
            session.scrape_now();
            let clock = Arc::new(ClusterClock::starting_at(start, speed));
            let shared = cluster.serve(&clock);
            let endpoint = Arc::new(ClockEndpoint::new(Arc::clone(&clock), shared.clone()));
            let environment = Arc::clone(session.environment());
            if sender.send(Ok((shared.with_endpoint(endpoint), environment))).is_err() {
                return;
            }
            let pace = ClockPace::new(Arc::clone(&clock), &shared, Arc::clone(&stopped), runtime.clone());
            timeline::run(&mut session, &plan, pace, &state);
            if let Err(error) = clock::run(&mut session, &clock, &shared, &stopped, &runtime) {
                print_errors(&format!("the simulated cluster stopped: {error}"));
                // Clients of a server without a cluster would wait for ever.
                state.send_replace(TimelineState::Stopped);
            }
        });
        match receiver.recv() {
            Ok(Ok((shared, environment))) => {
                Ok(Self { shared, environment, timeline, notice, stopping, thread })
            }
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

//! The connection to a simulated cluster with programs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use windtunnel_apiserver::https::Authority;
use windtunnel_core::clock::{ManualClock, Time};
use windtunnel_core::requests::faults::{RequestFault, RequestFilter};
use windtunnel_core::{Change, Identity, Object, Rejection, View, Write};

use super::host::{ProgramHost, authority_key};
use super::pace::{LOOK, ProgramPace};
use super::{Endpoint, ProbeOrder, ProgramEvent, ProgramOrder, Programs, Waited};
use crate::backends::in_process::InProcess;
use crate::backends::{
    Backend, BackendError, Capabilities, ClientRead, ClusterConnection, INTERRUPTED, Order, Pace, Stop,
    Upstream,
};
use crate::record::{UserRights, WriteEvent};

/// A backend with a cluster in this process for each run, whose API server also serves programs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hosting;

impl Backend for Hosting {
    fn open(&self, order: &Order) -> Result<Box<dyn ClusterConnection>, BackendError> {
        Ok(Box::new(Hosted::open(order)?))
    }
}

/// The connection to a cluster in this process whose API server also serves programs.
pub(super) struct Hosted {
    cluster: InProcess,
    programs: Arc<Parts>,
    stop: Stop,
}

/// The programs with the clock that waits for them.
struct Parts {
    host: Arc<ProgramHost>,
    /// `None` if the clock never waits for them.
    pace: Option<Arc<ProgramPace>>,
}

impl Hosted {
    /// Opens a cluster for programs.
    ///
    /// # Errors
    /// As [`ProgramHost::new`].
    fn open(order: &Order) -> Result<Self, BackendError> {
        let authority = Authority::from_key_pem(&authority_key(order.seed));
        let authority = authority.map_err(|error| BackendError::Failed(error.to_string()))?;
        let cluster = Self::cluster(order);
        let clock = ManualClock::at(cluster.shared().now());
        let host = Arc::new(ProgramHost::new(cluster.shared(), Arc::clone(&clock) as _, authority)?);
        let pace = ProgramPace::new(Arc::clone(&host), clock, order.stop.clone());
        Ok(Self::with_parts(cluster, host, Some(Arc::new(pace)), order))
    }

    /// The cluster without a server for programs.
    pub(super) fn cluster(order: &Order) -> InProcess {
        InProcess::for_programs(order.minor, order.seed, order.clock.clone())
    }

    /// The connection to a cluster with a server for programs.
    pub(super) fn with_parts(
        cluster: InProcess,
        host: Arc<ProgramHost>,
        pace: Option<Arc<ProgramPace>>,
        order: &Order,
    ) -> Self {
        let killer = Arc::downgrade(&host);
        cluster.shared().with(|server| {
            server.kill_programs_with(move |process, write| {
                if let Some(host) = killer.upgrade() {
                    host.crash(process, write);
                }
            });
        });
        Self { cluster, programs: Arc::new(Parts { host, pace }), stop: order.stop.clone() }
    }
}

impl ClusterConnection for Hosted {
    fn write(&mut self, by: &str, who: &Identity, write: &Write, now: Time) -> Result<Object, Rejection> {
        self.cluster.write(by, who, write, now)
    }

    fn take_over(&mut self, objects: &[Object], now: Time) -> Result<(), String> {
        self.cluster.take_over(objects, now)
    }

    fn fail(&mut self, fault: RequestFault) {
        self.cluster.fail(fault);
        self.programs.host.look_again();
    }

    fn fail_since(&mut self, fault: RequestFault, revision: u64) {
        self.cluster.fail_since(fault, revision);
        self.programs.host.look_again();
    }

    fn set_quorum(&mut self, has_quorum: bool) {
        self.cluster.set_quorum(has_quorum);
        self.programs.host.look_again();
    }

    fn heal(&mut self, requests: Option<&RequestFilter>) {
        self.cluster.heal(requests);
        self.programs.host.look_again();
    }

    fn changes(&mut self, known: &View) -> Vec<Change> {
        self.cluster.changes(known)
    }

    fn serve_kubernetes(&mut self, minor: u32) -> Result<(), String> {
        self.cluster.serve_kubernetes(minor)
    }

    fn set_upstream(&mut self, upstream: Arc<dyn Upstream>) {
        self.cluster.set_upstream(upstream);
    }

    fn client_writes(&mut self) -> Vec<(Time, WriteEvent)> {
        self.cluster.named_client_writes(|user| self.programs.host.name_of(user))
    }

    fn client_reads(&mut self) -> Vec<ClientRead> {
        self.cluster.client_reads()
    }

    fn note_rights(&mut self) {
        self.cluster.note_rights();
    }

    fn rights(&mut self) -> Vec<UserRights> {
        self.cluster.rights()
    }

    fn client_requests(&self) -> u64 {
        self.cluster.client_requests()
    }

    fn subscribe(&self) -> watch::Receiver<u64> {
        self.cluster.subscribe()
    }

    fn client(&self, who: &Identity) -> kube::Client {
        self.cluster.client(who)
    }

    fn named_client(&self, who: &Identity, name: &str) -> kube::Client {
        self.cluster.named_client(who, name)
    }

    fn capabilities(&self) -> Capabilities {
        self.cluster.capabilities()
    }

    fn lost(&self) -> Option<&str> {
        self.stop.is_requested().then_some(INTERRUPTED)
    }

    fn pace(&self) -> Option<Arc<dyn Pace>> {
        self.programs.pace.as_ref().map(|pace| Arc::clone(pace) as _)
    }

    fn programs(&self) -> Option<Arc<dyn Programs>> {
        Some(Arc::clone(&self.programs) as _)
    }
}

impl Programs for Parts {
    fn start(&self, order: &ProgramOrder) -> Result<(), String> {
        self.host.start(order)
    }

    fn terminate(&self, id: &str) {
        self.host.terminate(id);
    }

    fn kill(&self, id: &str) -> Vec<ProgramEvent> {
        self.host.kill(id)
    }

    fn probe(&self, id: &str, order: ProbeOrder) {
        self.host.probe(id, order);
    }

    fn refresh(&self, id: &str, files: &BTreeMap<String, Vec<u8>>) {
        self.host.refresh(id, files);
    }

    fn pause(&self, name: &str, is_paused: bool) -> bool {
        self.host.pause(name, is_paused)
    }

    fn take_events(&self) -> Vec<ProgramEvent> {
        self.host.take_events()
    }

    fn have_work(&self) -> bool {
        self.pace.as_ref().is_some_and(|pace| pace.have_work())
    }

    fn age(&self, id: &str) -> Duration {
        self.host.age(id)
    }

    fn wait(&self) {
        self.host.gate.wait(LOOK);
    }

    fn endpoint(&self) -> Endpoint {
        self.host.endpoint()
    }

    fn waited(&self) -> Waited {
        self.pace.as_ref().map_or_else(Waited::default, |pace| pace.waited())
    }
}

//! The update status controller, which runs as a task beside the engine.

use std::pin::pin;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::{Either, select};
use tokio::sync::Notify;
use windtunnel_core::{Identity, Key};
use windtunnel_update_status::controller::{self, AlertStream, Election, Parts, Terms};

use super::embedded::{End, Reason};
use super::insight_log::InsightLog;
use super::processes::{Task, UPDATE_STATUS_CONTROLLER};
use super::program_site::ProgramSite;
use super::simulation::Simulation;

impl Simulation {
    /// Starts the controller of a container. In a cluster with Leases it publishes only while it is the leader: there, a
    /// pod may be replaced although its process still runs, on a node that does not answer.
    pub(super) fn spawn_insights(&self, identity: &Identity, pod: &Key, container: &str) -> Task {
        let parts = self.insight_parts(identity, pod, container);
        if !self.environment.node_leases {
            return Task::ending_at_once(tokio::spawn(async move {
                // The controller retries by itself; it ends only with its process.
                let _ = controller::run(parts).await;
            }));
        }
        let mut election = self.insight_election(&parts, pod);
        let (stop, ends) = (Arc::new(Notify::new()), Arc::clone(self.embedded.ends()));
        let place = ProgramSite::Container(pod.clone(), container.to_owned());
        let stopped = Arc::clone(&stop);
        let handle = tokio::spawn(async move {
            let reason = lead_until(&stopped, &mut election, parts).await;
            election.release().await;
            ends.report(End { program: UPDATE_STATUS_CONTROLLER.to_owned(), place, reason });
        });
        Task { handle, stop: Some(stop) }
    }

    fn insight_parts(&self, identity: &Identity, pod: &Key, container: &str) -> Parts {
        let mut client = self.connection.client(identity);
        if let Some(mutant_state) = &self.observers.mutant_state {
            client = mutant_state.client(container, client);
        }
        let observer = Arc::new(InsightLog {
            pod: pod.clone(),
            container: container.to_owned(),
            clock: Arc::clone(&self.clock),
            exports: Arc::clone(&self.observers.exports),
        });
        Parts { client, clock: Arc::clone(&self.clock) as _, alerts: Some(self.alert_stream()), observer }
    }

    /// The alerts of the cluster. Those that exist at the start come first.
    fn alert_stream(&self) -> AlertStream {
        let mut receiver = self.alerts.subscribe();
        receiver.mark_changed();
        let alerts = futures::stream::unfold(receiver, async |mut receiver| {
            receiver.changed().await.ok()?;
            let alerts = receiver.borrow_and_update().clone();
            Some((Ok(alerts), receiver))
        });
        alerts.boxed()
    }

    /// The process as a candidate. A restarted container is another one.
    fn insight_election(&self, parts: &Parts, pod: &Key) -> Election {
        let mut stream = self.streams.stream(&format!("leader-election/{}/{}", pod.name, self.now()));
        let holder = format!("{}_{}", pod.name, stream.uuid());
        let (client, observer) = (parts.client.clone(), Arc::clone(&parts.observer));
        Election::new(client, &pod.namespace, holder, Terms::default(), Arc::clone(&parts.clock), observer)
    }
}

/// Runs the controller while it is the leader, until it has to end.
async fn lead_until(stop: &Notify, election: &mut Election, parts: Parts) -> Reason {
    let work = controller::run_leading(election, parts);
    match select(pin!(stop.notified()), pin!(work)).await {
        Either::Left(_) => Reason::Stopped,
        Either::Right((Err(error), _)) => Reason::Failed(error.to_string()),
        Either::Right((Ok(()), _)) => Reason::Returned,
    }
}

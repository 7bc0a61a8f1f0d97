//! Faults of the server's answers.

use windtunnel_core::requests::faults::{RandomFaults, RequestFault, RequestFilter};

use crate::faults::{Incident, Killer};
use crate::server::ApiServer;

impl ApiServer {
    /// Injects a fault. If several faults match a request, the first one counts it.
    pub fn fail(&mut self, fault: RequestFault) {
        self.faults.inject(fault, self.store.revision());
    }

    /// Injects a fault as if it had begun at this revision of the store: watches that have not shown more stay there.
    pub fn fail_since(&mut self, fault: RequestFault, revision: u64) {
        self.faults.inject(fault, revision.min(self.store.revision()));
    }

    /// Calls `kill` with the id of a process, and with the write in words, when a fault kills a program
    /// ([`FaultEffect::Kill`](windtunnel_core::requests::faults::FaultEffect::Kill)). The process must be dead when `kill` returns,
    /// and `kill` must not call the server.
    pub fn kill_programs_with(&mut self, kill: impl Fn(&str, &str) + Send + Sync + 'static) {
        self.faults.kill_with(Killer::new(kill));
    }

    /// Heals the faults of these requests, or all faults (`None`). Random faults continue.
    pub fn heal(&mut self, requests: Option<&RequestFilter>) {
        self.faults.heal(requests);
    }

    /// Gives random faults to clients from now on. Without a seed, the seed is 0.
    pub fn perturb(&mut self, random_faults: RandomFaults) {
        self.faults.perturb(random_faults);
    }

    /// Keeps the last `limit` incidents for [`ApiServer::take_incidents`]; 0 keeps none.
    pub fn keep_incidents(&mut self, limit: usize) {
        self.faults.incidents().keep(limit);
    }

    /// The effects of faults on clients since the last call, oldest first.
    pub fn take_incidents(&mut self) -> Vec<Incident> {
        self.faults.incidents().take()
    }
}

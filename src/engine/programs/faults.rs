//! Faults of programs of the user's machine: the changed behaviour of the API server and of the processes.

use windtunnel_core::clock::{Time, after};
use windtunnel_core::requests::faults::{
    FaultEffect, Hits, KillMoment, ProgramFault, RequestFault, RequestFilter, WatchFault,
};
use windtunnel_core::resources::LEASES;
use windtunnel_core::text::did_you_mean;

use crate::engine::error::SessionError;
use crate::engine::runtime::{KILLED, ProgramSite, RESTART_DELAY, Simulation};
use crate::plan::{ProgramPlace, ProgramPlan};
use crate::record::Event;

impl Simulation {
    /// Whether a program of the user's machine has this name.
    pub(in crate::engine) fn has_program(&self, name: &str) -> bool {
        self.programs.plans.iter().any(|plan| plan.name == name)
    }

    /// Begins a fault of a program, which may start later.
    ///
    /// # Errors
    /// The program has no Lease, or runs nowhere, and the fault needs that.
    pub(in crate::engine) fn begin_program_fault(
        &mut self,
        name: &str,
        fault: &ProgramFault,
    ) -> Result<(), SessionError> {
        match fault {
            ProgramFault::LosesLease(span) => {
                let write = self.other_holder(name, &self.program_namespaces(name), *span)?;
                return self.administer(&write);
            }
            ProgramFault::Killed => self.kill_processes_of(name),
            ProgramFault::Paused => self.pause_program(name, true)?,
            ProgramFault::LastInTurn | ProgramFault::Slow(_) => {
                let why =
                    "only simulated components take turns, not programs of your machine; pause it instead";
                return Err(SessionError::Unsupported(why.to_owned()));
            }
            ProgramFault::Crash { .. }
            | ProgramFault::StaleWatch
            | ProgramFault::DroppedWatch
            | ProgramFault::SkewedClock(_) => {
                if let Some(request_fault) = request_fault(name, fault) {
                    let requests = request_fault.requests.clone();
                    self.connection.fail(request_fault);
                    self.programs.faults.push((name.to_owned(), fault.clone(), requests));
                }
            }
        }
        Ok(())
    }

    /// Ends a fault of a program; all faults without `fault`.
    pub(in crate::engine) fn end_program_fault(&mut self, name: &str, fault: Option<&ProgramFault>) {
        let (ended, others) = std::mem::take(&mut self.programs.faults)
            .into_iter()
            .partition(|(program, known, _)| program == name && fault.is_none_or(|fault| fault == known));
        self.programs.faults = others;
        for (_, _, requests) in ended {
            self.connection.heal(Some(&requests));
        }
        if fault.is_none_or(|fault| *fault == ProgramFault::Paused)
            && let Some(programs) = self.connection.programs()
        {
            programs.pause(name, false);
        }
    }

    fn pause_program(&self, name: &str, is_paused: bool) -> Result<(), SessionError> {
        let programs = self.connection.programs();
        if programs.is_some_and(|programs| programs.pause(name, is_paused)) {
            return Ok(());
        }
        let kind = "running process of the program".to_owned();
        Err(SessionError::NotThere { kind, name: name.to_owned(), hint: String::new() })
    }

    /// Kills all processes of a program at once.
    fn kill_processes_of(&mut self, name: &str) {
        let places: Vec<ProgramSite> = self.programs.places_of(name).cloned().collect();
        for place in places {
            match &place {
                ProgramSite::Container(pod, container) => self.end_process(pod, container, KILLED),
                ProgramSite::Beside(_) => self.kill_beside(&place),
            }
        }
    }

    fn kill_beside(&mut self, place: &ProgramSite) {
        let Some(programs) = self.connection.programs() else { return };
        for event in programs.kill(&place.id()) {
            self.take_program_event(event);
        }
        let (_, name) = place.log();
        self.record_event(Event::Process { program: name.to_owned(), pod: String::new(), started: false });
        self.restart_if_beside(place);
    }

    /// Starts a program beside the cluster again after a second. Kubelets restart the others.
    pub(super) fn restart_if_beside(&mut self, place: &ProgramSite) {
        if let ProgramSite::Beside(name) = place {
            self.programs.restarts.insert((after(self.now(), RESTART_DELAY), name.clone()));
        }
    }

    /// Starts the killed programs beside the cluster whose pause is over.
    ///
    /// # Errors
    /// One cannot be started.
    pub(in crate::engine) fn restart_programs_beside(&mut self, now: Time) -> Result<(), SessionError> {
        while let Some((at, name)) = self.programs.restarts.first().cloned() {
            if at > now {
                break;
            }
            self.programs.restarts.pop_first();
            let plan: Option<ProgramPlan> =
                self.programs.plans.iter().find(|plan| plan.name == name).cloned();
            if let Some((plan, user)) = plan.as_ref().and_then(|plan| Some((plan, user_of(plan)?))) {
                self.start_beside(plan, user)?;
            }
        }
        Ok(())
    }

    /// The namespaces in which a program may have its Lease.
    fn program_namespaces(&self, name: &str) -> Vec<String> {
        let of_pods = self.programs.places_of(name).filter_map(|place| match place {
            ProgramSite::Container(pod, _) => Some(pod.namespace.clone()),
            ProgramSite::Beside(_) => None,
        });
        let plans = self.programs.plans.iter().filter(|plan| plan.name == name);
        let of_users = plans.filter_map(|plan| {
            let account = user_of(plan)?.strip_prefix("system:serviceaccount:")?;
            Some(account.split(':').next()?.to_owned())
        });
        of_pods.chain(of_users).collect()
    }

    /// Checks that a component or a program of this name exists.
    ///
    /// # Errors
    /// There is none; with the most similar name.
    pub(in crate::engine) fn check_process(&self, name: &str) -> Result<(), SessionError> {
        let actors = self.schedule.names().map(|(_, actor)| actor);
        let known: Vec<&str> = actors.chain(self.programs.plans.iter().map(|plan| &*plan.name)).collect();
        if known.contains(&name) {
            return Ok(());
        }
        let hint = did_you_mean(name, known);
        Err(SessionError::NotThere { kind: "process".to_owned(), name: name.to_owned(), hint })
    }
}

fn user_of(plan: &ProgramPlan) -> Option<&str> {
    match &plan.place {
        ProgramPlace::Beside { user } => Some(user),
        ProgramPlace::In(_) => None,
    }
}

/// The fault of a program's requests.
fn request_fault(name: &str, fault: &ProgramFault) -> Option<RequestFault> {
    let by = Some(name.to_owned());
    let all = Hits::new(1, None);
    let watches = RequestFilter { by: by.clone(), ..RequestFilter::default() };
    let (requests, effect, hits) = match fault {
        ProgramFault::Crash { writes, after, hits } => {
            let moment = if *after { KillMoment::After } else { KillMoment::Before };
            // With any name, so that the end of another fault does not end this one.
            let object = writes.name.clone().or_else(|| Some("*".to_owned()));
            let writes = RequestFilter { by, name: object, ..writes.clone() };
            (writes, FaultEffect::Kill(moment), hits.clone())
        }
        ProgramFault::StaleWatch => (watches, FaultEffect::Watch(WatchFault::Stale), all),
        ProgramFault::DroppedWatch => {
            let verb = Some("watch".to_owned());
            (RequestFilter { verb, ..watches }, FaultEffect::Watch(WatchFault::Expired), all)
        }
        ProgramFault::SkewedClock(ahead) => {
            let kind = Some(LEASES.kind.to_string());
            (RequestFilter { kind, ..watches }, FaultEffect::SkewedClock(*ahead), all)
        }
        ProgramFault::LosesLease(_)
        | ProgramFault::Killed
        | ProgramFault::Paused
        | ProgramFault::LastInTurn
        | ProgramFault::Slow(_) => return None,
    };
    Some(RequestFault { requests, effect, hits, message: String::new(), retry_after: 1 })
}

//! Starts and ends programs in Rust. Kubelets decide when the program of a container does; the end of a program comes back
//! through `Ends` of the runtime.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use tokio::task::JoinHandle;
use windtunnel_controllers::schedule::ActorId;
use windtunnel_core::{Identity, Key, Object};

use super::error::SessionError;
use super::runtime::{
    EmbeddedPlace, EmbeddedProgram, End, Process, ProgramSite, Running, Simulation, Task, account_of,
};
use crate::record::Event;

impl Simulation {
    /// Starts the programs beside the cluster.
    pub(in crate::engine) fn start_embedded_beside(&mut self) {
        let programs = self.embedded.programs();
        for program in programs.iter() {
            let EmbeddedPlace::Beside(identity) = &program.place else { continue };
            let task = self.embedded_run(program, identity, ProgramSite::Beside(program.name.clone()));
            self.embedded.spawn_beside(task);
            let now = self.now();
            self.processes.first_task.get_or_insert(now);
            let program = program.name.clone();
            self.record_event(Event::Process { program, pod: String::new(), started: true });
        }
    }

    /// Starts the program of a container; `None` if no program in Rust runs there.
    pub(in crate::engine) fn start_embedded(
        &mut self,
        kubelet: ActorId,
        pod: &Object,
        key: &Key,
        container: &str,
    ) -> Option<Process> {
        let (name, task) = self.embedded_task(pod, key, container)?;
        let now = self.now();
        self.processes.first_task.get_or_insert(now);
        Some(Process { kubelet, program: Some(name), running: Running::Task(Task::ending_at_once(task)) })
    }

    /// Starts the task of a container; `None` if no program in Rust runs there.
    pub(in crate::engine) fn embedded_task(
        &self,
        pod: &Object,
        key: &Key,
        container: &str,
    ) -> Option<(String, JoinHandle<()>)> {
        let programs = self.embedded.programs();
        let program = programs.iter().find(|program| match &program.place {
            EmbeddedPlace::Beside(_) => false,
            EmbeddedPlace::In(place) => place.holds(&self.environment, pod, container),
        })?;
        let place = ProgramSite::Container(key.clone(), container.to_owned());
        let run = self.embedded_run(program, &account_of(pod), place);
        Some((program.name.clone(), tokio::spawn(run)))
    }

    /// The run of a program, which reports its end.
    fn embedded_run(
        &self,
        program: &EmbeddedProgram,
        identity: &Identity,
        place: ProgramSite,
    ) -> impl Future<Output = ()> + Send + use<> {
        let identity = identity.clone().with_program(&program.name, &place.id());
        let client = self.connection.named_client(&identity, &program.name);
        let (start, ends) = (Arc::clone(&program.start), Arc::clone(self.embedded.ends()));
        let name = program.name.clone();
        async move {
            let run = async move { start(client).await };
            let reason = AssertUnwindSafe(run).catch_unwind().await.into();
            ends.report(End { program: name, place, reason });
        }
    }

    /// Takes the ends of programs since the last call. The container of a program ends with it, and its kubelet restarts
    /// it.
    ///
    /// # Errors
    /// A program panicked, or one beside the cluster ended.
    pub(in crate::engine) fn take_embedded_ends(&mut self) -> Result<(), SessionError> {
        for End { program, place, reason } in self.embedded.ends().take() {
            let text = format!("program `{program}` {reason}");
            if !reason.is_asked_for() {
                self.print_of(&place, &format!("windtunnel: {text}"));
            }
            match place {
                ProgramSite::Container(pod, container) if !reason.is_panic() => {
                    self.end_process(&pod, &container, reason.code());
                }
                _ => return Err(SessionError::ProgramEnded(text)),
            }
        }
        Ok(())
    }
}

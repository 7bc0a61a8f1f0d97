//! Programs of the user's machine as parts of the cluster: which one runs where, what it finds there, and what becomes of it.
//!
//! The backend starts and ends processes (`src/backends/programs/`). Kubelets decide when, as for simulated programs.
//!
//! * `probes.rs` and `volumes.rs`: orders to probe a program, and to bring its volumes up to date
//! * `script.rs`: scripts that steps run
//! * `faults.rs`: faults of programs: kills at a write, pauses, wrong clocks

mod container;
mod faults;
mod probes;
mod script;
mod variables;
mod volumes;

use std::cmp::Ordering;

use windtunnel_controllers::schedule::ActorId;
use windtunnel_core::{Key, Object};
use windtunnel_openshift::environment;

use crate::backends::programs::{ProgramEvent, ProgramOrder};
use crate::engine::error::SessionError;
use crate::engine::runtime::logs::IsRecorded;
use crate::engine::runtime::{Process, ProgramSite, Running, Simulation};
use crate::plan::{ProgramPlace, ProgramPlan};
use crate::record::Event;

/// How often programs and the simulation may react to each other at one moment. After that the clock goes on.
const REACTIONS: u32 = 100;

/// The greatest number of lines of one process in the record.
const RECORDED_LINES: usize = 20_000;

/// The exit code of a container whose program cannot be started, as container runtimes report it.
const CANNOT_START: i64 = 128;

impl Simulation {
    /// Starts the programs that run beside the cluster.
    ///
    /// # Errors
    /// One cannot be started.
    pub(in crate::engine) fn start_programs_beside(&mut self) -> Result<(), SessionError> {
        let plans: Vec<ProgramPlan> = self.programs.plans.to_vec();
        for plan in plans {
            if let ProgramPlace::Beside { user } = &plan.place {
                self.start_beside(&plan, user)?;
            }
        }
        Ok(())
    }

    fn start_beside(&mut self, plan: &ProgramPlan, user: &str) -> Result<(), SessionError> {
        let Some(programs) = self.connection.programs() else { return Ok(()) };
        let order = ProgramOrder {
            id: self.begin_program(plan, ProgramSite::Beside(plan.name.clone())),
            command: plan.command.clone(),
            inherited: plan.permission.inherited(),
            env: plan.env.clone(),
            folder: plan.folder.clone(),
            copies: plan.files.iter().map(|(path, source)| (path.clone(), source.into())).collect(),
            user: container::user(user),
            name: plan.name.clone(),
            speed: plan.time.speed(),
            ..ProgramOrder::default()
        };
        let failed = |why| SessionError::ProgramNotStarted(format!("program `{}`: {why}", plan.name));
        programs.start(&order).map_err(failed)?;
        let (program, pod) = (plan.name.clone(), String::new());
        self.record_event(Event::Process { program, pod, started: true });
        Ok(())
    }

    /// Lets programs in lockstep react to this moment, and the simulation to them. No cluster time passes.
    ///
    /// # Errors
    /// As [`Simulation::settle`].
    pub(in crate::engine) async fn let_programs_work(&mut self) -> Result<(), SessionError> {
        for _ in 0..REACTIONS {
            if !self.connection.programs().is_some_and(|programs| programs.have_work()) {
                return Ok(());
            }
            self.idle_until(self.now()).await;
            self.settle()?;
        }
        Ok(())
    }

    /// Starts the program of a container; `None` if no program of the user's machine runs there.
    pub(in crate::engine) fn start_in_container(
        &mut self,
        kubelet: ActorId,
        pod: &Object,
        key: &Key,
        container: &str,
    ) -> Option<Process> {
        let plan = self.program_of(pod, container)?.clone();
        let programs = self.connection.programs()?;
        let place = ProgramSite::Container(key.clone(), container.to_owned());
        let id = self.begin_program(&plan, place.clone());
        let order = container::order(self, &plan, id, pod, container, &programs.endpoint());
        let process = Process { kubelet, program: Some(plan.name.clone()), running: Running::Program };
        if let Err(why) = programs.start(&order) {
            self.print_of(&place, &format!("windtunnel: program `{}`: {why}", plan.name));
            self.programs.failed_starts.push((key.clone(), container.to_owned()));
        }
        Some(process)
    }

    /// Notes that a program is about to start in a place. Returns the id of the process.
    fn begin_program(&mut self, plan: &ProgramPlan, place: ProgramSite) -> String {
        let id = place.id();
        self.programs.started.insert(id.clone(), (place, plan.name.clone()));
        id
    }

    fn program_of(&self, pod: &Object, container: &str) -> Option<&ProgramPlan> {
        let mut plans = self.programs.plans.iter();
        plans.find(|plan| {
            plan.place.containers().is_some_and(|place| place.holds(&self.environment, pod, container))
        })
    }

    /// Takes what the programs have done beside their requests: lines, and ends.
    pub(in crate::engine) fn take_program_events(&mut self) {
        for (pod, container) in std::mem::take(&mut self.programs.failed_starts) {
            self.end_process(&pod, &container, CANNOT_START);
        }
        let Some(programs) = self.connection.programs() else { return };
        for event in programs.take_events() {
            self.take_program_event(event);
        }
    }

    fn take_program_event(&mut self, event: ProgramEvent) {
        let Some((place, name)) = self.programs.started.get(event.id()).cloned() else { return };
        match (event, place) {
            (ProgramEvent::Crashed { write, .. }, place) => {
                self.record_event(Event::Fault { text: format!("{name} crashes {write}") });
                self.restart_if_beside(&place);
            }
            (ProgramEvent::Printed { line, .. }, ProgramSite::Step) => self.programs.script_lines.push(line),
            (ProgramEvent::Exited { code, .. }, ProgramSite::Step) => self.programs.script_exit = Some(code),
            (ProgramEvent::Printed { line, .. }, place) => self.print_of(&place, &line),
            (ProgramEvent::Exited { code, .. }, ProgramSite::Container(pod, container)) => {
                self.end_process(&pod, &container, code);
            }
            (ProgramEvent::Probed { kind, result, .. }, ProgramSite::Container(pod, container)) => {
                self.finish_probe(&pod, &container, kind, result);
            }
            (ProgramEvent::Probed { .. }, ProgramSite::Beside(_) | ProgramSite::Step) => {}
            (ProgramEvent::Exited { code, .. }, ProgramSite::Beside(name)) => {
                self.print_of(&ProgramSite::Beside(name.clone()), &format!("windtunnel: exit code {code}"));
                self.record_event(Event::Process { program: name, pod: String::new(), started: false });
            }
        }
    }

    /// The last lines of all programs, with their names.
    pub(in crate::engine) fn last_program_lines(&self, most: usize) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        for (place, name) in self.programs.started.values() {
            let (pod, container) = place.log();
            let last = self.observers.exports.with_logs(|logs| {
                let all = logs.lines(&pod, container, false).into_iter().flatten();
                all.map(|line| line.text.clone()).collect::<Vec<_>>()
            });
            let skipped = last.len().saturating_sub(most);
            lines.extend(last.into_iter().skip(skipped).map(|line| (name.clone(), line)));
        }
        lines
    }

    pub(in crate::engine) fn print_of(&self, place: &ProgramSite, line: &str) {
        let (now, (pod, container)) = (self.now(), place.log());
        self.observers.exports.with_logs(|logs| {
            match logs.recorded_lines(&pod, container).cmp(&RECORDED_LINES) {
                Ordering::Less => logs.print(&pod, container, line, now, IsRecorded::Yes),
                Ordering::Equal => {
                    let notice = "windtunnel: later lines are not in the record";
                    logs.print(&pod, container, notice, now, IsRecorded::Yes);
                    logs.print(&pod, container, line, now, IsRecorded::No);
                }
                Ordering::Greater => logs.print(&pod, container, line, now, IsRecorded::No),
            }
        });
    }

    /// Sends SIGTERM to the program of a container.
    pub(in crate::engine) fn terminate_program(&self, pod: &Key, container: &str) {
        if let Some(programs) = self.connection.programs() {
            programs.terminate(&ProgramSite::Container(pod.clone(), container.to_owned()).id());
        }
    }

    /// Brings the volumes of the programs of a pod up to date.
    pub(in crate::engine) fn refresh_volumes(&self, pod: &Key) {
        let (Some(programs), Some(object)) = (self.connection.programs(), self.view.get_key(pod)) else {
            return;
        };
        for container in self.processes.of_pod(pod) {
            let spec = environment::container(object, &container);
            let volumes = volumes::of_container(&self.view, object, spec);
            programs.refresh(&ProgramSite::Container(pod.clone(), container).id(), &volumes.files);
        }
    }

    /// Kills the program of a container, if it still runs.
    pub(in crate::engine) fn kill_program(&mut self, pod: &Key, container: &str) {
        let Some(programs) = self.connection.programs() else { return };
        for event in programs.kill(&ProgramSite::Container(pod.clone(), container.to_owned()).id()) {
            self.take_program_event(event);
        }
    }
}

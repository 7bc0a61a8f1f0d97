//! Scripts that steps run: `run: {shell: ...}`.

use std::time::Duration;

use windtunnel_openshift::oc::CommandOutput;

use super::container;
use crate::backends::programs::ProgramOrder;
use crate::engine::error::SessionError;
use crate::engine::runtime::{ProgramSite, Simulation};
use crate::plan::{ProgramPlace, ProgramPlan};

/// How long a script may take, by the clock of this machine.
const LIMIT: Duration = Duration::from_secs(10 * 60);

impl Simulation {
    /// Runs a script as an administrator until it ends. Components react to its requests, and no cluster time passes. Returns
    /// what it has printed, on both outputs, as standard output.
    ///
    /// # Errors
    /// It cannot be started, or does not end within ten minutes.
    pub(in crate::engine) async fn run_script(
        &mut self,
        script: &str,
    ) -> Result<CommandOutput, SessionError> {
        let failed = |why: &str| SessionError::ProgramNotStarted(format!("the script of this step: {why}"));
        let Some(plan) = self.script_plan(script) else {
            return Err(failed("it is not a part of the scenario"));
        };
        let id = self.begin_program(&plan, ProgramSite::Step);
        self.programs.script_lines.clear();
        self.programs.script_exit = None;
        let order = ProgramOrder {
            id: id.clone(),
            command: plan.command,
            inherited: plan.permission.inherited(),
            user: container::user("system:admin"),
            name: plan.name,
            ..ProgramOrder::default()
        };
        let programs = self.connection.programs().ok_or_else(|| failed("this cluster is not served"))?;
        programs.start(&order).map_err(|why| failed(&why))?;
        loop {
            self.idle_until(self.now()).await;
            self.settle()?;
            if let Some(code) = self.programs.script_exit {
                return Ok(self.script_output(code));
            }
            if let Some(why) = self.connection.lost() {
                return Err(SessionError::ClusterLost(why.to_owned()));
            }
            programs.wait();
            if programs.age(&id) >= LIMIT {
                programs.kill(&id);
                let why = "the script of this step did not end within ten minutes of this machine's time: it was killed";
                return Err(SessionError::ProgramEnded(why.to_owned()));
            }
        }
    }

    fn script_plan(&self, script: &str) -> Option<ProgramPlan> {
        let is_it = |plan: &&ProgramPlan| {
            plan.place == ProgramPlace::Step && plan.command.last().is_some_and(|line| line == script)
        };
        self.programs.plans.iter().find(is_it).cloned()
    }

    fn script_output(&mut self, code: i64) -> CommandOutput {
        let lines = std::mem::take(&mut self.programs.script_lines);
        let stdout = lines.iter().fold(String::new(), |text, line| text + line + "\n");
        CommandOutput { stdout, stderr: String::new(), code: u8::try_from(code).unwrap_or(u8::MAX) }
    }
}

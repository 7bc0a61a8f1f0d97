//! Runs the commands that an administrator types, and checks their output.

use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_core::{Identity, Write};
use windtunnel_openshift::oc::{self, ClusterView, Command, CommandOutput, CommandStep, Get};
use windtunnel_update_status::status::Details;

use super::expectations::status;
use super::runtime::Simulation;
use crate::plan::{CommandCheck, CommandLine, Program};
use crate::record::{ADMINISTRATOR, Event, redact_secrets};

/// The output of a command. Checks read `actual`; messages and records show `redacted`, which lacks the values
/// of a live cluster's Secrets.
#[derive(Debug, Clone)]
pub(super) struct CapturedOutput {
    pub(super) actual: CommandOutput,
    redacted: CommandOutput,
}

impl CapturedOutput {
    /// Output that is shown in full, before known secret values are hidden.
    fn plain(output: CommandOutput) -> Self {
        Self { redacted: output.clone(), actual: output }
    }
}

/// Runs a command and records its output. Components react to its changes when the simulation settles.
pub(super) async fn run(simulation: &mut Simulation, command: &CommandLine) -> CapturedOutput {
    let mut captured = match command.program {
        Program::Upgrade => CapturedOutput::plain(
            Command::read(&command.words, command.gates)
                .map_or_else(|output| output, |command| run_upgrade_command(simulation, &command)),
        ),
        Program::Status(details) => CapturedOutput::plain(status(simulation, details)),
        Program::Get => match Get::read(&command.words) {
            Ok(get) => run_get(simulation, &get).await,
            Err(output) => CapturedOutput::plain(output),
        },
    };
    for text in [&mut captured.redacted.stdout, &mut captured.redacted.stderr] {
        *text = simulation.redact(text);
    }
    let CommandOutput { stdout, stderr, code } = captured.redacted.clone();
    simulation.record_event(Event::Command { line: simulation.redact(&command.line), code, stdout, stderr });
    simulation.last_output = Some(captured.clone());
    captured
}

/// Runs `oc adm upgrade status`.
fn status(simulation: &Simulation, details: Details) -> CommandOutput {
    match status::report(simulation, details) {
        Ok(stdout) => CommandOutput { stdout, stderr: String::new(), code: 0 },
        Err(refusal) => {
            CommandOutput { stdout: String::new(), stderr: format!("error: {refusal}\n"), code: 1 }
        }
    }
}

/// Runs `oc get` through a client of the API server, as the real one does.
async fn run_get(simulation: &Simulation, get: &Get) -> CapturedOutput {
    let client = simulation.connection.client(&Identity::admin());
    let request = http::Request::get(get.path()).header(http::header::ACCEPT, get.accept());
    let Ok(request) = request.body(Vec::new()) else {
        return CapturedOutput::plain(Get::refused("BadRequest", "the name is invalid"));
    };
    CapturedOutput::plain(match client.request::<serde_json::Value>(request).await {
        Ok(mut answer) => {
            let actual = get.print_response(&answer);
            if simulation.connection.secrets().is_some() {
                redact_secrets(&mut answer);
            }
            return CapturedOutput { redacted: get.print_response(&answer), actual };
        }
        Err(kube::Error::Api(status)) => Get::refused(&status.reason, &status.message),
        Err(other) => Get::refused("InternalError", &other.to_string()),
    })
}

fn run_upgrade_command(simulation: &mut Simulation, command: &Command) -> CommandOutput {
    let cluster_version = simulation.view.get(&CLUSTER_VERSIONS, "", "version");
    // The alerts that Prometheus returns to an administrator, who is logged in and so has a token.
    let alerts: Vec<oc::Alert> =
        simulation.alerts.borrow().iter().map(|active| oc::Alert::from(&active.alert)).collect();
    match command.begin(&ClusterView { cluster_version, alerts: Ok(&alerts) }) {
        CommandStep::Done(output) => output,
        CommandStep::Patch(patch) => {
            let write = Write::merge_patch(&CLUSTER_VERSIONS, "", "version", patch.to_value());
            let answer = simulation.write(ADMINISTRATOR, &Identity::admin(), &write);
            patch.finish(answer.as_ref().map_err(|refusal| refusal.message.as_str()))
        }
    }
}

/// Checks the last command, or the request that was rejected after it.
pub(super) fn check_last(simulation: &Simulation, checks: &[CommandCheck]) -> Result<(), String> {
    check_output(&last_output(simulation)?, checks)
}

/// Returns the output of the last command, or the message of a request that was rejected after it.
pub(super) fn last_output(simulation: &Simulation) -> Result<CapturedOutput, String> {
    let last = simulation.record.entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Command { code, stdout, stderr, .. } => {
            let recorded = CommandOutput { stdout: stdout.clone(), stderr: stderr.clone(), code: *code };
            let captured = simulation.last_output.as_ref().filter(|captured| captured.redacted == recorded);
            Some(captured.cloned().unwrap_or_else(|| CapturedOutput::plain(recorded)))
        }
        // The record has a command's requests before the command itself.
        Event::Write(write) if write.by == ADMINISTRATOR && write.code >= 400 => {
            Some(CapturedOutput::plain(CommandOutput {
                stdout: String::new(),
                stderr: write.message.clone(),
                code: 1,
            }))
        }
        _ => None,
    });
    last.ok_or_else(|| "no command has run yet".to_owned())
}

/// Checks the output of a command. The error shows the actual output.
pub(super) fn check_output(
    CapturedOutput { actual, redacted }: &CapturedOutput,
    checks: &[CommandCheck],
) -> Result<(), String> {
    let fits = |check: &&CommandCheck| match check {
        CommandCheck::Code(code) => actual.code == *code,
        CommandCheck::Prints(text) => text.fits(actual.stdout.trim_end()),
        CommandCheck::Warns(text) => text.fits(actual.stderr.trim_end()),
        CommandCheck::Says(text) => text.fits(format!("{}{}", actual.stdout, actual.stderr).trim_end()),
        CommandCheck::Fails => actual.code != 0,
        CommandCheck::Refused(text) => actual.error_message().is_some_and(|refusal| text.fits(refusal)),
    };
    let Some(wrong) = checks.iter().find(|check| !fits(check)) else { return Ok(()) };
    let CommandOutput { stdout, stderr, code } = redacted;
    let printed = match (stdout.trim_end(), stderr.trim_end()) {
        ("", "") => "and printed nothing".to_owned(),
        (text, "") | ("", text) => format!("and printed:\n{text}"),
        (stdout, stderr) => format!("and printed:\n{stdout}\n{stderr}"),
    };
    Err(format!("expected that the command {wrong}; it exited with code {code} {printed}"))
}

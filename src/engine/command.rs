//! Runs the commands that an administrator types, and checks their output.

use windtunnel_core::resources::{CLUSTER_VERSIONS, CUSTOM_RESOURCE_DEFINITIONS};
use windtunnel_core::{Identity, Write};
use windtunnel_openshift::oc::{self, ClusterView, Command, CommandOutput, CommandStep, CustomKind, Get};
use windtunnel_update_status::status::{AlertsResponse, Details, Inputs, Moment, StatusError, render};

use super::client_warnings;
use super::error::SessionError;
use super::output::CapturedOutput;
use super::runtime::Simulation;
use crate::plan::{CommandCheck, CommandLine, Program};
use crate::record::{ADMINISTRATOR, Event};

/// Runs a command and records its output. Components react to its changes when the simulation settles.
///
/// # Errors
/// A script cannot be started, or does not end.
pub(super) async fn run(
    simulation: &mut Simulation,
    command: &CommandLine,
) -> Result<CapturedOutput, SessionError> {
    let mut captured = match command.program {
        Program::Upgrade => CapturedOutput::plain(
            Command::read(&command.words, command.gates)
                .map_or_else(|output| output, |command| run_upgrade_command(simulation, &command)),
        ),
        Program::Status(details) => CapturedOutput::plain(status(simulation, details)),
        Program::Get => match Get::read(&command.words, &custom_kinds(simulation)) {
            Ok(get) => run_get(simulation, &get).await,
            Err(output) => CapturedOutput::plain(output),
        },
        Program::Shell => CapturedOutput::plain(simulation.run_script(&command.line).await?),
    };
    for text in [&mut captured.redacted.stdout, &mut captured.redacted.stderr] {
        *text = simulation.observers.secrets.hide(text);
    }
    let CommandOutput { stdout, stderr, code } = captured.redacted.clone();
    simulation.record_event(Event::Command {
        line: simulation.observers.secrets.hide(&command.line),
        code,
        stdout,
        stderr,
    });
    simulation.steps.last_output = Some(captured.clone());
    Ok(captured)
}

/// Runs `oc adm upgrade status`.
fn status(simulation: &Simulation, details: Details) -> CommandOutput {
    match status_text(simulation, details) {
        Ok(stdout) => CommandOutput { stdout, stderr: String::new(), code: 0 },
        Err(rejection) => {
            CommandOutput { stdout: String::new(), stderr: format!("error: {rejection}\n"), code: 1 }
        }
    }
}

/// Returns the current text of `oc adm upgrade status`, or the error that `oc` prints instead.
pub(super) fn status_text(simulation: &Simulation, details: Details) -> Result<String, StatusError> {
    let now = simulation.now();
    let inputs = Inputs::gather(|resource| simulation.view.list(resource).cloned().collect());
    let status = inputs.and_then(|mut inputs| {
        let active = simulation.alerts.borrow();
        inputs.alerts = AlertsResponse::from_active(
            active.iter().map(|active| (active.active_at.unwrap_or(now), &active.alert)),
        );
        render(&inputs, Moment::at(now), details)
    });
    status.map(|report| report.text)
}

/// Returns the kinds that the cluster's CustomResourceDefinitions define.
fn custom_kinds(simulation: &Simulation) -> Vec<CustomKind> {
    let definitions = simulation.view.list(&CUSTOM_RESOURCE_DEFINITIONS);
    definitions.filter_map(|definition| CustomKind::of_definition(definition)).collect()
}

/// Runs `oc get` through a client of the API server, as the real one does.
async fn run_get(simulation: &Simulation, get: &Get) -> CapturedOutput {
    let client = simulation.connection.client(&Identity::admin());
    let mut answers: Vec<oc::Reply> = Vec::new();
    for path in get.paths() {
        let request = http::Request::get(path).header(http::header::ACCEPT, get.accept());
        answers.push(match request.body(Vec::new()) {
            Ok(request) => client.request::<serde_json::Value>(request).await.map_err(|error| match error {
                kube::Error::Api(status) => (status.reason, status.message),
                other => ("InternalError".to_owned(), other.to_string()),
            }),
            Err(_) => Err(("BadRequest".to_owned(), "the name is invalid".to_owned())),
        });
    }
    let actual = get.print_replies(&answers);
    answers.iter_mut().flatten().for_each(|answer| simulation.observers.secrets.redact_answer(answer));
    CapturedOutput { redacted: get.print_replies(&answers), actual }
}

fn run_upgrade_command(simulation: &mut Simulation, command: &Command) -> CommandOutput {
    let cluster_version = simulation.view.cluster_version();
    // The alerts that Prometheus returns to an administrator, who is logged in and so has a token.
    let alerts: Vec<oc::Alert> =
        simulation.alerts.borrow().iter().map(|active| oc::Alert::from(&active.alert)).collect();
    match command.begin(&ClusterView { cluster_version, alerts: Ok(&alerts) }) {
        CommandStep::Done(output) => output,
        CommandStep::Patch(patch) => {
            let write = Write::merge_patch(&CLUSTER_VERSIONS, "", "version", patch.to_value());
            let answer = simulation.write(ADMINISTRATOR, &Identity::admin(), &write);
            patch.finish(answer.as_ref().map_err(|rejection| rejection.message.as_str()))
        }
    }
}

/// Checks the last command, or the request that was rejected after it.
pub(super) fn check_last(simulation: &Simulation, checks: &[CommandCheck]) -> Result<(), String> {
    last_output(simulation)?.check(checks).map_err(|error| error.to_string())
}

/// Returns the output of the last command, or the message of a request that was rejected after it.
pub(super) fn last_output(simulation: &Simulation) -> Result<CapturedOutput, String> {
    let last = simulation.record.entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Command { line, stdout, stderr, .. } if client_warnings::is_warning(line, stdout, stderr) => {
            None
        }
        Event::Command { code, stdout, stderr, .. } => {
            let recorded = CommandOutput { stdout: stdout.clone(), stderr: stderr.clone(), code: *code };
            let captured =
                simulation.steps.last_output.as_ref().filter(|captured| captured.redacted == recorded);
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

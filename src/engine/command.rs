//! Commands that an administrator types: the client's questions and requests, what it printed, and whether that is what
//! was expected.

use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_core::{Identity, Write};
use windtunnel_openshift::oc;
use windtunnel_openshift::oc::{Command, Get, Said, Sight, Turn};
use windtunnel_update_status::status::Details;

use super::expectations::status;
use super::runtime::Simulation;
use crate::plan::{CommandCheck, CommandLine, Program};
use crate::record::{ADMINISTRATOR, Event, redact_secrets};

/// What a command said, and what of it may be shown: in a live cluster, not what is in its Secrets.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    pub(super) said: Said,
    shown: Said,
}

impl Heard {
    /// What may be shown as a whole, as far as values of secrets are not known.
    fn plain(said: Said) -> Self {
        Self { shown: said.clone(), said }
    }
}

/// Runs a command and records what it printed. Components notice what it changed when the simulation settles.
pub(super) async fn run(simulation: &mut Simulation, command: &CommandLine) -> Heard {
    let mut heard = match command.program {
        Program::Upgrade => Heard::plain(
            Command::read(&command.words, command.gates)
                .map_or_else(|said| said, |command| play(simulation, &command)),
        ),
        Program::Status(details) => Heard::plain(status(simulation, details)),
        Program::Get => match Get::read(&command.words) {
            Ok(get) => ask(simulation, &get).await,
            Err(said) => Heard::plain(said),
        },
    };
    for text in [&mut heard.shown.stdout, &mut heard.shown.stderr] {
        *text = simulation.hide(text);
    }
    let Said { stdout, stderr, code } = heard.shown.clone();
    simulation.note(Event::Command { line: simulation.hide(&command.line), code, stdout, stderr });
    simulation.heard = Some(heard.clone());
    heard
}

/// `oc adm upgrade status`.
fn status(simulation: &Simulation, details: Details) -> Said {
    match status::report(simulation, details) {
        Ok(stdout) => Said { stdout, stderr: String::new(), code: 0 },
        Err(refusal) => Said { stdout: String::new(), stderr: format!("error: {refusal}\n"), code: 1 },
    }
}

/// `oc get`: asks the API server, through a client as the real one does.
async fn ask(simulation: &Simulation, get: &Get) -> Heard {
    let client = simulation.door.client(&Identity::admin());
    let request = http::Request::get(get.path()).header(http::header::ACCEPT, get.accept());
    let Ok(request) = request.body(Vec::new()) else {
        return Heard::plain(Get::refused("BadRequest", "the name is none"));
    };
    Heard::plain(match client.request::<serde_json::Value>(request).await {
        Ok(mut answer) => {
            let said = get.answered(&answer);
            if simulation.door.secrets().is_some() {
                redact_secrets(&mut answer);
            }
            return Heard { shown: get.answered(&answer), said };
        }
        Err(kube::Error::Api(status)) => Get::refused(&status.reason, &status.message),
        Err(other) => Get::refused("InternalError", &other.to_string()),
    })
}

fn play(simulation: &mut Simulation, command: &Command) -> Said {
    let cluster_version = simulation.view.get(&CLUSTER_VERSIONS, "", "version");
    // What Prometheus answers to an administrator, who has logged in and so has a token.
    let alerts: Vec<oc::Alert> =
        simulation.alerts.borrow().iter().map(|told| oc::Alert::from(&told.alert)).collect();
    match command.begin(&Sight { cluster_version, alerts: Ok(&alerts) }) {
        Turn::Done(said) => said,
        Turn::Patch(patch) => {
            let write = Write::merge_patch(&CLUSTER_VERSIONS, "", "version", patch.to_value());
            let answer = simulation.write(ADMINISTRATOR, &Identity::admin(), &write);
            patch.answered(answer.as_ref().map_err(|refusal| refusal.message.as_str()))
        }
    }
}

/// Checks the command that was run last, or the request that was refused after it.
pub(super) fn check_last(simulation: &Simulation, checks: &[CommandCheck]) -> Result<(), String> {
    check(&last(simulation)?, checks)
}

/// What the command that was run last said, or the request that was refused after it.
pub(super) fn last(simulation: &Simulation) -> Result<Heard, String> {
    let last = simulation.record.entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Command { code, stdout, stderr, .. } => {
            let shown = Said { stdout: stdout.clone(), stderr: stderr.clone(), code: *code };
            let heard = simulation.heard.as_ref().filter(|heard| heard.shown == shown);
            Some(heard.cloned().unwrap_or_else(|| Heard::plain(shown)))
        }
        // What a command asks for stands before the command.
        Event::Write(write) if write.by == ADMINISTRATOR && write.code >= 400 => {
            Some(Heard::plain(Said { stdout: String::new(), stderr: write.message.clone(), code: 1 }))
        }
        _ => None,
    });
    last.ok_or_else(|| "no command was run yet".to_owned())
}

/// Checks what a command said; the error shows what it said instead.
pub(super) fn check(Heard { said, shown }: &Heard, checks: &[CommandCheck]) -> Result<(), String> {
    let fits = |check: &&CommandCheck| match check {
        CommandCheck::Code(code) => said.code == *code,
        CommandCheck::Prints(text) => text.fits(said.stdout.trim_end()),
        CommandCheck::Warns(text) => text.fits(said.stderr.trim_end()),
        CommandCheck::Says(text) => text.fits(format!("{}{}", said.stdout, said.stderr).trim_end()),
        CommandCheck::Fails => said.code != 0,
        CommandCheck::Refused(text) => said.refusal().is_some_and(|refusal| text.fits(refusal)),
    };
    let Some(wrong) = checks.iter().find(|check| !fits(check)) else { return Ok(()) };
    let Said { stdout, stderr, code } = shown;
    let told = match (stdout.trim_end(), stderr.trim_end()) {
        ("", "") => "and printed nothing".to_owned(),
        (text, "") | ("", text) => format!("and printed:\n{text}"),
        (stdout, stderr) => format!("and printed:\n{stdout}\n{stderr}"),
    };
    Err(format!("expected that the command {wrong}; it exited with code {code} {told}"))
}

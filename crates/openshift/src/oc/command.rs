//! A command of `oc adm upgrade`, from its arguments to its result.

use serde_json::Value;
use windtunnel_core::Object;

use super::accept::{self, Change};
use super::arguments::{self, Upgrade};
use super::channel::{self, Channel};
use super::cluster_version::Release;
use super::recommend::{self, Alert, Recommend};
use super::{clear, output::CommandOutput, report, request, rollback};

/// The commands that the client hides unless an environment variable enables them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gates {
    /// `accept`: `OC_ENABLE_CMD_UPGRADE_ACCEPT_RISKS=true`.
    pub accept_risks: bool,
    /// `rollback`: `OC_ENABLE_CMD_UPGRADE_ROLLBACK=true`.
    pub rollback: bool,
}

impl Gates {
    /// Reads the gates from environment variables; ignores all others.
    pub fn from_env<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut gates = Self::default();
        for (name, value) in variables {
            match name {
                "OC_ENABLE_CMD_UPGRADE_ACCEPT_RISKS" => gates.accept_risks = value == "true",
                "OC_ENABLE_CMD_UPGRADE_ROLLBACK" => gates.rollback = value == "true",
                _ => {}
            }
        }
        gates
    }
}

/// A command with valid arguments.
#[derive(Debug, Clone)]
pub struct Command {
    /// The warnings about its arguments.
    pub(super) warnings: CommandOutput,
    pub(super) verb: Verb,
}

/// The action of a command.
#[derive(Debug, Clone)]
pub(super) enum Verb {
    /// `oc adm upgrade`: prints the status, or requests an update.
    Upgrade(Upgrade),
    /// `oc adm upgrade accept`.
    Accept(Change),
    /// `oc adm upgrade channel`.
    Channel(Channel),
    /// `oc adm upgrade recommend`.
    Recommend(Recommend),
    /// `oc adm upgrade rollback`.
    Rollback,
}

/// The cluster as seen by a command.
#[derive(Debug)]
pub struct ClusterView<'a> {
    /// The ClusterVersion `version`, if it exists.
    pub cluster_version: Option<&'a Object>,
    /// The alerts, or the error of their request. Only `recommend` uses them, see [`Command::reads_alerts`].
    pub alerts: Result<&'a [Alert], &'a str>,
}

/// The next step of a command.
#[derive(Debug)]
pub enum CommandStep {
    /// The command is finished.
    Done(CommandOutput),
    /// The command patches the ClusterVersion.
    Patch(Patch),
}

/// A merge patch of the ClusterVersion `version`.
#[derive(Debug)]
pub struct Patch {
    /// The body, byte for byte as the client sends it.
    pub body: String,
    pub(super) output: CommandOutput,
    pub(super) success: Success,
    /// The prefix of the error message for a rejected patch.
    pub(super) unable: &'static str,
}

/// The output after a successful patch.
#[derive(Debug)]
pub(super) enum Success {
    Silent,
    Line(String),
    /// A line saying that the update to this version and image was cancelled, or that there was nothing left
    /// to cancel.
    Cleared(String, String),
}

impl Command {
    /// Parses the arguments of `oc adm upgrade`.
    ///
    /// # Errors
    /// The client's output for invalid arguments, for which it makes no request to the API server. A request
    /// for help ends this way too, with exit code 0.
    pub fn read(words: &[String], gates: Gates) -> Result<Self, CommandOutput> {
        arguments::parse_command(words, gates)
    }

    /// Returns whether it requests alerts.
    pub fn reads_alerts(&self) -> bool {
        matches!(self.verb, Verb::Recommend(_))
    }

    /// Starts the command on a cluster.
    pub fn begin(&self, view: &ClusterView<'_>) -> CommandStep {
        let output = self.warnings.clone();
        let Some(cluster_version) = view.cluster_version else {
            let capital = matches!(self.verb, Verb::Upgrade(_) | Verb::Recommend(_));
            let no = if capital { "No" } else { "no" };
            return CommandStep::Done(output.fail(&format!(
                "{no} cluster version information available - you must be connected to an OpenShift version 4 server to fetch the current version"
            )));
        };
        match &self.verb {
            Verb::Upgrade(flags) if flags.clear => clear::clear(cluster_version, output),
            Verb::Upgrade(flags) if flags.to_multi_arch => {
                request::to_multi_arch(flags, cluster_version, output)
            }
            Verb::Upgrade(flags) if flags.requests_update() => {
                request::update(flags, cluster_version, output)
            }
            Verb::Upgrade(flags) => {
                CommandStep::Done(report::report(cluster_version, flags.include_not_recommended, output))
            }
            Verb::Accept(change) => accept::accept(change, cluster_version, output),
            Verb::Channel(channel) => channel::channel(channel, cluster_version, output),
            Verb::Recommend(options) => {
                CommandStep::Done(recommend::recommend(options, cluster_version, view.alerts, output))
            }
            Verb::Rollback => rollback::rollback(cluster_version, output),
        }
    }
}

impl Patch {
    /// Returns the body as JSON.
    pub fn to_value(&self) -> Value {
        // Always valid JSON, since this module wrote it.
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Finishes the command with the patched object, or with the API server's error message.
    pub fn finish(self, answer: Result<&Object, &str>) -> CommandOutput {
        let Self { mut output, success, unable, .. } = self;
        let patched = match answer {
            Ok(patched) => patched,
            Err(message) => return output.fail(&format!("{unable}: {message}")),
        };
        match success {
            Success::Silent => {}
            Success::Line(line) => output.print(&line),
            Success::Cleared(version, image) => {
                let canceled = Release { version: &version, image: &image, url: "" };
                let desired = super::cluster_version::desired(patched);
                output.print(&if canceled.is_equivalent(desired) {
                    format!("Cleared the update field, still at {}", desired.name())
                } else {
                    format!("Cancelled requested upgrade to {}", canceled.name())
                });
            }
        }
        output
    }
}

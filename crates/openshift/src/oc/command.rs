//! A command of `oc adm upgrade`, from its arguments to its result.

use windtunnel_core::Object;

use super::arguments::{self, Gates, Verb};
use super::outcome::{CommandOutput, CommandStep};
use super::recommend::{self, Alert};
use super::{accept, channel, clear, report, request, rollback};

/// A command with valid arguments.
#[derive(Debug, Clone)]
pub struct Command {
    /// The warnings about its arguments.
    warnings: CommandOutput,
    verb: Verb,
}

/// The cluster as seen by a command.
#[derive(Debug)]
pub struct ClusterView<'a> {
    /// The ClusterVersion `version`, if it exists.
    pub cluster_version: Option<&'a Object>,
    /// The alerts, or the error of their request. Only `recommend` uses them, see [`Command::reads_alerts`].
    pub alerts: Result<&'a [Alert], &'a str>,
}

impl Command {
    /// Parses the arguments of `oc adm upgrade`.
    ///
    /// # Errors
    /// The client's output for invalid arguments, for which it makes no request to the API server. A request
    /// for help ends this way too, with exit code 0.
    pub fn read(words: &[String], gates: Gates) -> Result<Self, CommandOutput> {
        let (verb, warnings) = arguments::parse_verb(words, gates)?;
        Ok(Self { warnings, verb })
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
            Verb::Upgrade(flags) if flags.clear_preflight => clear::clear_preflight(cluster_version, output),
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

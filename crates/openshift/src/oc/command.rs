//! A command from its words to its end.

use serde_json::Value;
use windtunnel_core::Object;

use super::accept::Change;
use super::arguments::{self, Upgrade};
use super::channel::Channel;
use super::cluster_version::Release;
use super::recommend::{Alert, Recommend};
use super::{accept, channel, clear, recommend, report, request, rollback, said::Said};

/// Commands that the client hides unless its environment asks for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gates {
    /// `accept`: `OC_ENABLE_CMD_UPGRADE_ACCEPT_RISKS=true`.
    pub accept_risks: bool,
    /// `rollback`: `OC_ENABLE_CMD_UPGRADE_ROLLBACK=true`.
    pub rollback: bool,
}

impl Gates {
    /// The gates that environment variables open; others mean nothing.
    pub fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
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

/// A command whose words make sense.
#[derive(Debug, Clone)]
pub struct Command {
    /// What its words alone gave rise to.
    pub(super) warned: Said,
    pub(super) verb: Verb,
}

/// What a command does.
#[derive(Debug, Clone)]
pub(super) enum Verb {
    /// `oc adm upgrade`: tells how things are, or asks for an update.
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

/// What a command sees of the cluster.
#[derive(Debug)]
pub struct Sight<'a> {
    /// The ClusterVersion `version`; `None`: there is none.
    pub cluster_version: Option<&'a Object>,
    /// Alerts, or why they could not be asked for. Only `recommend` does, see [`Command::reads_alerts`].
    pub alerts: Result<&'a [Alert], &'a str>,
}

/// How far a command got.
#[derive(Debug)]
pub enum Turn {
    /// It is done.
    Done(Said),
    /// It wants to patch the ClusterVersion.
    Patch(Patch),
}

/// A merge patch of the ClusterVersion `version`.
#[derive(Debug)]
pub struct Patch {
    /// The body, byte for byte as the client sends it.
    pub body: String,
    pub(super) said: Said,
    pub(super) success: Success,
    /// How a refusal is introduced.
    pub(super) unable: &'static str,
}

/// What is said when a patch was accepted.
#[derive(Debug)]
pub(super) enum Success {
    /// Nothing.
    Silent,
    /// A line.
    Line(String),
    /// That an update was cancelled, or that there is nothing to cancel any more: to this version and image.
    Cleared(String, String),
}

impl Command {
    /// Reads the words after `oc adm upgrade`.
    ///
    /// # Errors
    /// What the client says to words that make no sense; it does not ask the API server then. A call for help ends this way
    /// too, with exit code 0.
    pub fn read(words: &[String], gates: Gates) -> Result<Self, Said> {
        arguments::read(words, gates)
    }

    /// Whether it asks for alerts.
    pub fn reads_alerts(&self) -> bool {
        matches!(self.verb, Verb::Recommend(_))
    }

    /// Goes on with what is seen of the cluster.
    pub fn begin(&self, sight: &Sight<'_>) -> Turn {
        let said = self.warned.clone();
        let Some(cluster_version) = sight.cluster_version else {
            let capital = matches!(self.verb, Verb::Upgrade(_) | Verb::Recommend(_));
            let no = if capital { "No" } else { "no" };
            return Turn::Done(said.fail(&format!(
                "{no} cluster version information available - you must be connected to an OpenShift version 4 server to fetch the current version"
            )));
        };
        match &self.verb {
            Verb::Upgrade(flags) if flags.clear => clear::clear(cluster_version, said),
            Verb::Upgrade(flags) if flags.to_multi_arch => {
                request::to_multi_arch(flags, cluster_version, said)
            }
            Verb::Upgrade(flags) if flags.asks_for_update() => request::update(flags, cluster_version, said),
            Verb::Upgrade(flags) => {
                Turn::Done(report::report(cluster_version, flags.include_not_recommended, said))
            }
            Verb::Accept(change) => accept::accept(change, cluster_version, said),
            Verb::Channel(channel) => channel::channel(channel, cluster_version, said),
            Verb::Recommend(options) => {
                Turn::Done(recommend::recommend(options, cluster_version, sight.alerts, said))
            }
            Verb::Rollback => rollback::rollback(cluster_version, said),
        }
    }
}

impl Patch {
    /// The body as JSON.
    pub fn to_value(&self) -> Value {
        // We wrote it.
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Ends the command with the patched object, or with the API server's message.
    pub fn answered(self, answer: Result<&Object, &str>) -> Said {
        let Self { mut said, success, unable, .. } = self;
        let patched = match answer {
            Ok(patched) => patched,
            Err(message) => return said.fail(&format!("{unable}: {message}")),
        };
        match success {
            Success::Silent => {}
            Success::Line(line) => said.say(&line),
            Success::Cleared(version, image) => {
                let asked = Release { version: &version, image: &image, url: "" };
                let desired = super::cluster_version::desired(patched);
                said.say(&if asked.is_equivalent(desired) {
                    format!("Cleared the update field, still at {}", desired.name())
                } else {
                    format!("Cancelled requested upgrade to {}", asked.name())
                });
            }
        }
        said
    }
}

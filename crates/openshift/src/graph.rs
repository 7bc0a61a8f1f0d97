//! The update service: its configuration, and its answers as graphs of releases and updates.

use std::collections::BTreeMap;

use regex::Regex;
use semver::Version;
use serde_json::{Value, json};

use super::release::Architecture;

/// The configuration of the update service. By default every channel has updates to every recommended
/// release.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UpdateService {
    /// The answer per channel, by name. `None` if every channel contains every release.
    pub channels: Option<BTreeMap<String, Channel>>,
    /// Unconditional updates. `None` for updates from each release to the recommended ones ahead of it.
    pub edges: Option<Vec<Edge>>,
    /// Updates with risks.
    pub conditional: Vec<ConditionalEdges>,
    /// Blocks and risks of updates that would otherwise be unconditional.
    pub blocked: Vec<BlockedEdge>,
}

/// Updates to one release that are blocked or have a risk (a file of `blocked-edges` in
/// cincinnati-graph-data).
#[derive(Debug, Clone)]
pub struct BlockedEdge {
    /// The target release. With an architecture (`4.14.1+amd64`) only for that one.
    pub to: Version,
    /// The source releases: a pattern for versions with architecture.
    pub from: Regex,
    /// The risk. `None` blocks the updates.
    pub risk: Option<Risk>,
}

impl PartialEq for BlockedEdge {
    fn eq(&self, other: &Self) -> bool {
        (&self.to, self.from.as_str(), &self.risk) == (&other.to, other.from.as_str(), &other.risk)
    }
}

impl BlockedEdge {
    pub(crate) fn is_about(&self, edge: &Edge, architecture: Architecture) -> bool {
        self.leads_to(&edge.to, architecture) && self.leads_from(&edge.from, architecture)
    }

    /// Returns whether these updates lead to a release.
    pub fn leads_to(&self, release: &Version, architecture: Architecture) -> bool {
        matches_release(&self.to, release, architecture)
    }

    /// Returns whether these updates lead from a release.
    pub fn leads_from(&self, release: &Version, architecture: Architecture) -> bool {
        self.from.is_match(&format!("{release}+{}", architecture.name()))
    }
}

/// Returns whether `listed` means this release and architecture. It can have an architecture
/// (`4.14.1+amd64`), or be for all.
pub(crate) fn matches_release(listed: &Version, version: &Version, architecture: Architecture) -> bool {
    listed.cmp_precedence(version).is_eq()
        && (listed.build.is_empty() || listed.build.as_str() == architecture.name())
}

/// The answer to a request for one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Channel {
    /// A graph with these releases, each for its architecture (`4.14.1+arm64`), or for all.
    Lists(Vec<Version>),
    /// An error.
    Fails(ServiceFault),
}

impl Channel {
    pub(crate) fn lists(&self, version: &Version, architecture: Architecture) -> bool {
        match self {
            Self::Lists(versions) => {
                versions.iter().any(|listed| matches_release(listed, version, architecture))
            }
            Self::Fails(_) => false,
        }
    }
}

/// The error instead of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceFault {
    /// The service cannot be reached.
    Unreachable,
    /// It answers with HTTP status 500.
    ServerError,
    /// It answers with a page instead of JSON.
    InvalidJson,
}

/// An update between two releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The source release.
    pub from: Version,
    /// The target release.
    pub to: Version,
}

/// Updates with the same risks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionalEdges {
    /// The updates.
    pub edges: Vec<Edge>,
    /// The risks of these updates.
    pub risks: Vec<Risk>,
}

/// A known problem of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Risk {
    /// Name, such as `KeepalivedMulticastSkew`.
    pub name: String,
    /// URL with more information.
    pub url: String,
    /// Description of the problem, in a sentence.
    pub message: String,
    /// Rules that select the exposed clusters. The first one that can be evaluated decides.
    pub rules: Vec<MatchingRule>,
}

impl Risk {
    /// Returns it as in answers of the update service, and in `conditionalUpdates` of a ClusterVersion.
    pub fn to_json(&self) -> Value {
        let rules: Vec<Value> = self.rules.iter().map(MatchingRule::to_json).collect();
        json!({ "name": self.name, "url": self.url, "message": self.message, "matchingRules": rules })
    }
}

/// A rule that selects clusters exposed to a risk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatchingRule {
    /// All clusters.
    Always,
    /// Clusters for which this PromQL expression results in 1, and not 0.
    PromQl(String),
    /// A rule of this type, which the cluster-version operator does not know and ignores.
    Other(String),
}

impl MatchingRule {
    /// Returns it as in answers of the update service.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Always => json!({ "type": "Always" }),
            Self::PromQl(text) => json!({ "type": "PromQL", "promql": { "promql": text } }),
            Self::Other(kind) => json!({ "type": kind }),
        }
    }
}

/// A release in a graph, with its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Version.
    pub version: Version,
    /// Pull spec.
    pub image: String,
    /// URL of its advisory.
    pub url: String,
    /// Channels that contain it, sorted.
    pub channels: Vec<String>,
}

/// The update service's answer for one channel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    /// The releases of the channel, by version.
    pub nodes: BTreeMap<Version, Node>,
    /// Unconditional updates between them.
    pub edges: Vec<Edge>,
    /// Updates with risks between releases of the channel. Updates to a release in no channel are included
    /// too. This is an error in the graph data, which clients reject.
    pub conditional: Vec<ConditionalEdges>,
}

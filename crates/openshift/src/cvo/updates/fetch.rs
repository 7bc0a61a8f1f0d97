//! One request to the update service for the updates from a release.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use semver::Version;
use windtunnel_core::Object;
use windtunnel_core::condition::Condition;

use crate::cvo::validation;
use crate::environment::Environment;
use crate::graph::{Graph, MatchingRule, Node, Risk, ServiceFault};
use crate::release::{Architecture, Release};

/// The update service unless the spec names another one.
const DEFAULT_UPSTREAM: &str = "https://api.openshift.com/api/upgrades_info/v1/graph";

/// The updates of a release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fetched {
    /// The release itself.
    pub(super) current: Option<Node>,
    /// Updates without risks, newest first.
    pub(super) updates: Vec<Node>,
    /// Updates with risks, newest first.
    pub(super) conditional: Vec<(Node, Vec<Risk>)>,
}

/// Requests updates from the operator's `own` release in the spec's channel, for `architecture`. A switch to
/// the multi-architecture payload is only possible at the same version.
///
/// # Errors
/// The condition RetrievedUpdates=False.
pub(super) fn fetch(
    environment: &Environment,
    cluster_version: &Object,
    own: &Release,
    architecture: Architecture,
) -> Result<Fetched, Condition> {
    let current = &own.version;
    let failed = |reason, message: String| Condition::new("RetrievedUpdates", "False", reason, message);
    let unable =
        |reason, message: String| failed(reason, format!("Unable to retrieve available updates: {message}"));
    let id = uuid(cluster_version.text("/spec/clusterID"))
        .map_err(|error| failed("InvalidID", format!("invalid cluster ID: {error}")))?;
    let channel = cluster_version.text("/spec/channel");
    if channel.is_empty() {
        return Err(failed("NoChannel", "The update channel has not been configured.".to_owned()));
    }
    if let Some(scheme) = unsupported_scheme(cluster_version) {
        let url = request_url(cluster_version, &id, current, architecture);
        return Err(unable("RemoteFailed", format!("Get \"{url}\": unsupported protocol scheme {scheme:?}")));
    }
    let graph = environment.graph(channel, architecture).map_err(|fault| match fault {
        ServiceFault::Unreachable => {
            unable("RemoteFailed", unreachable(cluster_version, &id, current, architecture))
        }
        ServiceFault::ServerError => {
            unable("ResponseFailed", "unexpected HTTP status: 500 Internal Server Error".to_owned())
        }
        ServiceFault::InvalidJson => {
            unable("ResponseInvalid", "invalid character '<' looking for beginning of value".to_owned())
        }
    })?;
    let Some(node) = graph.nodes.get(current) else {
        let text =
            format!("currently reconciling cluster version {current} not found in the \"{channel}\" channel");
        return Err(unable("VersionNotFound", text));
    };
    if architecture != own.architecture {
        let (current, updates) = (Some(node.clone()), vec![node.clone()]);
        return Ok(Fetched { current, updates, conditional: Vec::new() });
    }
    let conditional = conditional(&graph, current)
        .map_err(|to| unable("ResponseInvalid", format!("no node for conditional update {to}")))?;
    Ok(sort_out(&graph, node, conditional))
}

/// A UUID in its canonical form.
///
/// # Errors
/// The error of the operator's UUID library.
fn uuid(text: &str) -> Result<String, String> {
    let Some(digits) = validation::uuid_digits(text) else {
        return Err(match text.len() {
            45 if text.get(..9).is_none_or(|start| !start.eq_ignore_ascii_case("urn:uuid:")) => {
                format!("invalid urn prefix: {:?}", text.get(..9).unwrap_or_default())
            }
            32 | 36 | 38 | 45 => "invalid UUID format".to_owned(),
            length => format!("invalid UUID length: {length}"),
        });
    };
    let mut spelled = String::new();
    for (at, digit) in digits.into_iter().enumerate() {
        if [8, 12, 16, 20].contains(&at) {
            spelled.push('-');
        }
        spelled.extend(char::from_digit(digit, 16));
    }
    Ok(spelled)
}

/// The update service that the spec names, or the default.
fn upstream(cluster_version: &Object) -> &str {
    match cluster_version.text("/spec/upstream") {
        "" => DEFAULT_UPSTREAM,
        url => url,
    }
}

/// The scheme of the update service if Go's HTTP client has no transport for it; empty if the URL has none.
fn unsupported_scheme(cluster_version: &Object) -> Option<String> {
    let is_scheme =
        |text: &&str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let scheme = upstream(cluster_version).split_once(':').map(|(scheme, _)| scheme).filter(is_scheme);
    let scheme = scheme.unwrap_or_default().to_ascii_lowercase();
    (!["http", "https"].contains(&scheme.as_str())).then_some(scheme)
}

/// The URL of a request as Go prints it.
fn request_url(cluster_version: &Object, id: &str, version: &Version, architecture: Architecture) -> String {
    let upstream = percent_encoded(upstream(cluster_version), b"-_.~/:@!$&'()*+,;=?%[]");
    let channel = escaped(cluster_version.text("/spec/channel"));
    let (architecture, version) = (architecture.name(), escaped(&version.to_string()));
    format!("{upstream}?arch={architecture}&channel={channel}&id={id}&version={version}")
}

/// The error of Go's HTTP client for an unknown host.
fn unreachable(cluster_version: &Object, id: &str, version: &Version, architecture: Architecture) -> String {
    let upstream = upstream(cluster_version);
    let host = upstream.split_once("://").map_or(upstream, |(_, rest)| rest);
    let host = host.split(['/', ':', '?']).next().unwrap_or_default();
    let url = request_url(cluster_version, id, version, architecture);
    format!("Get \"{url}\": dial tcp: lookup {host} on 10.0.0.2:53: no such host")
}

fn escaped(text: &str) -> String {
    percent_encoded(text, b"-_.~")
}

/// Percent-encodes the bytes of a text that are neither alphanumeric nor in `plain`.
fn percent_encoded(text: &str, plain: &[u8]) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// The conditional updates from a release.
///
/// # Errors
/// The version of a target that is not in the graph.
fn conditional(graph: &Graph, from: &Version) -> Result<Vec<(Node, Vec<Risk>)>, Version> {
    let mut found = Vec::new();
    for group in &graph.conditional {
        for edge in group.edges.iter().filter(|edge| edge.from == *from) {
            let node = graph.nodes.get(&edge.to).ok_or_else(|| edge.to.clone())?;
            found.push((node.clone(), group.risks.iter().map(with_known_rules).collect()));
        }
    }
    Ok(found)
}

/// A risk without its rules of unknown types.
fn with_known_rules(risk: &Risk) -> Risk {
    let mut risk = risk.clone();
    risk.rules.retain(|rule| !matches!(rule, MatchingRule::Other(_)));
    risk
}

/// Selects the updates for the status. An update with risks is not listed as unconditional. Conditional
/// updates are omitted if a risk has no rule, or if they occur twice, because the API cannot represent them.
fn sort_out(graph: &Graph, current: &Node, mut conditional: Vec<(Node, Vec<Risk>)>) -> Fetched {
    let leads_on = graph.edges.iter().filter(|edge| edge.from == current.version);
    let mut updates: Vec<Node> = leads_on
        .filter_map(|edge| graph.nodes.get(&edge.to).cloned())
        .filter(|node| conditional.iter().all(|(other, _)| other.image != node.image))
        .collect();
    updates.sort_by(|a, b| b.version.cmp(&a.version));
    updates.dedup();
    conditional.retain(|(_, risks)| risks.iter().all(|risk| !risk.rules.is_empty()) && !risks.is_empty());
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for (node, _) in &conditional {
        *times.entry(node.image.clone()).or_default() += 1;
    }
    conditional.retain(|(node, _)| times[&node.image] == 1);
    conditional.sort_by(|(a, _), (b, _)| b.version.cmp(&a.version));
    Fetched { current: Some(current.clone()), updates, conditional }
}

//! Given: the answers of the update service.

#![expect(clippy::needless_pass_by_value, reason = "cucumber hands captured texts over as owned strings")]

use std::collections::BTreeMap;

use cucumber::gherkin::Step;
use cucumber::given;
use semver::{BuildMetadata, Version};
use windtunnel_openshift::graph::{Channel, ConditionalEdges, Edge, MatchingRule, Risk, ServiceFault};
use windtunnel_openshift::promql;
use windtunnel_openshift::release::Architecture;

use crate::steps::phrase::docstring;
use crate::steps::world::{ClusterWorld, StepError};

/// Graph data in the layout of the real service, from a folder next to the feature. Put this step after those
/// that name the existing releases.
///
/// ```gherkin
/// Given the graph data in "testdata/graph-data"
/// ```
#[given(regex = r#"^the graph data in "([^"]+)"$"#)]
fn graph_data(world: &mut ClusterWorld, folder: String) -> Result<(), StepError> {
    world.graph_data(&folder)
}

/// The releases that a channel lists, for all architectures or for one (`4.14.1+arm64`). All channels without
/// such a step are then empty.
///
/// ```gherkin
/// Given the update channel "stable-4.14" lists 4.14.1, 4.14.8
/// ```
#[given(regex = r#"^the update channel "([^"]+)" lists (\S+(?:, \S+)*)$"#)]
fn channel_lists(world: &mut ClusterWorld, name: String, versions: String) -> Result<(), StepError> {
    let versions = versions.split(", ").map(|version| listed(world, version)).collect::<Result<_, _>>()?;
    channel(world, name, Channel::Lists(versions))
}

fn listed(world: &mut ClusterWorld, text: &str) -> Result<Version, StepError> {
    let Some((plain, name)) = text.split_once('+') else { return world.version(text) };
    let build = BuildMetadata::new(name).ok().filter(|_| Architecture::find(name).is_some());
    let build = build.ok_or_else(|| StepError::Usage(format!("unknown architecture `{name}`")))?;
    Ok(Version { build, ..world.version(plain)? })
}

/// A channel whose graph cannot be retrieved.
///
/// ```gherkin
/// Given asking for the update channel "stable-4.14" finds no service
/// ```
#[given(
    regex = r#"^asking for the update channel "([^"]+)" (finds no service|is answered with an error|is answered with no JSON)$"#
)]
fn channel_fails(world: &mut ClusterWorld, name: String, how: String) -> Result<(), StepError> {
    let fault = match how.as_str() {
        "finds no service" => ServiceFault::Unreachable,
        "is answered with an error" => ServiceFault::ServerError,
        _ => ServiceFault::InvalidJson,
    };
    channel(world, name, Channel::Fails(fault))
}

/// Unconditional updates. With this step, only the updates of such steps exist.
///
/// ```gherkin
/// Given updates lead from 4.14.1 to 4.14.8
/// ```
#[given(regex = r"^updates lead from (\S+) to (\S+(?:, \S+)*)$")]
fn edges(world: &mut ClusterWorld, from: String, to: String) -> Result<(), StepError> {
    let from = world.version(&from)?;
    let to = to.split(", ").map(|version| world.version(version)).collect::<Result<Vec<_>, _>>()?;
    let edges = world.planned()?.update_service.edges.get_or_insert_default();
    edges.extend(to.into_iter().map(|to| Edge { from: from.clone(), to }));
    Ok(())
}

/// A risk of an update that exposes every cluster.
///
/// ```gherkin
/// Given updates from 4.14.1 to 4.14.8 have the risk "SomeRisk" with message "Nodes may hang."
/// ```
#[given(regex = r#"^updates from (\S+) to (\S+) have the risk "([^"]+)"(?: with message "([^"]*)")?$"#)]
fn risk_of_all(
    world: &mut ClusterWorld,
    from: String,
    to: String,
    name: String,
    message: String,
) -> Result<(), StepError> {
    risk(world, [&from, &to, &name, &message], MatchingRule::Always)
}

/// A risk of an update that exposes the clusters for which the PromQL in the doc string is 1 rather than 0.
///
/// ```gherkin
/// Given updates from 4.14.1 to 4.14.8 have the risk "SomeRisk" on clusters where:
/// ```
#[given(
    regex = r#"^updates from (\S+) to (\S+) have the risk "([^"]+)"(?: with message "([^"]*)")? on clusters where:$"#
)]
fn risk_of_some(
    world: &mut ClusterWorld,
    from: String,
    to: String,
    name: String,
    message: String,
    step: &Step,
) -> Result<(), StepError> {
    let expression = docstring(step.docstring.as_ref())?;
    promql::parse(expression)
        .map_err(|error| StepError::Usage(format!("this PromQL cannot be evaluated: {error}")))?;
    risk(world, [&from, &to, &name, &message], MatchingRule::PromQl(expression.to_owned()))
}

fn channel(world: &mut ClusterWorld, name: String, channel: Channel) -> Result<(), StepError> {
    world.planned()?.update_service.channels.get_or_insert_with(BTreeMap::new).insert(name, channel);
    Ok(())
}

/// Adds a risk to an update, grouped with other risks of the same update.
fn risk(world: &mut ClusterWorld, words: [&str; 4], rule: MatchingRule) -> Result<(), StepError> {
    let [from, to, name, message] = words;
    let edge = Edge { from: world.version(from)?, to: world.version(to)? };
    let message = if message.is_empty() { format!("{name} happens.") } else { message.to_owned() };
    let (name, url) = (name.to_owned(), format!("https://example.com/{name}"));
    let risk = Risk { name, url, message, rules: vec![rule] };
    let groups = &mut world.planned()?.update_service.conditional;
    match groups.iter_mut().find(|group| group.edges == [edge.clone()]) {
        Some(group) => group.risks.push(risk),
        None => groups.push(ConditionalEdges { edges: vec![edge], risks: vec![risk] }),
    }
    Ok(())
}

//! Given: the answers of the update service.

use std::collections::BTreeMap;

use semver::{BuildMetadata, Version};
use windtunnel_openshift::graph::{Channel, ConditionalEdges, Edge, MatchingRule, Risk, ServiceFault};
use windtunnel_openshift::promql;
use windtunnel_openshift::release::Architecture;

use super::definition::{Definition, Words, given, meaning, names};
use crate::steps::world::ClusterWorld;

const FAULTS: Words<ServiceFault> = &[
    ("finds no service", ServiceFault::Unreachable),
    ("is answered with an error", ServiceFault::ServerError),
    ("is answered with no JSON", ServiceFault::InvalidJson),
];

pub(in crate::steps) const STEPS: &[Definition] = &[
    given(
        r#"the graph data in "([^"]+)""#,
        "Graph data in the layout of the real service, from a folder next to the feature. Put this step \
         after those that name the existing releases.",
        &[r#"the graph data in "testdata/graph-data""#],
        |world, call| {
            let [folder] = call.values();
            world.graph_data(&folder)
        },
    ),
    given(
        r#"the update channel "([^"]+)" lists (\S+(?:, \S+)*)"#,
        "The releases that a channel lists, for all architectures or for one (`4.14.1+arm64`). All \
         channels without such a step are then empty.",
        &[r#"the update channel "stable-4.14" lists 4.14.1, 4.14.8"#],
        |world, call| {
            let [name, versions] = call.values();
            let versions =
                versions.split(", ").map(|version| listed(world, version)).collect::<Result<_, _>>()?;
            channel(world, name, Channel::Lists(versions))
        },
    ),
    given(
        r#"asking for the update channel "([^"]+)" {word}"#,
        "A channel whose graph cannot be retrieved.",
        &[r#"asking for the update channel "stable-4.14" finds no service"#],
        |world, call| {
            let [name, how] = call.values();
            channel(world, name, Channel::Fails(meaning(FAULTS, &how)?))
        },
    )
    .with_words(|| names(FAULTS)),
    given(
        r"updates lead from (\S+) to (\S+(?:, \S+)*)",
        "Unconditional updates. With this step, only the updates of such steps exist.",
        &["updates lead from 4.14.1 to 4.14.8"],
        |world, call| {
            let [from, to] = call.values();
            let from = world.version(&from)?;
            let to = to.split(", ").map(|version| world.version(version)).collect::<Result<Vec<_>, _>>()?;
            let edges = world.planned()?.update_service.edges.get_or_insert_default();
            edges.extend(to.into_iter().map(|to| Edge { from: from.clone(), to }));
            Ok(())
        },
    ),
    given(
        r#"updates from (\S+) to (\S+) have the risk "([^"]+)"(?: with message "([^"]*)")?"#,
        "A risk of an update that exposes every cluster.",
        &[r#"updates from 4.14.1 to 4.14.8 have the risk "SomeRisk" with message "Nodes may hang.""#],
        |world, call| {
            let [from, to, name, message] = call.values();
            risk(world, [&from, &to, &name, &message], MatchingRule::Always)
        },
    ),
    given(
        r#"updates from (\S+) to (\S+) have the risk "([^"]+)"(?: with message "([^"]*)")? on clusters where:"#,
        "A risk of an update that exposes the clusters for which the PromQL in the doc string is 1 rather \
         than 0.",
        &[r#"updates from 4.14.1 to 4.14.8 have the risk "SomeRisk" on clusters where:"#],
        |world, call| {
            let [from, to, name, message] = call.values();
            let expression = call.docstring()?;
            promql::parse(expression).map_err(|error| format!("this PromQL cannot be evaluated: {error}"))?;
            risk(world, [&from, &to, &name, &message], MatchingRule::PromQl(expression.to_owned()))
        },
    ),
];

fn listed(world: &mut ClusterWorld, text: &str) -> Result<Version, String> {
    let Some((plain, name)) = text.split_once('+') else { return world.version(text) };
    let build = BuildMetadata::new(name).ok().filter(|_| Architecture::find(name).is_some());
    let build = build.ok_or_else(|| format!("unknown architecture `{name}`"))?;
    Ok(Version { build, ..world.version(plain)? })
}

fn channel(world: &mut ClusterWorld, name: String, channel: Channel) -> Result<(), String> {
    world.planned()?.update_service.channels.get_or_insert_with(BTreeMap::new).insert(name, channel);
    Ok(())
}

/// Adds a risk to an update, grouped with other risks of the same update.
fn risk(world: &mut ClusterWorld, words: [&str; 4], rule: MatchingRule) -> Result<(), String> {
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

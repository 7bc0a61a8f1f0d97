//! Splits a scenario into a pre-upgrade and a post-upgrade scenario, for environments where something else
//! updates the cluster between the two runs.

use std::collections::BTreeSet;

use semver::Version;
use windtunnel_core::yaml::{self, Kind, Node};

use super::{Reader, Releases, ScenarioError, ScenarioErrors, parameters, parse_all};
use crate::plan::{Plan, PlannedStep, Step};

/// The scenarios of both phases.
#[derive(Debug)]
pub struct SplitScenario {
    /// The scenario to run before the update.
    pub prepare: String,
    /// The scenario to run after the update.
    pub check: String,
}

/// Splits a scenario, or each row of its table of parameters.
///
/// * The steps before the update go to the first scenario.
/// * The steps from the update to the expectation of its end are dropped.
/// * The steps after that, up to the next update, go to the second scenario, except those that look back at
///   the whole run.
///
/// # Errors
/// The scenario is invalid; or a row does not update the cluster, does not wait for the end, expects nothing
/// after it, or uses a value that was kept before it.
pub fn split(file: &str, text: &str, releases: &dyn Releases) -> Result<Vec<SplitScenario>, ScenarioErrors> {
    let plans = parse_all(file, text, releases)?;
    let (tree, _) = yaml::parse_tree(text).map_err(|error| {
        ScenarioErrors(vec![ScenarioError {
            file: file.to_owned(),
            line: error.line,
            column: error.column,
            message: error.message,
        }])
    })?;
    let trees = parameters::expand(&mut Reader::new(file, releases), &tree);
    let rows = trees.iter().zip(&plans).map(|(tree, plan)| split_row(tree, plan));
    rows.collect::<Result<_, _>>().map_err(|(line, message)| {
        ScenarioErrors(vec![ScenarioError { file: file.to_owned(), line, column: 1, message }])
    })
}

fn split_row(tree: &Node, plan: &Plan) -> Result<SplitScenario, (usize, String)> {
    let steps = steps(tree, plan);
    let (Some(timeline), Some(update)) = (
        tree.get("timeline"),
        steps.iter().position(|(_, planned)| planned.iter().any(|step| step.updates())),
    ) else {
        return Err((
            1,
            "no step updates the cluster: expected `update` or `run: oc adm upgrade --to ...`".to_owned(),
        ));
    };
    let end =
        steps.iter().skip(update).position(|(_, planned)| planned.iter().any(|step| step.completes_update()));
    let Some(end) = end.map(|found| update + found) else {
        let message = "no step waits for the end of this update: expect ClusterVersion/version Progressing=False with the \
                       message `Cluster version is ...`";
        return Err((steps[update].0.line, message.to_owned()));
    };
    let after: Vec<&(&Node, Vec<&PlannedStep>)> = steps[end + 1..]
        .iter()
        .take_while(|(_, planned)| !planned.iter().any(|step| step.updates()))
        .filter(|(_, planned)| !planned.iter().any(|step| step.looks_back()))
        .collect();
    if !after
        .iter()
        .any(|(_, planned)| planned.iter().any(|step| matches!(step.step, Step::Expect(_) | Step::Run(_))))
    {
        return Err((steps[end].0.line, "no step expects anything after the end of this update".to_owned()));
    }
    reject_values_kept_before(&steps[..update], &after)?;
    let own = plan.cluster.release.version.clone();
    let is_known =
        |version: &Version| plan.cluster.releases.iter().any(|planned| planned.release.version == *version);
    let target = steps[update].1.iter().find_map(|step| step.update_target(is_known));
    let target = target.unwrap_or_else(|| own.clone());
    let before = steps[..update].iter().map(|(node, _)| (*node).clone());
    let checked = after.iter().map(|(node, _)| (*node).clone());
    let phase_scenario = |tree: Node, phase: &str, version: &Version, steps: Vec<Node>| {
        let steps = settled(version).into_iter().chain(steps).collect();
        let timeline = timeline.holding(Kind::List(steps));
        named(with(tree, "timeline", Some(timeline)), phase).to_text()
    };
    Ok(SplitScenario {
        prepare: phase_scenario(tree.clone(), "prepare", &own, before.collect()),
        check: phase_scenario(with_target_release(tree, &own, &target), "check", &target, checked.collect()),
    })
}

/// Pairs each step of the file with its planned steps; an include has several.
fn steps<'p, 't>(tree: &'t Node, plan: &'p Plan) -> Vec<(&'t Node, Vec<&'p PlannedStep>)> {
    let Some(Kind::List(items)) = tree.get("timeline").map(|node| &node.kind) else { return Vec::new() };
    let planned = |item: &Node| {
        let place = item.get("include").unwrap_or(item);
        plan.timeline.iter().filter(|step| (step.line, step.column) == (place.line, place.column)).collect()
    };
    items.iter().map(|item| (item, planned(item))).collect()
}

/// Rejects uses of values that were kept before the update: the second run does not have them.
fn reject_values_kept_before(
    before: &[(&Node, Vec<&PlannedStep>)],
    after: &[&(&Node, Vec<&PlannedStep>)],
) -> Result<(), (usize, String)> {
    let kept_name = |step: &&PlannedStep| match &step.step {
        Step::Keep(keep) => Some(keep.name.clone()),
        _ => None,
    };
    let names: BTreeSet<String> =
        before.iter().flat_map(|(_, planned)| planned.iter().filter_map(kept_name)).collect();
    for name in names {
        let placeholder = format!("$(kept {name})");
        if let Some((node, _)) = after.iter().find(|(node, _)| node.to_text().contains(&placeholder)) {
            return Err((
                node.line,
                format!("`{placeholder}` was kept before the update: the second scenario does not have it"),
            ));
        }
    }
    Ok(())
}

/// Returns the expectation that the cluster runs this version and is not progressing.
fn settled(version: &Version) -> Option<Node> {
    let text = format!(
        "expect: {{object: ClusterVersion/version, condition: {{type: Progressing, status: \"False\", message: Cluster version is {version}}}}}"
    );
    yaml::parse_tree(&text).ok().map(|(node, _)| node)
}

/// Returns the scenario with the cluster at the target version, and the old release under `releases`.
fn with_target_release(tree: &Node, own: &Version, target: &Version) -> Node {
    if own == target {
        return tree.clone();
    }
    let Some(cluster) = tree.get("cluster") else { return tree.clone() };
    let releases = tree.get("releases");
    let of_target = releases.and_then(|releases| releases.get(&target.to_string()));
    let scalar = |version: &Version| yaml::parse_tree(&version.to_string()).ok().map(|(node, _)| node);
    let payload = of_target.and_then(|release| release.get("payload"));
    let at_target = with(cluster.clone(), "version", scalar(target));
    let at_target = with(at_target, "payload", payload.cloned());
    let nothing = cluster.holding(Kind::Map(Vec::new()));
    let others = with(releases.cloned().unwrap_or_else(|| nothing.clone()), &target.to_string(), None);
    let old = match cluster.get("payload") {
        Some(payload) => with(nothing, "payload", Some(payload.clone())),
        None => nothing.holding(Kind::Null),
    };
    let others = with(others, &own.to_string(), Some(old));
    with(with(tree.clone(), "cluster", Some(at_target)), "releases", Some(others))
}

/// Returns the scenario with the name and the tag of its phase.
fn named(tree: Node, phase: &str) -> Node {
    let name = tree.get("name").map(|node| {
        let suffix = if phase == "prepare" { " - prepare" } else { "" };
        node.holding(Kind::Text(format!("{}{suffix}", node.scalar().unwrap_or_default())))
    });
    let tag = tree.holding(Kind::Text(format!("upgrade-{phase}")));
    let tags = match tree.get("tags").map(|node| &node.kind) {
        Some(Kind::List(items)) => items.iter().cloned().chain([tag]).collect(),
        _ => vec![tag],
    };
    let tags = tree.holding(Kind::List(tags));
    with(with(tree, "name", name), "tags", Some(tags))
}

/// Returns the map with a new value for a key, or without the key.
fn with(mut map: Node, key: &str, value: Option<Node>) -> Node {
    let named = map.holding(Kind::Text(key.to_owned()));
    if let Kind::Map(entries) = &mut map.kind {
        let at = entries.iter().position(|(name, _)| name.scalar() == Some(key));
        match (at, value) {
            (Some(at), Some(value)) => entries[at].1 = value,
            (Some(at), None) => drop(entries.remove(at)),
            (None, Some(value)) => {
                // `tags` goes before `cluster`, `releases` right after it, so that the timeline stays last.
                let at = entries.iter().position(|(name, _)| {
                    ["cluster", "timeline"].contains(&name.scalar().unwrap_or_default())
                });
                let at = at
                    .filter(|_| key == "tags" || key == "releases")
                    .map(|at| at + usize::from(key == "releases"));
                entries.insert(at.unwrap_or(entries.len()), (named, value));
            }
            (None, None) => (),
        }
    }
    map
}

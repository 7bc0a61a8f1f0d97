//! `graph-data`: a folder in the layout of cincinnati-graph-data, the input of an OpenShift update service.
//!
//! `channels/*.yaml` list the releases of a channel. `blocked-edges/*.yaml` give an update a risk or remove
//! it.

use std::collections::BTreeMap;

use regex::Regex;
use semver::Version;
use windtunnel_core::yaml::{self, Node};
use windtunnel_openshift::graph::{BlockedEdge, Channel, MatchingRule, Risk, UpdateService};
use windtunnel_openshift::promql;

use crate::scenario::reader::Reader;

const CHANNEL_KEYS: &[&str] = &["name", "versions", "feeder", "tombstones"];
const BLOCK_KEYS: &[&str] =
    &["to", "from", "url", "name", "message", "matchingRules", "fixedIn", "autoExtend"];

/// Loads the folder that `node` names into a service. `versions` are those that exist in the run; other
/// versions in the data are dropped, since the registry lacks them.
pub(in crate::scenario) fn read_into(
    reader: &mut Reader<'_>,
    node: &Node,
    versions: &[Version],
    service: &mut UpdateService,
) {
    let Some(folder) = reader.text(node, "a folder with `channels` and `blocked-edges`") else { return };
    let channels = files(reader, node, &format!("{folder}/channels"), true);
    let listed = channels.iter().filter_map(|(file, text)| {
        reader.in_file(file, |reader| {
            let tree = parse_document(reader, text)?;
            channel(reader, &tree, versions)
        })
    });
    let listed: BTreeMap<String, Channel> = listed.collect();
    service.channels = Some(listed);
    let blocks = files(reader, node, &format!("{folder}/blocked-edges"), false);
    let document = |text| Document { text, versions: Some(versions) };
    service.blocked = blocks
        .iter()
        .filter_map(|(file, text)| reader.in_file(file, |reader| blocked_edge(reader, document(text))))
        .collect();
}

/// Blocked updates, with the file that they are defined in.
#[derive(Debug, Clone)]
pub struct BlockedEdgeFile {
    /// The path of the file.
    pub file: String,
    /// Its content.
    pub edge: BlockedEdge,
}

/// Loads all blocked edges of the folder that `node` names, of releases that exist or not.
pub(in crate::scenario) fn read_all_blocked(reader: &mut Reader<'_>, node: &Node) -> Vec<BlockedEdgeFile> {
    let Some(folder) = reader.text(node, "a folder with `blocked-edges`") else { return Vec::new() };
    let blocks = files(reader, node, &format!("{folder}/blocked-edges"), true);
    let read = |(file, text): &(String, String)| {
        let document = Document { text, versions: None };
        let edge = reader.in_file(file, |reader| blocked_edge(reader, document))?;
        Some(BlockedEdgeFile { file: file.clone(), edge })
    };
    blocks.iter().filter_map(read).collect()
}

/// The text of a file, and the releases that matter.
#[derive(Clone, Copy)]
struct Document<'a> {
    text: &'a str,
    /// The releases that exist in the run; `None` if all matter.
    versions: Option<&'a [Version]>,
}

/// Returns names and texts of the YAML files in a folder.
fn files(reader: &mut Reader<'_>, node: &Node, folder: &str, needed: bool) -> Vec<(String, String)> {
    match reader.folder(folder) {
        Ok(files) if files.is_empty() && needed => {
            reader.error(node, format!("expected files named *.yaml in `{folder}`, found none"));
            Vec::new()
        }
        Ok(files) => files,
        Err(_) if !needed => Vec::new(),
        Err(error) => {
            reader.error(node, error);
            Vec::new()
        }
    }
}

/// Returns the document of a file.
fn parse_document(reader: &mut Reader<'_>, text: &str) -> Option<Node> {
    let (tree, error) = match yaml::parse_tree(text) {
        Ok((tree, duplicate_key)) => (Some(tree), duplicate_key),
        Err(error) => (None, Some(error)),
    };
    if let Some(error) = error {
        let error = error.with_advice_on_size("leave out the releases that the run does not need");
        reader.error_at(error.line, error.column, error.message);
    }
    tree
}

fn channel(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Option<(String, Channel)> {
    let map = reader.map(node, "a channel", CHANNEL_KEYS)?;
    let name = map.required(reader, "name", "its name, such as `stable-4.14`");
    let name = name.and_then(|node| reader.text(node, "a channel"));
    let listed = map.required(reader, "versions", "the releases that it lists");
    let listed = listed.map(|node| reader.list(node, "versions")).unwrap_or_default();
    let listed = listed.iter().filter_map(|node| version(reader, node, Some(versions))).collect();
    Some((name?, Channel::Lists(listed)))
}

/// Parses a version and returns it if it exists in the run. It may have an architecture suffix
/// (`4.14.1+amd64`).
fn version(reader: &mut Reader<'_>, node: &Node, versions: Option<&[Version]>) -> Option<Version> {
    let version = reader.version(node)?;
    let exists = |versions: &[Version]| versions.iter().any(|known| known.cmp_precedence(&version).is_eq());
    versions.is_none_or(exists).then_some(version)
}

/// Parses the blocked updates to one release. A risk needs all four keys; without any of them the updates are
/// removed.
fn blocked_edge(reader: &mut Reader<'_>, document: Document<'_>) -> Option<BlockedEdge> {
    let tree = parse_document(reader, document.text)?;
    let map = reader.map(&tree, "a blocked edge", BLOCK_KEYS)?;
    let to = map.required(reader, "to", "the target release of the updates");
    let to = to.and_then(|node| version(reader, node, document.versions));
    let from = map.required(reader, "from", "a regular expression for the source releases");
    let from = from.and_then(|node| pattern(reader, node));
    let document = to.is_some().then_some(document);
    let risk = if ["url", "name", "message", "matchingRules"].iter().any(|key| map.get(key).is_some()) {
        let mut text = |key, meaning| {
            let node = map.required(reader, key, meaning)?;
            reader.text(node, meaning)
        };
        let name = text("name", "the risk's name, such as `KeepalivedMulticastSkew`");
        let url = text("url", "a page about the risk");
        let message = text("message", "a sentence about the risk");
        let rules = map.required(reader, "matchingRules", "the rules that select the exposed clusters");
        let rules = rules.map(|node| reader.list(node, "rules")).unwrap_or_default();
        let rules = rules.iter().filter_map(|node| rule(reader, node, document)).collect();
        Some(Risk { name: name?, url: url?, message: message?, rules })
    } else {
        None
    };
    Some(BlockedEdge { to: to?, from: from?, risk })
}

fn pattern(reader: &mut Reader<'_>, node: &Node) -> Option<Regex> {
    let text = reader.text(node, "a regular expression such as `4[.]13[.].*`")?;
    let pattern = Regex::new(&text);
    if let Err(error) = &pattern {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
        reader.error(node, format!("`{text}` is not a valid regular expression: {reason}"));
    }
    pattern.ok()
}

/// Parses `{type: Always}` or `{type: PromQL, promql: {promql: expression}}`. Others are for newer operators. Without a document, the release does
/// not exist in the run, and its PromQL is not parsed.
fn rule(reader: &mut Reader<'_>, node: &Node, document: Option<Document<'_>>) -> Option<MatchingRule> {
    let kind = reader.any_map(node, "a rule")?.required(reader, "type", "`Always` or `PromQL`")?;
    let kind = reader.text(kind, "`Always` or `PromQL`")?;
    if !["Always", "PromQL"].contains(&kind.as_str()) {
        return Some(MatchingRule::Other(kind));
    }
    let map = reader.map(node, "a rule", &["type", "promql"])?;
    if kind == "Always" {
        return Some(MatchingRule::Always);
    }
    let meaning = "an expression that is 1 for clusters that are exposed";
    let outer = map.required(reader, "promql", meaning)?;
    let inner = reader.map(outer, "a query", &["promql"])?;
    let expression = inner.required(reader, "promql", meaning)?;
    promql(reader, expression, Some(document?.text))
}

/// Parses an expression and checks that windtunnel can evaluate it. With the text of the document, errors have
/// the position within the expression.
pub(super) fn promql(
    reader: &mut Reader<'_>,
    expression: &Node,
    document: Option<&str>,
) -> Option<MatchingRule> {
    let text = reader.text(expression, "a PromQL expression")?;
    if let Err(error) = promql::parse(&text) {
        let (line, column) = error.position(&text);
        let (line, column) = document.map_or((expression.line, expression.column), |document| {
            yaml::position_of_text(document, expression, line, column)
        });
        reader.error_at(line, column, format!("this PromQL cannot be evaluated: {error}"));
    }
    Some(MatchingRule::PromQl(text))
}

#[cfg(test)]
mod tests {
    use windtunnel_openshift::graph::{Channel, MatchingRule};

    use crate::plan::Plan;
    use crate::scenario::{self, Folders, ScenarioErrors};

    const SCENARIO: &str = "name: n\ncluster: {version: 4.16.1}\nreleases: {4.16.5: }\n\
                            update-service: {graph-data: data}\ntimeline: [advance: 1m]\n";

    const STABLE: (&str, &str) =
        ("data/channels/s.yaml", "name: s\nversions: [4.16.1, 4.16.5+amd64, 4.16.9]\n");

    /// Parses the scenario with these files next to it.
    fn read(files: &[(&str, &str)]) -> Result<Plan, ScenarioErrors> {
        let folder = |_: &str, folder: &str| {
            let within = files.iter().filter(|(name, _)| name.starts_with(&format!("{folder}/")));
            let found: Vec<_> = within.map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
            if found.is_empty() { Err(format!("{folder}: no such folder")) } else { Ok(found) }
        };
        scenario::parse("s.yaml", SCENARIO, &Folders(folder))
    }

    fn check(files: &[(&str, &str)], expected: &str) {
        let found = read(files).map_or_else(|errors| errors.to_string(), |_| String::new());
        assert_eq!(found, expected);
    }

    #[test]
    fn loads_channels_of_existing_releases_and_risks_of_edges() {
        let risky = "to: 4.16.5\nfrom: 4[.]16[.]1[+]amd64\nurl: u\nname: R\nmessage: m\nmatchingRules: [{type: Always}]\n";
        let service = read(&[STABLE, ("data/blocked-edges/a.yaml", risky)]).unwrap().cluster.update_service;
        let versions = vec!["4.16.1".parse().unwrap(), "4.16.5+amd64".parse().unwrap()];
        assert_eq!(service.channels.unwrap()["s"], Channel::Lists(versions));
        let risk = service.blocked[0].risk.clone().unwrap();
        assert_eq!((risk.name.as_str(), risk.rules), ("R", vec![MatchingRule::Always]));
        assert!(service.blocked[0].from.is_match("4.16.1+amd64"));
    }

    #[test]
    fn rules_of_unknown_types_are_for_newer_operators() {
        let risky = "to: 4.16.5\nfrom: .*\nurl: u\nname: R\nmessage: m\nmatchingRules: [{type: Later, later: {a: 1}}]\n";
        let service = read(&[STABLE, ("data/blocked-edges/a.yaml", risky)]).unwrap().cluster.update_service;
        let rules = &service.blocked[0].risk.as_ref().unwrap().rules;
        assert_eq!(*rules, [MatchingRule::Other("Later".to_owned())]);
    }

    #[test]
    fn reports_problems_with_the_file_of_the_graph_data() {
        check(&[], "s.yaml:4:30: data/channels: no such folder");
        check(
            &[
                ("data/channels/s.yaml", "name: s\nversion: [4.16.1]\n"),
                ("data/channels/t.yaml", "name: t\nversions: [4.16]\n"),
                ("data/blocked-edges/a.yaml", "to: 4.16.5\nfrom: (\n"),
                (
                    "data/blocked-edges/b.yaml",
                    "to: 4.16.5\nfrom: .*\nname: R\nmatchingRules: [{type: Always, prom: 1}]\n",
                ),
                (
                    "data/blocked-edges/c.yaml",
                    "to: 4.16.5\nfrom: .*\nurl: u\nname: R\nmessage: m\nmatchingRules:\n- type: PromQL\n  promql: {promql: group(}\n",
                ),
                ("data/blocked-edges/d.yaml", "a: [\n"),
            ],
            "data/channels/s.yaml:1:1: a channel needs `versions`: the releases that it lists\n\
             data/channels/s.yaml:2:1: a channel has no key `version`; did you mean `versions`?\n\
             data/channels/t.yaml:2:12: expected a version such as `4.14.8`, found `4.16`; a release has three numbers, such as `4.16.1`\n\
             data/blocked-edges/a.yaml:2:7: `(` is not a valid regular expression: unclosed group\n\
             data/blocked-edges/b.yaml:1:1: a blocked edge needs `url`: a page about the risk\n\
             data/blocked-edges/b.yaml:1:1: a blocked edge needs `message`: a sentence about the risk\n\
             data/blocked-edges/b.yaml:4:32: a rule has no key `prom`; did you mean `promql`?\n\
             data/blocked-edges/c.yaml:8:26: this PromQL cannot be evaluated: expected an expression, found the end\n\
             data/blocked-edges/d.yaml:1:4: unclosed bracket '['",
        );
    }

    #[test]
    fn reports_the_position_within_an_expression_of_several_lines() {
        let risky = "to: 4.16.5\nfrom: .*\nurl: u\nname: R\nmessage: m\nmatchingRules:\n- type: PromQL\n  promql:\n    promql: |\n      group(a)\n      or 0 * grup(a)\n";
        check(
            &[STABLE, ("data/blocked-edges/a.yaml", risky)],
            "data/blocked-edges/a.yaml:11:14: this PromQL cannot be evaluated: unknown function with name \"grup\"",
        );
    }

    #[test]
    fn ignores_promql_of_releases_that_do_not_exist_in_the_run() {
        let other = "to: 4.16.7\nfrom: .*\nurl: u\nname: R\nmessage: m\nmatchingRules:\n- type: PromQL\n  promql: {promql: 'grup(x)'}\n";
        assert!(
            read(&[STABLE, ("data/blocked-edges/a.yaml", other)])
                .unwrap()
                .cluster
                .update_service
                .blocked
                .is_empty()
        );
    }
}

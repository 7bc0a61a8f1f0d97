//! The graph that the update service answers: the releases in a channel, and the updates between them.

use std::collections::BTreeMap;

use semver::Version;

use super::Environment;
use crate::graph::{Channel, ConditionalEdges, Edge, Graph, Node, Risk, ServiceFault, matches_release};
use crate::release::Architecture;

impl Environment {
    /// The update service's answer for a channel and an architecture. An unknown channel has no releases.
    ///
    /// # Errors
    /// The configured error of the channel.
    pub fn graph(&self, channel: &str, architecture: Architecture) -> Result<Graph, ServiceFault> {
        let lists = match &self.service.channels {
            None => None,
            Some(channels) => match channels.get(channel) {
                Some(Channel::Fails(fault)) => return Err(*fault),
                Some(Channel::Lists(versions)) => Some(versions.as_slice()),
                None => Some(&[][..]),
            },
        };
        let listed = |version: &Version| {
            lists.is_none_or(|versions| {
                versions.iter().any(|listed| matches_release(listed, version, architecture))
            })
        };
        let nodes: BTreeMap<_, _> = self
            .releases
            .keys()
            .filter(|version| listed(version))
            .filter_map(|version| Some((version.clone(), self.node(version, architecture)?)))
            .collect();
        let between = |edge: &Edge| nodes.contains_key(&edge.from) && nodes.contains_key(&edge.to);
        let edges: Vec<Edge> = self.edges().into_iter().filter(|edge| between(edge)).collect();
        let (edges, at_risk) = self.blocked(edges, architecture);
        let is_included = |edge: &&Edge| between(edge) || !self.is_listed(&edge.to, architecture);
        let conditional = self.service.conditional.iter().map(|group| ConditionalEdges {
            edges: group.edges.iter().filter(is_included).cloned().collect(),
            risks: group.risks.clone(),
        });
        let conditional = conditional.chain(at_risk).collect();
        Ok(Graph { nodes, edges, conditional })
    }

    /// Splits updates into unconditional ones and those with risks, without blocked ones.
    fn blocked(&self, edges: Vec<Edge>, architecture: Architecture) -> (Vec<Edge>, Vec<ConditionalEdges>) {
        let (mut free, mut at_risk) = (Vec::new(), Vec::new());
        for edge in edges {
            let blocks = self.service.blocked.iter().filter(|block| block.is_about(&edge, architecture));
            let risks: Vec<Option<&Risk>> = blocks.map(|block| block.risk.as_ref()).collect();
            if risks.is_empty() {
                free.push(edge);
            } else if let Some(risks) = risks.into_iter().collect::<Option<Vec<_>>>() {
                at_risk.push(ConditionalEdges {
                    edges: vec![edge],
                    risks: risks.into_iter().cloned().collect(),
                });
            }
        }
        (free, at_risk)
    }

    /// Returns whether any channel contains a release.
    fn is_listed(&self, version: &Version, architecture: Architecture) -> bool {
        let lists = |channel: &Channel| channel.lists(version, architecture);
        let channels = self.service.channels.as_ref();
        self.releases.contains_key(version) && channels.is_none_or(|channels| channels.values().any(lists))
    }

    fn node(&self, version: &Version, architecture: Architecture) -> Option<Node> {
        let release = self.releases.get(version)?;
        let listing =
            |(name, channel): (&String, &Channel)| channel.lists(version, architecture).then(|| name.clone());
        let channels = match &self.service.channels {
            Some(channels) => channels.iter().filter_map(listing).collect(),
            None => release.channels.clone(),
        };
        let image = release.payload_image(architecture);
        Some(Node { version: version.clone(), image, url: release.url.clone(), channels })
    }

    fn edges(&self) -> Vec<Edge> {
        if let Some(edges) = &self.service.edges {
            return edges.clone();
        }
        let mut edges = Vec::new();
        for from in self.releases.keys() {
            let ahead = self.recommended.iter().filter(|to| is_ahead(to, from));
            edges.extend(ahead.map(|to| Edge { from: from.clone(), to: to.clone() }));
        }
        edges
    }
}

/// The first minor of major 4 with updates to 5.0.
const LAST_OF_MAJOR_4: u64 = 22;

/// Returns whether an update is ahead: to a later release of the same or the next minor, or from the end of
/// major 4 to 5.0.
fn is_ahead(target: &Version, current: &Version) -> bool {
    let to_five =
        (target.major, target.minor) == (5, 0) && current.major == 4 && current.minor >= LAST_OF_MAJOR_4;
    to_five || target > current && target.major == current.major && target.minor <= current.minor + 1
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;
    use crate::graph::{BlockedEdge, MatchingRule};
    use crate::release::Release;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    fn environment(recommended: &[&str]) -> Environment {
        let mut environment = Environment::default();
        for text in ["4.14.1", "4.14.8", "4.15.0", "4.16.0"] {
            environment.releases.insert(version(text), Release::find(&version(text)).unwrap());
        }
        environment.recommended = recommended.iter().map(|text| version(text)).collect();
        environment
    }

    #[test]
    fn by_default_updates_lead_to_recommended_releases_up_to_the_next_minor() {
        let graph =
            environment(&["4.14.1", "4.15.0", "4.16.0"]).graph("anything", Architecture::Amd64).unwrap();
        let edges: Vec<String> = graph.edges.iter().map(|e| format!("{} {}", e.from, e.to)).collect();
        assert_eq!(edges, ["4.14.1 4.15.0", "4.14.8 4.15.0", "4.15.0 4.16.0"]);
        assert_eq!(graph.nodes.len(), 4, "releases that are not recommended are nodes too");
    }

    #[test]
    fn conditional_updates_stay_in_their_channel_unless_no_channel_has_the_target() {
        let mut environment = environment(&[]);
        let lists = |versions: &[&str]| Channel::Lists(versions.iter().map(|v| version(v)).collect());
        environment.service.channels = Some(BTreeMap::from([
            ("fast".to_owned(), lists(&["4.14.1", "4.15.0"])),
            ("slow".to_owned(), lists(&["4.14.1"])),
        ]));
        let edge = |to: &str| Edge { from: version("4.14.1"), to: version(to) };
        let edges = vec![edge("4.15.0"), edge("4.16.0")];
        environment.service.conditional = vec![ConditionalEdges { edges: edges.clone(), risks: Vec::new() }];
        assert_eq!(environment.graph("fast", Architecture::Amd64).unwrap().conditional[0].edges, edges);
        assert_eq!(environment.graph("slow", Architecture::Amd64).unwrap().conditional[0].edges, edges[1..]);
    }

    #[test]
    fn a_blocked_update_becomes_conditional_only_if_all_blocks_have_risks() {
        let block = |from: &str, name: &str| BlockedEdge {
            to: version("4.14.8"),
            from: Regex::new(from).unwrap(),
            risk: (!name.is_empty()).then(|| Risk {
                name: name.to_owned(),
                url: String::new(),
                message: String::new(),
                rules: vec![MatchingRule::Always],
            }),
        };
        let check = |blocked: Vec<BlockedEdge>, free: usize, risks: &[&[&str]]| {
            let mut environment = environment(&["4.14.8", "4.15.0"]);
            environment.service.blocked = blocked;
            let graph = environment.graph("any", Architecture::Amd64).unwrap();
            let to_blocked = graph.edges.iter().filter(|edge| edge.to == version("4.14.8"));
            assert_eq!(to_blocked.count(), free);
            let found: Vec<Vec<&str>> = graph
                .conditional
                .iter()
                .map(|group| group.risks.iter().map(|risk| risk.name.as_str()).collect())
                .collect();
            assert_eq!(found, risks);
            assert_eq!(graph.edges.len() - free, 2, "other updates stay");
        };
        check(vec![block("4[.]13[.]", "A")], 1, &[]);
        check(vec![block("^4[.]14[.]1[+]amd64$", "A")], 0, &[&["A"]]);
        check(vec![block(".*", "A"), block("4[.]14", "B")], 0, &[&["A", "B"]]);
        check(vec![block(".*", "A"), block(".*", "")], 0, &[]);
    }

    #[test]
    fn releases_are_listed_for_their_architecture_or_for_all() {
        let mut environment = environment(&["4.14.8"]);
        let versions = ["4.14.1+arm64", "4.14.1+multi", "4.14.8"].map(version).to_vec();
        environment.service.channels = Some(BTreeMap::from([("fast".to_owned(), Channel::Lists(versions))]));
        let check = |architecture, nodes: &[&str], edges: usize| {
            let graph = environment.graph("fast", architecture).unwrap();
            let found: Vec<String> = graph.nodes.keys().map(ToString::to_string).collect();
            assert_eq!(
                (found.as_slice(), graph.edges.len()),
                (&nodes.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>()[..], edges)
            );
            graph.nodes[&version("4.14.8")].image.clone()
        };
        let arm64 = check(Architecture::Arm64, &["4.14.1", "4.14.8"], 1);
        check(Architecture::Amd64, &["4.14.8"], 0);
        assert_ne!(
            arm64,
            check(Architecture::Multi, &["4.14.1", "4.14.8"], 1),
            "the same release, another image"
        );
    }

    #[test]
    fn a_channel_has_its_releases_and_the_updates_between_them() {
        let mut environment = environment(&["4.14.8", "4.15.0"]);
        let lists = |versions: &[&str]| Channel::Lists(versions.iter().map(|v| version(v)).collect());
        environment.service.channels = Some(BTreeMap::from([
            ("fast".to_owned(), lists(&["4.14.1", "4.14.8", "4.15.0"])),
            ("slow".to_owned(), lists(&["4.14.1", "4.14.8"])),
            ("gone".to_owned(), Channel::Fails(ServiceFault::Unreachable)),
        ]));
        let slow = environment.graph("slow", Architecture::Amd64).unwrap();
        assert_eq!(slow.edges, [Edge { from: version("4.14.1"), to: version("4.14.8") }]);
        assert_eq!(slow.nodes[&version("4.14.8")].channels, ["fast", "slow"]);
        assert_eq!(environment.graph("gone", Architecture::Amd64), Err(ServiceFault::Unreachable));
        assert!(environment.graph("unheard-of", Architecture::Amd64).unwrap().nodes.is_empty());
    }
}

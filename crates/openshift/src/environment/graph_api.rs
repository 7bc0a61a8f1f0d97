//! The HTTP API of the update service (Cincinnati): the graph of a channel as JSON.

use semver::Version;
use serde_json::{Value, json};
use windtunnel_controllers::registry::digest_of;

use super::Environment;
use crate::graph::{ConditionalEdges, Edge, Graph, Node, ServiceFault};
use crate::release::Architecture;

/// The paths of the graph: with the version of the API, and without.
pub const PATHS: [&str; 2] = ["/api/upgrades_info/v1/graph", "/api/upgrades_info/graph"];

/// The version of the format.
const FORMAT: u32 = 1;

/// An answer of the update service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GraphAnswer {
    /// An HTTP status with a JSON body.
    Json(u16, Value),
    /// A page instead of JSON.
    Page,
    /// No answer: the connection ends.
    Nothing,
}

impl Environment {
    /// Answers `GET` of one of [`PATHS`] with these parameters. `channel` is mandatory; `arch` is amd64 unless it is
    /// given. The service ignores `id` and `version`, as the real one does.
    pub fn answer_graph(&self, parameters: &[(String, String)]) -> GraphAnswer {
        let value = |name: &str| {
            let found = parameters.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
        };
        let Some(channel) = value("channel") else {
            let missing = "mandatory client parameters missing: channel";
            return GraphAnswer::Json(400, json!({ "kind": "missing_params", "value": missing }));
        };
        let Some(architecture) = value("arch").map_or(Some(Architecture::Amd64), Architecture::find) else {
            // The real service has no releases for an architecture that it does not know.
            return GraphAnswer::Json(200, graph(&Graph::default(), Architecture::Amd64));
        };
        match self.graph(channel, architecture) {
            Ok(found) => GraphAnswer::Json(200, graph(&found, architecture)),
            Err(ServiceFault::ServerError) => {
                GraphAnswer::Json(500, json!({ "kind": "internal_error", "value": "the service fails" }))
            }
            Err(ServiceFault::InvalidJson) => GraphAnswer::Page,
            Err(ServiceFault::Unreachable) => GraphAnswer::Nothing,
        }
    }
}

fn graph(graph: &Graph, architecture: Architecture) -> Value {
    let place = |version: &Version| graph.nodes.keys().position(|known| known == version);
    let edge = |edge: &Edge| Some(json!([place(&edge.from)?, place(&edge.to)?]));
    json!({
        "version": FORMAT,
        "nodes": graph.nodes.values().map(|found| node(found, architecture)).collect::<Vec<_>>(),
        "edges": graph.edges.iter().filter_map(edge).collect::<Vec<_>>(),
        "conditionalEdges": graph.conditional.iter().map(conditional).collect::<Vec<_>>(),
    })
}

fn node(node: &Node, architecture: Architecture) -> Value {
    let mut metadata = json!({});
    if !node.channels.is_empty() {
        metadata["io.openshift.upgrades.graph.release.channels"] = json!(node.channels.join(","));
    }
    if let Some(digest) = digest_of(&node.image) {
        metadata["io.openshift.upgrades.graph.release.manifestref"] = json!(digest);
    }
    if !node.url.is_empty() {
        metadata["url"] = json!(node.url);
    }
    if architecture == Architecture::Multi {
        metadata["release.openshift.io/architecture"] = json!("multi");
    }
    json!({ "version": node.version.to_string(), "payload": node.image, "metadata": metadata })
}

fn conditional(group: &ConditionalEdges) -> Value {
    let edge = |edge: &Edge| json!({ "from": edge.from.to_string(), "to": edge.to.to_string() });
    json!({
        "edges": group.edges.iter().map(edge).collect::<Vec<_>>(),
        "risks": group.risks.iter().map(crate::graph::Risk::to_json).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::graph::{Channel, MatchingRule, Risk};
    use crate::release::Release;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    fn environment() -> Environment {
        let mut environment = Environment::default();
        for text in ["4.14.1", "4.14.8", "4.15.0"] {
            environment.releases.insert(version(text), Release::find(&version(text)).unwrap());
        }
        environment.recommended = vec![version("4.14.8")];
        let edges = vec![Edge { from: version("4.14.1"), to: version("4.15.0") }];
        let rules = vec![MatchingRule::PromQl("group(a)".to_owned()), MatchingRule::Always];
        let risk = Risk { name: "R".to_owned(), url: "u".to_owned(), message: "m".to_owned(), rules };
        environment.service.conditional = vec![ConditionalEdges { edges, risks: vec![risk] }];
        environment
    }

    fn answer(environment: &Environment, parameters: &[(&str, &str)]) -> GraphAnswer {
        let pairs = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        environment.answer_graph(&pairs.collect::<Vec<_>>())
    }

    #[test]
    fn a_graph_has_nodes_edges_by_index_and_risks() {
        let asked = [("channel", "stable-4.14"), ("arch", "multi"), ("version", "4.14.1"), ("id", "x")];
        let GraphAnswer::Json(200, found) = answer(&environment(), &asked) else { panic!() };
        let nodes: Vec<&Value> =
            found["nodes"].as_array().unwrap().iter().map(|node| &node["version"]).collect();
        assert_eq!(nodes, ["4.14.1", "4.14.8", "4.15.0"]);
        let metadata = &found["nodes"][1]["metadata"];
        assert_eq!(metadata["release.openshift.io/architecture"], "multi");
        let channels = metadata["io.openshift.upgrades.graph.release.channels"].as_str().unwrap();
        assert!(channels.split(',').any(|channel| channel == "stable-4.14"), "{channels}");
        assert_eq!((&found["version"], &found["edges"]), (&json!(1), &json!([[0, 1]])));
        assert_eq!(
            found["conditionalEdges"],
            json!([{
                "edges": [{ "from": "4.14.1", "to": "4.15.0" }],
                "risks": [{
                    "name": "R", "url": "u", "message": "m",
                    "matchingRules": [{ "type": "PromQL", "promql": { "promql": "group(a)" } }, { "type": "Always" }],
                }],
            }])
        );
    }

    #[test]
    fn requests_without_a_channel_and_faults_have_other_answers() {
        let mut environment = environment();
        let GraphAnswer::Json(400, error) = answer(&environment, &[("arch", "amd64")]) else { panic!() };
        assert_eq!(error["kind"], "missing_params");
        environment.service.conditional.clear();
        let faults = [ServiceFault::ServerError, ServiceFault::InvalidJson, ServiceFault::Unreachable];
        let channels = faults.iter().map(|fault| (format!("{fault:?}"), Channel::Fails(*fault)));
        environment.service.channels = Some(channels.collect::<BTreeMap<_, _>>());
        assert!(matches!(answer(&environment, &[("channel", "ServerError")]), GraphAnswer::Json(500, _)));
        assert_eq!(answer(&environment, &[("channel", "InvalidJson")]), GraphAnswer::Page);
        assert_eq!(answer(&environment, &[("channel", "Unreachable")]), GraphAnswer::Nothing);
        let empty =
            GraphAnswer::Json(200, json!({ "version": 1, "nodes": [], "edges": [], "conditionalEdges": [] }));
        assert_eq!(answer(&environment, &[("channel", "unheard-of")]), empty);
        assert_eq!(answer(&environment, &[("channel", "a"), ("arch", "vax")]), empty);
    }
}

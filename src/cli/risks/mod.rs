//! `windtunnel risks`: evaluates the risks of graph data for clusters.

mod cluster;
mod outcome;

use std::collections::BTreeSet;

use semver::Version;
use windtunnel_openshift::graph::{MatchingRule, Risk};
use windtunnel_openshift::monitoring::Exposure;
use windtunnel_openshift::promql;

use self::cluster::KnownCluster;
use self::outcome::Outcome;
use super::args::RisksArgs;
use super::payload::Releases;
use super::{Exit, files, print_errors, print_output};
use crate::scenario::{self, BlockedEdgeFile};

/// A risk with its rules, and the blocked edges that have it.
struct RiskOfEdges {
    name: String,
    rules: Vec<MatchingRule>,
    /// The files of its edges.
    files: Vec<String>,
}

/// Prints which risks apply to which clusters.
///
/// # Errors
/// The graph data or a cluster cannot be read.
pub(super) fn risks(args: &RisksArgs) -> Result<Exit, String> {
    files::allowed::give(std::slice::from_ref(&args.graph_data));
    let folder = args.graph_data.display().to_string();
    let (edges, problems) = scenario::blocked_edges(&folder, &Releases::default())?;
    let ranged = ranged_metrics(&by_risk(&edges.iter().collect::<Vec<_>>()));
    let clusters = args.over.iter().map(|path| KnownCluster::read(path, args.at.as_deref(), &ranged));
    let clusters = clusters.collect::<Result<Vec<_>, _>>()?;
    let selected: Vec<&BlockedEdgeFile> =
        edges.iter().filter(|blocked| is_selected(blocked, args, &clusters)).collect();
    let risks = by_risk(&selected);
    let results: Vec<Vec<Exposure>> = risks
        .iter()
        .map(|risk| clusters.iter().map(|cluster| cluster.exposure(&risk.rules)).collect())
        .collect();
    let names = clusters.iter().map(|cluster| cluster.name.clone()).collect();
    let outcome = Outcome { edges: selected.len(), clusters: names, risks: &risks, results: &results };
    match args.output {
        Some(format) => print_output(&format.text(&outcome.to_json())?),
        None => print_output(&outcome.to_text()),
    }
    print_errors(&problems.to_string());
    Ok(if problems.0.is_empty() && !outcome.has_errors() { Exit::Passed } else { Exit::Failed })
}

/// Whether an edge is one of the releases that the user named. Without names, it is one that a cluster can take: from its
/// release, and to one that its update service offers.
fn is_selected(blocked: &BlockedEdgeFile, args: &RisksArgs, clusters: &[KnownCluster]) -> bool {
    let leads_from = |from: &Version| blocked.edge.leads_from(from, args.arch);
    let leads_to = |to: &Version| blocked.edge.leads_to(to, args.arch);
    if args.from.is_some() || args.to.is_some() || clusters.is_empty() {
        return args.from.as_ref().is_none_or(leads_from) && args.to.as_ref().is_none_or(leads_to);
    }
    let can_take = |cluster: &KnownCluster| {
        cluster.release().is_none_or(|release| leads_from(&release))
            && cluster.is_offered(leads_to).unwrap_or(true)
    };
    clusters.iter().any(can_take)
}

/// Groups edges by risk, in the order of names. Two risks of one name can have different rules.
fn by_risk(edges: &[&BlockedEdgeFile]) -> Vec<RiskOfEdges> {
    let mut risks: Vec<RiskOfEdges> = Vec::new();
    for blocked in edges {
        let Some(Risk { name, rules, .. }) = &blocked.edge.risk else { continue };
        let known = risks.iter_mut().find(|risk| risk.name == *name && risk.rules == *rules);
        match known {
            Some(risk) => risk.files.push(blocked.file.clone()),
            None => risks.push(RiskOfEdges {
                name: name.clone(),
                rules: rules.clone(),
                files: vec![blocked.file.clone()],
            }),
        }
    }
    risks.sort_by(|a, b| a.name.cmp(&b.name));
    risks
}

/// The queries of risks, each once.
fn queries(risks: &[RiskOfEdges]) -> BTreeSet<&str> {
    let rules = risks.iter().flat_map(|risk| &risk.rules);
    rules
        .filter_map(|rule| match rule {
            MatchingRule::Always | MatchingRule::Other(_) => None,
            MatchingRule::PromQl(text) => Some(text.trim()),
        })
        .collect()
}

/// The metrics that queries look back at.
fn ranged_metrics(risks: &[RiskOfEdges]) -> BTreeSet<String> {
    let parsed = queries(risks).into_iter().filter_map(|text| promql::parse(text).ok());
    let metrics = parsed
        .flat_map(|expr| expr.reaches().into_iter().map(|(metric, _)| metric.to_owned()).collect::<Vec<_>>());
    metrics.collect()
}

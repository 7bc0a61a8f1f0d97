//! The result of `windtunnel risks`, as a table or as data.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};
use windtunnel_openshift::graph::MatchingRule;
use windtunnel_openshift::monitoring::Exposure;

use super::{RiskOfEdges, queries};

/// The risks, and whether each applies to each cluster.
pub(super) struct Outcome<'a> {
    /// The number of blocked edges, with and without a risk.
    pub(super) edges: usize,
    /// The names of clusters.
    pub(super) clusters: Vec<String>,
    pub(super) risks: &'a [RiskOfEdges],
    /// The results by risk and cluster.
    pub(super) results: &'a [Vec<Exposure>],
}

impl Outcome<'_> {
    /// Returns whether a risk has an error for a cluster.
    pub(super) fn has_errors(&self) -> bool {
        self.results.iter().flatten().any(|result| matches!(result, Exposure::Error(_)))
    }

    /// Returns a table with a row for each risk, the reasons of results that are unknown or errors, and totals.
    pub(super) fn to_text(&self) -> String {
        let mut rows = vec![vec!["RISK".to_owned(), "EDGES".to_owned(), "RULES".to_owned()]];
        rows[0].extend((1..=self.clusters.len()).map(|number| format!("CLUSTER {number}")));
        for (risk, results) in self.risks.iter().zip(self.results) {
            let mut row = vec![risk.name.clone(), risk.files.len().to_string(), rules(&risk.rules)];
            row.extend(results.iter().map(|result| word(result).to_owned()));
            rows.push(row);
        }
        let mut text = if self.risks.is_empty() { String::new() } else { table(&rows) + "\n" };
        for (number, cluster) in self.clusters.iter().enumerate() {
            let _ = writeln!(text, "cluster {}: {cluster}: {}", number + 1, self.totals(number));
            text += &self.reasons(number);
        }
        let with_risk: usize = self.risks.iter().map(|risk| risk.files.len()).sum();
        let names: BTreeSet<&str> = self.risks.iter().map(|risk| risk.name.as_str()).collect();
        let _ = writeln!(
            text,
            "blocked edges {}, without a risk {}, risks {}, queries {}",
            self.edges,
            self.edges - with_risk,
            names.len(),
            queries(self.risks).len()
        );
        text
    }

    fn totals(&self, cluster: usize) -> String {
        let count = |wanted: &str| self.results.iter().filter(|row| word(&row[cluster]) == wanted).count();
        ["applies", "no", "unknown", "error"].map(|wanted| format!("{wanted} {}", count(wanted))).join(", ")
    }

    /// The reasons of results that are unknown or errors, each with its risks.
    fn reasons(&self, cluster: usize) -> String {
        let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
        for (risk, results) in self.risks.iter().zip(self.results) {
            let Some(reason) = reason(&results[cluster]) else { continue };
            let line = format!("{}: {reason}", word(&results[cluster]));
            match reasons.iter_mut().find(|(known, _)| *known == line) {
                Some((_, names)) => names.push(&risk.name),
                None => reasons.push((line, vec![&risk.name])),
            }
        }
        reasons.sort();
        let lines = reasons.into_iter().map(|(line, names)| format!("  {line} ({})\n", names.join(", ")));
        lines.collect::<Vec<_>>().concat()
    }

    /// Returns the result as data.
    pub(super) fn to_json(&self) -> Value {
        let risks = self.risks.iter().zip(self.results).map(|(risk, results)| {
            let results = self.clusters.iter().zip(results).map(|(cluster, result)| {
                let mut shown = json!({ "cluster": cluster, "result": word(result) });
                if let Some(reason) = reason(result) {
                    shown["reason"] = json!(reason);
                }
                shown
            });
            json!({
                "name": risk.name,
                "files": risk.files,
                "rules": risk.rules.iter().map(MatchingRule::to_json).collect::<Vec<_>>(),
                "results": results.collect::<Vec<_>>(),
            })
        });
        json!({ "edges": self.edges, "queries": queries(self.risks).len(), "risks": risks.collect::<Vec<_>>() })
    }
}

fn word(result: &Exposure) -> &'static str {
    match result {
        Exposure::Applies => "applies",
        Exposure::DoesNotApply => "no",
        Exposure::Unknown(_) => "unknown",
        Exposure::Error(_) => "error",
    }
}

fn reason(result: &Exposure) -> Option<&str> {
    match result {
        Exposure::Applies | Exposure::DoesNotApply => None,
        Exposure::Unknown(why) | Exposure::Error(why) => Some(why),
    }
}

fn rules(rules: &[MatchingRule]) -> String {
    let types = rules.iter().map(|rule| match rule {
        MatchingRule::Always => "Always",
        MatchingRule::PromQl(_) => "PromQL",
        MatchingRule::Other(kind) => kind,
    });
    types.collect::<Vec<_>>().join(", ")
}

/// Aligns columns with two spaces between them.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

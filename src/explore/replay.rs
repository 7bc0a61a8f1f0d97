//! Runs findings again: which of them still break their rules.

use super::case::Case;
use super::finding::Finding;
use super::trial::{RunReport, Terms, run};
use crate::scenario::Releases;

/// The outcome of a finding that ran again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replayed {
    /// It breaks the same rule in the same way; with the finding in words.
    Same(String),
    /// It breaks a rule in another way; with the cause.
    Other(String),
    /// It breaks no rule.
    Fixed,
    /// A request of the administrator failed, so the run ended before its last step; with the error.
    CutShort(String),
}

impl Replayed {
    /// Whether a rule is broken.
    pub fn fails(&self) -> bool {
        matches!(self, Self::Same(_) | Self::Other(_))
    }
}

/// Runs the case of a finding again.
pub fn replay(finding: &Finding, releases: &dyn Releases, terms: Terms<'_>) -> Replayed {
    let report = judged(&finding.case, &finding.oracle, releases, terms);
    match report.oracle_findings.iter().find(|oracle_finding| oracle_finding.cause() == finding.cause) {
        Some(same) => Replayed::Same(same.text.clone()),
        None => any_problem(&report),
    }
}

/// Runs the scenario of a finding again. `oracle` is its rule, if the comments of the file name it.
pub fn replay_scenario(case: &Case, oracle: &str, releases: &dyn Releases, terms: Terms<'_>) -> Replayed {
    let report = judged(case, oracle, releases, terms);
    match report.oracle_findings.first() {
        Some(oracle_finding) => Replayed::Same(oracle_finding.text.clone()),
        None => any_problem(&report),
    }
}

/// Runs a case, and compares the record of a second run if that is the rule.
fn judged(case: &Case, oracle: &str, releases: &dyn Releases, terms: Terms<'_>) -> RunReport {
    let mut report = run(case, releases, terms);
    if oracle == "same-record" {
        let again = run(case, releases, terms);
        if again.hash != report.hash {
            report
                .oracle_findings
                .push(super::oracles::OracleFinding::other_record(&report.hash, &again.hash));
        }
    }
    report
}

fn any_problem(report: &RunReport) -> Replayed {
    match (report.oracle_findings.first(), &report.cut_short) {
        (Some(oracle_finding), _) => Replayed::Other(oracle_finding.cause()),
        (None, Some(why)) => Replayed::CutShort(why.clone()),
        (None, None) => Replayed::Fixed,
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;
    use windtunnel_openshift::release::Release;

    use super::super::case::Moment;
    use super::super::oracles::OracleFinding;
    use super::*;

    #[test]
    fn a_finding_is_the_same_another_or_fixed() {
        let environment =
            json!({ "cluster": { "version": "4.20.1", "nodes": { "control-plane": 1, "workers": 1 } } });
        let terms = Terms { within: SignedDuration::from_hours(1), mutant: None };
        let case = |is: &str| Case {
            environment: environment.as_object().cloned().unwrap(),
            moments: vec![Moment::new(0, json!({ "fault": { "node": "worker-0", "is": is } }))],
            own_steps: Vec::new(),
        };
        let broken = case("not-ready");
        let oracle_findings = run(&broken, &Release::find, terms).oracle_findings;
        let finding = Finding::new(&broken, &oracle_findings[0]);
        assert_eq!(replay(&finding, &Release::find, terms), Replayed::Same(oracle_findings[0].text.clone()));
        let other = Finding::new(&broken, &OracleFinding::new("quiet", "x"));
        assert_eq!(replay(&other, &Release::find, terms), Replayed::Other(oracle_findings[0].cause()));
        let fixed = Finding { case: Case { moments: Vec::new(), ..broken }, ..finding };
        assert_eq!(replay(&fixed, &Release::find, terms), Replayed::Fixed);
    }
}

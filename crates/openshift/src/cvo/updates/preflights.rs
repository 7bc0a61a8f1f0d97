//! Results of preflight checks: the risks that they found for each target release.

use std::collections::BTreeMap;

use semver::Version;

use crate::graph::{MatchingRule, Node, Risk};

/// The page about the preparation of updates, for all of these risks.
const URL: &str = "https://docs.openshift.com/container-platform/latest/updating/preparing_for_updates/updating-cluster-prepare.html";

/// The results by target release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cvo) struct Preflights(BTreeMap<Version, Preflight>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Preflight {
    image: String,
    url: String,
    outcome: Outcome,
}

/// The state or the result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cvo) enum Outcome {
    /// The payload is being retrieved.
    Running,
    /// The payload could not be checked, for this reason.
    Failed(String),
    /// Reasons and messages of the preconditions that failed.
    Checked(Vec<(String, String)>),
}

impl Preflights {
    /// Returns whether the target has a result or is being checked.
    pub(in crate::cvo) fn knows(&self, target: &Version) -> bool {
        self.0.contains_key(target)
    }

    /// Stores the outcome for a target, in place of an earlier one.
    pub(in crate::cvo) fn set(&mut self, target: &Version, image: &str, url: &str, outcome: Outcome) {
        let preflight = Preflight { image: image.to_owned(), url: url.to_owned(), outcome };
        self.0.insert(target.clone(), preflight);
    }

    /// Removes checks that did not complete, except that of `current`. Returns whether there were any.
    pub(in crate::cvo) fn forget_incomplete(&mut self, current: Option<&Version>) -> bool {
        let before = self.0.len();
        self.0.retain(|target, preflight| {
            Some(target) == current || matches!(preflight.outcome, Outcome::Checked(_))
        });
        self.0.len() < before
    }

    /// Removes all results, because an update was accepted.
    pub(in crate::cvo) fn clear(&mut self) {
        self.0.clear();
    }

    /// The targets with their risks.
    pub(super) fn targets(&self) -> impl Iterator<Item = (Node, Vec<Risk>)> {
        self.0.iter().map(|(version, preflight)| {
            let (image, url) = (preflight.image.clone(), preflight.url.clone());
            let node = Node { version: version.clone(), image, url, channels: Vec::new() };
            (node, preflight.risks(version))
        })
    }

    /// Reason and message of the condition Applies of a risk. `None` if no preflight check found it.
    pub(super) fn applies(&self, risk: &Risk) -> Option<(&'static str, String)> {
        let is_its = |(version, preflight): &(&Version, &Preflight)| preflight.risks(version).contains(risk);
        let (version, preflight) = self.0.iter().find(is_its)?;
        Some(match &preflight.outcome {
            Outcome::Running => ("PreflightRunning", "The payload is being retrieved".to_owned()),
            Outcome::Failed(why) => ("PreflightFailed", why.clone()),
            Outcome::Checked(_) => {
                ("PreflightValidation", format!("Risk identified during preflight check for {version}"))
            }
        })
    }
}

impl Preflight {
    fn risks(&self, version: &Version) -> Vec<Risk> {
        let risk = |name: &str, message: &str| Risk {
            name: name.to_owned(),
            url: URL.to_owned(),
            message: format!("Preflight={version}: {message}"),
            rules: vec![MatchingRule::Always],
        };
        match &self.outcome {
            Outcome::Running => vec![risk("PreflightInProgress", "The check is in progress.")],
            Outcome::Failed(_) => {
                vec![risk("PreflightIncomplete", "The check failed, so there may be more risks.")]
            }
            Outcome::Checked(found) => found.iter().map(|(name, message)| risk(name, message)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    /// `target: message | reason` of each risk.
    fn lines(preflights: &Preflights) -> Vec<String> {
        let all = preflights
            .targets()
            .flat_map(|(node, risks)| risks.into_iter().map(move |risk| (node.version.clone(), risk)));
        all.map(|(version, risk)| {
            let (reason, _) = preflights.applies(&risk).unwrap();
            format!("{version}: {} {} | {reason}", risk.name, risk.message)
        })
        .collect()
    }

    #[test]
    fn results_add_up_and_name_their_target() {
        let mut preflights = Preflights::default();
        let (first, second) = (version("5.0.1"), version("4.22.5"));
        preflights.set(&first, "a", "", Outcome::Running);
        assert_eq!(
            lines(&preflights),
            ["5.0.1: PreflightInProgress Preflight=5.0.1: The check is in progress. | PreflightRunning"]
        );
        preflights.set(
            &first,
            "a",
            "",
            Outcome::Checked(vec![("AdminAckRequired".to_owned(), "ack".to_owned())]),
        );
        preflights.set(&second, "b", "", Outcome::Failed("manifest unknown".to_owned()));
        let checked = "5.0.1: AdminAckRequired Preflight=5.0.1: ack | PreflightValidation";
        assert_eq!(
            lines(&preflights),
            [
                "4.22.5: PreflightIncomplete Preflight=4.22.5: The check failed, so there may be more risks. | PreflightFailed",
                checked
            ]
        );
        assert!(!preflights.forget_incomplete(Some(&second)), "this check is still requested");
        assert!(preflights.forget_incomplete(None));
        assert_eq!(lines(&preflights), [checked]);
        preflights.clear();
        assert_eq!(lines(&preflights), [""; 0]);
    }
}

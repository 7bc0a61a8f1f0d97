//! The risks of releases from 4.23 on: there is Upgradeable alone, by the one risk there is or by all of them.

use super::{KIND, gates, has_overrides, refusing_operators};
use crate::model::condition::{self, Condition};
use crate::model::{Object, View};

/// What is said of overrides.
pub(super) const OVERRIDES: &str = "Disabling ownership via cluster version overrides prevents updates between minor or major versions. Please remove overrides before requesting a minor or major version update.";

/// A name and a sentence.
type Risk = (String, String);

/// Upgradeable, where there is a risk or one that could not be evaluated.
pub(super) fn conditions(cluster_version: &Object, deletions: &[String], view: &View) -> Vec<Condition> {
    let (closed, error) = match gates::closed(cluster_version, view) {
        Ok(closed) => (closed, None),
        Err((namespace, name)) => {
            let error = format!(
                "Failed to retrieve ConfigMap {name} from namespace {namespace}: configmap \"{name}\" not found"
            );
            (Vec::new(), Some(error))
        }
    };
    let mut risks: Vec<Risk> = own(cluster_version);
    risks.extend(in_progress(deletions));
    risks.extend(closed.into_iter().map(|gate| (format!("AdminAck-{}", gate.name), gate.message)));
    let refusing = refusing_operators(view).into_iter();
    risks.extend(refusing.map(|(name, said)| (format!("ClusterOperatorUpgradeable-{name}"), said.message)));
    match (risks.as_slice(), error) {
        ([], None) => Vec::new(),
        ([], Some(error)) => vec![Condition::new(KIND, "Unknown", "EvaluationFailed", error)],
        ([(name, message)], _) => vec![Condition::new(KIND, "False", reason(name), message.clone())],
        (several, _) => {
            let lines: Vec<&str> = several.iter().map(|(_, message)| message.as_str()).collect();
            let message = format!(
                "Cluster should not be upgraded between minor or major versions for multiple reasons:\n* {}",
                lines.join("\n* ")
            );
            vec![Condition::new(KIND, "False", "MultipleReasons", message)]
        }
    }
}

/// The risks that ClusterVersion itself tells of.
fn own(cluster_version: &Object) -> Vec<Risk> {
    let updating = condition::is_true(cluster_version, "Progressing").then(|| {
        let message = "An update is already in progress and the details are in the Progressing condition.";
        ("ClusterVersionUpdating".to_owned(), message.to_owned())
    });
    let overrides =
        has_overrides(cluster_version).then(|| ("ClusterVersionOverrides".to_owned(), OVERRIDES.to_owned()));
    updating.into_iter().chain(overrides).collect()
}

/// What the payload wants removed and is still there.
fn in_progress(deletions: &[String]) -> Option<Risk> {
    (!deletions.is_empty()).then(|| {
        let message = format!(
            "Cluster minor or major version upgrades are not allowed while resource deletions are in progress; resources={}",
            deletions.join(",")
        );
        ("ResourceDeletionInProgress".to_owned(), message)
    })
}

/// The name of a risk where a reason may be called so, which no name with a hyphen may.
fn reason(name: &str) -> &str {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b':');
    let fits = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '_')
        && name.bytes().all(allowed);
    if fits { name } else { "RiskNameNotCompatibleWithReasonProperty" }
}

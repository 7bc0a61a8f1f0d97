//! The risks behind Upgradeable from 4.23 on. There are no separate conditions.

use windtunnel_core::condition::{self, Condition};
use windtunnel_core::{Object, View, cluster_version};

use super::{KIND, gates, has_overrides, not_upgradeable_operators};
use crate::cvo::behaviour::Behaviour;
use crate::graph::{MatchingRule, Risk};

/// Messages about an update in progress and about overrides.
const UPDATING: &str = "An update is already in progress and the details are in the Progressing condition.";
const OVERRIDES: &str = "Disabling ownership via cluster version overrides prevents updates between minor or major versions. Please remove overrides before requesting a minor or major version update.";

/// The documentation of a release, and its pages about conditions, updates and the spec.
const DOCUMENTS: &str = "https://docs.redhat.com/en/documentation/openshift_container_platform/";
const CONDITIONS: &str = "/html/updating_clusters/understanding-openshift-updates-1#understanding_clusteroperator_conditiontypes_understanding-openshift-updates";
const APPLICATION: &str =
    "/html/updating_clusters/understanding-openshift-updates-1#update-manifest-application_how-updates-work";
const SPECIFICATION: &str = "/html/config_apis/clusterversion-config-openshift-io-v1#spec-8";
/// The operator's placeholder URL for acknowledgements, whose message contains the real URL.
const IN_MESSAGE: &str = "https://example.com/FIXME-look-for-a-URI-in-the-message";

/// All risks of an update to another minor or major release, in the operator's order.
pub(in crate::cvo) fn upgradeable_risks(
    behaviour: Behaviour,
    cluster_version: &Object,
    deletions: &[String],
    view: &View,
) -> Vec<Risk> {
    let (major, minor) = behaviour.line;
    let at = |version: &str, page: &str| format!("{DOCUMENTS}{version}{page}");
    let own = format!("{major}.{minor}");
    let desired = cluster_version::desired_version(cluster_version);
    let desired = desired.rsplitn(2, '.').last().unwrap_or_default();
    let mut risks = Vec::new();
    if condition::is_true(cluster_version, "Progressing") {
        risks.push(risk("ClusterVersionUpdating", UPDATING, at(desired, CONDITIONS)));
    }
    if has_overrides(cluster_version) {
        risks.push(risk("ClusterVersionOverrides", OVERRIDES, at(desired, SPECIFICATION)));
    }
    if !deletions.is_empty() {
        let message = format!(
            "Cluster minor or major version upgrades are not allowed while resource deletions are in progress; resources={}",
            deletions.join(",")
        );
        risks.push(risk("ResourceDeletionInProgress", &message, at(&own, APPLICATION)));
    }
    risks.extend(acknowledgement_risks(behaviour, &own, view));
    for (name, condition) in not_upgradeable_operators(view) {
        let name = format!("ClusterOperatorUpgradeable-{name}");
        risks.push(risk(&name, &condition.message, at(&own, CONDITIONS)));
    }
    risks
}

/// Risks for missing acknowledgements. A missing ConfigMap is a risk too. The operator ignores the error that
/// comes with that risk, so Upgradeable is False and not Unknown.
fn acknowledgement_risks(behaviour: Behaviour, own: &str, view: &View) -> Vec<Risk> {
    match gates::closed(behaviour.upgradeable, own, view) {
        Ok(closed) => closed
            .into_iter()
            .map(|gate| {
                let url = if gate.reason == "AdminAckRequired" { IN_MESSAGE } else { DOCUMENTS };
                risk(&format!("AdminAck-{}", gate.name), &gate.message, url.to_owned())
            })
            .collect(),
        Err((namespace, name)) => {
            let message = format!(
                "Failed to retrieve ConfigMap {name} from namespace {namespace}: configmap \"{name}\" not found"
            );
            vec![risk("AdminAckUnknown", &message, DOCUMENTS.to_owned())]
        }
    }
}

/// A risk that applies to every cluster.
fn risk(name: &str, message: &str, url: String) -> Risk {
    Risk { name: name.to_owned(), url, message: message.to_owned(), rules: vec![MatchingRule::Always] }
}

/// The condition Upgradeable, if there is a risk.
pub(super) fn conditions(
    behaviour: Behaviour,
    cluster_version: &Object,
    deletions: &[String],
    view: &View,
) -> Vec<Condition> {
    match upgradeable_risks(behaviour, cluster_version, deletions, view).as_slice() {
        [] => Vec::new(),
        [one] => vec![Condition::new(KIND, "False", reason(&one.name), one.message.clone())],
        several => {
            let lines: Vec<&str> = several.iter().map(|risk| risk.message.as_str()).collect();
            let message = format!(
                "Cluster should not be upgraded between minor or major versions for multiple reasons:\n* {}",
                lines.join("\n* ")
            );
            vec![Condition::new(KIND, "False", "MultipleReasons", message)]
        }
    }
}

/// The name of a risk if it is a valid reason, which a name with a hyphen is not.
fn reason(name: &str) -> &str {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b':');
    let fits = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '_')
        && name.bytes().all(allowed);
    if fits { name } else { "RiskNameNotCompatibleWithReasonProperty" }
}

//! Failures of an apply pass, and how several of them are merged into one (the operator's `UpdateError`).

use std::collections::BTreeSet;

/// The effect of an error on the Failing condition during an update. Later variants are stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cvo) enum FailingEffect {
    /// It is reported, and nothing stops for it.
    Report,
    /// It is no error: the operator still updates.
    None,
    /// It sets Failing after 40 minutes.
    FailAfterInterval,
    /// It sets Failing at once.
    Fail,
}

/// One reason why a pass did not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cvo) struct Failure {
    /// `ClusterOperatorUpdating`, `UpdatePayloadResourceInvalid`, `MultipleErrors` ...
    pub(in crate::cvo) reason: String,
    /// The message of the Failing condition.
    pub(in crate::cvo) message: String,
    pub(in crate::cvo) effect: FailingEffect,
    /// The affected ClusterOperators, sorted. Empty for errors about other manifests.
    pub(in crate::cvo) operators: Vec<String>,
    /// The affected workload, or empty.
    pub(in crate::cvo) workload: String,
    /// The merged failures, if this is a `MultipleErrors`.
    pub(in crate::cvo) parts: Vec<Failure>,
}

impl Failure {
    /// A failure about one ClusterOperator.
    pub(in crate::cvo) fn of_operator(
        reason: &str,
        what: &str,
        effect: FailingEffect,
        operator: &str,
    ) -> Self {
        Self {
            reason: reason.to_owned(),
            message: format!("Cluster operator {operator} {what}"),
            effect,
            operators: vec![operator.to_owned()],
            workload: String::new(),
            parts: Vec::new(),
        }
    }

    /// A failure about a Deployment, a Job or a CustomResourceDefinition. Without a reason, its message is
    /// reported unchanged.
    pub(in crate::cvo) fn of_workload(
        reason: &str,
        message: String,
        effect: FailingEffect,
        workload: String,
    ) -> Self {
        Self {
            reason: reason.to_owned(),
            message,
            effect,
            operators: Vec::new(),
            workload,
            parts: Vec::new(),
        }
    }

    /// A failure because the API server rejected manifest `index` of `total`, named `kind "namespace/name"`.
    /// `rejection` is a reason of `metav1.Status`, or `NoMatch` for a kind that the API server does not serve.
    pub(in crate::cvo) fn of_manifest(manifest: &str, index: u32, total: u32, rejection: &str) -> Self {
        let (reason, cause) = match rejection {
            "NotFound" | "AlreadyExists" => {
                ("UpdatePayloadResourceNotFound", "resource may have been deleted")
            }
            "Conflict" => ("UpdatePayloadResourceConflict", "someone else is updating this resource"),
            "Timeout" | "ServiceUnavailable" | "UnexpectedServerError" => {
                ("UpdatePayloadClusterDown", "the server is down or not responding")
            }
            "InternalError" => ("UpdatePayloadClusterError", "the server is reporting an internal error"),
            "Invalid" => (
                "UpdatePayloadResourceInvalid",
                "the object is invalid, possibly due to local cluster configuration",
            ),
            "Unauthorized" => ("UpdatePayloadClusterUnauthorized", "could not authenticate to the server"),
            "Forbidden" => {
                ("UpdatePayloadResourceForbidden", "the server has forbidden updates to this resource")
            }
            "ServerTimeout" | "TooManyRequests" => {
                ("UpdatePayloadClusterOverloaded", "the server is overloaded and is not accepting updates")
            }
            "NoMatch" => (
                "UpdatePayloadResourceTypeMissing",
                "the server does not recognize this resource, check extension API servers",
            ),
            _ => ("UpdatePayloadFailed", ""),
        };
        let place = format!("Could not update {manifest} ({index} of {total})");
        let message = if cause.is_empty() { place } else { format!("{place}: {cause}") };
        Self::of_workload(reason, message, FailingEffect::Fail, String::new())
    }

    /// The text after `Unable to apply <version>: `.
    pub(in crate::cvo) fn summary(&self) -> String {
        match (self.reason.as_str(), self.operators.as_slice()) {
            ("ClusterOperatorNotAvailable", [name]) => {
                format!("the cluster operator {name} is not available")
            }
            ("ClusterOperatorsNotAvailable", _) => "some cluster operators are not available".to_owned(),
            ("ClusterOperatorDegraded", [name]) => format!("the cluster operator {name} is degraded"),
            ("ClusterOperatorNoVersions", [name]) => {
                format!("the cluster operator {name} does not declare expected versions")
            }
            ("UpdatePayloadResourceNotFound" | "UpdatePayloadResourceConflict", _) => {
                "some resources could not be updated".to_owned()
            }
            ("UpdatePayloadClusterDown", _) => "the control plane is down or not responding".to_owned(),
            ("UpdatePayloadClusterError", _) => "the control plane is reporting an internal error".to_owned(),
            ("UpdatePayloadResourceInvalid", _) => "some cluster configuration is invalid".to_owned(),
            ("UpdatePayloadClusterUnauthorized", _) => "could not authenticate to the server".to_owned(),
            ("UpdatePayloadResourceForbidden", _) => "the server is rejecting updates".to_owned(),
            ("UpdatePayloadClusterOverloaded", _) => {
                "the control plane is overloaded and is not accepting updates".to_owned()
            }
            ("UpdatePayloadResourceTypeMissing", _) => {
                "a required extension is not available to update".to_owned()
            }
            ("UpdatePayloadFailed", _) => "the update could not be applied".to_owned(),
            ("WorkloadNotProgressing", _) => format!("the workload {} cannot roll out", self.workload),
            ("WorkloadNotAvailable", _) => {
                format!("the workload {} has not yet successfully rolled out", self.workload)
            }
            ("", _) => "an error occurred".to_owned(),
            (reason, []) if !self.workload.is_empty() => {
                format!("{} has an unknown error: {reason}", self.workload)
            }
            (reason, []) => format!("an unknown error has occurred: {reason}"),
            (reason, names) => format!("{} has an unknown error: {reason}", names.join(", ")),
        }
    }
}

/// Merges failures into one. Failures of ClusterOperators with the same reason become one plural failure. If
/// several remain, they become `MultipleErrors`, with errors of other manifests first.
pub(in crate::cvo) fn merge(failures: Vec<Failure>) -> Option<Failure> {
    let (operators, mut merged): (Vec<Failure>, Vec<Failure>) =
        failures.into_iter().partition(|failure| !failure.operators.is_empty());
    let reasons: BTreeSet<String> = operators.iter().map(|failure| failure.reason.clone()).collect();
    for reason in reasons {
        let same: Vec<&Failure> = operators.iter().filter(|failure| failure.reason == reason).collect();
        merged.push(plural(&same));
    }
    match merged.len() {
        0 | 1 => merged.pop(),
        _ => Some(multiple(merged)),
    }
}

fn plural(same: &[&Failure]) -> Failure {
    let names: BTreeSet<String> = same.iter().flat_map(|failure| failure.operators.iter().cloned()).collect();
    if names.len() == 1 {
        return same[0].clone();
    }
    let names: Vec<String> = names.into_iter().collect();
    let reason = same[0].reason.replacen("ClusterOperator", "ClusterOperators", 1);
    let what = match same[0].reason.as_str() {
        "ClusterOperatorNotAvailable" => "are not available",
        "ClusterOperatorDegraded" => "are degraded",
        "ClusterOperatorUpdating" => "are updating versions",
        _ => "do not declare expected versions",
    };
    Failure {
        reason,
        message: format!("Cluster operators {} {what}", names.join(", ")),
        effect: same.iter().map(|failure| failure.effect).max().unwrap_or(FailingEffect::None),
        operators: names,
        workload: String::new(),
        parts: Vec::new(),
    }
}

pub(in crate::cvo) fn multiple(parts: Vec<Failure>) -> Failure {
    let lines: BTreeSet<String> = parts.iter().map(|part| format!("* {}", part.message)).collect();
    let lines: Vec<String> = lines.into_iter().collect();
    Failure {
        reason: "MultipleErrors".to_owned(),
        message: format!("Multiple errors are preventing progress:\n{}", lines.join("\n")),
        effect: parts.iter().map(|part| part.effect).max().unwrap_or(FailingEffect::None),
        operators: Vec::new(),
        workload: String::new(),
        parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updating(name: &str) -> Failure {
        Failure::of_operator("ClusterOperatorUpdating", "is updating versions", FailingEffect::None, name)
    }

    #[test]
    fn operators_with_the_same_reason_become_one_plural_failure() {
        let merged = merge(vec![updating("etcd"), updating("dns")]).unwrap();
        assert_eq!(merged.reason, "ClusterOperatorsUpdating");
        assert_eq!(merged.message, "Cluster operators dns, etcd are updating versions");
    }

    #[test]
    fn different_reasons_become_multiple_errors_with_the_strongest_effect() {
        let down = Failure::of_operator(
            "ClusterOperatorNotAvailable",
            "is not available",
            FailingEffect::Fail,
            "etcd",
        );
        let merged = merge(vec![updating("dns"), down]).unwrap();
        assert_eq!((merged.reason.as_str(), merged.effect), ("MultipleErrors", FailingEffect::Fail));
        assert_eq!(
            merged.message,
            "Multiple errors are preventing progress:\n* Cluster operator dns is updating versions\n* Cluster operator etcd is not available"
        );
    }

    fn rejected(reason: &str) -> Failure {
        Failure::of_manifest("role \"ns/a\"", 3, 9, reason)
    }

    #[test]
    fn a_merged_failure_has_the_strongest_effect() {
        let slow = Failure::of_operator("ClusterOperatorDegraded", "is degraded", FailingEffect::None, "dns");
        let late = Failure::of_operator(
            "ClusterOperatorDegraded",
            "is degraded",
            FailingEffect::FailAfterInterval,
            "etcd",
        );
        let merged = merge(vec![slow, late]).unwrap();
        assert_eq!(merged.message, "Cluster operators dns, etcd are degraded");
        assert_eq!(
            (merged.reason.as_str(), merged.effect),
            ("ClusterOperatorsDegraded", FailingEffect::FailAfterInterval)
        );
    }

    #[test]
    fn manifest_errors_come_first_and_operator_errors_are_sorted_by_reason() {
        let degraded = Failure::of_operator(
            "ClusterOperatorDegraded",
            "is degraded",
            FailingEffect::FailAfterInterval,
            "etcd",
        );
        let merged =
            merge(vec![updating("dns"), degraded, rejected("Invalid"), rejected("Invalid")]).unwrap();
        let reasons: Vec<&str> = merged.parts.iter().map(|part| part.reason.as_str()).collect();
        let invalid = "UpdatePayloadResourceInvalid";
        assert_eq!(reasons, [invalid, invalid, "ClusterOperatorDegraded", "ClusterOperatorUpdating"]);
        assert_eq!(
            merged.message,
            "Multiple errors are preventing progress:\n\
             * Cluster operator dns is updating versions\n\
             * Cluster operator etcd is degraded\n\
             * Could not update role \"ns/a\" (3 of 9): the object is invalid, possibly due to local cluster configuration",
            "each message once"
        );
    }

    #[test]
    fn every_rejection_has_a_reason_and_a_summary() {
        for (rejection, reason, summary) in [
            ("NotFound", "UpdatePayloadResourceNotFound", "some resources could not be updated"),
            ("AlreadyExists", "UpdatePayloadResourceNotFound", "some resources could not be updated"),
            ("Conflict", "UpdatePayloadResourceConflict", "some resources could not be updated"),
            ("Timeout", "UpdatePayloadClusterDown", "the control plane is down or not responding"),
            ("ServiceUnavailable", "UpdatePayloadClusterDown", "the control plane is down or not responding"),
            (
                "UnexpectedServerError",
                "UpdatePayloadClusterDown",
                "the control plane is down or not responding",
            ),
            (
                "InternalError",
                "UpdatePayloadClusterError",
                "the control plane is reporting an internal error",
            ),
            ("Invalid", "UpdatePayloadResourceInvalid", "some cluster configuration is invalid"),
            ("Unauthorized", "UpdatePayloadClusterUnauthorized", "could not authenticate to the server"),
            ("Forbidden", "UpdatePayloadResourceForbidden", "the server is rejecting updates"),
            (
                "ServerTimeout",
                "UpdatePayloadClusterOverloaded",
                "the control plane is overloaded and is not accepting updates",
            ),
            (
                "TooManyRequests",
                "UpdatePayloadClusterOverloaded",
                "the control plane is overloaded and is not accepting updates",
            ),
            (
                "NoMatch",
                "UpdatePayloadResourceTypeMissing",
                "a required extension is not available to update",
            ),
            ("BadRequest", "UpdatePayloadFailed", "the update could not be applied"),
        ] {
            let failure = rejected(rejection);
            assert_eq!((failure.reason.as_str(), failure.summary().as_str()), (reason, summary));
        }
    }

    #[test]
    fn every_rejection_has_its_cause_in_the_message() {
        for (rejection, cause) in [
            ("NotFound", ": resource may have been deleted"),
            ("Conflict", ": someone else is updating this resource"),
            ("Timeout", ": the server is down or not responding"),
            ("InternalError", ": the server is reporting an internal error"),
            ("Invalid", ": the object is invalid, possibly due to local cluster configuration"),
            ("Unauthorized", ": could not authenticate to the server"),
            ("Forbidden", ": the server has forbidden updates to this resource"),
            ("ServerTimeout", ": the server is overloaded and is not accepting updates"),
            ("NoMatch", ": the server does not recognize this resource, check extension API servers"),
            ("BadRequest", ""),
        ] {
            assert_eq!(
                rejected(rejection).message,
                format!("Could not update role \"ns/a\" (3 of 9){cause}")
            );
        }
    }

    #[test]
    fn the_summary_names_the_operators() {
        let summary = |reason: &str, names: &[&str]| {
            let each = names.iter().map(|name| Failure::of_operator(reason, "", FailingEffect::Fail, name));
            merge(each.collect()).unwrap().summary()
        };
        for (reason, one, several) in [
            (
                "ClusterOperatorNotAvailable",
                "the cluster operator dns is not available",
                "some cluster operators are not available",
            ),
            (
                "ClusterOperatorDegraded",
                "the cluster operator dns is degraded",
                "dns, etcd has an unknown error: ClusterOperatorsDegraded",
            ),
            (
                "ClusterOperatorUpdating",
                "dns has an unknown error: ClusterOperatorUpdating",
                "dns, etcd has an unknown error: ClusterOperatorsUpdating",
            ),
            (
                "ClusterOperatorNoVersions",
                "the cluster operator dns does not declare expected versions",
                "dns, etcd has an unknown error: ClusterOperatorsNoVersions",
            ),
        ] {
            assert_eq!(
                (summary(reason, &["dns"]).as_str(), summary(reason, &["dns", "etcd"]).as_str()),
                (one, several)
            );
        }
    }
}

//! The condition types of objects and insights, and the reasons that components set.
//!
//! Each component defines its own words; this list lets lint notice words that no component uses.

/// The condition types of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types {
    pub(super) known: &'static [&'static str],
    /// Whether the list is complete; otherwise other components may add types.
    pub(super) closed: bool,
}

/// Returns the condition types of objects of a kind; `None` for a kind that is not listed.
pub(super) fn object_condition_types(kind: &str) -> Option<Types> {
    let (known, closed): (&[&str], bool) = match kind {
        "ClusterVersion" => (
            &[
                "Available",
                "Failing",
                "Progressing",
                "RetrievedUpdates",
                "ReleaseAccepted",
                "Upgradeable",
                "UpgradeableAdminAckRequired",
                "UpgradeableClusterOperators",
                "UpgradeableClusterVersionOverrides",
                "UpgradeableDeletesInProgress",
                "UpgradeableUpgradeInProgress",
                "ImplicitlyEnabledCapabilities",
                "Invalid",
                "ReconciliationIssues",
            ],
            true,
        ),
        "ClusterOperator" => (
            &[
                "Available",
                "Degraded",
                "Progressing",
                "Upgradeable",
                "Disabled",
                "EvaluationConditionsDetected",
            ],
            false,
        ),
        "MachineConfigPool" => (
            &[
                "Updated",
                "Updating",
                "Degraded",
                "NodeDegraded",
                "RenderDegraded",
                "ImageBuildDegraded",
                "PinnedImageSetsDegraded",
                "Building",
                "BuildPending",
                "BuildSuccess",
                "BuildFailed",
            ],
            false,
        ),
        "MachineOSBuild" => (&["Prepared", "Building", "Failed", "Interrupted", "Succeeded"], true),
        "Node" => (&["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"], false),
        _ => return None,
    };
    Some(Types { known, closed })
}

/// Returns the condition types of insights of a kind; `None` if they have none or the kind is unknown.
pub(super) fn insight_condition_types(kind: &str) -> Option<Types> {
    let known: &[&str] = match kind {
        "ClusterVersion" => &["Updating"],
        "ClusterOperator" | "MachineConfigPool" => &["Updating", "Healthy"],
        "Node" => &["Updating", "Available", "Degraded"],
        _ => return None,
    };
    Some(Types { known, closed: true })
}

/// Returns the reasons that insights of a kind have for a condition; empty if any reason is possible.
pub(super) fn reasons_of_insights(kind: &str, condition: &str) -> &'static [&'static str] {
    match (kind, condition) {
        ("ClusterVersion", "Updating") => {
            &["ClusterVersionProgressing", "ClusterVersionNotProgressing", "CannotDetermineUpdating"]
        }
        ("ClusterOperator", "Updating") => &["Updated", "Progressing", "Pending", "CannotDetermine"],
        ("ClusterOperator", "Healthy") => &["AsExpected", "Unavailable", "Degraded", "CannotDetermine"],
        ("MachineConfigPool", "Updating") => &["Updated", "Progressing", "Paused", "Pending"],
        ("MachineConfigPool", "Healthy") => &["AsExpected", "NodesDegraded", "PoolDegraded"],
        ("Node", "Updating") => &["Draining", "Updating", "Rebooting", "Completed", "Paused", "Pending"],
        _ => &[],
    }
}

/// Returns the reasons that the cluster-version operator sets for a condition of ClusterVersion; empty if any
/// reason is possible. `Upgradeable` takes reasons from operators and risks, and a waiting update those of
/// ClusterOperators.
pub(super) fn reasons_of_cluster_version(condition: &str) -> &'static [&'static str] {
    match condition {
        "ReleaseAccepted" => {
            &["RetrievePayload", "LoadPayload", "VerifyPayloadVersion", "PreconditionChecks", "PayloadLoaded"]
        }
        "RetrievedUpdates" => &[
            "NoUpstream",
            "NoArchitecture",
            "NoCurrentVersion",
            "NoChannel",
            "InvalidCurrentVersion",
            "InvalidID",
            "InvalidRequest",
            "InvalidURI",
            "RemoteFailed",
            "ResponseFailed",
            "ResponseInvalid",
            "VersionNotFound",
        ],
        "ImplicitlyEnabledCapabilities" => &["AsExpected", "CapabilitiesImplicitlyEnabled"],
        "Invalid" => &["InvalidClusterVersion"],
        "ReconciliationIssues" => &["IssuesFound", "NoIssues"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_no_type_and_no_reason_twice() {
        let kinds = ["ClusterVersion", "ClusterOperator", "MachineConfigPool", "MachineOSBuild", "Node"];
        let lists = kinds
            .iter()
            .flat_map(|kind| [object_condition_types(kind), insight_condition_types(kind)])
            .flatten();
        let reasons = object_condition_types("ClusterVersion")
            .unwrap()
            .known
            .iter()
            .map(|kind| reasons_of_cluster_version(kind));
        for list in lists.map(|types| types.known).chain(reasons) {
            let mut once: Vec<&str> = list.to_vec();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), list.len(), "{list:?}");
        }
        assert_eq!((object_condition_types("Pod"), insight_condition_types("Health")), (None, None));
    }
}

//! The words that conditions are made of: which types objects and insights have, and which reasons they give for them.
//!
//! Who writes a word out says it by itself; this is what a reader may expect to meet, so that one that nobody says is noticed.

/// The types of the conditions of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types {
    /// The types.
    pub(super) known: &'static [&'static str],
    /// Whether nobody may add others.
    pub(super) closed: bool,
}

/// The types of conditions of the objects of a kind; `None` where nothing is known of them.
pub(super) fn of_objects(kind: &str) -> Option<Types> {
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
        "Node" => (&["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"], false),
        _ => return None,
    };
    Some(Types { known, closed })
}

/// The types of conditions of the insights of a kind; `None` where they have none, or it is none of theirs.
pub(super) fn of_insights(kind: &str) -> Option<Types> {
    let known: &[&str] = match kind {
        "ClusterVersion" => &["Updating"],
        "ClusterOperator" | "MachineConfigPool" => &["Updating", "Healthy"],
        "Node" => &["Updating", "Available", "Degraded"],
        _ => return None,
    };
    Some(Types { known, closed: true })
}

/// The reasons that insights of a kind give for a condition; none where they can be anything.
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

/// The reasons that the cluster-version operator gives for a condition of ClusterVersion; none where they can be anything:
/// `Upgradeable` has those of operators and of risks, and what an update waits for has those of ClusterOperators.
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
    fn no_type_and_no_reason_stands_twice() {
        let kinds = ["ClusterVersion", "ClusterOperator", "MachineConfigPool", "Node"];
        let lists = kinds.iter().flat_map(|kind| [of_objects(kind), of_insights(kind)]).flatten();
        let reasons =
            of_objects("ClusterVersion").unwrap().known.iter().map(|kind| reasons_of_cluster_version(kind));
        for list in lists.map(|types| types.known).chain(reasons) {
            let mut once: Vec<&str> = list.to_vec();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), list.len(), "{list:?}");
        }
        assert_eq!((of_objects("Pod"), of_insights("Health")), (None, None));
    }
}

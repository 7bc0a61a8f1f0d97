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

/// Returns reasons that components often set for a condition, which may have others as well.
pub(super) fn frequent_reasons(kind: &str, condition: &str) -> &'static [&'static str] {
    match (kind, condition) {
        ("ClusterVersion", "Available" | "Failing" | "Progressing") => &[
            "ClusterOperatorDegraded",
            "ClusterOperatorNotAvailable",
            "ClusterOperatorUpdating",
            "ClusterOperatorsDegraded",
            "ClusterOperatorsNotAvailable",
            "ClusterOperatorsUpdating",
            "MultipleErrors",
            "UpdatePayloadClusterDown",
            "UpdatePayloadClusterError",
            "UpdatePayloadClusterOverloaded",
            "UpdatePayloadClusterUnauthorized",
            "UpdatePayloadFailed",
            "UpdatePayloadResourceConflict",
            "UpdatePayloadResourceForbidden",
            "UpdatePayloadResourceInvalid",
            "UpdatePayloadResourceNotFound",
            "WorkloadNotAvailable",
            "WorkloadNotProgressing",
        ],
        ("ClusterVersion", "Upgradeable") => {
            &["AdminAckRequired", "ClusterVersionOverridesSet", "MultipleReasons", "UpdateInProgress"]
        }
        ("ClusterOperator", _) => &["AsExpected", "FaultInjected"],
        _ => &[],
    }
}

/// A reason that components give for a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownReason {
    /// Whether the condition is one of insights; otherwise it is one of objects.
    pub of_insights: bool,
    /// The kind of the objects, or of those that the insights are about.
    pub kind: &'static str,
    /// The type of the condition.
    pub condition: &'static str,
    /// The reason.
    pub reason: &'static str,
}

/// Reasons of the real cluster-version operator that no simulated one gives.
const NOT_SIMULATED: [&str; 5] =
    ["NoUpstream", "NoArchitecture", "NoCurrentVersion", "InvalidRequest", "InvalidURI"];

/// Returns the reasons of all conditions for which the reasons are known and that simulated components can give.
pub fn known_reasons() -> impl Iterator<Item = KnownReason> {
    const VERSION: &str = "ClusterVersion";
    let of_version = types(object_condition_types(VERSION)).flat_map(|condition| {
        let reasons = reasons_of_cluster_version(condition).iter();
        reasons.map(move |reason| KnownReason { of_insights: false, kind: VERSION, condition, reason })
    });
    let kinds = [VERSION, "ClusterOperator", "MachineConfigPool", "Node"];
    let of_insights = kinds.into_iter().flat_map(|kind| {
        types(insight_condition_types(kind)).flat_map(move |condition| {
            let reasons = reasons_of_insights(kind, condition).iter();
            reasons.map(move |reason| KnownReason { of_insights: true, kind, condition, reason })
        })
    });
    of_version.chain(of_insights).filter(|known| !NOT_SIMULATED.contains(&known.reason))
}

fn types(types: Option<Types>) -> impl Iterator<Item = &'static str> {
    types.into_iter().flat_map(|types| types.known.iter().copied())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The sources of a crate in one text.
    fn sources(folder: &Path, text: &mut String) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&fs::read_to_string(&path).unwrap());
            }
        }
    }

    #[test]
    fn components_have_all_known_reasons() {
        let mut text = String::new();
        for name in ["openshift", "update-status"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates").join(name).join("src");
            sources(&folder, &mut text);
        }
        let is_in_source = |reason: &str| text.contains(&format!("\"{reason}\""));
        let gone: Vec<KnownReason> = known_reasons().filter(|known| !is_in_source(known.reason)).collect();
        assert_eq!(gone, []);
        assert!(known_reasons().count() > 30);
        let subjects = [
            ("ClusterVersion", "Failing"),
            ("ClusterVersion", "Upgradeable"),
            ("ClusterOperator", "Degraded"),
        ];
        for (kind, condition) in subjects {
            let gone = frequent_reasons(kind, condition).iter().find(|reason| !is_in_source(reason));
            assert_eq!(gone, None, "{kind} {condition}");
        }
        assert!(NOT_SIMULATED.iter().all(|reason| !is_in_source(reason)), "a component gives one by now");
    }

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

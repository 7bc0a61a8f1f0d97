//! The differences between the cluster-version operators of different releases, in one table.

use super::lease::Locks;
use crate::release::Release;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetrievalMethod {
    /// By a Job. The operator does not watch its pod and sees only the Job's deadline, so an image that cannot
    /// be pulled costs one Job every two minutes (`fetchUpdatePayloadToDir`, up to release-4.18).
    Job,
    /// By a Pod that the operator watches, so that it can report errors (OTA-1307). It gives up as soon as the
    /// pull reports an unknown manifest (`podCompletionCheckFn`, from release-4.19), and starts the next Pod
    /// at once: a failed load has no back-off (`SyncWorker.Update` returns no error to the work queue), and
    /// the name of the Pod makes each message of ReleaseAccepted a change of the ClusterVersion, which starts
    /// the next sync. So Pods follow each other as fast as pulls fail.
    Pod,
}

/// How a release computes the condition Upgradeable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UpgradeableStyle {
    /// By periodic checks with separate conditions.
    Checks {
        /// Whether an update in progress fails a check (from 4.19).
        update_in_progress: bool,
    },
    /// By risks that are evaluated for each status (from 4.23).
    Risks,
}

/// The behaviour of one release's cluster-version operator.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "one for each thing that a release does or does not do")]
pub(super) struct Behaviour {
    /// Major and minor of the release.
    pub(super) line: (u64, u64),
    /// How payloads are fetched.
    pub(super) retrieval: RetrievalMethod,
    /// Whether the pod's init containers copy the manifests (from 4.20) or move them.
    pub(super) copies_manifests: bool,
    /// Whether the pods of version Jobs set the required security context constraint (4.18; later all version
    /// pods do).
    pub(super) requires_scc: bool,
    /// Whether version pods have their own ServiceAccount (from 4.22).
    pub(super) has_payload_account: bool,
    /// Whether the last log lines of a failed container are its termination message (from 4.23).
    pub(super) falls_back_to_logs: bool,
    /// The objects of leader election.
    pub(super) locks: Locks,
    /// Whether the cluster has capabilities (from 4.11).
    pub(super) has_capabilities: bool,
    /// Whether the spec can name signature stores (from 4.15).
    pub(super) custom_signature_stores: bool,
    /// Whether a retrieval ends after four minutes, with two of them for signature stores (from 4.12).
    /// Earlier releases have no such limit.
    pub(super) limits_retrieval: bool,
    /// Whether history entries record accepted risks (from 4.12).
    pub(super) records_risks: bool,
    /// Whether an update that is not recommended is a risk (from 4.12).
    pub(super) checks_recommendation: bool,
    /// Whether payload messages contain the architecture (from 4.12).
    pub(super) names_architecture: bool,
    /// Whether history entries are pruned by weight (from 4.12) or by age.
    pub(super) prunes_by_weight: bool,
    /// Whether a rollback to an earlier release is checked by its own precondition (from 4.14).
    pub(super) checks_rollback: bool,
    /// Whether an update to another minor or major is checked by its own precondition (from 4.19).
    pub(super) checks_hops: bool,
    /// Whether an update to 5.0 is allowed (from 4.22).
    pub(super) allows_next_major: bool,
    /// Whether an update to another minor requires a recent etcd backup (up to 4.14).
    pub(super) requires_backup: bool,
    /// Whether the Recommended condition has a reason without a risk's name when no risk applies, and the
    /// risk's description on separate lines (from 4.15).
    pub(super) reports_exposure: bool,
    /// Whether Recommended gets a new transition time each second while a risk cannot be evaluated (seen from
    /// 4.23 on).
    pub(super) refreshes_recommended: bool,
    /// Whether clusters with a preview feature set have the condition ReconciliationIssues (from 4.16 to
    /// 4.19).
    pub(super) previews_issues: bool,
    /// Whether operators that take over 30 minutes (machine-config: 90) set Failing to Unknown (from 4.16).
    pub(super) reports_slow_operators: bool,
    /// How the Upgradeable condition is computed.
    pub(super) upgradeable: UpgradeableStyle,
    /// Whether overrides block updates to another patch as well (up to 4.21).
    pub(super) overrides_block_patches: bool,
    /// Whether Upgradeable is judged from the desired release (from 4.18) or from the last release in the
    /// history.
    pub(super) counts_from_desired: bool,
    /// Whether a new patch target during a minor update causes a warning (from 4.19).
    pub(super) warns_of_retargets: bool,
}

impl Behaviour {
    /// The behaviour of this release's operator.
    pub(super) fn for_release(release: &Release) -> Self {
        let at_least = |minor: u64| (release.version.major, release.version.minor) >= (4, minor);
        Self {
            line: release.line(),
            retrieval: if at_least(19) { RetrievalMethod::Pod } else { RetrievalMethod::Job },
            copies_manifests: at_least(20),
            requires_scc: at_least(18),
            has_payload_account: at_least(22),
            falls_back_to_logs: at_least(23),
            locks: match release.version.minor {
                ..=10 if !at_least(11) => Locks::ConfigMap,
                _ if at_least(15) => Locks::Lease,
                _ => Locks::Both,
            },
            has_capabilities: at_least(11),
            custom_signature_stores: at_least(15),
            limits_retrieval: at_least(12),
            records_risks: at_least(12),
            checks_recommendation: at_least(12),
            names_architecture: at_least(12),
            prunes_by_weight: at_least(12),
            checks_rollback: at_least(14),
            checks_hops: at_least(19),
            allows_next_major: at_least(22),
            reports_exposure: at_least(15),
            refreshes_recommended: at_least(23),
            previews_issues: at_least(16) && !at_least(20),
            requires_backup: !at_least(15),
            reports_slow_operators: at_least(16),
            upgradeable: if at_least(23) {
                UpgradeableStyle::Risks
            } else {
                UpgradeableStyle::Checks { update_in_progress: at_least(19) }
            },
            overrides_block_patches: !at_least(22),
            counts_from_desired: at_least(18),
            warns_of_retargets: at_least(19),
        }
    }
}

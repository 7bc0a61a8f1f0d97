//! What differs between the cluster-version operators of different releases, in one table.

use super::upgradeable::Style;
use crate::release::Release;

/// How a release image is fetched to the control-plane node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retrieval {
    /// By a Job whose pod nobody looks at: only the Job's own deadline is seen.
    Job,
    /// By a Pod that is watched, so that its trouble is told (OTA-1307).
    Pod,
}

/// The behaviour of one release's cluster-version operator.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "one for each thing that a release does or does not do")]
pub(super) struct Behaviour {
    /// Major and minor of the release.
    pub(super) line: (u64, u64),
    /// How payloads are fetched.
    pub(super) retrieval: Retrieval,
    /// Whether the pod's init containers copy (from 4.20) or move the manifests.
    pub(super) copies_manifests: bool,
    /// Whether the pods of version Jobs say which security context they need (4.18; all version pods do later).
    pub(super) requires_scc: bool,
    /// Whether version pods have a ServiceAccount of their own (from 4.22).
    pub(super) has_payload_account: bool,
    /// Whether the last lines of a failed container's log are its message (from 4.23).
    pub(super) asks_for_logs: bool,
    /// Whether leadership is told of by a ConfigMap as well as by the Lease (up to 4.14).
    pub(super) locks_config_map: bool,
    /// Whether spec may name signature stores (from 4.15).
    pub(super) custom_signature_stores: bool,
    /// Whether a retrieval is given up after four minutes, half of which signature stores have (from 4.12). Before, it lasts
    /// until somebody answers.
    pub(super) limits_retrieval: bool,
    /// Whether history keeps the risks that were taken (from 4.12).
    pub(super) keeps_risks: bool,
    /// Whether an update must be recommended, or is a risk (from 4.12).
    pub(super) wants_recommendation: bool,
    /// Whether what is told of a payload names its architecture (from 4.12).
    pub(super) names_architecture: bool,
    /// Whether entries of history are weighed before one goes, or the oldest goes (from 4.12).
    pub(super) weighs_history: bool,
    /// Whether going back to an earlier release is a precondition of its own (from 4.14).
    pub(super) guards_rollback: bool,
    /// Whether going over a minor, or to another major, is a precondition of its own (from 4.19).
    pub(super) guards_hops: bool,
    /// Whether 5.0 may follow (from 4.22).
    pub(super) allows_next_major: bool,
    /// Whether another minor needs a recent backup of etcd (up to 4.14).
    pub(super) wants_backup: bool,
    /// Whether Recommended is told of as conditions ought to be, with a reason that names no risk where there is none and with the
    /// risk's description on lines of its own (from 4.15).
    pub(super) tells_exposure: bool,
    /// Whether Recommended is made anew each second, with the time of it, while a risk cannot be evaluated (seen from 4.23 on).
    pub(super) remakes_recommended: bool,
    /// Whether clusters with a preview feature set have the condition ReconciliationIssues (from 4.16 to 4.19).
    pub(super) previews_issues: bool,
    /// Whether operators that take over 30 minutes (machine-config: 90) make Failing Unknown (from 4.16).
    pub(super) tells_slow_operators: bool,
    /// How Upgradeable comes about.
    pub(super) upgradeable: Style,
    /// Whether overrides stand in the way of patches as well (up to 4.21).
    pub(super) overrides_block_patches: bool,
    /// Whether Upgradeable is judged from where the cluster is going (from 4.18), or from where it was last.
    pub(super) counts_from_desired: bool,
    /// Whether another patch for a minor update that is under way is noted (from 4.19).
    pub(super) notes_retargets: bool,
}

impl Behaviour {
    /// The behaviour of this release's operator.
    pub(super) fn of(release: &Release) -> Self {
        let at_least = |minor: u64| (release.version.major, release.version.minor) >= (4, minor);
        Self {
            line: release.line(),
            retrieval: if at_least(19) { Retrieval::Pod } else { Retrieval::Job },
            copies_manifests: at_least(20),
            requires_scc: at_least(18),
            has_payload_account: at_least(22),
            asks_for_logs: at_least(23),
            locks_config_map: !at_least(15),
            custom_signature_stores: at_least(15),
            limits_retrieval: at_least(12),
            keeps_risks: at_least(12),
            wants_recommendation: at_least(12),
            names_architecture: at_least(12),
            weighs_history: at_least(12),
            guards_rollback: at_least(14),
            guards_hops: at_least(19),
            allows_next_major: at_least(22),
            tells_exposure: at_least(15),
            remakes_recommended: at_least(23),
            previews_issues: at_least(16) && !at_least(20),
            wants_backup: !at_least(15),
            tells_slow_operators: at_least(16),
            upgradeable: if at_least(23) {
                Style::Risks
            } else {
                Style::Checks { update_in_progress: at_least(19) }
            },
            overrides_block_patches: !at_least(22),
            counts_from_desired: at_least(18),
            notes_retargets: at_least(19),
        }
    }
}

//! `EtcdRecentBackup` (up to 4.14): an update to another minor needs a recent etcd backup. The etcd operator
//! makes one when ReleaseAccepted reports that it is missing.

use semver::Version;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::CLUSTER_OPERATORS;
use windtunnel_core::{Object, View};

use super::FailedPrecondition;
use crate::cvo::upgradeable::completed_version;

/// The condition of ClusterOperator `etcd` about backups.
const KIND: &str = "RecentBackup";

/// Checks an update to `target`. It needs a backup if its minor is later than that of the last completed
/// release.
pub(in crate::cvo) fn check(
    view: &View,
    cluster_version: &Object,
    target: &Version,
) -> Option<FailedPrecondition> {
    let current = completed_version(cluster_version).parse::<Version>().ok()?;
    if (target.major, target.minor) <= (current.major, current.minor) {
        return None;
    }
    let (reason, detail) = match view.get(&CLUSTER_OPERATORS, "", "etcd") {
        None => {
            let error = "clusteroperator.config.openshift.io \"etcd\" not found";
            ("UnableToGetEtcdOperator".to_owned(), format!("Unable to get etcd operator, err={error}."))
        }
        Some(etcd) => match condition::find_in_status(etcd, KIND).map(Condition::from_value) {
            None => ("EtcdRecentBackupNotSet".to_owned(), "etcd backup condition is not set.".to_owned()),
            Some(backup) if backup.status == "True" => return None,
            Some(backup) => (backup.reason, backup.message),
        },
    };
    let message = if detail.is_empty() { detail } else { format!("{KIND}: {detail}") };
    Some(FailedPrecondition::new("EtcdRecentBackup", &reason, &message, true))
}

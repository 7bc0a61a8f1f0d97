//! `EtcdRecentBackup` (up to 4.14): no other minor without a backup of etcd, which the operator of etcd makes as soon as
//! it reads of that in ReleaseAccepted.

use semver::Version;
use windtunnel_core::condition;
use windtunnel_core::condition::Condition;
use windtunnel_core::resources::CLUSTER_OPERATORS;
use windtunnel_core::{Object, View};

use super::Failed;
use crate::cvo::upgradeable::completed_version;

/// The condition of ClusterOperator `etcd` that tells of backups.
const KIND: &str = "RecentBackup";

/// Checks an update to `target`, which needs a backup if it leads to a later minor than the one that was applied last.
pub(super) fn check(view: &View, cluster_version: &Object, target: &Version) -> Option<Failed> {
    let current = completed_version(cluster_version).parse::<Version>().ok()?;
    if (target.major, target.minor) <= (current.major, current.minor) {
        return None;
    }
    let (reason, detail) = match view.get(&CLUSTER_OPERATORS, "", "etcd") {
        None => {
            let error = "clusteroperator.config.openshift.io \"etcd\" not found";
            ("UnableToGetEtcdOperator".to_owned(), format!("Unable to get etcd operator, err={error}."))
        }
        Some(etcd) => match condition::of(etcd, KIND).map(Condition::read) {
            None => ("EtcdRecentBackupNotSet".to_owned(), "etcd backup condition is not set.".to_owned()),
            Some(backup) if backup.status == "True" => return None,
            Some(backup) => (backup.reason, backup.message),
        },
    };
    let message = if detail.is_empty() { detail } else { format!("{KIND}: {detail}") };
    Some(Failed::new("EtcdRecentBackup", &reason, &message, true))
}

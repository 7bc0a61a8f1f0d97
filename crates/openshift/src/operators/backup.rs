//! The etcd backup before an update to another minor. Up to 4.14 the etcd operator makes it when the
//! cluster-version operator waits for it. Only the condition RecentBackup of its ClusterOperator is
//! simulated.

use jiff::SignedDuration;
use semver::Version;
use serde_json::Value;
use windtunnel_controllers::workqueue::WorkQueue;
use windtunnel_controllers::{Actor, Input, Interest, Step};
use windtunnel_core::clock::Time;
use windtunnel_core::cluster_version::completed_version;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Identity, Key, Object, View, Write};

use super::reported_version;
use crate::control_plane::masters;

/// The last minor of 4 whose etcd operator makes backups.
pub const LAST_MINOR: u64 = 14;
const KIND: &str = "RecentBackup";
/// The duration of the backup pod in seconds.
const SECONDS: (u64, u64) = (15, 45);

/// The backup controller in the etcd operator.
#[derive(Debug, Clone)]
pub struct BackupController {
    streams: Streams,
    queue: WorkQueue,
    /// The version of the backup in progress, and when it completes.
    under_way: Option<(String, Time)>,
    started: bool,
}

impl BackupController {
    /// A controller that has not run yet.
    pub fn new(streams: &Streams) -> Self {
        Self { streams: *streams, queue: WorkQueue::default(), under_way: None, started: false }
    }

    fn sync(&mut self, view: &View, now: Time) -> Option<Write> {
        let etcd = view.get_key(&key())?;
        let version: Version = reported_version(etcd)?.parse().ok()?;
        if version.major > 4 || version.minor > LAST_MINOR {
            return None;
        }
        let Some(backup) = condition::find_in_status(etcd, KIND).map(Condition::from_value) else {
            return Some(condition_write(etcd, "Unknown", "ControllerStarted", "", now));
        };
        let cluster_version = view.cluster_version()?;
        if !is_waited_for(cluster_version) || backup.status == "True" {
            return None;
        }
        let node = masters(view).first()?.name();
        let Some((backed_up, until)) = &self.under_way else {
            let backed_up = completed_version(cluster_version)?.to_owned();
            let mut draws = self.streams.stream(&format!("etcd-backup/{backed_up}"));
            let seconds = draws.between(SECONDS.0, SECONDS.1);
            let until = now + SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(0));
            self.under_way = Some((backed_up, until));
            self.queue.add_at(key(), until);
            let message = format!("Upgrade backup pod created on node {node}");
            return Some(condition_write(etcd, "Unknown", "UpgradeBackupInProgress", &message, now));
        };
        if *until > now {
            self.queue.add_at(key(), *until);
            return None;
        }
        let name = format!("upgrade-backup-{backed_up}-{}", until.strftime("%Y-%m-%d_%H%M%S"));
        let message = format!(
            "UpgradeBackup for {backed_up} is located at path /etc/kubernetes/cluster-backup/{name} on node \"{node}\""
        );
        self.under_way = None;
        Some(condition_write(etcd, "True", "UpgradeBackupSuccessful", &message, now))
    }
}

impl Actor for BackupController {
    fn name(&self) -> &'static str {
        "operator/etcd-operator"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("openshift-etcd-operator", "etcd-operator")
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Object(CLUSTER_VERSIONS.key("", "version")), Interest::Object(key())]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        if !std::mem::replace(&mut self.started, true) || !input.changes.is_empty() {
            self.queue.add(key());
        }
        self.queue.process_answers(input.answers, input.now);
        let mut step = Step::default();
        if !self.queue.take_due(input.now).is_empty()
            && let Some(write) = self.sync(input.view, input.now)
        {
            self.queue.send(&key(), write, &mut step.writes);
        }
        if let Some((version, _)) = &self.under_way {
            step.why = format!("the etcd backup at {version}").into();
        }
        step.wake_at = self.queue.next();
        step
    }
}

fn key() -> Key {
    CLUSTER_OPERATORS.key("", "etcd")
}

/// Returns whether the cluster-version operator rejected an update because a backup is missing.
fn is_waited_for(cluster_version: &Object) -> bool {
    condition::find_in_status(cluster_version, "ReleaseAccepted").is_some_and(|accepted| {
        accepted["status"] == "False" && accepted["message"].as_str().is_some_and(|text| text.contains(KIND))
    })
}

fn condition_write(etcd: &Object, status: &str, reason: &str, message: &str, now: Time) -> Write {
    let mut value = etcd.to_value();
    let mut list = etcd.conditions().to_vec();
    condition::set(&mut list, &Condition::new(KIND, status, reason, message), now);
    value["status"]["conditions"] = Value::Array(list);
    Write::update_status(&CLUSTER_OPERATORS, value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_controllers::testing::Rig;
    use windtunnel_core::resources::NODES;

    use super::*;

    /// The log of an etcd operator of this version. The missing backup is reported after a minute.
    fn log(version: &str) -> Vec<String> {
        let mut rig = Rig::new();
        let versions = json!([{ "name": "operator", "version": version }]);
        rig.put(
            &CLUSTER_OPERATORS,
            json!({ "metadata": { "name": "etcd" }, "status": { "versions": versions } }),
        );
        let master =
            json!({ "metadata": { "name": "m", "labels": { "node-role.kubernetes.io/master": "" } } });
        rig.put(&NODES, master);
        let history = json!([{ "state": "Completed", "version": version }]);
        let object = json!({ "metadata": { "name": "version" }, "status": { "history": history } });
        rig.put(&CLUSTER_VERSIONS, object);
        rig.seat(|| Box::new(BackupController::new(&Streams::new(1))));
        rig.run(60);
        let message = "Precondition \"EtcdRecentBackup\" failed because of \"ControllerStarted\": ";
        let accepted = json!([{ "type": "ReleaseAccepted", "status": "False", "message": message }]);
        rig.write(&Write::merge_patch_status(
            &CLUSTER_VERSIONS,
            "",
            "version",
            json!({ "status": { "conditions": accepted } }),
        ));
        rig.run(600);
        rig.log
    }

    #[test]
    fn makes_a_backup_when_releaseaccepted_reports_it_missing() {
        let etcd = "update clusteroperators.config.openshift.io/etcd RecentBackup";
        assert_eq!(
            log("4.14.8"),
            [
                format!("0:00:00 {etcd}=Unknown ControllerStarted"),
                format!(
                    "0:01:00 {etcd}=Unknown UpgradeBackupInProgress Upgrade backup pod created on node m"
                ),
                format!(
                    "0:01:38 {etcd}=True UpgradeBackupSuccessful UpgradeBackup for 4.14.8 is located at path \
                     /etc/kubernetes/cluster-backup/upgrade-backup-4.14.8-2024-01-01_000138 on node \"m\""
                ),
            ]
        );
    }

    #[test]
    fn makes_no_backup_from_4_15_on() {
        assert_eq!(log("4.15.0"), Vec::<String>::new());
    }
}

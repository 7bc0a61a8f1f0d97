@preconditions
Feature: A backup of etcd before another minor
  Operators up to 4.14 refuse an update to another minor until the operator of etcd has made a backup, which it does as
  soon as it reads that one is waited for. Nobody has to do anything.

  Scenario: The update waits for the backup and goes on by itself
    Given a 4.13.20 cluster
    And release 4.14.8 exists
    Then ClusterOperator/etcd condition RecentBackup is Unknown with reason "ControllerStarted"
    When I update to 4.14.8
    Then within 1 minute ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks" and message matching /Precondition "EtcdRecentBackup" failed because of "ControllerStarted": $/
    And within 1 minute ClusterOperator/etcd condition RecentBackup is True with reason "UpgradeBackupSuccessful" and message matching /^UpgradeBackup for 4\.13\.20 is located at path \/etc\/kubernetes\/cluster-backup\/upgrade-backup-4\.13\.20-\S+ on node "master-0"$/
    And within 5 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded"
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.14.8"

  Scenario: A patch needs no backup
    Given a 4.13.20 cluster
    And release 4.13.25 exists
    When I update to 4.13.25
    Then within 1 minute ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded"
    And ClusterOperator/etcd condition RecentBackup is Unknown with reason "ControllerStarted"

  Scenario: From 4.15 on nothing is waited for
    Given a 4.15.3 cluster
    And release 4.16.1 exists
    When I update to 4.16.1
    Then within 1 minute ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded"

@preconditions
Feature: The etcd backup before a minor update
  Cluster-version operators up to 4.14 reject a minor update until the etcd operator has made a backup. The
  etcd operator makes it as soon as it sees the rejection, without any action of the administrator.

  Background:
    Given insights are published

  @own
  Scenario: The update waits for the backup and then continues
    Given a 4.13.20 cluster
    And release 4.14.8 exists
    Then ClusterOperator/etcd condition RecentBackup is Unknown with reason "ControllerStarted"
    When I update to 4.14.8
    Then within 1 minute ClusterVersion condition ReleaseAccepted is False with reason "PreconditionChecks" and message matching /Precondition "EtcdRecentBackup" failed because of "ControllerStarted": $/
    And within 1 minute there is a health insight about ClusterVersion/version with level "Warning" and impact "Update Stalled" and summary "The cluster does not meet the preconditions of release 4.14.8" and description /EtcdRecentBackup/
    And within 1 minute ClusterOperator/etcd condition RecentBackup is True with reason "UpgradeBackupSuccessful" and message matching /^UpgradeBackup for 4\.13\.20 is located at path \/etc\/kubernetes\/cluster-backup\/upgrade-backup-4\.13\.20-\S+ on node "master-0"$/
    And within 5 minutes ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded"
    And within 2 minutes there is no health insight
    And within 3 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.14.8"
    And within 1 minute the insight about ClusterVersion/version has "assessment" "Completed"

  @own
  Scenario: A patch update needs no backup
    Given a 4.13.20 cluster
    And release 4.13.25 exists
    When I update to 4.13.25
    Then within 1 minute ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded" and message containing "4.13.25"
    And ClusterOperator/etcd condition RecentBackup is Unknown with reason "ControllerStarted"
    And within 5 minutes the insight about ClusterVersion/version has condition Updating True
    And there was never a health insight

  @own
  Scenario: From 4.15 on, a minor update does not wait for a backup
    Given a 4.15.3 cluster
    And release 4.16.1 exists
    When I update to 4.16.1
    Then within 1 minute ClusterVersion condition ReleaseAccepted is True with reason "PayloadLoaded" and message containing "4.16.1"
    And within 5 minutes the insight about ClusterVersion/version has condition Updating True
    And there was never a health insight

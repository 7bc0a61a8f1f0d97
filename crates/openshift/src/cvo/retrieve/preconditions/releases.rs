//! Tests of all preconditions together, by the operator's release.

use serde_json::{Value, json};
use windtunnel_core::resources::CLUSTER_OPERATORS;
use windtunnel_core::{Change, ChangeKind};

use super::*;

/// A cluster and a requested update. `history` is newest first, with `+` for completed releases. Conditions
/// are `Type=Status Reason message`. The target is the only available update.
struct Case<'a> {
    operator: &'a str,
    history: &'a [&'a str],
    conditions: &'a [&'a str],
    /// RecentBackup of ClusterOperator `etcd`. `None` means that there is no such ClusterOperator.
    backup: Option<&'a str>,
    target: &'a str,
}

const SETTLED: Case<'_> = Case {
    operator: "",
    history: &[],
    conditions: &[],
    backup: Some("=True UpgradeBackupSuccessful"),
    target: "",
};

fn conditions(texts: &[&str]) -> Value {
    let condition = |text: &&str| {
        let (kind, rest) = text.split_once('=').unwrap();
        let mut words = rest.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_default();
        json!({ "type": kind, "status": word(), "reason": word(), "message": word() })
    };
    texts.iter().map(condition).collect()
}

fn verdict(case: &Case<'_>, force: bool) -> Verdict {
    let entry = |text: &&str| {
        let version = text.trim_end_matches('+');
        let state = if text.ends_with('+') { "Completed" } else { "Partial" };
        json!({ "version": version, "image": format!("image-{version}"), "state": state })
    };
    let history: Vec<Value> = case.history.iter().map(entry).collect();
    let cluster_version = Object::new(json!({
        "spec": { "channel": "stable" },
        "status": {
            "desired": history[0], "history": history, "conditions": conditions(case.conditions),
            "availableUpdates": [{ "version": case.target }],
        },
    }));
    let mut view = View::default();
    if let Some(backup) = case.backup {
        let listed = if backup.is_empty() { Vec::new() } else { vec![format!("RecentBackup{backup}")] };
        let texts: Vec<&str> = listed.iter().map(String::as_str).collect();
        let object = Object::new(
            json!({ "metadata": { "name": "etcd" }, "status": { "conditions": conditions(&texts) } }),
        );
        let key = CLUSTER_OPERATORS.key("", "etcd");
        view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
    }
    let release = |version: &str| Release::find(&version.parse().unwrap()).unwrap();
    let behaviour = Behaviour::for_release(&release(case.operator));
    let target = Release { version: case.target.parse().unwrap(), ..release("4.14.1") };
    check(behaviour, &view, &cluster_version, &target, force)
}

/// Whether the update is rejected, and the texts of the failed checks.
fn failures(case: &Case<'_>) -> (bool, Vec<String>) {
    let (blocks, text) = match verdict(case, false) {
        Verdict::Passed => return (false, Vec::new()),
        Verdict::PassedWithRisk(text) => (false, text),
        Verdict::Blocked(text) => (true, text),
    };
    let each = text.strip_prefix("Multiple precondition checks failed:\n* ").unwrap_or(&text);
    let short =
        |text: &str| text.replacen("Precondition \"", "", 1).replacen("\" failed because of \"", " ", 1);
    (blocks, each.split("\n* ").map(short).collect())
}

fn check_case(case: &Case<'_>, blocks: bool, expected: &[&str]) {
    let found = failures(case);
    let found = (found.0, found.1.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(found, (blocks, expected.to_vec()), "{} to {}", case.operator, case.target);
}

#[test]
fn checks_rollbacks_from_4_14_on() {
    let back = |operator, history, target| Case { operator, history, target, ..SETTLED };
    check_case(&back("4.13.9", &["4.13.9+", "4.13.5+", "4.13.1+"], "4.13.1"), false, &[]);
    let rejection = "ClusterVersionRollback LowDesiredVersion\": 4.14.1 is less than the current target 4.14.9, and the only supported rollback is to the cluster's previous version 4.14.5 (image-4.14.5)";
    check_case(&back("4.14.9", &["4.14.9+", "4.14.5+", "4.14.1+"], "4.14.1"), true, &[rejection]);
    check_case(&back("4.14.9", &["4.14.9+", "4.14.5", "4.14.1+"], "4.14.5"), false, &[]);
    let minor = "ClusterVersionRollback LowDesiredVersion\": 4.19.1 is less than the current target 4.20.1 and matches the cluster's previous version, but rollbacks that change major or minor versions are not recommended";
    check_case(&back("4.20.1", &["4.20.1+", "4.19.1+"], "4.19.1"), true, &[minor]);
    let none = "ClusterVersionRollback LowDesiredVersion\": 4.20.0 is less than the current target 4.20.1, and the cluster has no previous Semantic Version";
    check_case(&back("4.20.1", &["4.20.1+"], "4.20.0"), true, &[none]);
}

#[test]
fn checks_skipped_minors_and_other_majors_from_4_19_on() {
    let to = |operator, history, target| Case { operator, history, target, ..SETTLED };
    check_case(&to("4.18.1", &["4.18.1+"], "4.20.1"), false, &[]);
    let minors = "ClusterVersionGiantHop MultipleMinorVersionsUpdate\": 4.21.1 is more than one minor version beyond the current target 4.19.1 (4.21 > 4.(19+1)), and only updates within the current minor version or to the next minor version are supported.";
    check_case(&to("4.19.1", &["4.19.1+"], "4.21.1"), true, &[minors]);
    check_case(&to("4.22.1", &["4.22.1+"], "5.0.0"), false, &[]);
    let major = "ClusterVersionGiantHop MajorVersionUpdate\": 5.1.0 has a larger major version than the current target 4.22.1 (5 > 4), and only updates within the current major version or to 5.0 are supported.";
    check_case(&to("4.22.1", &["4.22.1+"], "5.1.0"), true, &[major]);
}

#[test]
fn an_update_to_another_minor_needs_an_etcd_backup_up_to_4_14() {
    let with = |backup, target| Case { operator: "4.14.9", history: &["4.14.9+"], backup, target, ..SETTLED };
    check_case(&with(Some("=True UpgradeBackupSuccessful"), "4.15.0"), false, &[]);
    for (backup, rejection) in [
        (
            None,
            "EtcdRecentBackup UnableToGetEtcdOperator\": RecentBackup: Unable to get etcd operator, err=clusteroperator.config.openshift.io \"etcd\" not found.",
        ),
        (
            Some(""),
            "EtcdRecentBackup EtcdRecentBackupNotSet\": RecentBackup: etcd backup condition is not set.",
        ),
        (Some("=Unknown ControllerStarted"), "EtcdRecentBackup ControllerStarted\": "),
        (
            Some("=Unknown UpgradeBackupInProgress Upgrade backup pod created on node a"),
            "EtcdRecentBackup UpgradeBackupInProgress\": RecentBackup: Upgrade backup pod created on node a",
        ),
    ] {
        check_case(&with(backup, "4.15.0"), true, &[rejection]);
        check_case(&with(backup, "4.14.10"), false, &[]);
    }
    let later = Case { operator: "4.15.1", history: &["4.15.1+"], backup: None, target: "4.16.0", ..SETTLED };
    check_case(&later, false, &[]);
}

#[test]
fn upgradeable_rejects_another_minor_and_counts_from_the_desired_release_from_4_18_on() {
    let conditions = &["Upgradeable=False NotReady Console is not ready.", "Progressing=True"][..];
    let to = |operator, history, target| Case { operator, history, conditions, target, ..SETTLED };
    let rejection = "ClusterVersionUpgradeable NotReady\": Console is not ready.";
    check_case(&to("4.20.1", &["4.20.1+"], "4.21.0"), true, &[rejection]);
    check_case(&to("4.20.1", &["4.20.1+"], "4.20.5"), false, &[]);
    check_case(&to("4.17.1", &["4.18.1", "4.17.1+"], "4.18.5"), true, &[rejection]);
    let retarget = "ClusterVersionUpgradeable MinorVersionClusterUpdateInProgress\": Retarget to 4.20.5 while a minor version update from 4.19.1 to 4.20.1 is in progress";
    check_case(&to("4.19.1", &["4.20.1", "4.19.1+"], "4.20.5"), false, &[retarget]);
}

#[test]
fn lists_several_failures_in_the_operators_order_and_force_overrides_them() {
    let case = Case {
        operator: "4.19.1",
        history: &["4.19.1+"],
        conditions: &["Upgradeable=False NotReady Console is not ready."],
        target: "4.21.1",
        ..SETTLED
    };
    let (blocks, texts) = failures(&case);
    let names: Vec<&str> = texts.iter().map(|text| text.split(' ').next().unwrap()).collect();
    assert_eq!((blocks, names), (true, vec!["ClusterVersionGiantHop", "ClusterVersionUpgradeable"]));
    let Verdict::Blocked(summary) = verdict(&case, false) else { panic!("expected a rejection") };
    assert!(
        summary
            .starts_with("Multiple precondition checks failed:\n* Precondition \"ClusterVersionGiantHop\"")
    );
    assert_eq!(
        verdict(&case, true),
        Verdict::PassedWithRisk(format!("Forced through blocking failures: {summary}"))
    );
    let old = Case { operator: "4.14.9", history: &["4.14.9+"], backup: Some(""), target: "4.15.0", ..case };
    let (_, texts) = failures(&old);
    let names: Vec<&str> = texts.iter().map(|text| text.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["ClusterVersionUpgradeable", "EtcdRecentBackup"]);
}

#[test]
fn an_invalid_current_version_causes_a_warning_of_each_check_and_no_rejection() {
    let from = |operator, current: &'static [&'static str]| {
        let case = Case {
            operator,
            history: current,
            conditions: &["Upgradeable=False Old No."],
            target: "4.20.3",
            ..SETTLED
        };
        failures(&case)
    };
    let warned = |checks: &[&str], detail: &str| {
        (
            false,
            checks
                .iter()
                .map(|check| format!("ClusterVersion{check} InvalidCurrentVersion\": {detail}"))
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(from("4.13.1", &["?"]), warned(&["Upgradeable"], "No Major.Minor.Patch elements found"));
    let all = ["Rollback", "GiantHop", "Upgradeable"];
    assert_eq!(from("4.20.1", &[""]), warned(&all, "Version string empty"));
    assert_eq!(
        from("4.20.1", &["4.x.1-rc.1"]),
        warned(&all, "Invalid character(s) found in minor number \"x\"")
    );
}

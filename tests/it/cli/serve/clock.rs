//! The clock of a served cluster: clients read it, pause it, change its speed and advance it.

use std::io::BufRead as _;

use http::Request;
use jiff::{SignedDuration, Timestamp};
use kube::Config;
use serde_json::{Value, json};
use windtunnel_core::clock::{Clock as _, WallClock};

use super::monitored::{config, get, send};
use super::{Served, TestEnvironment, run};
use crate::cli::environment::{Output, pause};

const PATH: &str = "/windtunnel/clock";

fn clock(environment: &TestEnvironment, change: &[&str]) -> Output {
    environment.run(&[&["clock"], change, &["--kubeconfig", "config"]].concat())
}

/// The time that a command printed.
#[track_caller]
fn time(output: &Output) -> Timestamp {
    let line = output.stdout.lines().find_map(|line| line.strip_prefix("time    "));
    line.unwrap_or_else(|| panic!("no time: {output}")).parse().unwrap()
}

fn moment(value: &Value) -> Timestamp {
    value.as_str().unwrap_or_else(|| panic!("no time: {value}")).parse().unwrap()
}

async fn history(config: &Config) -> Value {
    let path = "/apis/config.openshift.io/v1/clusterversions/version";
    get(config, path).await.1["status"]["history"][0].clone()
}

#[test]
fn nothing_happens_while_the_clock_is_paused_and_everything_while_it_advances() {
    let environment = TestEnvironment::new();
    let arguments = ["--version", "4.18.3", "--speed", "60x", "--kubeconfig", "config"];
    let _served = Served::start(&environment, &arguments);
    let paused = clock(&environment, &["pause"]);
    assert!(paused.stdout.contains("\nspeed   paused, 60x\n"), "{paused}");
    assert!(paused.stdout.contains("\nbehind  2"), "a day is 24 hours: {paused}");
    let updating = environment.run(&["adm", "upgrade", "--kubeconfig", "config", "--to", "4.18.4"]);
    assert_eq!(updating.code, Some(0), "{updating}");
    let start = time(&paused);
    let config = run(config(&environment));
    assert_eq!(run(history(&config))["version"], "4.18.3", "the operator does not run");
    assert_eq!(time(&clock(&environment, &[])), start);
    let advanced = clock(&environment, &["jump", "10m"]);
    assert_eq!(time(&advanced), start + SignedDuration::from_mins(10), "{advanced}");
    let entry = run(history(&config));
    assert_eq!(entry["version"], "4.18.4", "{entry}");
    let begun = moment(&entry["startedTime"]);
    assert!(start <= begun && begun <= start + SignedDuration::from_mins(1), "{start} {entry}");
    let earlier = clock(&environment, &["jump", &start.to_string()]);
    assert_eq!((earlier.code, earlier.stdout.as_str()), (Some(1), ""));
    assert!(earlier.stderr.starts_with("error: the clock cannot go back: it shows "), "{earlier}");
    let ahead = clock(&environment, &["jump", "800h"]);
    assert!(ahead.stderr.contains("clients would print negative ages"), "{ahead}");
    let slower = clock(&environment, &["speed", "10x"]);
    assert!(slower.stdout.contains("speed   paused, 10x"), "{slower}");
    let resumed = clock(&environment, &["resume"]);
    assert!(resumed.stdout.contains("speed   10x"), "{resumed}");
    while time(&clock(&environment, &[])) <= time(&advanced) {
        pause(50);
    }
}

#[test]
fn only_users_who_may_access_the_path_read_and_change_the_clock() {
    let environment = TestEnvironment::new();
    let arguments = ["--version", "4.18.3", "--clock", "2d-ago", "--kubeconfig", "config"];
    let _served = Served::start(&environment, &arguments);
    run(async {
        let admin = config(&environment).await;
        let (code, state) = get(&admin, PATH).await;
        assert_eq!((code, &state["speed"], &state["paused"]), (200, &json!(1.0), &json!(false)), "{state}");
        let behind = moment(&state["machineTime"]).duration_since(moment(&state["time"]));
        assert!(
            behind >= SignedDuration::from_hours(47) && behind <= SignedDuration::from_hours(49),
            "{state}"
        );
        let change = |config: &Config, body: &'static str| {
            let config = config.clone();
            async move { send(&config, Request::patch(PATH), body).await }
        };
        let mut user = admin.clone();
        user.auth_info.impersonate = Some("dev".to_owned());
        let mut anonymous = admin.clone();
        anonymous.auth_info = kube::config::AuthInfo::default();
        for (config, name) in [(&user, "dev"), (&anonymous, "system:anonymous")] {
            for (verb, (code, status)) in
                [("get", get(config, PATH).await), ("patch", change(config, r#"{"paused": true}"#).await)]
            {
                let expected = format!("User \"{name}\" cannot {verb} path \"{PATH}\"");
                assert!(code == 403 && status["message"].as_str().unwrap().contains(&expected), "{status}");
            }
        }
        let (code, status) = change(&admin, r#"{"pause": true}"#).await;
        assert!(code == 400 && status["message"].as_str().unwrap().contains("`pause`"), "{status}");
        let (code, state) = send(&admin, Request::put(PATH), r#"{"paused": true}"#).await;
        assert_eq!((code, &state["paused"]), (200, &json!(true)), "{state}");
    });
}

#[test]
fn tokens_and_events_expire_and_leases_are_renewed_by_the_clock_of_the_cluster() {
    let environment = TestEnvironment::new();
    let arguments = ["--version", "4.18.3", "--speed", "60x", "--kubeconfig", "config"];
    let _served = Served::start(&environment, &arguments);
    run(async {
        let admin = config(&environment).await;
        let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
        let body = r#"{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}"#;
        let (code, token) =
            send(&admin, Request::post(path).header("Content-Type", "application/json"), body).await;
        assert_eq!(code, 201, "{token}");
        let mut bearer = admin.clone();
        bearer.auth_info = kube::config::AuthInfo {
            token: Some(token["status"]["token"].as_str().unwrap().to_owned().into()),
            ..kube::config::AuthInfo::default()
        };
        assert_eq!(get(&bearer, "/version").await.0, 200);
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "name": "old", "namespace": "default" },
            "involvedObject": { "kind": "Pod", "namespace": "default", "name": "p" }, "reason": "Old",
        });
        let events = "/api/v1/namespaces/default/events";
        let made = send(
            &admin,
            Request::post(events).header("Content-Type", "application/json"),
            &event.to_string(),
        )
        .await;
        assert_eq!(made.0, 201, "{made:?}");
        let advanced = clock(&environment, &["jump", "3h10m"]);
        assert_eq!(advanced.code, Some(0), "{advanced}");
        assert_eq!(get(&bearer, "/version").await.0, 401);
        assert_eq!(get(&admin, &format!("{events}/old")).await.0, 404);
        let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/worker-0";
        // Time passes between the requests, a minute in a second of this machine.
        let before = moment(&get(&admin, PATH).await.1["time"]);
        let renewed = moment(&get(&admin, lease).await.1["spec"]["renewTime"]);
        let after = moment(&get(&admin, PATH).await.1["time"]);
        assert!(
            renewed <= after && before.duration_since(renewed) < SignedDuration::from_secs(40),
            "{before} {renewed} {after}"
        );
        let node = get(&admin, "/api/v1/nodes/worker-0").await.1;
        let ready =
            node["status"]["conditions"].as_array().unwrap().iter().find(|one| one["type"] == "Ready");
        assert_eq!(ready.unwrap()["status"], "True", "{node}");
    });
}

#[test]
fn a_late_cluster_reacts_to_writes_after_they_are_made() {
    let environment = TestEnvironment::new();
    // No machine simulates a cluster at this speed, so its clients wait for it.
    let arguments =
        ["--version", "4.18.3", "--speed", "100000x", "--clock", "365d-ago", "--kubeconfig", "config"];
    let _served = Served::start(&environment, &arguments);
    run(async {
        let admin = config(&environment).await;
        let path = "/apis/config.openshift.io/v1/clusteroperators";
        let fault = r#"{"metadata": {"annotations": {"windtunnel.dev/fault": "degraded"}}}"#;
        for name in ["etcd", "dns", "network"] {
            let patch = Request::patch(format!("{path}/{name}?fieldManager=test"));
            let patch = patch.header("Content-Type", "application/merge-patch+json");
            let (code, operator) = send(&admin, patch, fault).await;
            assert_eq!(code, 200, "{operator}");
            let fields = operator["metadata"]["managedFields"].as_array().unwrap();
            let made = moment(&fields.iter().find(|entry| entry["manager"] == "test").unwrap()["time"]);
            let degraded = loop {
                let (_, operator) = get(&admin, &format!("{path}/{name}")).await;
                let conditions = operator["status"]["conditions"].as_array().unwrap();
                let degraded = conditions.iter().find(|one| one["type"] == "Degraded").unwrap();
                if degraded["status"] == "True" {
                    break moment(&degraded["lastTransitionTime"]);
                }
                pause(20);
            };
            assert!(made <= degraded, "{name}: written at {made}, degraded since {degraded}");
        }
    });
}

#[test]
fn a_fast_clock_slows_down_when_it_catches_up_with_the_machine() {
    let environment = TestEnvironment::new();
    let arguments =
        ["--version", "4.18.3", "--speed", "3600x", "--clock", "20m-ago", "--kubeconfig", "config"];
    let mut served = Served::start(&environment, &arguments);
    let mut stderr = std::io::BufReader::new(served.child.stderr.take().unwrap()).lines();
    let start = stderr.next().unwrap().unwrap();
    assert!(
        start.starts_with(
            "the cluster's clock starts 20m behind this machine's, and passes at 3600x until it"
        ) && start.ends_with("and call an update stalled: use `windtunnel adm upgrade status`"),
        "{start}"
    );
    let expected = "the cluster's clock has caught up with this machine's; its time passes at 1x from now on";
    assert_eq!(stderr.next().unwrap().unwrap(), expected);
    loop {
        let now = clock(&environment, &[]);
        assert!(now.stdout.contains("\nspeed   1x\n"), "{now}");
        let (cluster, machine) = (time(&now), WallClock.now());
        assert!(cluster <= machine, "{cluster} {machine}");
        if machine.duration_since(cluster) < SignedDuration::from_secs(10) {
            break;
        }
        pause(100);
    }
}

#[test]
fn clusters_without_a_clock_of_their_own_say_so() {
    let environment = TestEnvironment::new();
    let _served = Served::start(&environment, &["--bare", "--kubeconfig", "config"]);
    let output = clock(&environment, &["pause"]);
    assert_eq!(output.code, Some(1));
    assert!(
        output.stderr.starts_with("error: this cluster has no clock to change; `windtunnel serve"),
        "{output}"
    );
    let output = clock(&environment, &["jump", "soon"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.starts_with("error: jump: expected a duration such as `2h`"), "{output}");
    let refused = |arguments: &[&str], expected: &str| {
        let output = environment.run(&[&["serve", "--port", "0"], arguments].concat());
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains(expected), "{output}");
    };
    refused(&["--version", "4.18.3", "--clock", "later"], "expected `now`, `30d-ago`, or a time such as");
    refused(&["--version", "4.18.3", "--clock", "2023-01-01T00:00:00Z"], "the earliest time of a cluster");
    refused(&["--bare", "--clock", "1d-ago"], "cannot be used with");
    refused(&["--clock", "1d-ago"], "--clock requires a simulated cluster: add `--version` or `--scenario`");
}

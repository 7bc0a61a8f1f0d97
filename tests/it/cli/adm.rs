//! `windtunnel adm upgrade` against a served cluster.

use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::json;

use super::environment::TestEnvironment;
use super::serve::{Served, client, run};

/// A cluster that hardly changes during a test.
fn serve(environment: &TestEnvironment) -> Served {
    Served::start(environment, &["--version", "4.18.3", "--token", "t-1", "--kubeconfig", "config"])
}

#[test]
fn adm_upgrade_shows_and_updates_a_served_cluster_like_oc() {
    let environment = TestEnvironment::new();
    let served = serve(&environment);
    let check = |words: &[&str], code: i32, stdout: &str, stderr: &str| {
        let output = environment.run(&[&["adm", "upgrade"], words].concat());
        assert_eq!(output.code, Some(code), "{words:?} {output}");
        assert!(output.stdout.contains(stdout), "{words:?} {output}");
        assert!(output.stderr.contains(stderr), "{words:?} {output}");
    };
    let config = ["--kubeconfig", "config"];
    let with = |words: &[&'static str]| [words, &config[..]].concat();
    check(&with(&[]), 0, "\nRecommended updates:\n\n  VERSION     IMAGE\n  4.19.1      quay.io/", "");
    check(
        &with(&["--to=4.18.99"]),
        1,
        "",
        "error: the update is not one of the possible targets: 4.19.1, 4.18.4. specify --to-image to continue with the update.\n",
    );
    check(&with(&["--to", "4.18.4"]), 0, "Requested update to 4.18.4\n", "");
    check(&with(&["--clear"]), 0, "Cancelled requested upgrade to 4.18.4\n", "");
    check(
        &with(&["--mode=preflight", "--to", "4.18.4"]),
        0,
        "Requested preflight check of 4.18.4\n",
        "Warning: unknown field \"spec.desiredUpdate.mode\"\n",
    );
    check(&with(&["--clear"]), 0, "Cancelled requested upgrade to 4.18.4\n", "");
    check(&with(&["channel", "fast-4.18"]), 0, "", "");
    check(
        &with(&["recommend"]),
        0,
        "The following conditions found no cause for concern in updating this cluster to later releases: \
         recommended/CriticalAlerts (AsExpected), ",
        "",
    );
    check(&with(&["rollback"]), 1, "", "error: unknown command \"rollback\"\n");
    check(&["status", "--help"], 0, "Usage: oc adm upgrade status [OPTIONS]\n", "");
    let by_flags = ["--server", &served.url, "--insecure-skip-tls-verify", "--token"];
    check(
        &[&by_flags[..], &["t-1", "channel", "fast-4.18"]].concat(),
        0,
        "info: Cluster is already in fast-4.18 (no change)\n",
        "",
    );
    check(
        &[&by_flags[..], &["t-2"]].concat(),
        1,
        "",
        "error: You must be logged in to the server (Unauthorized)\n",
    );
}

#[test]
fn adm_upgrade_reports_why_it_cannot_fetch_alerts() {
    let environment = TestEnvironment::new();
    let _served = serve(&environment);
    let recommend = || environment.run(&["adm", "upgrade", "recommend", "--kubeconfig", "config"]);
    let failed = "Failed to check for at least some preconditions: failed to get alerts from Thanos: ";
    run(async {
        let client = client(&environment.read("config")).await;
        let route = ApiResource::from_gvk(&GroupVersionKind::gvk("route.openshift.io", "v1", "Route"));
        let routes: Api<DynamicObject> = Api::namespaced_with(client, "openshift-monitoring", &route);
        let status = json!({ "status": { "ingress": [{ "host": "127.0.0.1:1" }] } });
        routes.patch_status("thanos-querier", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
        let place = "URI in the openshift-monitoring/thanos-querier Route: 127.0.0.1:1->";
        let expected = format!("{failed}unable to get /api/v1/alerts from {place}");
        let output = recommend();
        assert!(output.stdout.starts_with(&expected), "{output}");
        routes.delete("thanos-querier", &DeleteParams::default()).await.unwrap();
    });
    let output = recommend();
    let expected = format!("{failed}routes.route.openshift.io \"thanos-querier\" not found");
    assert!(output.stdout.starts_with(&expected), "{output}");
}

#[test]
fn missing_files_of_the_variable_are_skipped_unless_all_are_missing() {
    let environment = TestEnvironment::new();
    let _served = serve(&environment);
    let with_variable = |files: &str, arguments: &[&str]| {
        let mut command = environment.command(arguments);
        let output = command.env("KUBECONFIG", files).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for arguments in [&["clock"][..], &["rbac"], &["adm", "upgrade"]] {
        for files in ["missing:config", "config:missing/too:"] {
            assert_eq!(with_variable(files, arguments), (Some(0), String::new()), "{files} {arguments:?}");
        }
        let (code, stderr) = with_variable("missing:missing/too", arguments);
        let expected = "error: KUBECONFIG: expected a kubeconfig, found no file at missing, missing/too; set it to an existing file\n";
        assert!(code != Some(0) && stderr == expected, "{stderr}");
    }
}

#[test]
fn adm_upgrade_reports_connection_errors() {
    let environment = TestEnvironment::with(&[("config", "current-context: x\n")]);
    let check = |words: &[&str], expected: &str| {
        let output = environment.run(&[&["adm", "upgrade"], words].concat());
        assert_ne!(output.code, Some(0), "{output}");
        assert!(output.stderr.contains(expected), "{words:?} {output}");
    };
    check(&["--kubeconfig", "nowhere"], "error: ");
    check(&["--kubeconfig", "config"], "error: ");
    check(&["--kubeconfig"], "a value is required for '--kubeconfig <KUBECONFIG>'");
    let refused =
        "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?\n";
    check(&["--server", "https://127.0.0.1:1"], refused);
    check(&["status", "--server", "https://127.0.0.1:1"], refused);
    let _served = Served::start(&environment, &["--bare", "--kubeconfig", "bare"]);
    check(
        &["--kubeconfig", "bare"],
        "error: No cluster version information available - you must be connected to an OpenShift version 4 server to fetch the current version\n",
    );
    check(&["--to"], "error: flag needs an argument: --to\nSee 'oc adm upgrade --help' for usage.\n");
}

/// The body that the real `oc adm upgrade accept B,A` sent (`tests/oc/transcripts.txt`).
const RECORDED: &str = r#"{"spec": {"desiredUpdate": {"acceptRisks": [{"name":"A"},{"name":"B"}]}}}"#;

#[test]
fn accept_works_with_a_preview_feature_set_like_the_recorded_request() {
    let environment = TestEnvironment::new();
    let flags = ["--version", "4.22.1", "--feature-set", "TechPreviewNoUpgrade", "--kubeconfig", "config"];
    let _served = Served::start(&environment, &flags);
    let accept = |risks: &str| {
        let mut command = environment.command(&["adm", "upgrade", "accept", risks, "--kubeconfig", "config"]);
        let output = command.env("OC_ENABLE_CMD_UPGRADE_ACCEPT_RISKS", "true").output().unwrap();
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap())
    };
    run(async {
        let client = client(&environment.read("config")).await;
        let api: Api<DynamicObject> = Api::all_with(
            client,
            &ApiResource::from_gvk(&GroupVersionKind::gvk("config.openshift.io", "v1", "ClusterVersion")),
        );
        let body: serde_json::Value = serde_json::from_str(RECORDED).unwrap();
        let patched = api.patch("version", &PatchParams::default(), &Patch::Merge(&body)).await.unwrap();
        assert_eq!(patched.data["spec"]["desiredUpdate"], body["spec"]["desiredUpdate"]);
    });
    assert_eq!(accept("B,A"), ["info: Accept risks are not changed\n", ""]);
    assert_eq!(accept("C,A-"), ["info: Accept risks are [B, C]\n", ""]);
}

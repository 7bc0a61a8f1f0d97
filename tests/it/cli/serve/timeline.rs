//! The timeline of a scenario in a served cluster, with a client beside it.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use serde_json::json;

use super::{Served, TestEnvironment, client, run};

const CLUSTER: &str = "name: a client takes part\ncluster: {version: 4.14.1, nodes: {control-plane: 1, workers: 0}}\n\
                       timeline:\n";

#[test]
fn a_timeline_waits_for_a_client_and_ends_the_server() {
    let scenario = format!(
        "{CLUSTER}- advance: 2s\n- expect: {{object: ConfigMap/default/mine, fields: {{data.color: blue}}, within: 20h}}\n"
    );
    let environment = TestEnvironment::with(&[("s.yaml", &scenario)]);
    let arguments = ["--scenario", "s.yaml", "--timeline", "--exit", "--kubeconfig", "config"];
    let served = Served::start(&environment, &arguments);
    run(async {
        let maps: Api<ConfigMap> = Api::namespaced(client(&environment.read("config")).await, "default");
        let map = json!({ "metadata": { "name": "mine" }, "data": { "color": "blue" } });
        maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
    });
    let (status, _, printed) = served.end();
    assert_eq!(status.code(), Some(0), "{printed}");
    let lines: Vec<&str> =
        printed.lines().filter(|line| line.contains("passed") || line.contains("PASS")).collect();
    let [first, second, last] = lines[..] else { panic!("{printed}") };
    assert!(first.starts_with("2s  passed  advance"), "{printed}");
    assert!(second.contains("  passed  expect ") && second.contains("ConfigMap"), "{printed}");
    assert_eq!(last, "PASS  a client takes part");
}

#[test]
fn a_failed_step_names_its_place_and_gives_the_exit_code() {
    let scenario =
        format!("{CLUSTER}- expect: {{object: ConfigMap/default/mine, within: 1m}}\n- advance: 1h\n");
    let environment = TestEnvironment::with(&[("s.yaml", &scenario)]);
    let arguments = ["--scenario", "s.yaml", "--timeline", "--exit", "--speed", "600x"];
    let (status, _, printed) = Served::start(&environment, &arguments).end();
    assert_eq!(status.code(), Some(1), "{printed}");
    assert!(printed.contains("1m  FAILED  s.yaml:4:3: expect "), "{printed}");
    assert!(printed.contains("\nFAIL  a client takes part\n") && !printed.contains("advance"), "{printed}");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_timeline_that_waits() {
    let environment = TestEnvironment::with(&[("s.yaml", &format!("{CLUSTER}- advance: 20h\n"))]);
    let served = Served::start(&environment, &["--scenario", "s.yaml", "--timeline"]);
    served.signal("-TERM");
    let (status, _, printed) = served.end();
    assert_eq!(status.code(), Some(0), "{printed}");
    assert!(!printed.contains("PASS") && !printed.contains("FAIL"), "{printed}");
}

#[test]
fn flags_of_a_timeline_need_a_scenario() {
    let environment = TestEnvironment::new();
    for arguments in [&["serve", "--timeline"][..], &["serve", "--scenario", "s.yaml", "--exit"]] {
        let output = environment.run(arguments);
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains("required arguments were not provided"), "{output}");
    }
}

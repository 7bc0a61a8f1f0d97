//! `windtunnel risks`.

use serde_json::{Value, json};

use super::environment::TestEnvironment;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn data(path: &str) -> String {
    format!("{ROOT}/tests/{path}")
}

const RISK: &str = "to: 4.18.9\nfrom: .*\nurl: u\nname: R\nmessage: m\nmatchingRules:\n";

#[test]
fn evaluates_risks_over_dumps_records_and_scenarios() {
    let environment = TestEnvironment::with(&[(
        "scenario.yaml",
        "name: s\ncluster: {version: 4.18.3, platform: Azure}\n\
         metrics: {'ceph_health_status{name=\"a\"}': 1}\ntimeline: [advance: 1m]\n",
    )]);
    let run = environment.run(&["run", "scenario.yaml", "--quiet", "--record", "record.jsonl"]);
    assert_eq!(run.code, Some(0), "{run}");
    let (graph, dump) = (data("graph-data"), data("dumps/paused-workers"));
    let over = ["risks", &graph, "--over", &dump, "record.jsonl", "scenario.yaml"];
    let output = environment.run(&over);
    let expected = [
        "RISK               EDGES  RULES   CLUSTER 1  CLUSTER 2  CLUSTER 3",
        "AzureDiskResize    1      PromQL  no         applies    applies",
        "BornLate           1      PromQL  no         applies    applies",
        "CephBalancer       1      PromQL  unknown    unknown    applies",
        "Everyone           1      Always  applies    applies    applies",
        "LargeClusterWatch  1      PromQL  applies    applies    applies",
        "ManyNodes          1      PromQL  error      error      error",
        "",
    ];
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!((output.code, &lines[..expected.len()]), (Some(1), &expected[..]), "{output}");
    for wanted in [
        &format!("cluster 1: {dump}: applies 2, no 2, unknown 1, error 1"),
        "  error: invalid PromQL result (must be 0 or 1): 5 (ManyNodes)",
        "  unknown: needs metric ceph_health_status, which a dump does not contain (CephBalancer)",
        "cluster 3: scenario.yaml: applies 5, no 0, unknown 0, error 1",
        "blocked edges 7, without a risk 1, risks 6, queries 5",
    ] {
        assert!(lines.contains(&wanted), "{wanted} is not in {output}");
    }
}

#[test]
fn selects_risks_by_the_releases_of_an_update() {
    let environment = TestEnvironment::new();
    let graph = data("graph-data");
    let names = |arguments: &[&str]| {
        let output = environment.run(&[&["risks", &graph, "-o", "json"], arguments].concat());
        assert_eq!(output.code, Some(0), "{output}");
        let found: Value = serde_json::from_str(&output.stdout).unwrap();
        let risks = found["risks"].as_array().unwrap().clone();
        let names = risks.iter().map(|risk| risk["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        (found["edges"].clone(), names.join(" "))
    };
    assert_eq!(names(&["--to", "4.18.9"]), (json!(1), "Everyone".to_owned()));
    assert_eq!(
        names(&["--from", "4.17.1", "--to", "4.18.4"]),
        (json!(3), "BornLate CephBalancer LargeClusterWatch".to_owned())
    );
    assert!(names(&["--from", "4.18.3", "--to", "4.18.4"]).1.contains("ManyNodes"));
    assert!(!names(&["--from", "4.18.3", "--to", "4.18.4", "--arch", "arm64"]).1.contains("ManyNodes"));
    assert_eq!(names(&["--to", "4.18.7"]), (json!(0), String::new()));
}

#[test]
fn reports_invalid_queries_with_their_position_and_evaluates_the_others() {
    let environment = TestEnvironment::with(&[
        (
            "data/blocked-edges/a.yaml",
            &(RISK.to_owned()
                + "- type: PromQL\n  promql:\n    promql: |\n      group(a)\n      or grup(a)\n"),
        ),
        ("data/blocked-edges/b.yaml", &(RISK.replace("name: R", "name: S") + "- type: Always\n")),
    ]);
    let output = environment.run(&["risks", "data"]);
    assert_eq!(output.code, Some(1), "{output}");
    let error = "error: data/blocked-edges/a.yaml:11:10: this PromQL cannot be evaluated: \
                 unknown function with name \"grup\"\n";
    assert_eq!(output.stderr, error);
    assert!(output.stdout.ends_with("blocked edges 2, without a risk 0, risks 2, queries 1\n"), "{output}");
}

#[test]
fn unreadable_input_exits_with_2() {
    let environment =
        TestEnvironment::with(&[("empty/channels/a.yaml", "name: a\nversions: []\n"), ("not.txt", "")]);
    let graph = data("graph-data");
    let check = |arguments: &[&str], expected: &str| {
        let output = environment.run(&[&["risks"], arguments].concat());
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(output.stderr.contains(expected), "{output}");
    };
    check(&["empty"], "error: empty/blocked-edges: No such file or directory");
    check(&["nowhere"], "error: nowhere/blocked-edges: No such file or directory");
    check(&[&graph, "--over", "nowhere"], "error: nowhere: No such file or directory");
    check(&[&graph, "--over", "not.txt"], "expected objects of a cluster");
    check(&[&graph, "--at", "1m", "--over", &data("dumps/paused-workers")], "--at: expected records, but ");
    check(&[&graph, "--arch", "vax"], "expected one of amd64, arm64");
    check(&[&graph, "--to", "4.18"], "invalid value '4.18' for '--to <VERSION>'");
    check(&[], "<GRAPH_DATA>");
}
